package bench

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/landfall-dev/landfall"
	"github.com/landfall-dev/landfall/internal/eventsource"
	"github.com/landfall-dev/landfall/internal/lab/devstack"
	"github.com/landfall-dev/landfall/internal/lab/localaws"
	"github.com/landfall-dev/landfall/internal/lab/localaws/ledger"
	"github.com/landfall-dev/landfall/internal/observe"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
	"github.com/landfall-dev/landfall/internal/routingdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

const destination = "charge"

// hanging is a destination whose remote never answers.
const hanging = "hanging"

// Callers, as the ledger knows them. What the mapping reads is free.
const (
	application = "application"
	function    = "function"
	mapping     = "mapping"
)

// workbench is an application, the functions and an AWS of their own that counts, on a virtual clock.
type workbench struct {
	t       *testing.T
	account *localaws.Account
	box     *landfall.Outbox
	client  *dynamodb.Client // the application's
	policy  outbox.Policy
	send    sender
	look    outbox.Lookup

	hangs  bool // one of its destinations
	filled int  // rows that fill has put

	mu   sync.Mutex
	idle []*process

	invocations      atomic.Int64
	logged, measured byteCount
	metrics          sync.Map // names
}

// sender is a remote.
type sender func(context.Context, outbox.Row) outbox.Outcome

func (s sender) Send(ctx context.Context, row outbox.Row) outbox.Outcome { return s(ctx, row) }

func hangs(ctx context.Context, _ outbox.Row) outbox.Outcome {
	<-ctx.Done()
	return outbox.Unknown("", "hangs")
}

func lands(context.Context, outbox.Row) outbox.Outcome { return outbox.Completed("") }

// byteCount counts what is written.
type byteCount struct{ n atomic.Int64 }

func (b *byteCount) Write(p []byte) (int, error) {
	b.n.Add(int64(len(p)))
	return len(p), nil
}

// inBubble measures on a clock that stands still while nothing waits.
func inBubble(t *testing.T, o localaws.Options, p outbox.Policy, measure func(*workbench)) {
	t.Helper()
	o.KeepEntries = 1
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(start))
		w := &workbench{t: t, account: localaws.New(o), policy: p, send: lands}
		w.client = dynamodb.NewFromConfig(w.account.Config(application))
		for _, table := range []*dynamodb.CreateTableInput{outboxdb.Table(schema.OutboxTable), routingdb.ControlTable(schema.ControlTable)} {
			if _, err := w.client.CreateTable(t.Context(), table); err != nil {
				t.Fatal(err)
			}
		}
		w.box = landfall.New(w.client, landfall.Config{Table: schema.OutboxTable, Destinations: map[string]landfall.Destination{
			destination: {Shards: p.Shards, HeadStart: p.HeadStart}, hanging: {Shards: p.Shards, HeadStart: p.HeadStart},
		}})
		measure(w)
	})
}

// Request ids have the length of Lambda's.
const (
	requestID = "8f5e1c9a-3b7d-4e2f-a1c6-0d9b8e7f6a5c"
	sweepID   = "5aeeb000-3b7d-4e2f-a1c6-0d9b8e7f6a5c"
)

// start is when every workbench begins, a time of as many digits as today's.
var start = time.UnixMilli(1_795_000_000_123)

// observer counts what the function of one invocation writes.
func (w *workbench) observer() *observe.Observer {
	w.invocations.Add(1)
	return observe.New(observe.Config{
		Destinations: []string{destination, hanging}, Logger: observe.NewLogger(&w.logged, "stream", ""),
		Metrics: io.MultiWriter(&w.measured, metricNames{&w.metrics}), RequestID: requestID,
	})
}

// metricNames keeps which metrics there are.
type metricNames struct{ names *sync.Map }

func (m metricNames) Write(p []byte) (int, error) {
	for documents := json.NewDecoder(strings.NewReader(string(p))); documents.More(); {
		var document struct {
			AWS struct {
				CloudWatchMetrics []struct{ Metrics []struct{ Name string } }
			} `json:"_aws"`
		}
		if err := documents.Decode(&document); err != nil {
			return 0, err
		}
		for _, metric := range document.AWS.CloudWatchMetrics[0].Metrics {
			m.names.Store(metric.Name, true)
		}
	}
	return len(p), nil
}

func (w *workbench) destinations() []outbox.Destination {
	list := []outbox.Destination{{Name: destination, Policy: w.policy, Sender: w.send, Lookup: w.look}}
	if w.hangs {
		list = append(list, outbox.Destination{Name: hanging, Policy: w.policy, Sender: sender(hangs)})
	}
	return list
}

// follow maps the table's stream to deliver, as deployed, until ctx ends. With each invocation, what delays it happens
// first.
func (w *workbench) follow(ctx context.Context, batch, factor int, delay func()) {
	err := devstack.FollowStream(ctx, devstack.StreamMapping{
		Client: dynamodbstreams.NewFromConfig(w.account.Config(mapping)), Table: schema.OutboxTable,
		Filters: []string{eventsource.StreamFilter}, BatchSize: batch, ParallelizationFactor: factor,
		MaximumRetryAttempts: eventsource.StreamRetries, StartingPosition: streamtypes.ShardIteratorTypeTrimHorizon,
	}, func(ctx context.Context, event []byte) error {
		delay()
		return w.deliver(ctx, event)
	})
	if err != nil {
		w.t.Error(err)
	}
}

// inserted are the rows of a stream's event. The filter has let only pending ones pass.
func inserted(event []byte) (rows []outbox.Fresh, err error) {
	var e events.DynamoDBEvent
	if err := json.Unmarshal(event, &e); err != nil {
		return nil, err
	}
	for _, r := range e.Records {
		image := r.Change.NewImage
		at, errAt := strconv.ParseInt(image[schema.LaneAt].Number(), 10, 64)
		created, errCreated := strconv.ParseInt(image[schema.CreatedAt].Number(), 10, 64)
		if err := errors.Join(errAt, errCreated); err != nil {
			return nil, err
		}
		rows = append(rows, outbox.Fresh{
			Entry:     outbox.Entry{ID: outbox.ParsePK(image[schema.PK].String()), LaneAt: time.UnixMilli(at)},
			CreatedAt: time.UnixMilli(created),
		})
	}
	return rows, nil
}

// sum adds up the requests to a service that match.
func (w *workbench) sum(service string, match func(ledger.Key) bool) ledger.Sum {
	return w.account.Ledger().Sum(func(k ledger.Key) bool { return k.Service == service && match(k) })
}

// refused are claims that were.
func refused(k ledger.Key) bool {
	return k.Operation == "UpdateItem" && k.Error == "ConditionalCheckFailedException"
}
