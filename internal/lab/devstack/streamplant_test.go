package devstack

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/landfall-dev/landfall/internal/lab/localaws"
	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
)

// bed is an event source mapping whose function is a Go func, on the stream of a table in a bubble.
// Items have a key "pk sk"; those of a pk are in one shard.
type bed struct {
	t       *testing.T
	account *localaws.Account
	db      *dynamodb.Client
	queues  *sqs.Client
	began   time.Time
	log     journal

	mu      sync.Mutex
	calls   []string // "1s a b": when the function was invoked, and with which sk
	ages    []time.Duration
	lastRaw []byte // event
}

func newBed(t *testing.T, plan faults.Plan, view types.StreamViewType) *bed {
	t.Helper()
	b := &bed{t: t, account: localaws.New(localaws.Options{Faults: plan}), began: time.Now()}
	b.db, b.queues = dynamodb.NewFromConfig(b.account.Config("bed")), sqs.NewFromConfig(b.account.Config("bed"))
	b.create(view)
	return b
}

// create makes the table.
func (b *bed) create(view types.StreamViewType) {
	b.t.Helper()
	s := types.ScalarAttributeTypeS
	_, err := b.db.CreateTable(b.t.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String("outbox"), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: s}, {AttributeName: aws.String("sk"), AttributeType: s}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}, {AttributeName: aws.String("sk"), KeyType: types.KeyTypeRange}},
		StreamSpecification:  &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: view},
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// put puts items "pk/sk" or "sk", whose pk is p. Each put changes them.
func (b *bed) put(names ...string) {
	b.t.Helper()
	for i, name := range names {
		pk, sk, ok := strings.Cut(name, "/")
		if !ok {
			pk, sk = "p", name
		}
		b.putItem(map[string]types.AttributeValue{"pk": text(pk), "sk": text(sk), "v": text(fmt.Sprint(time.Since(b.began), i))})
	}
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func (b *bed) putItem(item map[string]types.AttributeValue) {
	b.t.Helper()
	if _, err := b.db.PutItem(b.t.Context(), &dynamodb.PutItemInput{TableName: aws.String("outbox"), Item: item}); err != nil {
		b.t.Fatal(err)
	}
}

// queue makes the queue for failures.
func (b *bed) queue() string {
	b.t.Helper()
	out, err := b.queues.CreateQueue(b.t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("failures")})
	if err != nil {
		b.t.Fatal(err)
	}
	return aws.ToString(out.QueueUrl)
}

// told are the messages in the queue for failures.
func (b *bed) told(url string) []string {
	b.t.Helper()
	out, err := b.queues.ReceiveMessage(b.t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 10})
	if err != nil {
		b.t.Fatal(err)
	}
	var bodies []string
	for _, m := range out.Messages {
		bodies = append(bodies, aws.ToString(m.Body))
	}
	return bodies
}

type streamFunction func(ctx context.Context, names []string, e events.DynamoDBEvent) answer

// start starts the mapping, from the oldest record on unless it says otherwise, until the test or end ends it.
func (b *bed) start(m StreamMapping, f streamFunction) (end func()) {
	b.t.Helper()
	m.Client, m.Table, m.Function = dynamodbstreams.NewFromConfig(b.account.Config("mapping")), "outbox", "fn"
	if m.OnFailure != "" {
		m.Queues = b.queues
	}
	if m.StartingPosition == "" {
		m.StartingPosition = streamtypes.ShardIteratorTypeTrimHorizon
	}
	m.IteratorAge = func(age time.Duration) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.ages = append(b.ages, age)
	}
	s, err := openStream(b.t.Context(), m.withDefaults())
	if err != nil {
		b.t.Fatal(err)
	}
	s.say = func(format string, args ...any) { fmt.Fprintf(&b.log, format+"\n", args...) }
	s.invoke = func(ctx context.Context, event []byte) (Result, error) {
		var e events.DynamoDBEvent
		if err := json.Unmarshal(event, &e); err != nil {
			b.t.Error(err)
		}
		names := make([]string, len(e.Records))
		for i, r := range e.Records {
			names[i] = r.Change.Keys["sk"].String()
		}
		b.mu.Lock()
		b.calls = append(b.calls, fmt.Sprint(time.Since(b.began), " ", strings.Join(names, " ")))
		b.lastRaw = event
		b.mu.Unlock()
		a := f(ctx, names, e)
		a.result.RequestID = "request"
		return a.result, a.err
	}
	ctx, cancel := context.WithCancel(b.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.run(ctx)
	}()
	end = func() {
		cancel()
		<-done
	}
	b.t.Cleanup(end)
	return end
}

// invoked fails the test unless the function was invoked like this, in this order.
func (b *bed) invoked(want ...string) {
	b.t.Helper()
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Equal(b.calls, want) {
		b.t.Errorf("invoked %q\n   want %q\n%s", b.calls, want, b.log.String())
	}
}

func succeeds(context.Context, []string, events.DynamoDBEvent) answer { return answer{} }
