package localaws_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/landfall-dev/landfall/internal/lab/localaws"
	. "github.com/landfall-dev/landfall/internal/lab/localaws/conformance"
	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/lab/localaws/ledger"
	"github.com/landfall-dev/landfall/internal/lab/loopback"
)

// bundle is an account with a table (pk; index "lane"), and a client that never tries twice.
type bundle struct {
	*localaws.Account
	client *dynamodb.Client
	table  string
	fault  func(faults.Request) faults.Fault // of the requests after setup; nil for none
}

func setup(t *testing.T, o localaws.Options) *bundle {
	b := &bundle{}
	o.Faults = func(r faults.Request) faults.Fault {
		if b.fault == nil {
			return faults.Fault{}
		}
		return b.fault(r)
	}
	b.Account = localaws.New(o)
	b.client = dynamodb.NewFromConfig(b.Config("test"), func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
	b.table = Table(t, b.client, Schema{Key: "pk", Indexes: []string{"lane=lane due:N KEYS_ONLY"}})
	t.Cleanup(func() { b.fault = nil })
	return b
}

// on is a plan that does a fault to one operation.
func on(operation string, f faults.Fault) func(faults.Request) faults.Fault {
	return func(r faults.Request) faults.Fault {
		if r.Operation == operation {
			return f
		}
		return faults.Fault{}
	}
}

func (b *bundle) put(ctx context.Context, it Item) error {
	_, err := b.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &b.table, Item: it})
	return err
}

func (b *bundle) has(t *testing.T, key string) bool {
	t.Helper()
	out, err := b.client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &b.table, Key: Of("pk", key), ConsistentRead: aws.Bool(true)})
	if err != nil {
		t.Fatal(err)
	}
	return out.Item != nil
}

func (b *bundle) inLane(t *testing.T, lane string) int32 {
	t.Helper()
	out, err := b.client.Query(t.Context(), &dynamodb.QueryInput{TableName: &b.table, IndexName: aws.String("lane"),
		KeyConditionExpression: aws.String("lane = :l"), ExpressionAttributeValues: Of(":l", lane)})
	if err != nil {
		t.Fatal(err)
	}
	return out.Count
}

func (b *bundle) transact(ctx context.Context, token string, key string) error {
	_, err := b.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{ClientRequestToken: &token,
		TransactItems: []types.TransactWriteItem{{Put: &types.Put{TableName: &b.table, Item: Of("pk", key)}}}})
	return err
}

func TestErrorOnDemandReplacesTheWork(t *testing.T) {
	t.Parallel()
	for kind, want := range map[faults.Error]string{
		faults.Throttle: "ThrottlingException", faults.Conflict: "TransactionConflictException",
		faults.Internal: "InternalServerError", faults.Unavailable: "ServiceUnavailableException",
	} {
		b := setup(t, localaws.Options{})
		b.fault = on("PutItem", faults.Fault{Error: kind})
		if err := b.put(t.Context(), Of("pk", "a")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", kind, err, want)
		}
		if b.has(t, "a") {
			t.Errorf("%s: the item was written", kind)
		}
	}
	b := setup(t, localaws.Options{})
	b.fault = on("TransactWriteItems", faults.Fault{Error: faults.Conflict})
	var cancelled *types.TransactionCanceledException
	if err := b.transact(t.Context(), "t", "a"); !errors.As(err, &cancelled) || aws.ToString(cancelled.CancellationReasons[0].Code) != "TransactionConflict" {
		t.Errorf("conflict of a transaction: %v", err)
	}
}

func TestLostAnswerLeavesTheWorkDone(t *testing.T) {
	t.Parallel()
	b := setup(t, localaws.Options{})
	for name, f := range map[string]faults.Fault{"lost": {LoseAnswer: true}, "spoilt": {SpoilAnswer: true}} {
		b.fault = on("PutItem", f)
		if err := b.put(t.Context(), Of("pk", name)); err == nil {
			t.Errorf("%s: there was an answer", name)
		}
		if !b.has(t, name) {
			t.Errorf("%s: the item was not written", name)
		}
	}
}

func TestAnswerIsLostOnTheWireToo(t *testing.T) {
	t.Parallel()
	b := setup(t, localaws.Options{})
	server, err := loopback.Listen("127.0.0.1:0", b)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}()
	cfg := b.Config("wire")
	cfg.HTTPClient, cfg.BaseEndpoint = &http.Client{}, &server.URL
	c := dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
	b.fault = on("PutItem", faults.Fault{LoseAnswer: true})
	if _, err := c.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &b.table, Item: Of("pk", "a")}); !errors.Is(err, io.EOF) {
		t.Errorf("the connection was not cut: %v", err)
	}
	if !b.has(t, "a") {
		t.Error("the item was not written")
	}
}

func TestDelayedWriteHappensAfterItsCallerGaveUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, localaws.Options{})
		b.fault = on("PutItem", faults.Fault{Before: time.Minute})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := b.put(ctx, Of("pk", "late")); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("the caller did not give up: %v", err)
		}
		if b.has(t, "late") {
			t.Fatal("the write landed too early")
		}
		time.Sleep(58*time.Second + 999*time.Millisecond)
		if b.has(t, "late") {
			t.Fatal("the write landed too early")
		}
		time.Sleep(time.Millisecond)
		if !b.has(t, "late") {
			t.Fatal("the write never landed")
		}
	})
}

func TestLatencyIsSpentOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, localaws.Options{})
		b.fault = on("PutItem", faults.Fault{Before: 3 * time.Second, After: 4 * time.Second})
		start := time.Now()
		if err := b.put(t.Context(), Of("pk", "a")); err != nil || time.Since(start) != 7*time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		entries := b.Ledger().Entries()
		if done := entries[len(entries)-1].Time.Sub(start); done != 3*time.Second {
			t.Errorf("the work was done after %s", done)
		}
	})
}

func TestItemsOfATransactionInProgressAreHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, localaws.Options{})
		b.fault = on("TransactWriteItems", faults.Fault{During: time.Second})
		done := make(chan error)
		go func() { done <- b.transact(t.Context(), "token", "a") }()
		synctest.Wait()
		var conflict *types.TransactionConflictException
		if err := b.put(t.Context(), Of("pk", "a")); !errors.As(err, &conflict) {
			t.Errorf("a write during the transaction: %v", err)
		}
		if b.has(t, "a") {
			t.Error("a read sees what is not committed")
		}
		var cancelled *types.TransactionCanceledException
		if err := b.transact(t.Context(), "another", "a"); !errors.As(err, &cancelled) || aws.ToString(cancelled.CancellationReasons[0].Code) != "TransactionConflict" {
			t.Errorf("another transaction: %v", err)
		}
		_, err := b.client.TransactGetItems(t.Context(), &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{{Get: &types.Get{TableName: &b.table, Key: Of("pk", "a")}}}})
		if !errors.As(err, &cancelled) || aws.ToString(cancelled.CancellationReasons[0].Code) != "TransactionConflict" {
			t.Errorf("a reading transaction: %v", err)
		}
		var progress *types.TransactionInProgressException
		if err := b.transact(t.Context(), "token", "a"); !errors.As(err, &progress) {
			t.Errorf("the same token: %v", err)
		}
		if err := b.put(t.Context(), Of("pk", "b")); err != nil {
			t.Errorf("another item: %v", err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if err := b.put(t.Context(), Of("pk", "a")); err != nil {
			t.Errorf("a write after the transaction: %v", err)
		}
		if err := b.transact(t.Context(), "token", "a"); err != nil {
			t.Errorf("the same token after the transaction: %v", err)
		}
	})
}

func TestTokenIsForgottenAfterTenMinutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, localaws.Options{})
		written := func() float64 {
			return b.Ledger().Sum(func(k ledger.Key) bool { return k.Operation == "TransactWriteItems" }).Write
		}
		for _, want := range []float64{2, 2, 4} {
			if err := b.transact(t.Context(), "token", "a"); err != nil || written() != want {
				t.Errorf("%v, %g units written, want %g", err, written(), want)
			}
			time.Sleep(5*time.Minute + time.Second)
		}
		read := b.Ledger().Sum(func(k ledger.Key) bool { return k.Operation == "TransactWriteItems" }).Read
		if read != 2 {
			t.Errorf("the repetition was charged %g read units, want 2", read)
		}
	})
}

func TestUnitsAreCountedForTheirTableAndCaller(t *testing.T) {
	t.Parallel()
	b := setup(t, localaws.Options{})
	other := Table(t, b.client, Schema{Key: "pk"})
	answer := func(method string) (int, string) {
		w := httptest.NewRecorder()
		b.ServeHTTP(w, httptest.NewRequest(method, localaws.LedgerPath, nil))
		return w.Code, strings.NewReplacer(b.table, "<table>", other, "<other>").Replace(w.Body.String())
	}
	if code, body := answer(http.MethodDelete); code != http.StatusNoContent || body != "" {
		t.Fatalf("DELETE: %d %q", code, body)
	}
	both := []types.TransactWriteItem{
		{Put: &types.Put{TableName: &b.table, Item: Of("pk", "a", "lane", "l", "due", 1)}},
		{Put: &types.Put{TableName: &other, Item: Of("pk", "a")}},
	}
	for range 2 {
		if _, err := b.client.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: both}); err != nil {
			t.Fatal(err)
		}
	}
	reader := dynamodb.NewFromConfig(b.Config("reader"))
	if _, err := reader.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &other, Key: Of("pk", "a")}); err != nil {
		t.Fatal(err)
	}
	if _, err := reader.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("none"), Key: Of("pk", "a")}); err == nil {
		t.Fatal("read a table that does not exist")
	}
	want := `[{"caller":"reader","service":"dynamodb","operation":"GetItem","resource":"<other>","requests":1,"units":[{"table":"<other>","read":0.5,"write":0}]},
 {"caller":"reader","service":"dynamodb","operation":"GetItem","resource":"none","error":"ResourceNotFoundException","requests":1},
 {"caller":"test","service":"dynamodb","operation":"TransactWriteItems","resource":"<table>","requests":2,"units":[{"table":"<table>","read":0,"write":4},{"table":"<table>","index":"lane","read":0,"write":1},{"table":"<other>","read":0,"write":4}]}]
`
	code, got := answer(http.MethodGet)
	if code != http.StatusOK || got != want {
		t.Errorf("%d %s", code, cmp.Diff(want, got))
	}
	if code, _ := answer(http.MethodPut); code != http.StatusMethodNotAllowed {
		t.Errorf("PUT: %d", code)
	}
}

func TestStaleIndexShowsExactlyThePast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, localaws.Options{})
		for i := range 4 {
			if err := b.put(t.Context(), Of("pk", fmt.Sprint(i), "lane", "due", "due", i)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		_, err := b.client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &b.table, Key: Of("pk", "0")})
		if err != nil {
			t.Fatal(err)
		}
		for stale, want := range map[time.Duration]int32{0: 3, time.Millisecond: 4, 1500 * time.Millisecond: 3, 3500 * time.Millisecond: 1, 10 * time.Second: 0} {
			b.fault = on("Query", faults.Fault{StaleIndex: stale})
			if got := b.inLane(t, "due"); got != want {
				t.Errorf("%s ago: %d entries, want %d", stale, got, want)
			}
		}
		time.Sleep(faults.MaxStale)
		b.fault = on("Query", faults.Fault{StaleIndex: time.Hour})
		if got := b.inLane(t, "due"); got != 3 {
			t.Errorf("beyond what is remembered: %d entries, want 3", got)
		}
	})
}

func TestUnprocessedEntriesOfABatchAreReturned(t *testing.T) {
	t.Parallel()
	b := setup(t, localaws.Options{})
	var writes []types.WriteRequest
	var keys []Item
	for i := range 5 {
		keys = append(keys, Of("pk", fmt.Sprint(i)))
		writes = append(writes, types.WriteRequest{PutRequest: &types.PutRequest{Item: keys[i]}})
	}
	b.fault = func(faults.Request) faults.Fault { return faults.Fault{Unprocessed: 2} }
	out, err := b.client.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{b.table: writes}})
	if err != nil || len(out.UnprocessedItems[b.table]) != 2 {
		t.Fatalf("%v, %v", out, err)
	}
	b.fault = nil
	for i := range 5 {
		if b.has(t, fmt.Sprint(i)) != (i < 3) {
			t.Errorf("item %d", i)
		}
	}
	if _, err := b.client.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: out.UnprocessedItems}); err != nil {
		t.Fatal(err)
	}
	b.fault = func(faults.Request) faults.Fault { return faults.Fault{Unprocessed: 2} }
	got, err := b.client.BatchGetItem(t.Context(), &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{b.table: {Keys: keys, ConsistentRead: aws.Bool(true)}}})
	if err != nil || len(got.Responses[b.table]) != 3 || len(got.UnprocessedKeys[b.table].Keys) != 2 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestExpiredItemStaysUntilItIsReaped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, localaws.Options{})
		_, err := b.client.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{TableName: &b.table,
			TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("expires"), Enabled: aws.Bool(true)}})
		if err != nil {
			t.Fatal(err)
		}
		now := int(time.Now().Unix())
		for name, expires := range map[string]any{"soon": now + 60, "later": now + 3600, "text": fmt.Sprint(now + 60), "ancient": 1} {
			if err := b.put(t.Context(), Of("pk", name, "expires", expires, "lane", "l", "due", 1)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * time.Minute)
		if !b.has(t, "soon") || b.inLane(t, "l") != 4 {
			t.Error("an expired item is gone before it was reaped")
		}
		if n := b.ReapExpired(); n != 1 || b.has(t, "soon") || !b.has(t, "later") || !b.has(t, "text") || !b.has(t, "ancient") || b.inLane(t, "l") != 3 {
			t.Errorf("%d reaped", n)
		}
	})
}

func TestPartitionThrottlesBeyondItsLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, localaws.Options{PartitionLimits: true})
		big := strings.Repeat("v", 100<<10) // 101 units
		writes := func(key func(i int) Item) (n int) {
			for i := range 15 {
				if err := b.put(t.Context(), key(i)); err != nil {
					if !strings.Contains(err.Error(), "ThrottlingException") {
						t.Fatal(err)
					}
					continue
				}
				n++
			}
			return n
		}
		same := func(int) Item { return Of("pk", "hot", "v", big) }
		if n := writes(same); n != 9 {
			t.Errorf("%d writes of 101 units to one key in a second, want 9", n)
		}
		if n := writes(func(i int) Item { return Of("pk", fmt.Sprint(i), "v", big) }); n != 15 {
			t.Errorf("%d writes to 15 keys, want 15", n)
		}
		time.Sleep(time.Second)
		if n := writes(same); n != 9 {
			t.Errorf("%d writes in the next second, want 9", n)
		}
		time.Sleep(time.Second)
		for i := range 1000 {
			if err := b.put(t.Context(), Of("pk", fmt.Sprint("row", i), "lane", "due", "due", i)); err != nil {
				t.Fatal(err)
			}
		}
		err := b.put(t.Context(), Of("pk", "one more", "lane", "due", "due", 1))
		if err == nil || b.has(t, "one more") {
			t.Errorf("the back-pressure of the index does not throttle the table: %v", err)
		}
		if err := b.put(t.Context(), Of("pk", "due")); err != nil {
			t.Errorf("the partition of the index is taken for one of the table: %v", err)
		}
	})
}

func TestLedgerTellsCallersApartAndCountsRefusals(t *testing.T) {
	t.Parallel()
	b := setup(t, localaws.Options{KeepEntries: 3})
	app := dynamodb.NewFromConfig(b.Config("app"))
	for i := range 5 {
		if err := b.put(t.Context(), Of("pk", "a", "lane", "due", "due", i)); err != nil {
			t.Fatal(err)
		}
	}
	_, err := app.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &b.table, Item: Of("pk", "a", "v", strings.Repeat("v", 3000)), ConditionExpression: aws.String("attribute_not_exists(pk)")})
	if err == nil {
		t.Fatal("the condition held")
	}
	l := b.Ledger()
	byTest := l.Sum(func(k ledger.Key) bool { return k.Caller == "test" && k.Operation == "PutItem" })
	if diff := cmp.Diff(ledger.Sum{Requests: 5, Write: 5, IndexWrite: 1 + 4*2}, byTest); diff != "" {
		t.Error(diff)
	}
	byApp := l.Sum(func(k ledger.Key) bool { return k.Caller == "app" })
	if diff := cmp.Diff(ledger.Sum{Requests: 1, Write: 1}, byApp); diff != "" {
		t.Errorf("a refused write is charged by the item that is there: %s", diff)
	}
	entries := l.Entries()
	last := entries[len(entries)-1]
	if len(entries) != 3 || last.Error != "ConditionalCheckFailedException" || last.Resource != b.table || last.Service != "dynamodb" || last.Faulty {
		t.Errorf("%+v", entries)
	}
	if l.Reset(); len(l.Entries()) != 0 || l.Sum(nil).Requests != 0 {
		t.Error("something is left")
	}
}

func TestCancelledTransactionIsChargedForItsTableOnly(t *testing.T) {
	t.Parallel()
	b := setup(t, localaws.Options{})
	if err := b.put(t.Context(), Of("pk", "a", "v", strings.Repeat("v", 1500))); err != nil {
		t.Fatal(err)
	}
	b.Ledger().Reset()
	_, err := b.client.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Put: &types.Put{TableName: &b.table, Item: Of("pk", "b", "lane", "due", "due", 1)}},
		{Delete: &types.Delete{TableName: &b.table, Key: Of("pk", "a"), ConditionExpression: aws.String("attribute_not_exists(pk)")}},
	}})
	if err == nil {
		t.Fatal("not cancelled")
	}
	if diff := cmp.Diff(ledger.Sum{Requests: 1, Write: 2*1 + 2*2}, b.Ledger().Sum(nil)); diff != "" {
		t.Error(diff)
	}
}

// post sends a request as bytes.
func post(t *testing.T, a *localaws.Account, target, body string) (*http.Response, map[string]any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localaws.invalid/", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Amz-Target", target)
	r.Header.Set("X-Landfall-Caller", "raw")
	res, err := a.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprint(crc32.ChecksumIEEE(raw)); res.Header.Get("X-Amz-Crc32") != want {
		t.Errorf("checksum %s, want %s", res.Header.Get("X-Amz-Crc32"), want)
	}
	var fields map[string]any
	if err := json.NewDecoder(bytes.NewReader(raw)).Decode(&fields); err != nil {
		t.Fatal(err)
	}
	return res, fields
}

func TestMalformedRequestGetsAClearAnswer(t *testing.T) {
	t.Parallel()
	a := localaws.New(localaws.Options{})
	for _, tc := range []struct{ target, body, want string }{
		{"", "{}", "UnknownOperationException"},
		{"DynamoDB_20120810.ExecuteStatement", "{}", "UnknownOperationException"},
		{"Kinesis_20131202.PutRecord", "{}", "UnknownOperationException"},
		{"DynamoDB_20120810.PutItem", "", "SerializationException"},
		{"DynamoDB_20120810.PutItem", "{", "SerializationException"},
		{"DynamoDB_20120810.PutItem", "[]", "SerializationException"},
		{"DynamoDB_20120810.PutItem", `{"TableName":1}`, "SerializationException"},
		{"DynamoDB_20120810.PutItem", `{"TableName":"tab","Item":{"pk":"a"}}`, "SerializationException"},
		{"DynamoDB_20120810.PutItem", `{"TableName":"tab","Item":{"pk":{"S":1}}}`, "SerializationException"},
		{"DynamoDB_20120810.PutItem", `{"TableName":"tab","Item":{"pk":{}}}`, "ValidationException"},
		{"DynamoDB_20120810.PutItem", `{"TableName":"tab"}`, "ValidationException"},
		{"DynamoDB_20120810.PutItem", `{}`, "ValidationException"},
		{"DynamoDB_20120810.PutItem", `{"TableName":"tab","Item":{"pk":{"S":"a"}},"Expected":{"a":{"Exists":true}}}`, "ValidationException"},
		{"DynamoDB_20120810.Query", `{"TableName":"tab","KeyConditions":{}}`, "ValidationException"},
		{"DynamoDB_20120810.TransactWriteItems", `{"TransactItems":[null]}`, "ValidationException"},
		{"DynamoDB_20120810.BatchWriteItem", `{"RequestItems":{"tab":[null]}}`, "ValidationException"},
		{"DynamoDB_20120810.BatchGetItem", `{"RequestItems":{"tab":null}}`, "ValidationException"},
		{"DynamoDB_20120810.TransactGetItems", `{"TransactItems":[{"Get":null}]}`, "ValidationException"},
		{"DynamoDB_20120810.CreateTable", `{"TableName":"tab","KeySchema":[],"AttributeDefinitions":[]}`, "ValidationException"},
		{"DynamoDB_20120810.CreateTable", `null`, "ValidationException"},
		{"DynamoDB_20120810.DescribeTable", `{"TableName":"tab"}`, "ResourceNotFoundException"},
	} {
		res, fields := post(t, a, tc.target, tc.body)
		if got := fmt.Sprint(fields["__type"]); res.StatusCode != 400 || !strings.HasSuffix(got, "#"+tc.want) || fields["message"] == "" {
			t.Errorf("%s %s: %d %v, want %s", tc.target, tc.body, res.StatusCode, fields, tc.want)
		}
	}
	if n := a.Ledger().Sum(func(k ledger.Key) bool { return k.Caller == "raw" && k.Error != "" }).Requests; n != 20 {
		t.Errorf("%d refused requests in the ledger, want 20", n)
	}
}

func FuzzRequestIsAlwaysAnswered(f *testing.F) {
	operations := []string{"PutItem", "UpdateItem", "DeleteItem", "GetItem", "Query", "Scan", "TransactWriteItems", "TransactGetItems", "BatchWriteItem", "BatchGetItem",
		"CreateTable", "DescribeTable", "ListTables", "UpdateTimeToLive", "DescribeTimeToLive", "DeleteTable", "UpdateTable", "TagResource", "UntagResource", "ListTagsOfResource"}
	key := `"TableName":"tab","Key":{"pk":{"S":"a"}}`
	for i, body := range []string{
		`{"TableName":"tab","Item":{"pk":{"S":"a"},"g":{"S":"x"},"n":{"N":"1"}},"ConditionExpression":"attribute_not_exists(#p)","ExpressionAttributeNames":{"#p":"pk"},"ReturnValues":"ALL_OLD","ReturnConsumedCapacity":"INDEXES"}`,
		`{` + key + `,"UpdateExpression":"SET n = n + :v REMOVE g","ExpressionAttributeValues":{":v":{"N":"1"}},"ReturnValues":"UPDATED_NEW"}`,
		`{` + key + `,"ConditionExpression":"n = :v","ExpressionAttributeValues":{":v":{"N":"1"}},"ReturnValuesOnConditionCheckFailure":"ALL_OLD"}`,
		`{` + key + `,"ProjectionExpression":"n, g","ConsistentRead":true}`,
		`{"TableName":"tab","IndexName":"byg","KeyConditionExpression":"g = :g","ExpressionAttributeValues":{":g":{"S":"x"}},"Limit":1,"ScanIndexForward":false,"ExclusiveStartKey":{"pk":{"S":"a"},"g":{"S":"x"}}}`,
		`{"TableName":"tab","Segment":1,"TotalSegments":2,"FilterExpression":"size(g) > :n","ExpressionAttributeValues":{":n":{"N":"0"}},"Select":"COUNT"}`,
		`{"TransactItems":[{"Put":{"TableName":"tab","Item":{"pk":{"S":"b"}}}},{"ConditionCheck":{` + key + `,"ConditionExpression":"attribute_exists(pk)"}}],"ClientRequestToken":"t"}`,
		`{"TransactItems":[{"Get":{` + key + `}}]}`,
		`{"RequestItems":{"tab":[{"PutRequest":{"Item":{"pk":{"S":"c"}}}},{"DeleteRequest":{"Key":{"pk":{"S":"a"}}}}]}}`,
		`{"RequestItems":{"tab":{"Keys":[{"pk":{"S":"a"}}],"ConsistentRead":true}},"ReturnConsumedCapacity":"TOTAL"}`,
		`{"TableName":"two","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"k","KeyType":"HASH"}],"AttributeDefinitions":[{"AttributeName":"k","AttributeType":"B"}]}`,
	} {
		f.Add(uint8(i), []byte(body))
	}
	f.Fuzz(func(t *testing.T, n uint8, body []byte) {
		a := localaws.New(localaws.Options{PartitionLimits: true})
		post(t, a, "DynamoDB_20120810.CreateTable", `{"TableName":"tab","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],
			"AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"g","AttributeType":"S"}],
			"GlobalSecondaryIndexes":[{"IndexName":"byg","KeySchema":[{"AttributeName":"g","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}]}`)
		post(t, a, "DynamoDB_20120810.PutItem", `{"TableName":"tab","Item":{"pk":{"S":"a"},"g":{"S":"x"},"n":{"N":"1"}}}`)
		for range 2 { // the second time it meets what the first one left
			res, fields := post(t, a, "DynamoDB_20120810."+operations[int(n)%len(operations)], string(body))
			if res.StatusCode != http.StatusOK && (res.StatusCode != http.StatusBadRequest || fields["__type"] == nil) {
				t.Errorf("%d %v", res.StatusCode, fields)
			}
		}
	})
}

// TestEveryAnswerHasTheDateOfTheAccountsClock asks every service, in vain and not, with and without sockets.
func TestEveryAnswerHasTheDateOfTheAccountsClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		account := localaws.New(localaws.Options{})
		time.Sleep(90*time.Minute + 1999*time.Millisecond)
		want := time.Now().Truncate(time.Second)
		for target, status := range map[string]int{
			"DynamoDB_20120810.ListTables": 200, "DynamoDB_20120810.DescribeTable": 400, "DynamoDBStreams_20120810.ListStreams": 200,
			"AmazonSQS.ListQueues": 200, "secretsmanager.GetSecretValue": 400, "Unknown_1.Operation": 400,
		} {
			request := func() *http.Request {
				r := httptest.NewRequest(http.MethodPost, "http://localhost/", strings.NewReader("{}"))
				r.Header.Set("X-Amz-Target", target)
				return r
			}
			direct, err := account.RoundTrip(request())
			if err != nil {
				t.Fatal(err)
			}
			served := httptest.NewRecorder()
			account.ServeHTTP(served, request())
			for _, answer := range []*http.Response{direct, served.Result()} {
				if got, err := http.ParseTime(answer.Header.Get("Date")); err != nil || !got.Equal(want) || answer.StatusCode != status {
					t.Errorf("%s: %d at %v (%v), want %d at %v", target, answer.StatusCode, got, err, status, want)
				}
			}
		}
	})
}
