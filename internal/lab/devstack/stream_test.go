package devstack

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
)

var broken = answer{result: Result{FunctionError: Unhandled, Payload: []byte(`{"errorType":"Broken"}`)}}

// failsOn fails while the batch has one of these.
func failsOn(bad ...string) streamFunction {
	return func(_ context.Context, names []string, _ events.DynamoDBEvent) answer {
		if slices.ContainsFunc(names, func(n string) bool { return slices.Contains(bad, n) }) {
			return broken
		}
		return answer{}
	}
}

// reports reports these as failed, as far as they are in the batch.
func reports(bad ...string) streamFunction {
	return func(_ context.Context, names []string, e events.DynamoDBEvent) answer {
		var failures []map[string]string
		for i, n := range names {
			if slices.Contains(bad, n) {
				failures = append(failures, map[string]string{"itemIdentifier": e.Records[i].Change.SequenceNumber})
			}
		}
		slices.Reverse(failures) // the lowest counts, wherever it stands
		payload, err := json.Marshal(map[string]any{"batchItemFailures": failures})
		if err != nil {
			panic(err)
		}
		return answer{result: Result{Payload: payload}}
	}
}

func answers(payload string) streamFunction {
	return func(context.Context, []string, events.DynamoDBEvent) answer {
		return answer{result: Result{Payload: []byte(payload)}}
	}
}

// What becomes of a batch of a, b, c and d, and of e and f behind it.
func TestFailedBatchIsRetriedBeforeTheNextOne(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mapping  StreamMapping
		function streamFunction
		calls    []string
		told     []string // of the queue for failures: condition, invocations, function error, records
	}{
		"handled": {StreamMapping{}, succeeds, []string{"0s a b c d", "0s e f"}, nil},
		"no retries": {StreamMapping{}, failsOn("b"), []string{"0s a b c d", "0s e f"},
			[]string{"RetryAttemptsExhausted 1 Unhandled 4"}},
		"two retries": {StreamMapping{MaximumRetryAttempts: 2}, failsOn("b"), []string{"0s a b c d", "1s a b c d", "3s a b c d", "3s e f"},
			[]string{"RetryAttemptsExhausted 3 Unhandled 4"}},
		"bisected": {StreamMapping{MaximumRetryAttempts: 1, BisectBatchOnFunctionError: true}, failsOn("b"),
			[]string{"0s a b c d", "0s a b", "0s a", "0s b", "1s b", "1s c d", "1s e f"},
			[]string{"RetryAttemptsExhausted 4 Unhandled 1"}},
		"too old": {StreamMapping{MaximumRetryAttempts: Unlimited, MaximumRecordAge: time.Minute}, failsOn("b"),
			[]string{"0s a b c d", "1s a b c d", "3s a b c d", "7s a b c d", "15s a b c d", "31s a b c d"},
			[]string{"RecordAgeExceeded 0 - 2", "RecordAgeExceeded 6 Unhandled 4"}},
		"reported": {StreamMapping{ReportBatchItemFailures: true, MaximumRetryAttempts: 1}, reports("b", "d"),
			[]string{"0s a b c d", "0s b c d", "1s b c d", "1s e f"},
			[]string{"RetryAttemptsExhausted 2 <nil> 3"}},
		"reported, not asked for":  {StreamMapping{}, reports("a"), []string{"0s a b c d", "0s e f"}, nil},
		"report of nothing":        {StreamMapping{ReportBatchItemFailures: true}, answers(`{"batchItemFailures":null}`), []string{"0s a b c d", "0s e f"}, nil},
		"report of what is not it": {StreamMapping{ReportBatchItemFailures: true, MaximumRetryAttempts: 1, BisectBatchOnFunctionError: true}, answers(`{"batchItemFailures":[{"itemIdentifier":"17"}]}`), []string{"0s a b c d", "1s a b c d", "1s e f", "2s e f"}, []string{"RetryAttemptsExhausted 2 <nil> 2", "RetryAttemptsExhausted 2 <nil> 4"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, nil, "NEW_IMAGE")
				b.put("a", "b", "c", "d", "e", "f")
				c.mapping.BatchSize, c.mapping.OnFailure = 4, b.queue()
				b.start(c.mapping, c.function)
				time.Sleep(3 * time.Minute) // virtual
				b.invoked(c.calls...)
				var told []string
				for _, body := range b.told(c.mapping.OnFailure) {
					var d discarded
					if err := json.Unmarshal([]byte(body), &d); err != nil {
						t.Fatal(err)
					}
					failure := any("-")
					if r := d.ResponseContext; r != nil && r.FunctionError != nil {
						failure = *r.FunctionError
					} else if r != nil {
						failure = nil
					}
					told = append(told, fmt.Sprint(d.RequestContext.Condition, " ", d.RequestContext.ApproximateInvokeCount, " ", failure, " ", d.BatchInfo.BatchSize))
				}
				slices.Sort(told)
				if !slices.Equal(told, c.told) {
					t.Errorf("told %q", told)
				}
			})
		})
	}
}

// A message to the queue for failures, as AWS sends it
// (https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-errors.html).
func TestQueueForFailuresLearnsOnlyWhereARecordStands(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, nil, "NEW_IMAGE")
		b.put("a", "b")
		url := b.queue()
		b.start(StreamMapping{MaximumRetryAttempts: 1, OnFailure: url}, failsOn("a"))
		time.Sleep(10 * time.Second) // virtual
		told := b.told(url)
		if len(told) != 1 {
			t.Fatalf("told %q", told)
		}
		var e events.DynamoDBEvent
		if err := json.Unmarshal(b.lastRaw, &e); err != nil {
			t.Fatal(err)
		}
		var d discarded
		if err := json.Unmarshal([]byte(told[0]), &d); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf(`{"requestContext":{"requestId":"request","functionArn":"arn:aws:lambda:us-east-1:`+Account+`:function:fn","condition":"RetryAttemptsExhausted","approximateInvokeCount":2},`+
			`"responseContext":{"statusCode":200,"executedVersion":"$LATEST","functionError":"Unhandled"},"version":"1.0","timestamp":"2000-01-01T00:00:01.000Z",`+
			`"DDBStreamBatchInfo":{"shardId":%q,"startSequenceNumber":%q,"endSequenceNumber":%q,"approximateArrivalOfFirstRecord":"2000-01-01T00:00:00Z","approximateArrivalOfLastRecord":"2000-01-01T00:00:00Z","batchSize":2,"streamArn":%q}}`,
			d.BatchInfo.ShardID, e.Records[0].Change.SequenceNumber, e.Records[1].Change.SequenceNumber, e.Records[0].EventSourceArn)
		if told[0] != want || !strings.HasPrefix(d.BatchInfo.ShardID, "shardId-") {
			t.Errorf("told %s\nwant %s", told[0], want)
		}
	})
}

func TestThrottledBatchUsesUpNoRetry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, nil, "NEW_IMAGE")
		b.put("a")
		times := 0
		b.start(StreamMapping{}, func(context.Context, []string, events.DynamoDBEvent) answer {
			if times++; times <= 3 {
				return answer{err: fmt.Errorf("invoke fn: %w", ErrThrottled)}
			}
			return answer{}
		})
		time.Sleep(time.Minute) // virtual
		b.invoked("0s a", "1s a", "3s a", "7s a")
	})
}

func TestStreamBatchesWaitNoLongerThanTheirWindow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mapping StreamMapping
		calls   []string // of records at 0s: a b c, at 3s: d e
	}{
		"no window":    {StreamMapping{}, []string{"0s a b c", "3s d e"}},
		"of two":       {StreamMapping{BatchSize: 2}, []string{"0s a b", "0s c", "3s d e"}},
		"window":       {StreamMapping{BatchingWindow: 10 * time.Second}, []string{"10s a b c d e"}},
		"window, full": {StreamMapping{BatchingWindow: 10 * time.Second, BatchSize: 2}, []string{"0s a b", "3s c d", "13s e"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, nil, "KEYS_ONLY")
				b.put("a", "b", "c")
				b.start(c.mapping, succeeds)
				time.Sleep(2999 * time.Millisecond) // virtual
				b.put("d", "e")
				time.Sleep(time.Minute) // virtual
				b.invoked(c.calls...)
			})
		})
	}
}

func TestLatestStreamOfATableIsRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, nil, "KEYS_ONLY")
		b.put("a")
		if _, err := b.db.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String("outbox")}); err != nil {
			t.Fatal(err)
		}
		b.create("KEYS_ONLY")
		b.put("b")
		b.start(StreamMapping{}, succeeds)
		b.invoked("0s b")
	})
}

func TestChangesOfAnItemStayInOrder(t *testing.T) {
	t.Parallel()
	for _, factor := range []int{1, 5} {
		t.Run(fmt.Sprint(factor), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, nil, "NEW_IMAGE")
				seen := map[string]string{}
				running, most := 0, 0
				b.start(StreamMapping{ParallelizationFactor: factor, BatchSize: 2, MaximumRetryAttempts: Unlimited}, func(_ context.Context, names []string, e events.DynamoDBEvent) answer {
					b.mu.Lock()
					running++
					most = max(most, running)
					n := len(b.calls)
					b.mu.Unlock()
					time.Sleep(time.Duration(1+n%3) * time.Second) // virtual
					b.mu.Lock()
					defer b.mu.Unlock()
					running--
					if n%4 == 0 {
						return broken
					}
					for i, r := range e.Records {
						seen[names[i]] += r.Change.NewImage["v"].String()
					}
					return answer{}
				})
				for v := range 5 {
					for k := range 12 {
						b.putItem(map[string]types.AttributeValue{"pk": text("p"), "sk": text(fmt.Sprint(k)), "v": text(fmt.Sprint(v))})
					}
					time.Sleep(time.Second) // virtual
				}
				time.Sleep(time.Duration(400/factor) * time.Second) // virtual
				b.mu.Lock()
				defer b.mu.Unlock()
				for k := range 12 {
					if got := seen[fmt.Sprint(k)]; got != "01234" {
						t.Errorf("item %d: %s", k, got)
					}
				}
				if factor == 1 && most != 1 || factor > 1 && (most < 2 || most > factor) {
					t.Errorf("%d batches of a shard at a time", most)
				}
			})
		})
	}
}

func TestMappingBeginsAtItsStartingPosition(t *testing.T) {
	t.Parallel()
	for position, want := range map[streamtypes.ShardIteratorType][]string{"TRIM_HORIZON": {"0s a", "250ms b"}, "LATEST": {"250ms b"}} {
		t.Run(string(position), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, nil, "KEYS_ONLY")
				b.put("a")
				b.start(StreamMapping{StartingPosition: position}, succeeds)
				synctest.Wait()
				b.put("b")
				time.Sleep(time.Minute) // virtual
				b.invoked(want...)
			})
		})
	}
}

// Shards are closed after four hours; what follows is in their children.
func TestChildOfAShardIsReadAfterItsParent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, nil, "KEYS_ONLY")
		time.Sleep(4*time.Hour - 5*time.Second) // virtual
		b.began = time.Now()
		b.put("a", "b")
		b.start(StreamMapping{MaximumRetryAttempts: 3}, func(_ context.Context, names []string, _ events.DynamoDBEvent) answer {
			if names[0] == "a" && time.Since(b.began) < 7*time.Second {
				return broken
			}
			return answer{}
		})
		time.Sleep(6100 * time.Millisecond) // virtual
		b.put("c")
		time.Sleep(time.Minute) // virtual
		b.put("d")
		time.Sleep(time.Minute) // virtual
		b.mu.Lock()
		calls := strings.Join(b.calls, ", ")
		b.mu.Unlock()
		if calls != "0s a b, 1s a b, 3s a b, 7s a b, 7s c, 1m6.25s d" {
			t.Errorf("invoked %s", calls)
		}
	})
}

func TestRecordsSurviveFailedReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reads := 0
		b := newBed(t, func(r faults.Request) faults.Fault {
			if r.Operation != "GetRecords" {
				return faults.Fault{}
			}
			reads++
			return []faults.Fault{{}, {Error: faults.Internal}, {LoseAnswer: true}, {Error: faults.Throttle}, {Late: time.Second}}[reads%5]
		}, "KEYS_ONLY")
		b.start(StreamMapping{BatchSize: 3}, succeeds)
		var want []string
		for i := range 20 {
			name := fmt.Sprint(i)
			b.put(name)
			want = append(want, name)
			time.Sleep(time.Second) // virtual
		}
		time.Sleep(10 * time.Minute) // virtual
		b.mu.Lock()
		defer b.mu.Unlock()
		var got []string
		for _, call := range b.calls {
			got = append(got, strings.Fields(call)[1:]...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("invoked %q", b.calls)
		}
	})
}

// A function that is busy for longer than an iterator lives does not lose the mapping its place.
func TestExpiredIteratorIsReplaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, nil, "KEYS_ONLY")
		var want []string
		for i := range 8 {
			want = append(want, fmt.Sprint(i))
		}
		b.put(want...)
		b.start(StreamMapping{BatchSize: 1}, func(_ context.Context, names []string, _ events.DynamoDBEvent) answer {
			if names[0] == "0" {
				time.Sleep(16 * time.Minute) // virtual
			}
			return answer{}
		})
		time.Sleep(16*time.Minute + time.Second) // virtual
		b.invoked("0s 0", "16m0s 1", "16m0s 2", "16m0s 3", "16m0s 4", "16m0s 5", "16m0s 6", "16m0s 7")
		if b.ages[0] != 0 || b.ages[7] != 16*time.Minute {
			t.Errorf("iterator ages %v", b.ages)
		}
	})
}

func TestMappingEndsWithItsTable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, nil, "KEYS_ONLY")
		b.start(StreamMapping{}, succeeds)
		b.put("a")
		if _, err := b.db.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String("outbox")}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(25 * time.Hour) // virtual
		b.mu.Lock()
		defer b.mu.Unlock()
		if got := fmt.Sprint(b.calls); got != "[250ms a]" && got != "[0s a]" {
			t.Errorf("invoked %s", got)
		}
		if lines := b.log.lines(); len(lines) != 1 || !strings.HasPrefix(lines[0], "the stream is gone") {
			t.Errorf("log says %q", lines)
		}
	})
}
