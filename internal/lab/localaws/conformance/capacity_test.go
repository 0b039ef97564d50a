package conformance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
)

// sized is an item of exactly so many bytes: pk, the given attributes, and one that fills it up.
func sized(bytes int, pairs ...any) Item {
	rest := bytes - len("fill")
	for i := 0; i < len(pairs); i += 2 {
		rest -= len(pairs[i].(string)) + len(fmt.Sprint(pairs[i+1]))
	}
	return Of(append(pairs, "fill", strings.Repeat("f", rest))...)
}

// sizedN is sized with a sort key of one digit, which is 1 byte, or 2 if it is not zero.
func sizedN(bytes, sk int, pairs ...any) Item {
	it := sized(bytes-len("sk")-1-min(sk, 1), pairs...)
	it["sk"] = Value(sk)
	return it
}

// units shows a consumption: the table's units and those of each index.
func units(c *types.ConsumedCapacity) string {
	if c == nil {
		return "none"
	}
	text := fmt.Sprint(aws.ToFloat64(c.CapacityUnits))
	if c.Table != nil {
		text += fmt.Sprint(" table ", aws.ToFloat64(c.Table.CapacityUnits))
	}
	for _, name := range []string{"all", "lane"} {
		if ix, ok := c.GlobalSecondaryIndexes[name]; ok {
			text += fmt.Sprint(" ", name, " ", aws.ToFloat64(ix.CapacityUnits))
		}
	}
	return text
}

const asked = types.ReturnConsumedCapacityIndexes

// The vectors with 3,017 and 1,517 bytes were measured on AWS; the others follow from the published rules.
func TestWriteConsumesThePublishedUnits(t *testing.T) {
	t.Parallel()
	c := Client()
	table := Table(t, c, Schema{Key: "pk", Indexes: []string{"all=g ALL", "lane=lane KEYS_ONLY"}})
	putItem := func(it Item) *types.ConsumedCapacity {
		out, err := c.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: it, ReturnConsumedCapacity: asked})
		if err != nil {
			t.Fatal(err)
		}
		return out.ConsumedCapacity
	}
	updateItem := func(expression string, values Item) *types.ConsumedCapacity {
		in := update(table, Of("pk", "p"), expression, values)
		in.ReturnConsumedCapacity = asked
		out, err := c.UpdateItem(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		return out.ConsumedCapacity
	}
	transact := func(expression string, values Item) *types.ConsumedCapacity {
		out, err := c.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{ReturnConsumedCapacity: asked,
			TransactItems: []types.TransactWriteItem{transactUpdate(table, Of("pk", "p"), expression, values)}})
		if err != nil {
			t.Fatal(err)
		}
		if len(out.ConsumedCapacity) == 0 {
			return nil
		}
		return &out.ConsumedCapacity[0]
	}
	remove := func() *types.ConsumedCapacity {
		out, err := c.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &table, Key: Of("pk", "p"), ReturnConsumedCapacity: asked})
		if err != nil {
			t.Fatal(err)
		}
		return out.ConsumedCapacity
	}
	for _, step := range []struct {
		what string
		do   func() *types.ConsumedCapacity
		want string
	}{
		{"delete of nothing", remove, "1 table 1"},
		{"put of 1,024 bytes", func() *types.ConsumedCapacity { return putItem(sized(1024, "pk", "p")) }, "1 table 1"},
		{"the same again", func() *types.ConsumedCapacity { return putItem(sized(1024, "pk", "p")) }, "1 table 1"},
		{"put of 1,025 bytes", func() *types.ConsumedCapacity { return putItem(sized(1025, "pk", "p")) }, "2 table 2"},
		{"put of less over 1,025 bytes", func() *types.ConsumedCapacity { return putItem(Of("pk", "p")) }, "2 table 2"},
		{"entry of 3,017 bytes comes", func() *types.ConsumedCapacity { return putItem(sized(3017, "pk", "p", "g", "x")) }, "6 table 3 all 3"},
		{"nothing of it changes", func() *types.ConsumedCapacity { return putItem(sized(3017, "pk", "p", "g", "x")) }, "3 table 3"},
		{"an attribute of the entry changes", func() *types.ConsumedCapacity { return updateItem("SET fill = :v", Of(":v", "short")) }, "6 table 3 all 3"},
		{"back to 3,017 bytes", func() *types.ConsumedCapacity { return putItem(sized(3017, "pk", "p", "g", "x")) }, "6 table 3 all 3"},
		{"entry of 3,017 bytes goes", func() *types.ConsumedCapacity { return updateItem("REMOVE g", nil) }, "6 table 3 all 3"},
		{"entry of 1,517 bytes comes", func() *types.ConsumedCapacity { return putItem(sized(1517, "pk", "p", "g", "x")) }, "5 table 3 all 2"},
		{"entry of 1,517 bytes moves", func() *types.ConsumedCapacity { return updateItem("SET g = :v", Of(":v", "y")) }, "6 table 2 all 4"},
		{"it moves in a transaction", func() *types.ConsumedCapacity { return transact("SET g = :v", Of(":v", "z")) }, "8 table 4 all 4"},
		{"key of the small entry comes", func() *types.ConsumedCapacity { return updateItem("SET lane = :v REMOVE g", Of(":v", "due")) }, "5 table 2 all 2 lane 1"},
		{"an attribute that it lacks changes", func() *types.ConsumedCapacity { return updateItem("SET n = :v", Of(":v", 1)) }, "2 table 2"},
		{"in a transaction, too", func() *types.ConsumedCapacity { return transact("SET n = :v", Of(":v", 2)) }, "4 table 4"},
		{"small entry moves in a transaction", func() *types.ConsumedCapacity { return transact("SET lane = :v", Of(":v", "failed")) }, "6 table 4 lane 2"},
		{"delete", remove, "3 table 2 lane 1"},
	} {
		if got := units(step.do()); got != step.want {
			t.Errorf("%s: %s, want %s", step.what, got, step.want)
		}
	}
}

func TestReadConsumesThePublishedUnits(t *testing.T) {
	t.Parallel()
	c := Client()
	table := Table(t, c, Schema{Key: "pk sk:N", Indexes: []string{"all=g ALL", "lane=lane KEYS_ONLY"}})
	put(t, c, table, sizedN(4096, 1, "pk", "p", "g", "x", "lane", "due"), sizedN(4097, 1, "pk", "q"))
	for i := range 3 {
		put(t, c, table, sizedN(3000, i, "pk", "r"))
	}
	getItem := func(key Item, consistent bool) string {
		out, err := c.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &table, Key: key, ConsistentRead: &consistent, ReturnConsumedCapacity: asked})
		if err != nil {
			t.Fatal(err)
		}
		return units(out.ConsumedCapacity)
	}
	queried := func(index, condition string, values Item, consistent bool) string {
		in := query(table, condition, values)
		in.ConsistentRead, in.ReturnConsumedCapacity = &consistent, asked
		if index != "" {
			in.IndexName = &index
		}
		out, err := c.Query(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		return units(out.ConsumedCapacity)
	}
	transact := func(keys ...Item) string {
		in := &dynamodb.TransactGetItemsInput{ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal}
		for _, k := range keys {
			in.TransactItems = append(in.TransactItems, types.TransactGetItem{Get: &types.Get{TableName: &table, Key: k}})
		}
		out, err := c.TransactGetItems(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		if len(out.ConsumedCapacity) == 0 {
			return units(nil)
		}
		return units(&out.ConsumedCapacity[0])
	}
	batch := func(consistent bool) string {
		out, err := c.BatchGetItem(t.Context(), &dynamodb.BatchGetItemInput{ReturnConsumedCapacity: asked, RequestItems: map[string]types.KeysAndAttributes{
			table: {ConsistentRead: &consistent, Keys: []Item{Of("pk", "p", "sk", 1), Of("pk", "q", "sk", 1), Of("pk", "nope", "sk", 1)}}}})
		if err != nil {
			t.Fatal(err)
		}
		if len(out.ConsumedCapacity) == 0 {
			return units(nil)
		}
		return units(&out.ConsumedCapacity[0])
	}
	got := map[string]string{
		"batch":                      batch(false),
		"batch, consistent":          batch(true),
		"missing":                    getItem(Of("pk", "nope", "sk", 1), false),
		"missing, consistent":        getItem(Of("pk", "nope", "sk", 1), true),
		"4,096 bytes":                getItem(Of("pk", "p", "sk", 1), true),
		"4,097 bytes":                getItem(Of("pk", "q", "sk", 1), true),
		"4,097 bytes, eventual":      getItem(Of("pk", "q", "sk", 1), false),
		"transaction":                transact(Of("pk", "p", "sk", 1), Of("pk", "q", "sk", 1), Of("pk", "nope", "sk", 1)),
		"query of nothing":           queried("", "pk = :p", Of(":p", "nope"), false),
		"query of nothing, index":    queried("lane", "lane = :p", Of(":p", "nope"), false),
		"query of 3 x 3,000":         queried("", "pk = :p", Of(":p", "r"), false),
		"query of 3 x 3,000, strong": queried("", "pk = :p", Of(":p", "r"), true),
		"query of an index":          queried("all", "g = :p", Of(":p", "x"), false),
		"query of a small index":     queried("lane", "lane = :p", Of(":p", "due"), false),
	}
	want := map[string]string{
		"batch": "2 table 2", "batch, consistent": "4 table 4",
		"missing": "0.5 table 0.5", "missing, consistent": "1 table 1", "4,096 bytes": "1 table 1", "4,097 bytes": "2 table 2", "4,097 bytes, eventual": "1 table 1",
		"transaction": "8", "query of nothing": "0.5 table 0.5", "query of nothing, index": "0.5 table 0 lane 0.5", "query of 3 x 3,000": "1.5 table 1.5",
		"query of 3 x 3,000, strong": "3 table 3", "query of an index": "0.5 table 0 all 0.5", "query of a small index": "0.5 table 0 lane 0.5",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// As measured on AWS: a repeated token reads what its writes were charged for.
func TestReplayConsumesTheReadUnitsOfItsItems(t *testing.T) {
	t.Parallel()
	c := Client()
	table := Table(t, c, Schema{Key: "pk"})
	large := sized(9000, "pk", "p")
	for _, tc := range []struct {
		name   string
		before Item
		write  types.TransactWriteItem
		want   string // first, repeated
	}{
		{"put", nil, types.TransactWriteItem{Put: &types.Put{TableName: &table, Item: sized(1500, "pk", "p")}}, "4 table 4, 2 table 2"},
		{"shrink", large, types.TransactWriteItem{Put: &types.Put{TableName: &table, Item: Of("pk", "p")}}, "18 table 18, 6 table 6"},
		{"delete", large, types.TransactWriteItem{Delete: &types.Delete{TableName: &table, Key: Of("pk", "p")}}, "18 table 18, 6 table 6"},
		{"check", large, types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{TableName: &table, Key: Of("pk", "p"), ConditionExpression: aws.String("attribute_exists(pk)")}},
			"18 table 18, 6 table 6"},
	} {
		if tc.before != nil {
			put(t, c, table, tc.before)
		}
		in := &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{tc.write}, ClientRequestToken: aws.String(table[len(table)-8:] + tc.name), ReturnConsumedCapacity: asked}
		var got []string
		for range 2 {
			out, err := c.TransactWriteItems(t.Context(), in)
			if err != nil || len(out.ConsumedCapacity) != 1 {
				t.Fatalf("%s: %v, %v", tc.name, out, err)
			}
			got = append(got, units(&out.ConsumedCapacity[0]))
		}
		if got := strings.Join(got, ", "); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}
