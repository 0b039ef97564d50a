package conformance

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// expected is a condition on a value, in the form that expressions have replaced.
func expected(op types.ComparisonOperator, values ...any) types.ExpectedAttributeValue {
	e := types.ExpectedAttributeValue{ComparisonOperator: op}
	for _, v := range values {
		e.AttributeValueList = append(e.AttributeValueList, Value(v))
	}
	return e
}

func TestOlderConditionsHoldForWhatTheySay(t *testing.T) {
	t.Parallel()
	c := Client()
	table := Table(t, c, Schema{Key: "pk"})
	put(t, c, table, Of("pk", "p", "n", 5, "s", "hello", "tags", SS{"a", "b"}))
	type conditions = map[string]types.ExpectedAttributeValue
	for name, tc := range map[string]struct {
		expected conditions
		operator types.ConditionalOperator
		want     string // error; empty if the condition holds
	}{
		"value":                  {expected: conditions{"n": {Value: Value(5)}}},
		"another value":          {expected: conditions{"n": {Value: Value(6)}}, want: "ConditionalCheckFailedException"},
		"there":                  {expected: conditions{"n": {Value: Value(5), Exists: aws.Bool(true)}}},
		"absent":                 {expected: conditions{"none": {Exists: aws.Bool(false)}}},
		"not absent":             {expected: conditions{"n": {Exists: aws.Bool(false)}}, want: "ConditionalCheckFailedException"},
		"EQ":                     {expected: conditions{"s": expected("EQ", "hello")}},
		"NE":                     {expected: conditions{"s": expected("NE", "hello")}, want: "ConditionalCheckFailedException"},
		"LT":                     {expected: conditions{"n": expected("LT", 5)}, want: "ConditionalCheckFailedException"},
		"LE":                     {expected: conditions{"n": expected("LE", 5)}},
		"GT":                     {expected: conditions{"n": expected("GT", 5)}, want: "ConditionalCheckFailedException"},
		"GE":                     {expected: conditions{"n": expected("GE", 5)}},
		"BETWEEN":                {expected: conditions{"n": expected("BETWEEN", 1, 5)}},
		"IN":                     {expected: conditions{"n": expected("IN", 1, 5)}},
		"not IN":                 {expected: conditions{"n": expected("IN", 1, 6)}, want: "ConditionalCheckFailedException"},
		"BEGINS_WITH":            {expected: conditions{"s": expected("BEGINS_WITH", "he")}},
		"CONTAINS of text":       {expected: conditions{"s": expected("CONTAINS", "ell")}},
		"CONTAINS of set":        {expected: conditions{"tags": expected("CONTAINS", "b")}},
		"NOT_CONTAINS":           {expected: conditions{"tags": expected("NOT_CONTAINS", "b")}, want: "ConditionalCheckFailedException"},
		"NULL":                   {expected: conditions{"n": expected("NULL")}, want: "ConditionalCheckFailedException"},
		"NOT_NULL":               {expected: conditions{"n": expected("NOT_NULL")}},
		"all":                    {expected: conditions{"n": expected("EQ", 5), "s": expected("EQ", "x")}, want: "ConditionalCheckFailedException"},
		"all, said so":           {expected: conditions{"n": expected("EQ", 5), "s": expected("EQ", "x")}, operator: "AND", want: "ConditionalCheckFailedException"},
		"any":                    {expected: conditions{"n": expected("EQ", 5), "s": expected("EQ", "x")}, operator: "OR"},
		"no value":               {expected: conditions{"n": {Exists: aws.Bool(true)}}, want: "ValidationException"},
		"value, absent":          {expected: conditions{"n": {Exists: aws.Bool(false), Value: Value(5)}}, want: "ValidationException"},
		"too many values":        {expected: conditions{"n": expected("EQ", 5, 6)}, want: "ValidationException"},
		"too few values":         {expected: conditions{"n": expected("BETWEEN", 5)}, want: "ValidationException"},
		"no values":              {expected: conditions{"n": expected("IN")}, want: "ValidationException"},
		"unknown operator":       {expected: conditions{"n": expected("LIKE", 5)}, want: "ValidationException"},
		"operator without terms": {operator: "OR", want: "ValidationException"},
		"operator with one term": {expected: conditions{"n": expected("EQ", 5)}, operator: "OR", want: "ValidationException"},
	} {
		_, err := c.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Expected: tc.expected, ConditionalOperator: tc.operator,
			Item: Of("pk", "p", "n", 5, "s", "hello", "tags", SS{"a", "b"})})
		if got := code(err); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	_, err := c.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &table, Key: Of("pk", "p"), Expected: conditions{"n": {Value: Value(5)}},
		ConditionExpression: aws.String("attribute_exists(pk)")})
	if code(err) != "ValidationException" {
		t.Errorf("both forms at once: %v", err)
	}
	if _, err := c.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &table, Key: Of("pk", "p"), Expected: conditions{"n": {Value: Value(5)}}}); err != nil {
		t.Errorf("delete: %v", err)
	}
}

func TestOlderUpdatesDoWhatTheySay(t *testing.T) {
	t.Parallel()
	c := Client()
	table := Table(t, c, Schema{Key: "pk"})
	put(t, c, table, Of("pk", "p", "n", 5, "l", []any{1}, "gone", "x", "more", SS{"a"}, "less", SS{"a", "b"}))
	change := func(action types.AttributeAction, v any) types.AttributeValueUpdate {
		return types.AttributeValueUpdate{Action: action, Value: Value(v)}
	}
	out, err := c.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{TableName: &table, Key: Of("pk", "p"), ReturnValues: types.ReturnValueAllNew,
		AttributeUpdates: map[string]types.AttributeValueUpdate{
			"put": change("PUT", "new"), "default": {Value: Value("put")}, "n": change("ADD", 2), "fresh": change("ADD", 1),
			"l": change("ADD", []any{2}), "new": change("ADD", []any{3}),
			"gone": {Action: types.AttributeActionDelete}, "more": change("ADD", SS{"b"}), "less": change("DELETE", SS{"a"}),
		}})
	if err != nil {
		t.Fatal(err)
	}
	want := Of("pk", "p", "put", "new", "default", "put", "n", 7, "fresh", 1, "l", []any{1, 2}, "new", []any{3}, "more", SS{"a", "b"}, "less", SS{"b"})
	if diff := cmp.Diff(want, out.Attributes, cmpopts.IgnoreUnexported(types.AttributeValueMemberS{}, types.AttributeValueMemberN{}, types.AttributeValueMemberL{}, types.AttributeValueMemberSS{})); diff != "" {
		t.Error(diff)
	}
	for name, bad := range map[string]map[string]types.AttributeValueUpdate{
		"key": {"pk": change("PUT", "q")}, "ADD of text": {"n": change("ADD", "x")}, "ADD of a list to a number": {"n": change("ADD", []any{1})}, "DELETE of a number": {"n": change("DELETE", 1)},
		"PUT of nothing": {"n": {Action: types.AttributeActionPut}}, "unknown action": {"n": change("SET", 1)}, "ADD of a number to a set": {"more": change("ADD", 1)},
	} {
		_, err := c.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{TableName: &table, Key: Of("pk", "p"), AttributeUpdates: bad})
		if code(err) != "ValidationException" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOlderReadsFindWhatTheyAskFor(t *testing.T) {
	t.Parallel()
	c := Client()
	table := Table(t, c, Schema{Key: "pk sk:N", Indexes: []string{"lane=lane KEYS_ONLY"}})
	for i := range 5 {
		put(t, c, table, Of("pk", "p", "sk", i, "v", i, "lane", "due"))
	}
	condition := func(op types.ComparisonOperator, values ...any) types.Condition {
		return types.Condition{ComparisonOperator: op, AttributeValueList: expected(op, values...).AttributeValueList}
	}
	type conditions = map[string]types.Condition
	hash := condition("EQ", "p")
	for name, tc := range map[string]struct {
		in   dynamodb.QueryInput
		want string // sort keys, or an error
	}{
		"hash":          {dynamodb.QueryInput{KeyConditions: conditions{"pk": hash}}, "0 1 2 3 4"},
		"hash, sort":    {dynamodb.QueryInput{KeyConditions: conditions{"pk": hash, "sk": condition("BETWEEN", 1, 3)}}, "1 2 3"},
		"index":         {dynamodb.QueryInput{IndexName: aws.String("lane"), KeyConditions: conditions{"lane": condition("EQ", "due")}}, "0 1 2 3 4"},
		"filter":        {dynamodb.QueryInput{KeyConditions: conditions{"pk": hash}, QueryFilter: conditions{"v": condition("GT", 2)}}, "3 4"},
		"either filter": {dynamodb.QueryInput{KeyConditions: conditions{"pk": hash}, QueryFilter: conditions{"v": condition("GT", 3), "none": condition("NOT_NULL")}, ConditionalOperator: "OR"}, "4"},
		"attributes":    {dynamodb.QueryInput{KeyConditions: conditions{"pk": hash, "sk": condition("LT", 2)}, AttributesToGet: []string{"sk"}, Select: types.SelectSpecificAttributes}, "0 1"},
		"no hash":       {dynamodb.QueryInput{KeyConditions: conditions{"sk": condition("EQ", 1)}}, "ValidationException"},
		"hash by range": {dynamodb.QueryInput{KeyConditions: conditions{"pk": condition("GT", "a")}}, "ValidationException"},
		"no key":        {dynamodb.QueryInput{KeyConditions: conditions{"pk": hash, "v": condition("EQ", 1)}}, "ValidationException"},
		"NE":            {dynamodb.QueryInput{KeyConditions: conditions{"pk": hash, "sk": condition("NE", 1)}}, "ValidationException"},
		"filter by key": {dynamodb.QueryInput{KeyConditions: conditions{"pk": hash}, QueryFilter: conditions{"sk": condition("GT", 2)}}, "ValidationException"},
		"not projected": {dynamodb.QueryInput{IndexName: aws.String("lane"), KeyConditions: conditions{"lane": condition("EQ", "due")}, AttributesToGet: []string{"v"}}, "ValidationException"},
		"and count":     {dynamodb.QueryInput{KeyConditions: conditions{"pk": hash}, AttributesToGet: []string{"v"}, Select: types.SelectCount}, "ValidationException"},
		"twice":         {dynamodb.QueryInput{KeyConditions: conditions{"pk": hash}, AttributesToGet: []string{"v", "v"}}, "ValidationException"},
		"newer filter":  {dynamodb.QueryInput{KeyConditions: conditions{"pk": hash}, FilterExpression: aws.String("attribute_exists(v)")}, "0 1 2 3 4"},
		"both forms":    {dynamodb.QueryInput{KeyConditions: conditions{"pk": hash}, KeyConditionExpression: aws.String("attribute_exists(v)")}, "ValidationException"},
	} {
		tc.in.TableName = &table
		out, err := c.Query(t.Context(), &tc.in)
		got := code(err)
		if err == nil {
			found := texts(out.Items, "sk")
			slices.Sort(found)
			got = strings.Join(found, " ")
		}
		if got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
	scan, err := c.Scan(t.Context(), &dynamodb.ScanInput{TableName: &table, AttributesToGet: []string{"v"},
		ScanFilter: conditions{"v": condition("GE", 3), "sk": condition("IN", 0, 3)}})
	if err != nil || len(scan.Items) != 1 || len(scan.Items[0]) != 1 || scan.ScannedCount != 5 {
		t.Errorf("scan: %v, %v", scan, err)
	}
	got, err := c.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &table, Key: Of("pk", "p", "sk", 1), AttributesToGet: []string{"v", "none"}})
	if err != nil || len(got.Item) != 1 {
		t.Errorf("get: %v, %v", got, err)
	}
	batch, err := c.BatchGetItem(t.Context(), &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
		table: {Keys: []Item{Of("pk", "p", "sk", 1)}, AttributesToGet: []string{"v"}}}})
	if err != nil || len(batch.Responses[table]) != 1 || len(batch.Responses[table][0]) != 1 {
		t.Errorf("batch: %v, %v", batch, err)
	}
}
