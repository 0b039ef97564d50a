package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/spf13/cobra"

	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

func (a *app) rowsCommand() *cobra.Command {
	return parent("rows", "List, inspect and resolve rows", "",
		a.rowsAuditCommand(), a.rowsCancelCommand(), a.rowsGetCommand(), a.rowsListCommand(), a.rowsResolveCommand(), a.rowsRetryCommand())
}

// rowView is a row as the command line shows it: by its name in logs, and with the payload's size instead of the payload.
type rowView struct {
	Name         string     `json:"row"`
	Destination  string     `json:"destination"`
	Key          string     `json:"key,omitempty"`
	Status       string     `json:"status"`
	Lane         string     `json:"lane,omitempty"`
	LaneAt       *time.Time `json:"lane_at,omitempty"`
	AttemptCount int        `json:"attempt_count"`
	LookupCount  int        `json:"lookup_count,omitempty"`
	Code         string     `json:"code,omitempty"`
	Cause        string     `json:"cause,omitempty"`
	RemoteRef    string     `json:"remote_ref,omitempty"`
	MaybeSince   *time.Time `json:"maybe_since,omitempty"`
	ClaimedBy    string     `json:"claimed_by,omitempty"`
	ClaimedAt    *time.Time `json:"claimed_at,omitempty"`
	Until        *time.Time `json:"until,omitempty"`
	CommandID    string     `json:"command_id,omitempty"`
	ContentType  string     `json:"content_type,omitempty"`
	PayloadBytes int        `json:"payload_bytes"`
	CreatedAt    *time.Time `json:"created_at,omitempty"`
	CompletedAt  *time.Time `json:"completed_at,omitempty"`
	DeliverBy    *time.Time `json:"deliver_by,omitempty"`
	ExpiresAt    *time.Time `json:"expires_at,omitempty"`
	ResolvedBy   string     `json:"resolved_by,omitempty"`
	ResolvedAt   *time.Time `json:"resolved_at,omitempty"`
	Reason       string     `json:"reason,omitempty"`
	Forced       bool       `json:"forced,omitempty"`
	Unreadable   string     `json:"unreadable,omitempty"`
	Finding      string     `json:"finding,omitempty"` // of rows audit
}

func view(r outbox.Row) rowView {
	v := rowView{
		Name: r.String(), Destination: r.Destination, Status: string(r.Status),
		LaneAt: instant(r.LaneAt), AttemptCount: r.AttemptCount, LookupCount: r.LookupCount,
		Code: r.Code, Cause: r.Cause, RemoteRef: r.RemoteRef, MaybeSince: instant(r.MaybeSince),
		ClaimedAt: instant(r.ClaimedAt), Until: instant(r.Until),
		CommandID: r.CommandID, ContentType: r.ContentType, PayloadBytes: len(r.Payload),
		CreatedAt: instant(r.CreatedAt), CompletedAt: instant(r.CompletedAt),
		DeliverBy: instant(r.DeliverBy), ExpiresAt: instant(r.ExpiresAt),
		ResolvedBy: r.ResolvedBy, ResolvedAt: instant(r.ResolvedAt), Reason: r.Reason, Forced: r.Forced,
	}
	if r.AttemptCount > 0 { // earlier ones are place-holders
		v.ClaimedBy = r.ClaimedBy
	}
	if r.Lane != (outbox.Lane{}) {
		v.Lane = r.Lane.String()
	}
	if r.Unreadable != nil {
		v.Unreadable = r.Unreadable.Error()
	}
	return v
}

func (a *app) rowsGetCommand() *cobra.Command {
	var payload bool
	cmd := a.command("get {DESTINATION KEY | ROW}", "Show one row",
		`A row is named by destination and idempotency key, or by ROW, its name in logs
(charge/0123456789abcdef). A name is found by a scan, which costs as much as
reading the whole table. Exit code 1: the row does not exist. With --payload the
answer is the payload and nothing else.`,
		takes(1, 2), func(ctx context.Context, args []string) error { return a.rowsGet(ctx, args, payload) })
	cmd.Flags().BoolVar(&payload, "payload", false, "write the payload, byte for byte")
	return cmd
}

func (a *app) rowsGet(ctx context.Context, args []string, payload bool) error {
	table, err := a.outbox(ctx)
	if err != nil {
		return err
	}
	id, err := table.find(ctx, args)
	if err != nil {
		return table.explain(err)
	}
	row, err := outboxdb.New(table.db, table.name).Get(ctx, id)
	switch {
	case errors.Is(err, outbox.ErrNotFound):
		return noRow(id)
	case err != nil:
		return table.explain(err)
	case payload:
		return a.write(row.Payload)
	}
	v := view(row)
	v.Key = row.Key
	return a.print(v, details(v))
}

func noRow(name fmt.Stringer) error {
	return fmt.Errorf("no row %s: check destination, key and table; a completed row is deleted after its retention", name)
}

var rowName = regexp.MustCompile(`^([a-z0-9][a-z0-9-]{0,62})/[0-9a-f]{16}$`)

// find makes an ID of the arguments. A name is a hash that no index has, so that it is found by a scan.
func (t *tableClient) find(ctx context.Context, args []string) (outbox.ID, error) {
	if len(args) == 2 {
		id := outbox.ID{Destination: args[0], Key: args[1]}
		if err := id.Validate(); err != nil {
			return outbox.ID{}, badInput(err)
		}
		return id, nil
	}
	m := rowName.FindStringSubmatch(args[0])
	if m == nil {
		return outbox.ID{}, badInputf("%.80q is not a row's name: want <destination>/<16 hex digits>, or two arguments, DESTINATION and KEY", args[0])
	}
	in := &dynamodb.ScanInput{
		TableName: &t.name, ConsistentRead: aws.Bool(true),
		ProjectionExpression: aws.String("#pk"), ExpressionAttributeNames: map[string]string{"#pk": schema.PK},
	}
	if m[1] != outbox.InvalidDestination { // the key of an invalid row may begin with anything
		in.FilterExpression = aws.String("begins_with(#pk, :destination)")
		in.ExpressionAttributeValues = map[string]types.AttributeValue{":destination": &types.AttributeValueMemberS{Value: m[1] + schema.Separator}}
	}
	pages := dynamodb.NewScanPaginator(t.db, in)
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
	return outbox.ID{}, fmt.Errorf("no row %s in table %s: check the name; a completed row is deleted after its retention", args[0], t.name)
}

// details is a row as pairs, under its names in JSON. Absent fields are left out.
func details(v rowView) (pairs [][]string) {
	row := reflect.ValueOf(v)
	for i := range row.NumField() {
		name, option, _ := strings.Cut(row.Type().Field(i).Tag.Get("json"), ",")
		switch value := row.Field(i).Interface().(type) {
		case *time.Time:
			if value != nil {
				pairs = append(pairs, []string{name, stamp(value)})
			}
		default:
			if option != "omitempty" || !row.Field(i).IsZero() {
				pairs = append(pairs, []string{name, fmt.Sprint(value)})
			}
		}
	}
	return pairs
}
