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
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Look at every row for what no sweep would ever find",
		Long: `Look at every row for what no sweep would ever find: rows that break the row format, that are in no lane or in one
that is not walked, or that have been due for long.

It scans the whole table, which costs as much as reading all of it. Exit code 1: something was found. With --command
it looks only at the rows of that command, and shows all of them.`,
		Args: cobra.NoArgs,
		RunE: a.do(func(ctx context.Context, _ []string) error { return a.rowsAudit(ctx, command) }),
	}
	cmd.Flags().StringVar(&command, "command", "", "show all rows that this command caused")
	return cmd
}

// finding is a row and what an audit has to say about it.
type finding struct {
	rowView
	Finding string `json:"finding,omitempty"`
}

func (a *app) rowsAudit(ctx context.Context, command string) error {
	cfg, err := a.loadConfig(a.config)
	if err != nil {
		return badInput(err)
	}
	policies := map[string]outbox.Policy{}
	for name, d := range cfg.Destinations {
		policies[name] = d.Policy()
	}
	at, err := a.outbox(ctx)
	if err != nil {
		return err
	}
	looked, wrong, shown := 0, 0, []finding{}
	err = at.scan(ctx, command, func(row outbox.Row) {
		looked++
		f := finding{view(row), outbox.Audit(policies, row, time.Now())}
		if f.Finding != "" {
			wrong++
		}
		if f.Finding != "" || command != "" {
			shown = append(shown, f)
		}
	})
	if err != nil {
		return at.explain(err)
	}
	if err := a.printFindings(shown, looked); err != nil {
		return err
	}
	if wrong > 0 {
		return fmt.Errorf("%d of %d rows need a look", wrong, looked)
	}
	return nil
}

// scan calls each with every row, or with those of one command.
func (t *ourTable) scan(ctx context.Context, command string, each func(outbox.Row)) error {
	in := &dynamodb.ScanInput{TableName: aws.String(t.name), ConsistentRead: aws.Bool(true)}
	if command != "" {
		in.FilterExpression = aws.String("#command = :command")
		in.ExpressionAttributeNames = map[string]string{"#command": schema.CommandID}
		in.ExpressionAttributeValues = map[string]types.AttributeValue{":command": &types.AttributeValueMemberS{Value: command}}
	}
	for pages := dynamodb.NewScanPaginator(t, in); pages.HasMorePages(); {
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

func (a *app) printFindings(shown []finding, looked int) error {
	if a.output == inJSON {
		return a.printJSON(shown)
	}
	if len(shown) == 0 {
		_, err := fmt.Fprintf(a.stdout, "%d rows, nothing to object to\n", looked)
		return err
	}
	rows := [][]string{{"ROW", "STATUS", "LANE", "CODE", "FINDING"}}
	for _, f := range shown {
		rows = append(rows, []string{f.Name, f.Status, f.Lane, f.Code, f.Finding})
	}
	return a.printTable(rows)
}
