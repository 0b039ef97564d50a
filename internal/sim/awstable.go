package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/localaws"
	"github.com/landfall-dev/landfall/internal/localaws/faults"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
	"github.com/landfall-dev/landfall/internal/schema"
	"github.com/landfall-dev/landfall/internal/sim/stage"
)

// awsTable is a DynamoDB table in process: its requests go through the SDK and what goes wrong goes wrong
// between the SDK and the service.
type awsTable struct {
	*world
	account *localaws.Account
	// quiet is a client to which nothing happens. It looks after each write what it did.
	quiet *dynamodb.Client
	// fault happens to the next request.
	fault faults.Fault
	// items are as they were after the last write, by primary key.
	items map[string]map[string]types.AttributeValue
}

func newAWSTable(w *world) *awsTable {
	t := &awsTable{world: w, items: map[string]map[string]types.AttributeValue{}}
	t.account = localaws.New(localaws.Options{KeepEntries: 1, Faults: func(faults.Request) faults.Fault {
		fault := t.fault
		t.fault = faults.Fault{}
		return fault
	}})
	t.quiet = dynamodb.NewFromConfig(t.account.Config("law"))
	if _, err := t.quiet.CreateTable(context.Background(), outboxdb.Table(schema.OutboxTable)); err != nil {
		panic(fmt.Errorf("create the table of a world: %w", err))
	}
	return t
}

func (t *awsTable) row(id outbox.ID) (outbox.Row, bool) {
	item := t.items[id.PK()]
	return decoded(item), item != nil
}

func decoded(item map[string]types.AttributeValue) outbox.Row {
	if item == nil {
		return outbox.Row{}
	}
	return outboxdb.Decode(item)
}

// look reads an item as it is.
func (t *awsTable) look(pk string) map[string]types.AttributeValue {
	out, err := t.quiet.GetItem(context.Background(), &dynamodb.GetItemInput{
		TableName: aws.String(schema.OutboxTable), ConsistentRead: aws.Bool(true),
		Key: map[string]types.AttributeValue{schema.PK: &types.AttributeValueMemberS{Value: pk}},
	})
	if err != nil {
		panic(fmt.Errorf("look at the table of a world: %w", err))
	}
	return out.Item
}

// open gives a process a client of its own: the SDK's retry quota is per client.
func (t *awsTable) open(p *process) store {
	config := t.account.Config(fmt.Sprint("process-", p.Number))
	config.HTTPClient = &http.Client{Transport: &wire{t, p}}
	waits := stage.Roll(p.Seed, "backoff", p.Number)
	config.Retryer = func() aws.Retryer {
		return retry.NewStandard(func(o *retry.StandardOptions) {
			o.Backoff = retry.BackoffDelayerFunc(func(attempt int, _ error) (time.Duration, error) {
				p.Mu.Lock()
				defer p.Mu.Unlock()
				return waits.Between(10*time.Millisecond, time.Second<<min(attempt, 4)), nil
			})
		})
	}
	client := dynamodb.NewFromConfig(config)
	return &awsPort{t, p, client, outboxdb.New(client, schema.OutboxTable)}
}

// wire is what lies between one process's SDK and the service.
type wire struct {
	*awsTable
	process *process
}

type operationKey struct{}

// RoundTrip implements [http.RoundTripper]. A request, or its answer, may be lost, late, doubled, refused.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	m, err := readMessage(r, body)
	if err != nil {
		return nil, err
	}
	o, _ := r.Context().Value(operationKey{}).(*operation)
	c := w.process.call(m.operation, m.subject, w.slotOf(m))
	again := func() {}
	if o != nil { // a copy of its own: nobody is told what becomes of it
		copied := *o
		again = func() { _, _ = w.deliver(c, m, &copied, faults.Fault{}) }
	}
	if err := c.Step(r.Context()); err != nil {
		c.OnResuming(again)
		return nil, err
	}
	fault, late, echo := w.trouble(c, o != nil)
	if late || echo {
		c.Later(outbox.ParsePK(m.subject), again)
	}
	if late {
		c.PerhapsDie()
		err = stage.ErrNoAnswer
	}
	var answer *http.Response
	if !late {
		answer, err = w.deliver(c, m, o, fault)
	}
	if err := c.Step(r.Context()); err != nil {
		return nil, err
	}
	return answer, err
}

// trouble is what goes wrong with a request. Only writes are late or doubled.
func (w *wire) trouble(c *call, writes bool) (fault faults.Fault, late, echo bool) {
	switch {
	case c.Chance(c.Odds.Refuse / 2):
		fault.Error = stage.Pick(c.Dice, faults.Throttle, faults.Internal, faults.Conflict)
		if !writes {
			fault.Error = faults.Throttle
		}
	case c.Chance(c.Odds.Lose/3) || c.Chance(c.Odds.Repeat/3):
		fault.LoseAnswer = c.Chance(0.5)
		fault.SpoilAnswer = !fault.LoseAnswer
	case !writes && c.Chance(c.Odds.Stale):
		fault.StaleIndex = c.Between(10*time.Millisecond, faults.MaxStale)
	case writes && c.Chance(c.Odds.Late/2):
		late = true
	case writes && c.Chance(c.Odds.Echo/2):
		echo = true
	}
	return fault, late, echo
}

// deliver has the service do a request at once, and shows the law what that did.
func (w *wire) deliver(c *call, m message, o *operation, fault faults.Fault) (*http.Response, error) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	r, err := http.NewRequest(http.MethodPost, "http://localaws.invalid/", bytes.NewReader(m.body))
	if err != nil {
		return nil, err
	}
	r.Header = m.header
	w.fault = fault
	answer, err := w.account.RoundTrip(r)
	w.fault = faults.Fault{}
	if o == nil {
		return answer, err
	}
	before, after := w.items[m.subject], w.look(m.subject)
	w.items[m.subject] = after
	switch {
	case fault.Error != "" || answer != nil && answer.StatusCode >= 500 && !fault.SpoilAnswer:
		w.law.Must(sameItem(before, after), "I7", "%s failed and changed the row", o)
	case err == nil && answer.StatusCode == http.StatusBadRequest:
		w.law.Must(sameItem(before, after), "I7", "%s was refused and changed the row", o)
		w.law.observe(o, decoded(before), decoded(after), false)
	default: // it was done, though the answer may be lost or spoilt
		done := fault == faults.Fault{} || !sameItem(before, after)
		w.law.observe(o, decoded(before), decoded(after), done)
	}
	return answer, err
}

// sameItem compares every byte.
func sameItem(a, b map[string]types.AttributeValue) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// message is one request as the service gets it.
type message struct {
	operation string
	// subject is the primary key that it is about, or of a query the lane.
	subject string
	header  http.Header
	body    []byte
}

func readMessage(r *http.Request, body []byte) (message, error) {
	var in struct {
		Key, Item                 map[string]map[string]any
		ExpressionAttributeValues map[string]map[string]any
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return message{}, fmt.Errorf("read a request of the SDK: %w", err)
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	m := message{operation: operation, header: maps.Clone(r.Header), body: body}
	for _, value := range []map[string]any{in.Key[schema.PK], in.Item[schema.PK], in.ExpressionAttributeValues[":lane"]} {
		if text, ok := value["S"].(string); ok {
			m.subject = text
			break
		}
	}
	return m, nil
}

func (w *wire) slotOf(m message) int {
	if lane, err := outbox.ParseLane(m.subject); err == nil && m.operation == "Query" {
		return w.laneSlot(lane)
	}
	return w.rowSlot(outbox.ParsePK(m.subject))
}

// awsPort is the table as one process sees it.
type awsPort struct {
	*awsTable
	process *process
	client  *dynamodb.Client
	*outboxdb.Store
}

// List implements [outbox.Store].
func (a *awsPort) List(ctx context.Context, lane outbox.Lane, before time.Time, after string) ([]outbox.Entry, string, error) {
	page, next, err := a.Store.List(ctx, lane, before, after)
	a.Mu.Lock()
	defer a.Mu.Unlock()
	a.process.told.listed(err)
	a.law.scan("an error of the table", err)
	return page, next, err
}

// Get implements [outbox.Store].
func (a *awsPort) Get(ctx context.Context, id outbox.ID) (outbox.Row, error) {
	row, err := a.Store.Get(ctx, id)
	a.Mu.Lock()
	defer a.Mu.Unlock()
	a.law.toldRow(a.process, row, err)
	return row, err
}

// Claim implements [outbox.Store].
func (a *awsPort) Claim(ctx context.Context, claim outbox.Claim) (outbox.Row, error) {
	a.Mu.Lock()
	a.law.claiming(a.process, claim)
	a.Mu.Unlock()
	o := &operation{by: a.process, claim: &claim}
	row, err := a.Store.Claim(context.WithValue(ctx, operationKey{}, o), claim)
	a.Mu.Lock()
	defer a.Mu.Unlock()
	a.law.toldClaim(o, row, err)
	return row, err
}

// Settle implements [outbox.Store].
func (a *awsPort) Settle(ctx context.Context, s outbox.Settlement) error {
	a.Mu.Lock()
	a.law.settling(a.process, s)
	a.Mu.Unlock()
	o := &operation{by: a.process, settlement: &s}
	err := a.Store.Settle(context.WithValue(ctx, operationKey{}, o), s)
	a.Mu.Lock()
	defer a.Mu.Unlock()
	a.law.toldSettlement(o, err)
	return err
}

// Put is the application's, or a foreign writer's that breaks the row format.
func (a *awsPort) Put(ctx context.Context, row outbox.Row) error {
	o := &operation{by: a.process, put: &row}
	ctx = context.WithValue(ctx, operationKey{}, o)
	var err error
	if row.Unreadable != nil {
		err = a.putBroken(ctx, row)
	} else {
		err = a.Store.Put(ctx, row)
	}
	a.Mu.Lock()
	defer a.Mu.Unlock()
	a.law.toldPut(o, err)
	return err
}

func (a *awsPort) putBroken(ctx context.Context, row outbox.Row) error {
	put, err := outboxdb.Insert(schema.OutboxTable, row)
	if err != nil {
		return err
	}
	delete(put.Item, schema.Payload)
	put.Item[schema.Status] = &types.AttributeValueMemberS{Value: string(row.Status)}
	_, err = a.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: put.TableName, Item: put.Item, ConditionExpression: put.ConditionExpression,
		ExpressionAttributeNames: put.ExpressionAttributeNames, ExpressionAttributeValues: put.ExpressionAttributeValues,
		ReturnValuesOnConditionCheckFailure: put.ReturnValuesOnConditionCheckFailure,
	})
	var refused *types.ConditionalCheckFailedException
	if errors.As(err, &refused) {
		if outboxdb.Repeats(put.Item, refused.Item) {
			return nil
		}
		return outbox.ErrExists
	}
	return err
}
