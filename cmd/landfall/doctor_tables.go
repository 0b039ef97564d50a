package main

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

// tables compares the tables with those that the desk makes. It reports whether DynamoDB answers at all.
func (e *examination) tables(ctx context.Context, client *dynamodb.Client) bool {
	for _, t := range []struct {
		named
		want func(string) *dynamodb.CreateTableInput
	}{
		{outboxName, outboxdb.Table}, {receiptsName, routingdb.ReceiptsTable}, {controlName, routingdb.ControlTable},
	} {
		name, err := e.at.name(t.named)
		if err != nil {
			e.bad("table "+t.standard, err.Error(), "name the stack that Landfall is in")
			continue
		}
		if !e.table(ctx, client, t.named, t.want(name)) {
			return false
		}
	}
	return true
}

func (e *examination) table(ctx context.Context, client *dynamodb.Client, as named, want *dynamodb.CreateTableInput) (answers bool) {
	before, name := len(e.findings), aws.ToString(want.TableName)
	subject := "table " + name
	out, err := look(ctx, client.DescribeTable, &dynamodb.DescribeTableInput{TableName: &name})
	var missing *types.ResourceNotFoundException
	switch code := codeOf(err); {
	case errors.As(err, &missing):
		e.bad(subject, "there is none of that name here", "deploy the stack; or set "+as.variable+", --stack, --region or --endpoint-url to where it is")
		return true
	case err != nil && code == "":
		e.bad("endpoint", err.Error(), seeEndpoint)
		return false
	case slices.Contains(denied, code):
		e.warn(subject, "you may not dynamodb:DescribeTable: what it is like is not known", "ask for it")
		return true
	case err != nil:
		e.bad(subject, err.Error(), "mend that first")
		return true
	}
	const anew = "no table can be changed so: make a new one, as the stack does, and move the rows"
	if s := out.Table.TableStatus; s != types.TableStatusActive && s != types.TableStatusUpdating {
		e.bad(subject, "it is "+string(s), "wait until it is ACTIVE")
	}
	has := keysOf(out.Table.KeySchema, out.Table.AttributeDefinitions)
	if must := keysOf(want.KeySchema, want.AttributeDefinitions); has != must {
		e.bad(subject, "its key is "+has+", not "+must, anew)
	}
	for _, index := range want.GlobalSecondaryIndexes {
		e.index(subject, out.Table, index, keysOf(index.KeySchema, want.AttributeDefinitions))
	}
	if s := want.StreamSpecification; s != nil {
		got := out.Table.StreamSpecification
		on := got != nil && aws.ToBool(got.StreamEnabled)
		if on { // a table whose stream is off still has the ARN of the last one
			e.stream = aws.ToString(out.Table.LatestStreamArn)
		}
		switch {
		case !on:
			e.warn(subject, "it has no stream: new rows wait for the sweep, up to a minute", "turn the stream on, with "+string(s.StreamViewType))
		case got.StreamViewType != s.StreamViewType && got.StreamViewType != types.StreamViewTypeNewAndOldImages:
			e.bad(subject, "its stream has "+string(got.StreamViewType)+", not "+string(s.StreamViewType)+": the fast path sees no row", "turn it off, and on again with "+string(s.StreamViewType))
		}
	}
	e.expiry(ctx, client, subject, name)
	e.sound(before, subject, "its keys are as they must be, and all that goes with it")
	return true
}

func (e *examination) index(subject string, table *types.TableDescription, want types.GlobalSecondaryIndex, keys string) {
	name := aws.ToString(want.IndexName)
	i := slices.IndexFunc(table.GlobalSecondaryIndexes, func(g types.GlobalSecondaryIndexDescription) bool { return aws.ToString(g.IndexName) == name })
	if i < 0 {
		e.bad(subject, "it has no index "+name+": no row is found that is due", "add it: "+keys+", "+string(want.Projection.ProjectionType))
		return
	}
	got := table.GlobalSecondaryIndexes[i]
	if s := got.IndexStatus; s != types.IndexStatusActive && s != types.IndexStatusUpdating {
		e.bad(subject, "its index "+name+" is "+string(s), "wait until it is ACTIVE")
	}
	const anew = "delete the index, and add it anew"
	if has := keysOf(got.KeySchema, table.AttributeDefinitions); has != keys {
		e.bad(subject, "the key of its index "+name+" is "+has+", not "+keys, anew)
	}
	if p := got.Projection; p == nil || p.ProjectionType != want.Projection.ProjectionType {
		e.warn(subject, "its index "+name+" has more than keys: every claim pays for it", anew)
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

// expiry examines the time to live.
func (e *examination) expiry(ctx context.Context, client *dynamodb.Client, subject, name string) {
	out, err := look(ctx, client.DescribeTimeToLive, &dynamodb.DescribeTimeToLiveInput{TableName: &name})
	if err != nil {
		e.warn(subject, "its time to live: "+err.Error(), "see that you may dynamodb:DescribeTimeToLive")
		return
	}
	const remedy = "turn its time to live on, for the attribute " + schema.ExpiresAt
	got := out.TimeToLiveDescription
	on := got != nil && (got.TimeToLiveStatus == types.TimeToLiveStatusEnabled || got.TimeToLiveStatus == types.TimeToLiveStatusEnabling)
	switch {
	case on && aws.ToString(got.AttributeName) != schema.ExpiresAt:
		e.bad(subject, "its time to live is that of the attribute "+aws.ToString(got.AttributeName)+": items go at a time that is not theirs, or never", remedy)
	case !on && !e.local: // on a machine nothing is kept anyway
		e.warn(subject, "its time to live is off: it grows for ever", remedy)
	}
}
