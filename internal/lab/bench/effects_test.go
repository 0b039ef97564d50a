package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall"
	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/lab/localaws"
	"github.com/landfall-dev/landfall/internal/lab/localaws/ledger"
	"github.com/landfall-dev/landfall/internal/lab/payloads"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/schema"
)

// policy is that of a destination which says only how many shards it has.
func policy(shards int) outbox.Policy {
	return outbox.Policy{HeadStart: time.Duration(config.DefaultHeadStart), Shards: shards}
}

// sizes are what items have at most when they are put uncompressed.
var sizes = []struct {
	name  string
	bytes int
}{{"0.5 KB", 512}, {OneKB, 1024}, {"4 KB", 4096}, {"10 KB", 10240}, {"50 KB", 51200}}

// effects counts rows of all sizes, put in all ways, that the fast path lands in full batches; and of 1 KB, rows that
// come alone.
func effects(t *testing.T, webhooks []payloads.Payload) (list []Effect) {
	for _, way := range []string{Plain, InTransaction} {
		for _, gzip := range []bool{true, false} {
			for _, size := range sizes {
				list = append(list, effect(t, Effect{Name: size.name, Way: way, Gzip: gzip, Batch: fullBatch}, ofSize(t, webhooks, size.bytes)))
			}
			list = append(list, effect(t, Effect{Name: Webhooks, Way: way, Gzip: gzip, Batch: fullBatch}, webhooks))
		}
		list = append(list, effect(t, Effect{Name: OneKB, Way: way, Gzip: true, Batch: 1}, ofSize(t, webhooks, 1024)[:10]))
	}
	return list
}

// effect puts rows and lets the fast path land them.
func effect(t *testing.T, e Effect, rows []payloads.Payload) Effect {
	t.Helper()
	inBubble(t, localaws.Options{}, policy(4), func(w *workbench) {
		landed, done := atomic.Int64{}, make(chan struct{})
		w.send = func(ctx context.Context, row outbox.Row) outbox.Outcome {
			if landed.Add(1) == int64(len(rows)) {
				close(done)
			}
			return lands(ctx, row)
		}
		ctx, stop := context.WithCancel(w.t.Context())
		ended := make(chan struct{})
		follow := func() {
			defer close(ended)
			w.follow(ctx, e.Batch, 1, func() {})
		}
		alone := e.Batch == 1
		if alone {
			go follow()
		}
		bytes := 0
		for _, row := range rows {
			bytes += w.put(row, e.Way == InTransaction, e.Gzip)
			if alone {
				time.Sleep(2 * controlsFor)
			}
		}
		if !alone {
			go follow()
		}
		<-done
		synctest.Wait() // until they are settled
		stop()
		<-ended
		e.Item = float64(bytes) / float64(len(rows))
		w.per(len(rows), &e)
		if n := w.open(); n > 0 {
			t.Errorf("%+v: %d rows are not completed", e, n)
		}
	})
	return e
}

// per fills in what effects cost in the mean.
func (w *workbench) per(effects int, e *Effect) {
	n := float64(effects)
	rows := w.sum("dynamodb", ofRows)
	e.TableWrites, e.IndexWrites, e.Reads = rows.Write/n, rows.IndexWrite/n, (rows.Read+rows.IndexRead)/n
	e.Requests = float64(rows.Requests) / n
	e.ControlReads = w.sum("dynamodb", func(k ledger.Key) bool { return k.Resource == schema.ControlTable }).Read / n
	e.StreamReads = float64(w.sum("dynamodbstreams", func(k ledger.Key) bool { return k.Operation == "GetRecords" }).Requests) / n
	e.SQSRequests = float64(w.sum("sqs", func(ledger.Key) bool { return true }).Billed) / n
	e.Invocations = float64(w.invocations.Load()) / n
	e.LogBytes, e.MetricBytes = float64(w.logged.n.Load())/n, float64(w.measured.n.Load())/n
}

func ofRows(k ledger.Key) bool {
	return k.Resource == schema.OutboxTable && k.Operation != "CreateTable"
}

// open is how many rows are in some lane.
func (w *workbench) open() int {
	w.t.Helper()
	out, err := w.client.Scan(w.t.Context(), &dynamodb.ScanInput{TableName: aws.String(schema.OutboxTable), IndexName: aws.String(schema.LaneIndex)})
	if err != nil {
		w.t.Fatal(err)
	}
	return len(out.Items)
}

// put puts a payload's row and returns the size of its item. Other programs do not compress, so what stands for them
// undoes it.
func (w *workbench) put(p payloads.Payload, transaction, gzip bool) (bytes int) {
	w.t.Helper()
	item, err := w.box.Item(landfall.Row{Destination: destination, Key: p.Name, Payload: p.Body})
	if err != nil {
		w.t.Fatal(err)
	}
	put := item.Put
	if !gzip {
		delete(put.Item, schema.PayloadEncoding)
		if put.Item[schema.Payload] = (&types.AttributeValueMemberB{Value: p.Body}); utf8.Valid(p.Body) {
			put.Item[schema.Payload] = &types.AttributeValueMemberS{Value: string(p.Body)}
		}
	}
	if transaction {
		_, err = w.client.TransactWriteItems(w.t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{item}})
	} else {
		_, err = w.client.PutItem(w.t.Context(), &dynamodb.PutItemInput{
			TableName: put.TableName, Item: put.Item, ConditionExpression: put.ConditionExpression,
			ExpressionAttributeNames: put.ExpressionAttributeNames, ExpressionAttributeValues: put.ExpressionAttributeValues,
		})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return itemSize(put.Item)
}

// itemSize is the size of an item, by the published rules
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html).
func itemSize(item map[string]types.AttributeValue) (n int) {
	for name, value := range item {
		n += len(name)
		switch v := value.(type) {
		case *types.AttributeValueMemberS:
			n += len(v.Value)
		case *types.AttributeValueMemberB:
			n += len(v.Value)
		case *types.AttributeValueMemberN:
			n += (len(v.Value)+1)/2 + 1
		case *types.AttributeValueMemberM:
			n += 3 + itemSize(v.Value) + len(v.Value)
		}
	}
	return n
}

// ofSize are 20 rows whose items have so many bytes when they are not compressed, of the text of webhooks.
func ofSize(t *testing.T, webhooks []payloads.Payload, bytes int) (rows []payloads.Payload) {
	t.Helper()
	const n = 20
	body := func(i, length int) (text []byte) {
		for random := rand.New(rand.NewPCG(uint64(i), 1)); len(text) < length; {
			if more := webhooks[random.IntN(len(webhooks))].Body; utf8.Valid(more) && isASCII(more) {
				text = append(text, more...)
			}
		}
		return text[:length]
	}
	overhead := 0
	inBubble(t, localaws.Options{}, policy(4), func(w *workbench) {
		overhead = w.put(payloads.Payload{Name: "order-00", Body: body(0, 100)}, false, false) - 100
	})
	for i := range n {
		rows = append(rows, payloads.Payload{Name: fmt.Sprintf("order-%02d", i), Body: body(i, bytes-overhead)})
	}
	return rows
}

func isASCII(text []byte) bool {
	for _, b := range text {
		if b >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
