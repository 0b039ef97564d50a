package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/outboxdb"
	"github.com/landfall-dev/landfall/internal/routingdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

// readTables compares the tables with those that landfall dev makes. It reports whether DynamoDB answers.
func (e *examination) readTables(ctx context.Context) bool {
	for _, t := range []struct {
		name               Name
		standard, variable string
		want               func(string) *dynamodb.CreateTableInput
	}{
		{e.in.Outbox, schema.OutboxTable, schema.OutboxTableEnv, outboxdb.Table},
		{e.in.Receipts, schema.ReceiptsTable, schema.ReceiptsTableEnv, routingdb.ReceiptsTable},
		{e.in.Control, schema.ControlTable, schema.ControlTableEnv, routingdb.ControlTable},
	} {
		if t.name.Err != nil {
			e.add(Finding{Bad, "table " + t.standard, t.name.Err.Error(), "name the stack that Landfall is in"})
			continue
		}
		name, subject := t.name.Value, "table "+t.name.Value
		out, err := read(ctx, e.tables.DescribeTable, &dynamodb.DescribeTableInput{TableName: &name})
		var missing *types.ResourceNotFoundException
		switch {
		case errors.As(err, &missing):
			e.add(Finding{Bad, subject, "it does not exist here", "deploy the stack, or say where it is with " + t.variable + ", --stack, --region or --endpoint-url"})
		case err != nil && codeOf(err) == "":
			e.add(Finding{Bad, "endpoint", Plain(err), CheckEndpoint})
			return false
		case denied(err):
			e.add(Finding{Warning, subject, "you may not dynamodb:DescribeTable: its settings are unknown", "ask for the permission"})
		case err != nil:
			e.add(Finding{Bad, subject, Plain(err), "fix this error first"})
		default:
			if s := out.Table.StreamSpecification; t.want(name).StreamSpecification != nil && s != nil && aws.ToBool(s.StreamEnabled) {
				e.stream = aws.ToString(out.Table.LatestStreamArn) // a table whose stream is off still has the last one's
			}
			e.readTable(ctx, subject, out.Table, t.want(name))
		}
	}
	return true
}

// readTable examines a table that exists.
func (e *examination) readTable(ctx context.Context, subject string, has *types.TableDescription, want *dynamodb.CreateTableInput) {
	r := &report{subject: subject}
	table(r, has, want)
	out, err := read(ctx, e.tables.DescribeTimeToLive, &dynamodb.DescribeTimeToLiveInput{TableName: want.TableName})
	if err != nil {
		r.warn("its time to live: "+Plain(err), "check that you may dynamodb:DescribeTimeToLive")
	} else {
		timeToLive(r, out.TimeToLiveDescription, e.in.Local)
	}
	e.add(r.orOK("its keys, index, stream and time to live are right")...)
}

// table examines a table's state, keys, indexes and stream.
func table(r *report, has *types.TableDescription, want *dynamodb.CreateTableInput) {
	if s := has.TableStatus; s != types.TableStatusActive && s != types.TableStatusUpdating {
		r.bad("it is "+string(s), "wait until it is ACTIVE")
	}
	if got, must := keysOf(has.KeySchema, has.AttributeDefinitions), keysOf(want.KeySchema, want.AttributeDefinitions); got != must {
		r.bad("its key is "+got+", not "+must, "a table's key cannot be changed: create a new table, as the stack does, and move the rows")
	}
	for _, i := range want.GlobalSecondaryIndexes {
		index(r, has, i, keysOf(i.KeySchema, want.AttributeDefinitions))
	}
	s := want.StreamSpecification
	if s == nil {
		return
	}
	switch got := has.StreamSpecification; {
	case got == nil || !aws.ToBool(got.StreamEnabled):
		r.warn("it has no stream: new rows wait for the sweep, up to a minute", "turn the stream on, with "+string(s.StreamViewType))
	case got.StreamViewType != s.StreamViewType && got.StreamViewType != types.StreamViewTypeNewAndOldImages:
		r.bad("its stream has "+string(got.StreamViewType)+", not "+string(s.StreamViewType)+": the fast path sees no rows", "turn the stream off, and on again with "+string(s.StreamViewType))
	}
}

func index(r *report, table *types.TableDescription, want types.GlobalSecondaryIndex, keys string) {
	name := aws.ToString(want.IndexName)
	i := slices.IndexFunc(table.GlobalSecondaryIndexes, func(g types.GlobalSecondaryIndexDescription) bool { return aws.ToString(g.IndexName) == name })
	if i < 0 {
		r.bad("it has no index "+name+": the sweep finds no rows", "add it: "+keys+", "+string(want.Projection.ProjectionType))
		return
	}
	const again = "delete the index, and add it again"
	got := table.GlobalSecondaryIndexes[i]
	if s := got.IndexStatus; s != types.IndexStatusActive && s != types.IndexStatusUpdating {
		r.bad("its index "+name+" is "+string(s), "wait until it is ACTIVE")
	}
	if has := keysOf(got.KeySchema, table.AttributeDefinitions); has != keys {
		r.bad("the key of its index "+name+" is "+has+", not "+keys, again)
	}
	if p := got.Projection; p == nil || p.ProjectionType != want.Projection.ProjectionType {
		r.warn("its index "+name+" projects more than keys: every claim pays for it", again)
	}
}

// keysOf writes a key as "pk (S), sk (S)".
func keysOf(keys []types.KeySchemaElement, attributes []types.AttributeDefinition) string {
	var parts []string
	for _, k := range keys {
		kind := types.ScalarAttributeType("?")
		for _, a := range attributes {
			if aws.ToString(a.AttributeName) == aws.ToString(k.AttributeName) {
				kind = a.AttributeType
			}
		}
		parts = append(parts, fmt.Sprintf("%s (%s)", aws.ToString(k.AttributeName), kind))
	}
	return strings.Join(parts, ", ")
}

// timeToLive examines how items expire. On a local AWS it may be off, for nothing is kept there.
func timeToLive(r *report, has *types.TimeToLiveDescription, local bool) {
	const remedy = "turn its time to live on, for the attribute " + schema.ExpiresAt
	on := has != nil && (has.TimeToLiveStatus == types.TimeToLiveStatusEnabled || has.TimeToLiveStatus == types.TimeToLiveStatusEnabling)
	switch {
	case on && aws.ToString(has.AttributeName) != schema.ExpiresAt:
		r.bad("its time to live is on for the attribute "+aws.ToString(has.AttributeName)+": items expire at the wrong time, or never", remedy)
	case !on && !local:
		r.warn("its time to live is off: it grows forever", remedy)
	}
}
