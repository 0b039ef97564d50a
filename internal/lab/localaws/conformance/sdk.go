// Package conformance holds tests of the behaviour of DynamoDB, its streams and SQS that any endpoint can be put to: the one
// in this module, or the one that LANDFALL_ENDPOINT names. The package itself is only what those tests, and others, say requests with.
package conformance

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/lab/localaws"
)

// Item is an item, or a key.
type Item = map[string]types.AttributeValue

// N, SS and NS are a number and sets, as Of takes them.
type (
	N  string
	SS []string
	NS []string
)

// Of makes an item of names and values: string, int, N, []byte, bool, nil, []any, Item, SS or NS.
func Of(pairs ...any) Item {
	item := Item{}
	for i := 0; i < len(pairs); i += 2 {
		item[pairs[i].(string)] = Value(pairs[i+1])
	}
	return item
}

// Value makes one value, see Of.
func Value(v any) types.AttributeValue {
	switch v := v.(type) {
	case string:
		return &types.AttributeValueMemberS{Value: v}
	case int:
		return &types.AttributeValueMemberN{Value: fmt.Sprint(v)}
	case N:
		return &types.AttributeValueMemberN{Value: string(v)}
	case []byte:
		return &types.AttributeValueMemberB{Value: v}
	case bool:
		return &types.AttributeValueMemberBOOL{Value: v}
	case nil:
		return &types.AttributeValueMemberNULL{Value: true}
	case []any:
		list := make([]types.AttributeValue, len(v))
		for i, e := range v {
			list[i] = Value(e)
		}
		return &types.AttributeValueMemberL{Value: list}
	case Item:
		return &types.AttributeValueMemberM{Value: v}
	case SS:
		return &types.AttributeValueMemberSS{Value: v}
	case NS:
		return &types.AttributeValueMemberNS{Value: v}
	}
	panic(fmt.Sprintf("no attribute value of %T", v))
}

// Client talks to the endpoint under test.
func Client() *dynamodb.Client {
	endpoint := os.Getenv("LANDFALL_ENDPOINT")
	if endpoint == "" {
		return dynamodb.NewFromConfig(localaws.New(localaws.Options{}).Config("conformance"))
	}
	return dynamodb.NewFromConfig(aws.Config{Region: localaws.Region, BaseEndpoint: &endpoint,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")})
}

var tables atomic.Int64

// Schema describes a table in short: "pk", "pk sk:N", and indexes as "name=hash sort:N ALL".
type Schema struct {
	Key     string
	Indexes []string
	Stream  types.StreamViewType // empty for none
}

// Table makes a table on demand that is deleted after the test, and returns its name.
func Table(t testing.TB, c *dynamodb.Client, s Schema) string {
	t.Helper()
	name := fmt.Sprintf("landfall-%d-%d", time.Now().UnixNano(), tables.Add(1))
	in := &dynamodb.CreateTableInput{TableName: &name, BillingMode: types.BillingModePayPerRequest}
	if s.Stream != "" {
		in.StreamSpecification = &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: s.Stream}
	}
	defined := map[string]bool{}
	in.KeySchema = keys(in, defined, strings.Fields(s.Key))
	for _, text := range s.Indexes {
		index, rest, _ := strings.Cut(text, "=")
		words := strings.Fields(rest)
		projection := &types.Projection{ProjectionType: types.ProjectionType(words[len(words)-1])}
		if include, ok := strings.CutPrefix(words[len(words)-1], "INCLUDE:"); ok {
			projection = &types.Projection{ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: strings.Split(include, ",")}
		}
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
			IndexName: &index, KeySchema: keys(in, defined, words[:len(words)-1]), Projection: projection})
	}
	if _, err := c.CreateTable(t.Context(), in); err != nil {
		t.Fatalf("create table: %v", err)
	}
	t.Cleanup(func() {
		if _, err := c.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name}); err != nil {
			t.Errorf("delete table: %v", err)
		}
	})
	waiter := dynamodb.NewTableExistsWaiter(c, func(o *dynamodb.TableExistsWaiterOptions) { o.MinDelay = 20 * time.Millisecond })
	if err := waiter.Wait(t.Context(), &dynamodb.DescribeTableInput{TableName: &name}, time.Minute); err != nil {
		t.Fatalf("wait for table: %v", err)
	}
	return name
}

func keys(in *dynamodb.CreateTableInput, defined map[string]bool, words []string) []types.KeySchemaElement {
	kinds := []types.KeyType{types.KeyTypeHash, types.KeyTypeRange}
	var schema []types.KeySchemaElement
	for i, w := range words {
		name, kind, ok := strings.Cut(w, ":")
		if !ok {
			kind = "S"
		}
		schema = append(schema, types.KeySchemaElement{AttributeName: &name, KeyType: kinds[i]})
		if !defined[name] {
			defined[name] = true
			in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: &name, AttributeType: types.ScalarAttributeType(kind)})
		}
	}
	return schema
}
