package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/spf13/cobra"

	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

func (a *app) rowsGetCommand() *cobra.Command {
	var payload bool
	cmd := &cobra.Command{
		Use:   "get DESTINATION KEY | get ROW",
		Short: "Show one row",
		Long: `Show one row, by destination and idempotency key, or by ROW, the name that logs use (charge/0123456789abcdef).

A name is found by a scan of the whole table, which costs as much as reading all of it. Exit code 1: there is no such
row. With --payload the answer is the payload and nothing else.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: a.do(func(ctx context.Context, args []string) error {
			return a.rowsGet(ctx, args, payload)
		}),
	}
	cmd.Flags().BoolVar(&payload, "payload", false, "write the payload, byte for byte")
	return cmd
}

func (a *app) rowsGet(ctx context.Context, args []string, payload bool) error {
	at, err := a.outbox(ctx)
	if err != nil {
		return err
	}
	id, err := at.find(ctx, args)
	if err != nil {
		return at.explain(err)
	}
	row, err := outboxdb.New(at, at.name).Get(ctx, id)
	switch {
	case errors.Is(err, outbox.ErrNotFound):
		return fmt.Errorf("no row %s", id)
	case err != nil:
		return at.explain(err)
	case payload:
		if _, err := a.stdout.Write(row.Payload); err != nil {
			return fmt.Errorf("write output: %w", err)
		}
		return nil
	}
	v := view(row)
	v.Key = row.Key
	if a.output == inJSON {
		return a.printJSON(v)
	}
	return a.printTable(details(v))
}

var rowName = regexp.MustCompile("^(" + schema.NamePattern + ")/[0-9a-f]{16}$")

// find makes an ID of the arguments, by a scan if they are a name: it is a hash, and no index has it.
func (t *ourTable) find(ctx context.Context, args []string) (outbox.ID, error) {
	if len(args) == 2 {
		id := outbox.ID{Destination: args[0], Key: args[1]}
		if err := id.Validate(); err != nil {
			return outbox.ID{}, badInput(err)
		}
		return id, nil
	}
	m := rowName.FindStringSubmatch(args[0])
	if m == nil {
		return outbox.ID{}, badInput(errors.New("a row's name is <destination>/<16 hex digits>; or give destination and key"))
	}
	in := &dynamodb.ScanInput{
		TableName: aws.String(t.name), ConsistentRead: aws.Bool(true),
		ProjectionExpression: aws.String("#pk"), ExpressionAttributeNames: map[string]string{"#pk": schema.PK},
	}
	if m[1] != outbox.InvalidDestination { // a stranger's key may begin with anything
		in.FilterExpression = aws.String("begins_with(#pk, :destination)")
		in.ExpressionAttributeValues = map[string]types.AttributeValue{":destination": &types.AttributeValueMemberS{Value: m[1] + schema.Separator}}
	}
	pages := dynamodb.NewScanPaginator(t, in)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return outbox.ID{}, fmt.Errorf("scan for the row: %w", err)
		}
		for _, item := range page.Items {
			pk, ok := item[schema.PK].(*types.AttributeValueMemberS)
			if !ok {
				continue
			}
			if id := outbox.ParsePK(pk.Value); id.String() == args[0] {
				return id, nil
			}
		}
	}
	return outbox.ID{}, fmt.Errorf("no row %s", args[0])
}

// count is "" for none.
func count(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// details is a row as pairs, without what is absent.
func details(v rowView) [][]string {
	pairs := [][]string{
		{"row", v.Name}, {"destination", v.Destination}, {"key", v.Key}, {"status", v.Status}, {"lane", v.Lane},
		{"next", stamp(v.LaneAt)}, {"attempts", strconv.Itoa(v.AttemptCount)}, {"lookups", count(v.LookupCount)},
		{"code", v.Code}, {"remote ref", v.RemoteRef},
		{"may have arrived since", stamp(v.MaybeSince)},
		{"claimed by", v.ClaimedBy}, {"claimed at", stamp(v.ClaimedAt)}, {"claimed until", stamp(v.Until)},
		{"command", v.CommandID}, {"content type", v.ContentType}, {"payload bytes", strconv.Itoa(v.PayloadBytes)},
		{"created", stamp(v.CreatedAt)}, {"completed", stamp(v.CompletedAt)}, {"deliver by", stamp(v.DeliverBy)},
		{"expires", stamp(v.ExpiresAt)}, {"resolved by", v.ResolvedBy}, {"resolved at", stamp(v.ResolvedAt)},
		{"reason", v.Reason}, {"unreadable", v.Unreadable},
	}
	if v.Forced {
		pairs = append(pairs, []string{"forced", "before it was certain"})
	}
	var present [][]string
	for _, p := range pairs {
		if p[1] != "" && p[1] != "-" {
			present = append(present, p)
		}
	}
	return present
}
