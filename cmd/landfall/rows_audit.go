package main

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/spf13/cobra"

	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

func (a *app) rowsAuditCommand() *cobra.Command {
	var command string
	cmd := a.command("audit", "Check every row for mistakes that no sweep finds",
		`It finds rows that break the row format, that are in no lane or in a lane that
no sweep reads, or that have been due for long. It scans the outbox table, which
costs as much as reading all of it. Exit code 1: something was found. With
--command it checks only the rows of that command, and shows all of them.`,
		takes(0, 0), func(ctx context.Context, _ []string) error { return a.rowsAudit(ctx, command) })
	cmd.Flags().StringVar(&command, "command", "", "show all rows with this command ID")
	return cmd
}

func (a *app) rowsAudit(ctx context.Context, command string) error {
	cfg, table, err := a.configAndOutbox(ctx)
	if err != nil {
		return err
	}
	policies := map[string]outbox.Policy{}
	for name, d := range cfg.Destinations {
		policies[name] = d.Policy()
	}
	checked, wrong := 0, 0
	shown, cells := []rowView{}, [][]string{{"ROW", "STATUS", "LANE", "CODE", "FINDING"}}
	err = table.scan(ctx, command, func(row outbox.Row) {
		checked++
		v := view(row)
		if v.Finding = outbox.Audit(policies, row, time.Now()); v.Finding != "" {
			wrong++
		}
		if v.Finding != "" || command != "" {
			shown = append(shown, v)
			cells = append(cells, []string{v.Name, v.Status, v.Lane, v.Code, v.Finding})
		}
	})
	if err != nil {
		return table.explain(err)
	}
	if len(shown) == 0 {
		return a.say(shown, "%d rows checked, nothing found", checked)
	}
	if err := a.print(shown, cells); err != nil {
		return err
	}
	if wrong > 0 {
		return fmt.Errorf("%d of %d rows have a finding", wrong, checked)
	}
	return nil
}

// scan calls each with every row, or with those of one command.
func (t *tableClient) scan(ctx context.Context, command string, each func(outbox.Row)) error {
	in := &dynamodb.ScanInput{TableName: &t.name, ConsistentRead: aws.Bool(true)}
	if command != "" {
		in.FilterExpression = aws.String("#command = :command")
		in.ExpressionAttributeNames = map[string]string{"#command": schema.CommandID}
		in.ExpressionAttributeValues = map[string]types.AttributeValue{":command": &types.AttributeValueMemberS{Value: command}}
	}
	for pages := dynamodb.NewScanPaginator(t.db, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("scan the rows: %w", err)
		}
		for _, item := range page.Items {
			each(outboxdb.Decode(item))
		}
	}
	return nil
}
