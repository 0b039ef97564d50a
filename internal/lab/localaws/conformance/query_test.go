package conformance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
)

// query makes the parameters of a query.
func query(table, condition string, values Item) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{TableName: &table, KeyConditionExpression: &condition, ExpressionAttributeValues: values}
}

// all reads every page; between is called after each.
func all(t *testing.T, c *dynamodb.Client, in *dynamodb.QueryInput, between func(last Item)) []Item {
	t.Helper()
	var items []Item
	for {
		out, err := c.Query(t.Context(), in)
		if err != nil {
			t.Fatalf("query: %v", err)
		}
		items = append(items, out.Items...)
		if out.LastEvaluatedKey == nil {
			return items
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
		if between != nil {
			between(out.LastEvaluatedKey)
		}
	}
}

// texts are the values of a string or number attribute.
func texts(items []Item, name string) []string {
	list := []string{}
	for _, it := range items {
		switch v := it[name].(type) {
		case *types.AttributeValueMemberS:
			list = append(list, v.Value)
		case *types.AttributeValueMemberN:
			list = append(list, v.Value)
		}
	}
	return list
}

func TestSortKeysAreReturnedInOrder(t *testing.T) {
	t.Parallel()
	c := Client()
	for kind, sorted := range map[string][]any{
		"S": {"A", "B", "a", "aa", "b", "é", "\uffff", "😀"},
		"N": {N("-1e20"), N("-10"), N("-9.5"), N("-0.001"), N("0"), N("1e-100"), N("0.5"), N("9"), N("10"), N("123456789012345678901234567890")},
		"B": {[]byte{0}, []byte{0, 0}, []byte{0, 1}, []byte{1}, []byte{0x7f}, []byte{0x80}, []byte{0xff}, []byte{0xff, 0}},
	} {
		table := Table(t, c, Schema{Key: "pk sk:" + kind})
		for i, n := range rand.New(rand.NewPCG(1, uint64(len(kind)))).Perm(len(sorted)) {
			put(t, c, table, Of("pk", "p", "sk", sorted[n], "rank", n), Of("pk", fmt.Sprint("other", i), "sk", sorted[n]))
		}
		ranks := func(condition string, values Item, down bool) string {
			in := query(table, "pk = :p"+condition, values)
			values[":p"] = Value("p")
			in.ScanIndexForward, in.Limit = aws.Bool(!down), aws.Int32(3)
			return strings.Join(texts(all(t, c, in, nil), "rank"), "")
		}
		whole := "0123456789"[:len(sorted)]
		for _, tc := range []struct {
			condition string
			values    Item
			down      bool
			want      string
		}{
			{"", Item{}, false, whole},
			{"", Item{}, true, reverse(whole)},
			{" AND sk = :v", Of(":v", sorted[3]), false, "3"},
			{" AND sk < :v", Of(":v", sorted[3]), false, whole[:3]},
			{" AND sk <= :v", Of(":v", sorted[3]), true, reverse(whole[:4])},
			{" AND sk > :v", Of(":v", sorted[3]), false, whole[4:]},
			{" AND sk >= :v", Of(":v", sorted[3]), true, reverse(whole[3:])},
			{" AND sk BETWEEN :v AND :w", Of(":v", sorted[2], ":w", sorted[5]), false, whole[2:6]},
			{" AND sk BETWEEN :v AND :w", Of(":v", sorted[2], ":w", sorted[5]), true, reverse(whole[2:6])},
		} {
			if got := ranks(tc.condition, tc.values, tc.down); got != tc.want {
				t.Errorf("%s%s (down: %t): %s, want %s", kind, tc.condition, tc.down, got, tc.want)
			}
		}
		switch kind {
		case "S":
			if got := ranks(" AND begins_with(sk, :v)", Of(":v", "a"), false); got != "23" {
				t.Errorf("begins with a: %s", got)
			}
		case "B":
			if got := ranks(" AND begins_with(sk, :v)", Of(":v", []byte{0xff}), true); got != "76" {
				t.Errorf("begins with ff: %s", got)
			}
		}
	}
}

func reverse(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

func TestPagingOverTiedSortKeysReadsEachItemOnceWhileItemsChange(t *testing.T) {
	t.Parallel()
	c := Client()
	table := Table(t, c, Schema{Key: "pk", Indexes: []string{"lane=lane at:N KEYS_ONLY"}})
	for i := range 60 {
		put(t, c, table, Of("pk", fmt.Sprint("row", i), "lane", "due", "at", i/20))
	}
	for _, forward := range []bool{true, false} {
		in := query(table, "lane = :l", Of(":l", "due"))
		in.IndexName, in.Limit, in.ScanIndexForward = aws.String("lane"), aws.Int32(7), &forward
		page := 0
		got := texts(all(t, c, in, func(last Item) {
			page++
			// What was read leaves the index and comes back elsewhere; the very item that the page ended with goes.
			if _, err := c.UpdateItem(t.Context(), update(table, Of("pk", texts([]Item{last}, "pk")[0]), "SET v = :v REMOVE lane", Of(":v", page))); err != nil {
				t.Fatal(err)
			}
			put(t, c, table, Of("pk", fmt.Sprint("elsewhere", page), "lane", "other", "at", page))
		}), "pk")
		left := 60
		if !forward {
			left = 60 - 8 // those that the first pass took out
		}
		slices.Sort(got)
		if len(got) != left || len(slices.Compact(got)) != left {
			t.Errorf("forward %t: %d rows, want each of %d once", forward, len(got), left)
		}
	}
}

func TestIndexHasOnlyItemsWithItsKey(t *testing.T) {
	t.Parallel()
	c := Client()
	table := Table(t, c, Schema{Key: "pk", Indexes: []string{"keys=g due:N KEYS_ONLY", "some=g INCLUDE:v", "whole=g ALL"}})
	in := func(index string) Item {
		q := query(table, "g = :g", Of(":g", "x"))
		q.IndexName = &index
		items := all(t, c, q, nil)
		if len(items) > 1 {
			t.Errorf("%s has %d entries", index, len(items))
		}
		if len(items) == 0 {
			return nil
		}
		return items[0]
	}
	expect := func(when string, keys, some, whole Item) {
		t.Helper()
		for index, want := range map[string]Item{"keys": keys, "some": some, "whole": whole} {
			if diff := cmp.Diff(want, in(index), sameItem); diff != "" {
				t.Errorf("%s, %s: %s", when, index, diff)
			}
		}
	}
	change := func(expression string, values Item) {
		t.Helper()
		if _, err := c.UpdateItem(t.Context(), update(table, Of("pk", "p"), expression, values)); err != nil {
			t.Fatal(err)
		}
	}
	put(t, c, table, Of("pk", "p", "g", "x", "v", 1, "w", 2))
	expect("without sort key", nil, Of("pk", "p", "g", "x", "v", 1), Of("pk", "p", "g", "x", "v", 1, "w", 2))
	change("SET due = :n", Of(":n", 5))
	expect("with sort key", Of("pk", "p", "g", "x", "due", 5), Of("pk", "p", "g", "x", "v", 1), Of("pk", "p", "g", "x", "v", 1, "w", 2, "due", 5))
	change("SET v = :n REMOVE due", Of(":n", 7))
	expect("sort key removed", nil, Of("pk", "p", "g", "x", "v", 7), Of("pk", "p", "g", "x", "v", 7, "w", 2))
	change("REMOVE g", nil)
	expect("hash key removed", nil, nil, nil)
	put(t, c, table, Of("pk", "p", "g", "x", "due", 1))
	expect("put again", Of("pk", "p", "g", "x", "due", 1), Of("pk", "p", "g", "x"), Of("pk", "p", "g", "x", "due", 1))
	if _, err := c.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &table, Key: Of("pk", "p")}); err != nil {
		t.Fatal(err)
	}
	expect("deleted", nil, nil, nil)
}

func TestFilterAndLimitCountWhatWasRead(t *testing.T) {
	t.Parallel()
	c := Client()
	table := Table(t, c, Schema{Key: "pk sk:N"})
	for i := range 10 {
		put(t, c, table, Of("pk", "p", "sk", i, "even", i%2 == 0))
	}
	in := query(table, "pk = :p", Of(":p", "p", ":t", true))
	in.FilterExpression, in.Limit = aws.String("even = :t"), aws.Int32(5)
	out, err := c.Query(t.Context(), in)
	if err != nil || out.Count != 3 || out.ScannedCount != 5 || cmp.Diff(Of("pk", "p", "sk", 4), out.LastEvaluatedKey, sameItem) != "" {
		t.Errorf("%+v, %v", out, err)
	}
	in.Select, in.Limit = types.SelectCount, nil
	if out, err = c.Query(t.Context(), in); err != nil || out.Count != 5 || out.ScannedCount != 10 || out.Items != nil || out.LastEvaluatedKey != nil {
		t.Errorf("count: %+v, %v", out, err)
	}
}

func TestPageEndsWithTheItemThatExceeds1MB(t *testing.T) {
	t.Parallel()
	c := Client()
	table := Table(t, c, Schema{Key: "pk sk:N"})
	for i := range 5 {
		put(t, c, table, Of("pk", "p", "sk", i, "v", strings.Repeat("v", 300<<10)))
	}
	in := query(table, "pk = :p", Of(":p", "p", ":v", "nothing"))
	in.FilterExpression = aws.String("v = :v") // what it drops was read all the same
	out, err := c.Query(t.Context(), in)
	if err != nil || out.ScannedCount != 4 || out.Count != 0 || out.LastEvaluatedKey == nil {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestSegmentsOfAScanAreDisjointAndComplete(t *testing.T) {
	t.Parallel()
	c := Client()
	table := Table(t, c, Schema{Key: "pk"})
	for i := range 50 {
		put(t, c, table, Of("pk", fmt.Sprint("row", i)))
	}
	for _, total := range []int32{1, 2, 7} {
		var got []string
		for segment := range total {
			in := &dynamodb.ScanInput{TableName: &table, Segment: &segment, TotalSegments: &total, Limit: aws.Int32(3)}
			for p := dynamodb.NewScanPaginator(c, in); p.HasMorePages(); {
				out, err := p.NextPage(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, texts(out.Items, "pk")...)
			}
		}
		slices.Sort(got)
		if len(got) != 50 || len(slices.Compact(got)) != 50 {
			t.Errorf("%d segments: %d rows", total, len(got))
		}
	}
}

func TestBadQueryIsRefused(t *testing.T) {
	t.Parallel()
	c := Client()
	table := Table(t, c, Schema{Key: "pk sk:N", Indexes: []string{"byg=g due:N KEYS_ONLY"}})
	put(t, c, table, Of("pk", "p", "sk", 1, "g", "x", "due", 1), Of("pk", "p", "sk", 2), Of("pk", "q", "sk", 1))
	with := func(condition string, values Item, change func(*dynamodb.QueryInput)) func(context.Context) error {
		return func(ctx context.Context) error {
			in := query(table, condition, values)
			if change != nil {
				change(in)
			}
			_, err := c.Query(ctx, in)
			return err
		}
	}
	p, g := Of(":p", "p"), Of(":g", "x")
	index := func(change func(*dynamodb.QueryInput)) func(context.Context) error {
		return with("g = :g", g, func(in *dynamodb.QueryInput) { in.IndexName = aws.String("byg"); change(in) })
	}
	start := func(key Item) func(*dynamodb.QueryInput) {
		return func(in *dynamodb.QueryInput) { in.ExclusiveStartKey = key }
	}
	for name, do := range map[string]func(context.Context) error{
		"no hash key":              with("sk = :p", Of(":p", 1), nil),
		"hash key not equal":       with("pk > :p", p, nil),
		"hash key of other type":   with("pk = :p", Of(":p", 1), nil),
		"sort key of other type":   with("pk = :p AND sk = :p", p, nil),
		"begins with a number":     with("pk = :p AND begins_with(sk, :n)", Of(":p", "p", ":n", 1), nil),
		"two sort key conditions":  with("pk = :p AND sk > :n AND sk < :m", Of(":p", "p", ":n", 1, ":m", 2), nil),
		"or":                       with("pk = :p OR sk = :n", Of(":p", "p", ":n", 1), nil),
		"between backwards":        with("pk = :p AND sk BETWEEN :n AND :m", Of(":p", "p", ":n", 2, ":m", 1), nil),
		"unknown index":            with("pk = :p", p, func(in *dynamodb.QueryInput) { in.IndexName = aws.String("nope") }),
		"filter on the key":        with("pk = :p", p, func(in *dynamodb.QueryInput) { in.FilterExpression = aws.String("sk = :p") }),
		"consistent index":         index(func(in *dynamodb.QueryInput) { in.ConsistentRead = aws.Bool(true) }),
		"all of a keys-only index": index(func(in *dynamodb.QueryInput) { in.Select = types.SelectAllAttributes }),
		"start key of the table":   index(start(Of("pk", "p", "sk", 1))),
		"start key elsewhere":      with("pk = :p", p, start(Of("pk", "q", "sk", 1))),
		"start key outside":        with("pk = :p AND sk > :n", Of(":p", "p", ":n", 1), start(Of("pk", "p", "sk", 0))),
		"start key of other type":  with("pk = :p", p, start(Of("pk", "p", "sk", "1"))),
		"start key incomplete":     with("pk = :p", p, start(Of("pk", "p"))),
		"projection of nothing":    with("pk = :p", p, func(in *dynamodb.QueryInput) { in.Select = types.SelectSpecificAttributes }),
	} {
		if got := code(do(t.Context())); got != "ValidationException" {
			t.Errorf("%s: %q, want ValidationException", name, got)
		}
	}
}
