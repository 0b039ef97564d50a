package conformance

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
)

func transactPut(table string, it Item) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{TableName: &table, Item: it}}
}

func transactUpdate(table string, key Item, expression string, values Item) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{TableName: &table, Key: key, UpdateExpression: &expression, ExpressionAttributeValues: values}}
}

func reasons(t *testing.T, err error) []string {
	t.Helper()
	var cancelled *types.TransactionCanceledException
	if !errors.As(err, &cancelled) {
		t.Fatalf("not cancelled: %v", err)
	}
	var codes []string
	for _, r := range cancelled.CancellationReasons {
		codes = append(codes, aws.ToString(r.Code))
	}
	return codes
}

func TestTransactionIsDoneWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	c := Client()
	table := Table(t, c, Schema{Key: "pk", Indexes: []string{"byg=g ALL"}})
	put(t, c, table, Of("pk", "a", "n", 1), Of("pk", "b", "n", 1))
	_, err := c.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		transactUpdate(table, Of("pk", "a"), "SET n = :n", Of(":n", 2)),
		transactPut(table, Of("pk", "c")),
		{Delete: &types.Delete{TableName: &table, Key: Of("pk", "b"), ConditionExpression: aws.String("n = :n"), ExpressionAttributeValues: Of(":n", 9),
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld}},
		{ConditionCheck: &types.ConditionCheck{TableName: &table, Key: Of("pk", "d"), ConditionExpression: aws.String("attribute_exists(pk)")}},
		transactUpdate(table, Of("pk", "e"), "SET g = :n", Of(":n", 2)),
	}})
	if diff := cmp.Diff([]string{"None", "None", "ConditionalCheckFailed", "ConditionalCheckFailed", "ValidationError"}, reasons(t, err)); diff != "" {
		t.Error(diff)
	}
	var cancelled *types.TransactionCanceledException
	if errors.As(err, &cancelled); cmp.Diff(Of("pk", "b", "n", 1), cancelled.CancellationReasons[2].Item, sameItem) != "" || cancelled.CancellationReasons[3].Item != nil {
		t.Errorf("items in the reasons: %+v", cancelled.CancellationReasons)
	}
	for key, want := range map[string]Item{"a": Of("pk", "a", "n", 1), "b": Of("pk", "b", "n", 1), "c": nil, "e": nil} {
		if diff := cmp.Diff(want, get(t, c, table, Of("pk", key)), sameItem); diff != "" {
			t.Errorf("%s: %s", key, diff)
		}
	}
}

func TestRepeatedTokenRunsTheTransactionOnce(t *testing.T) {
	t.Parallel()
	c := Client()
	table := Table(t, c, Schema{Key: "pk"})
	put(t, c, table, Of("pk", "a", "n", 1))
	in := &dynamodb.TransactWriteItemsInput{
		ClientRequestToken: aws.String(fmt.Sprint("token", tables.Add(1))),
		TransactItems:      []types.TransactWriteItem{transactUpdate(table, Of("pk", "a"), "SET n = n + :one, m = :two", Of(":one", 1, ":two", 2))},
	}
	for range 3 {
		if _, err := c.TransactWriteItems(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(Of("pk", "a", "n", 2, "m", 2), get(t, c, table, Of("pk", "a")), sameItem); diff != "" {
		t.Error(diff)
	}
	in.TransactItems[0].Update.ExpressionAttributeValues[":one"] = Value(5)
	var mismatch *types.IdempotentParameterMismatchException
	if _, err := c.TransactWriteItems(t.Context(), in); !errors.As(err, &mismatch) {
		t.Errorf("other items under the same token: %v", err)
	}
}

func TestTransactionBeyondTheLimitsIsRefused(t *testing.T) {
	t.Parallel()
	c := Client()
	table := Table(t, c, Schema{Key: "pk"})
	many := func(n int, size int) []types.TransactWriteItem {
		var list []types.TransactWriteItem
		for i := range n {
			list = append(list, transactPut(table, Of("pk", fmt.Sprint(i), "v", strings.Repeat("v", size))))
		}
		return list
	}
	for name, tc := range map[string]struct {
		items []types.TransactWriteItem
		want  string
	}{
		"100 items":    {many(100, 1), ""},
		"101 items":    {many(101, 1), "ValidationException"},
		"4 MB":         {many(11, 390<<10), "ValidationException"},
		"twice":        {append(many(1, 1), transactUpdate(table, Of("pk", "0"), "REMOVE v", nil)), "ValidationException"},
		"nowhere":      {[]types.TransactWriteItem{transactPut("landfall-nowhere", Of("pk", "a"))}, "ResourceNotFoundException"},
		"bad key":      {[]types.TransactWriteItem{transactPut(table, Of("nope", "a"))}, "TransactionCanceledException"},
		"bad syntax":   {[]types.TransactWriteItem{transactUpdate(table, Of("pk", "a"), "SET", nil)}, "ValidationException"},
		"two in one":   {[]types.TransactWriteItem{{Put: many(1, 1)[0].Put, Delete: &types.Delete{TableName: &table, Key: Of("pk", "x")}}}, "ValidationException"},
		"none in one":  {[]types.TransactWriteItem{{}}, "ValidationException"},
		"no condition": {[]types.TransactWriteItem{{ConditionCheck: &types.ConditionCheck{TableName: &table, Key: Of("pk", "a"), ConditionExpression: aws.String("")}}}, "ValidationException"},
	} {
		_, err := c.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: tc.items})
		if got := code(err); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func TestTransactGetReadsAllOrNothing(t *testing.T) {
	t.Parallel()
	c := Client()
	table := Table(t, c, Schema{Key: "pk"})
	put(t, c, table, Of("pk", "a", "n", 1), Of("pk", "b", "n", 2))
	read := func(keys ...Item) (*dynamodb.TransactGetItemsOutput, error) {
		in := &dynamodb.TransactGetItemsInput{}
		for _, k := range keys {
			in.TransactItems = append(in.TransactItems, types.TransactGetItem{Get: &types.Get{TableName: &table, Key: k, ProjectionExpression: aws.String("n")}})
		}
		return c.TransactGetItems(t.Context(), in)
	}
	out, err := read(Of("pk", "b"), Of("pk", "nope"), Of("pk", "a"))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []Item{Of("n", 2), nil, Of("n", 1)} {
		if diff := cmp.Diff(want, out.Responses[i].Item, sameItem); diff != "" {
			t.Errorf("%d: %s", i, diff)
		}
	}
	_, err = read(Of("pk", "a"), Of("nope", "b"))
	if diff := cmp.Diff([]string{"None", "ValidationError"}, reasons(t, err)); diff != "" {
		t.Error(diff)
	}
	if _, err = read(Of("pk", "a"), Of("pk", "a")); code(err) != "ValidationException" {
		t.Errorf("an item twice: %v", err)
	}
}
