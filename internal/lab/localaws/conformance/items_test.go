package conformance

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var sameItem = cmp.Options{cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(
	types.AttributeValueMemberS{}, types.AttributeValueMemberN{}, types.AttributeValueMemberB{}, types.AttributeValueMemberBOOL{}, types.AttributeValueMemberNULL{},
	types.AttributeValueMemberL{}, types.AttributeValueMemberM{}, types.AttributeValueMemberSS{}, types.AttributeValueMemberNS{}, types.AttributeValueMemberBS{}),
	cmpopts.SortSlices(func(a, b string) bool { return a < b })}

func put(t *testing.T, c *dynamodb.Client, table string, items ...Item) {
	t.Helper()
	for _, it := range items {
		if _, err := c.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: it}); err != nil {
			t.Fatalf("put: %v", err)
		}
	}
}

func get(t *testing.T, c *dynamodb.Client, table string, key Item) Item {
	t.Helper()
	out, err := c.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &table, Key: key, ConsistentRead: aws.Bool(true)})
	if err != nil {
		t.Fatalf("get: %v", err)
	}
	return out.Item
}

// code is the type of a service's error; empty if there is none.
func code(err error) string {
	var e smithy.APIError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.ErrorCode()
	}
	return err.Error()
}

func update(table string, key Item, expression string, values Item) *dynamodb.UpdateItemInput {
	return &dynamodb.UpdateItemInput{TableName: &table, Key: key, UpdateExpression: &expression, ExpressionAttributeValues: values}
}

func TestItemComesBackAsItWasPut(t *testing.T) {
	t.Parallel()
	c := Client()
	table := Table(t, c, Schema{Key: "pk sk:N"})
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	it := Of("pk", "a", "sk", N("-12.5"), "s", "ü \x00 \u2028 😀", "empty", "", "b", all, "t", true, "null", nil, "l", []any{"a", 1, []any{}, Item{}},
		"m", Of("x", Of("y", "z")), "ss", SS{"b", "a"}, "ns", NS{"10", "9", "-1"}, "n", N("99999999999999999999999999999999999999"), "tiny", N("-0.000000000000000000000000000000000001"))
	put(t, c, table, it)
	if diff := cmp.Diff(it, get(t, c, table, Of("pk", "a", "sk", N("-12.50"))), sameItem); diff != "" {
		t.Error(diff)
	}
	if got := get(t, c, table, Of("pk", "a", "sk", 0)); got != nil {
		t.Errorf("an item that does not exist: %v", got)
	}
}

func TestEqualNumbersHaveOneForm(t *testing.T) {
	t.Parallel()
	c := Client()
	table := Table(t, c, Schema{Key: "pk:N"})
	put(t, c, table, Of("pk", N("1.50E1"), "v", N("0.10")), Of("pk", N("015"), "w", N("1e3")))
	if diff := cmp.Diff(Of("pk", 15, "w", 1000), get(t, c, table, Of("pk", N("15.000"))), sameItem); diff != "" {
		t.Error(diff)
	}
}

func TestRefusedWriteChangesNothingAndShowsTheItem(t *testing.T) {
	t.Parallel()
	c := Client()
	table := Table(t, c, Schema{Key: "pk"})
	key, old := Of("pk", "a"), Of("pk", "a", "v", 1, "w", "kept")
	put(t, c, table, old)
	condition := aws.String("v = :two")
	two, all := Of(":two", 2), types.ReturnValuesOnConditionCheckFailureAllOld
	for name, write := range map[string]func() error{
		"put": func() error {
			_, err := c.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: key, ConditionExpression: condition, ExpressionAttributeValues: two, ReturnValuesOnConditionCheckFailure: all})
			return err
		},
		"update": func() error {
			in := update(table, key, "SET v = :two REMOVE w", two)
			in.ConditionExpression, in.ReturnValuesOnConditionCheckFailure = condition, all
			_, err := c.UpdateItem(t.Context(), in)
			return err
		},
		"delete": func() error {
			_, err := c.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &table, Key: key, ConditionExpression: condition, ExpressionAttributeValues: two, ReturnValuesOnConditionCheckFailure: all})
			return err
		},
	} {
		var failed *types.ConditionalCheckFailedException
		if err := write(); !errors.As(err, &failed) {
			t.Errorf("%s: %v", name, err)
		} else if diff := cmp.Diff(old, failed.Item, sameItem); diff != "" {
			t.Errorf("%s shows another item: %s", name, diff)
		}
		if diff := cmp.Diff(old, get(t, c, table, key), sameItem); diff != "" {
			t.Errorf("%s changed the item: %s", name, diff)
		}
	}
	in := update(table, Of("pk", "new"), "SET v = :two", two)
	in.ConditionExpression, in.ReturnValuesOnConditionCheckFailure = aws.String("attribute_exists(pk)"), all
	var failed *types.ConditionalCheckFailedException
	if _, err := c.UpdateItem(t.Context(), in); !errors.As(err, &failed) || failed.Item != nil {
		t.Errorf("an item that does not exist: %v", err)
	}
	if got := get(t, c, table, Of("pk", "new")); got != nil {
		t.Errorf("a refused update made %v", got)
	}
}

func TestReturnedValuesAreOfTheMomentAskedFor(t *testing.T) {
	t.Parallel()
	c := Client()
	table := Table(t, c, Schema{Key: "pk"})
	old := Of("pk", "a", "n", 1, "d", Of("x", 1, "y", 2), "l", []any{"p", "q", "r", "s"}, "gone", true)
	for _, tc := range []struct {
		values types.ReturnValue
		want   Item
	}{
		{types.ReturnValueNone, nil},
		{types.ReturnValueAllOld, old},
		{types.ReturnValueAllNew, Of("pk", "a", "n", 2, "d", Of("x", 5, "y", 2), "l", []any{"p", 5, "s"}, "new", 5)},
		{types.ReturnValueUpdatedOld, Of("n", 1, "d", Of("x", 1), "l", []any{"q", "r"}, "gone", true)},
		{types.ReturnValueUpdatedNew, Of("n", 2, "d", Of("x", 5), "l", []any{5}, "new", 5)},
	} {
		put(t, c, table, old)
		in := update(table, Of("pk", "a"), "SET n = n + :one, d.x = :five, l[1] = :five, #new = :five REMOVE gone, l[2]", Of(":one", 1, ":five", 5))
		in.ReturnValues, in.ExpressionAttributeNames = tc.values, map[string]string{"#new": "new"}
		out, err := c.UpdateItem(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, out.Attributes, sameItem); diff != "" {
			t.Errorf("%s: %s", tc.values, diff)
		}
	}
	in := update(table, Of("pk", "a"), "REMOVE gone, #new", nil)
	in.ReturnValues, in.ExpressionAttributeNames = types.ReturnValueUpdatedNew, map[string]string{"#new": "new"}
	if out, err := c.UpdateItem(t.Context(), in); err != nil || len(out.Attributes) != 0 {
		t.Errorf("what was removed is new: %v, %v", out, err)
	}
	replaced, err := c.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: Of("pk", "a", "v", 9), ReturnValues: types.ReturnValueAllOld})
	if err != nil || replaced.Attributes["l"] == nil {
		t.Errorf("put: %v, %v", replaced, err)
	}
	deleted, err := c.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &table, Key: Of("pk", "a"), ReturnValues: types.ReturnValueAllOld})
	if err != nil || cmp.Diff(Of("pk", "a", "v", 9), deleted.Attributes, sameItem) != "" {
		t.Errorf("delete: %v, %v", deleted, err)
	}
	made, err := c.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{TableName: &table, Key: Of("pk", "made"), ReturnValues: types.ReturnValueAllNew})
	if err != nil || cmp.Diff(Of("pk", "made"), made.Attributes, sameItem) != "" {
		t.Errorf("update without expression: %v, %v", made, err)
	}
}

func TestBadRequestIsRefused(t *testing.T) {
	t.Parallel()
	c := Client()
	table := Table(t, c, Schema{Key: "pk sk:N", Indexes: []string{"byg=g KEYS_ONLY"}})
	put(t, c, table, Of("pk", "a", "sk", 1, "s", "text"))
	key := Of("pk", "a", "sk", 1)
	deep := any("x")
	for range 33 {
		deep = []any{deep}
	}
	putItem := func(it Item) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := c.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: it})
			return err
		}
	}
	getItem := func(key Item) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := c.GetItem(ctx, &dynamodb.GetItemInput{TableName: &table, Key: key})
			return err
		}
	}
	updateItem := func(expression string, values Item) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := c.UpdateItem(ctx, update(table, key, expression, values))
			return err
		}
	}
	for name, do := range map[string]func(context.Context) error{
		"put without sort key":                   putItem(Of("pk", "a")),
		"put with key of another type":           putItem(Of("pk", "a", "sk", "1")),
		"put with empty key":                     putItem(Of("pk", "", "sk", 1)),
		"put with key over 2048 bytes":           putItem(Of("pk", strings.Repeat("k", 2049), "sk", 1)),
		"put with index key of another type":     putItem(Of("pk", "a", "sk", 1, "g", 1)),
		"put with empty index key":               putItem(Of("pk", "a", "sk", 1, "g", "")),
		"put over 400 KB":                        putItem(Of("pk", "a", "sk", 1, "v", strings.Repeat("v", 400<<10))),
		"put with 33 levels":                     putItem(Of("pk", "a", "sk", 1, "v", deep)),
		"put of an empty set":                    putItem(Of("pk", "a", "sk", 1, "v", SS{})),
		"put of a set with duplicates":           putItem(Of("pk", "a", "sk", 1, "v", NS{"1", "1.0"})),
		"put of a number with 39 digits":         putItem(Of("pk", "a", "sk", 1, "v", N("123456789012345678901234567890123456789"))),
		"put of a number that is too large":      putItem(Of("pk", "a", "sk", 1, "v", N("1e126"))),
		"put of text as a number":                putItem(Of("pk", "a", "sk", 1, "v", N("one"))),
		"get without sort key":                   getItem(Of("pk", "a")),
		"get with more than the key":             getItem(Of("pk", "a", "sk", 1, "v", 1)),
		"get with key of another type":           getItem(Of("pk", 1, "sk", 1)),
		"update of the key":                      updateItem("SET sk = :v", Of(":v", 2)),
		"update of an index key, another type":   updateItem("SET g = :v", Of(":v", 2)),
		"update over 400 KB":                     updateItem("SET v = :v", Of(":v", strings.Repeat("v", 400<<10))),
		"update of a number with text":           updateItem("SET v = s + :v", Of(":v", 2)),
		"update of a path that is not there":     updateItem("SET nope.v = :v", Of(":v", 2)),
		"update from what is not there":          updateItem("SET v = nope", nil),
		"update with overlapping paths":          updateItem("SET v = :v, v.w = :v", Of(":v", 2)),
		"update with an unused value":            updateItem("SET v = :v", Of(":v", 2, ":w", 3)),
		"update with an undefined value":         updateItem("SET v = :v", nil),
		"update with a reserved word":            updateItem("SET status = :v", Of(":v", 2)),
		"update with an expression over 4096":    updateItem("SET v = :v"+strings.Repeat(" ", 4096), Of(":v", 2)),
		"update of a set with members of others": updateItem("ADD s :v", Of(":v", SS{"a"})),
	} {
		if got := code(do(t.Context())); got != "ValidationException" {
			t.Errorf("%s: %q, want ValidationException", name, got)
		}
	}
	if diff := cmp.Diff(Of("pk", "a", "sk", 1, "s", "text"), get(t, c, table, key), sameItem); diff != "" {
		t.Errorf("a refused write changed the item: %s", diff)
	}
	_, err := c.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("landfall-nowhere"), Key: key})
	if got := code(err); got != "ResourceNotFoundException" {
		t.Errorf("get from nowhere: %q", got)
	}
	_, err = c.CreateTable(t.Context(), &dynamodb.CreateTableInput{TableName: &table, BillingMode: types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS}}})
	if got := code(err); got != "ResourceInUseException" {
		t.Errorf("the same table again: %q", got)
	}
}

func TestItemOfExactly400KBIsAccepted(t *testing.T) {
	t.Parallel()
	c := Client()
	table := Table(t, c, Schema{Key: "pk"})
	put(t, c, table, Of("pk", "a", "v", strings.Repeat("v", 400<<10-len("pk")-len("a")-len("v"))))
}

func TestBatchReadsAndWritesEachItemOnce(t *testing.T) {
	t.Parallel()
	c := Client()
	table := Table(t, c, Schema{Key: "pk"})
	var writes []types.WriteRequest
	keys := make([]Item, 25)
	for i := range keys {
		keys[i] = Of("pk", string(rune('a'+i)))
		writes = append(writes, types.WriteRequest{PutRequest: &types.PutRequest{Item: keys[i]}})
	}
	requests := map[string][]types.WriteRequest{table: writes}
	out, err := c.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: requests})
	if err != nil || len(out.UnprocessedItems) != 0 {
		t.Fatalf("%v, %v", out, err)
	}
	got, err := c.BatchGetItem(t.Context(), &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{table: {Keys: append(keys[:10:10], Of("pk", "nope"))}}})
	if err != nil || len(got.Responses[table]) != 10 || len(got.UnprocessedKeys) != 0 {
		t.Errorf("%v, %v", got, err)
	}
	requests[table] = append(writes, types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: Of("pk", "26")}})
	if _, err := c.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: requests}); code(err) != "ValidationException" {
		t.Errorf("26 writes: %v", err)
	}
	requests[table] = []types.WriteRequest{writes[0], {DeleteRequest: &types.DeleteRequest{Key: keys[0]}}}
	if _, err := c.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: requests}); code(err) != "ValidationException" {
		t.Errorf("an item twice: %v", err)
	}
	if got := get(t, c, table, keys[0]); got == nil {
		t.Error("a refused batch deleted an item")
	}
}
