// Package stagedb is a DynamoDB table in process for simulated worlds: its requests go through the SDK, and what
// goes wrong goes wrong between the SDK and the service.
package stagedb

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/landfall-dev/landfall/internal/lab/localaws"
	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/lab/sim/stage"
	"github.com/landfall-dev/landfall/internal/schema"
)

// Item is an item as the SDK knows it; nil if there is none.
type Item = map[string]types.AttributeValue

// Table is a table whose key is schema.PK. O is what a world calls a write that a process asks for; it may be tried
// more than once.
type Table[O any] struct {
	// Tried is called each time a write was tried, with the item before and after it. The stage's mutex
	// is held.
	Tried func(o *O, before, after Item, granted bool)
	// Unasked is called for each item that another request changed, or [Table.Put].
	// The mutex is held. Optional.
	Unasked func(before, after Item)
	// Subject is what the stage knows a key as.
	Subject func(pk string) any

	stage   *stage.Stage
	name    string
	account *localaws.Account
	// quiet is a client to which nothing happens. It looks after each write what it did.
	quiet *dynamodb.Client
	// fault happens to the next request.
	fault faults.Fault
	// items are as they were after the last write, by primary key.
	items map[string]Item
}

// New makes an account with the table. Tried and Subject are set before a process opens it.
func New[O any](s *stage.Stage, table *dynamodb.CreateTableInput) *Table[O] {
	t := &Table[O]{stage: s, name: *table.TableName, items: map[string]Item{}}
	t.account = localaws.New(localaws.Options{KeepEntries: 1, Faults: func(faults.Request) faults.Fault {
		fault := t.fault
		t.fault = faults.Fault{}
		return fault
	}})
	t.quiet = dynamodb.NewFromConfig(t.account.Config("law"))
	if _, err := t.quiet.CreateTable(context.Background(), table); err != nil {
		panic(fmt.Errorf("create the table of a world: %w", err))
	}
	return t
}

// Item is the item as it is. The stage's mutex is held.
func (t *Table[O]) Item(pk string) Item { return t.items[pk] }

// look reads an item as it is.
func (t *Table[O]) look(pk string) Item {
	out, err := t.quiet.GetItem(context.Background(), &dynamodb.GetItemInput{
		TableName: &t.name, ConsistentRead: aws.Bool(true), Key: Item{schema.PK: &types.AttributeValueMemberS{Value: pk}},
	})
	if err != nil {
		panic(fmt.Errorf("look at the table of a world: %w", err))
	}
	return out.Item
}

// Open gives a process a client of its own: the SDK's retry quota is per client. call begins a call about a
// request, of a write if there is one. watch are further steps of the SDK.
func (t *Table[O]) Open(process int, call func(Message, *O) *stage.Call, watch ...func(*middleware.Stack) error) *dynamodb.Client {
	config := t.account.Config(fmt.Sprint("process-", process))
	config.HTTPClient = &http.Client{Transport: &wire[O]{t, call}}
	waits := stage.Roll(t.stage.Seed, "backoff", process)
	config.Retryer = func() aws.Retryer {
		return retry.NewStandard(func(o *retry.StandardOptions) {
			o.Backoff = retry.BackoffDelayerFunc(func(attempt int, _ error) (time.Duration, error) {
				t.stage.Mu.Lock()
				defer t.stage.Mu.Unlock()
				return waits.Between(10*time.Millisecond, time.Second<<min(attempt, 4)), nil
			})
		})
	}
	config.APIOptions = watch
	return dynamodb.NewFromConfig(config)
}

type operationKey struct{}

// With says which write a request is of.
func With[O any](ctx context.Context, o *O) context.Context {
	return context.WithValue(ctx, operationKey{}, o)
}

// wire is what lies between one process's SDK and the service.
type wire[O any] struct {
	table *Table[O]
	call  func(Message, *O) *stage.Call
}

// RoundTrip implements [http.RoundTripper]. A request, or its answer, may be lost, late, doubled, refused.
func (w *wire[O]) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	m, err := readMessage(r, body)
	if err != nil {
		return nil, err
	}
	o, _ := r.Context().Value(operationKey{}).(*O)
	c := w.call(m, o)
	again := func() {}
	if o != nil { // a copy of its own: its result goes nowhere
		copied := *o
		again = func() { _, _ = w.deliver(m, &copied, faults.Fault{}) }
	}
	if err := c.Step(r.Context()); err != nil {
		c.OnResuming(again)
		return nil, err
	}
	fault, late, echo := trouble(c, o != nil)
	if late || echo {
		c.Later(w.table.Subject(m.PK), again)
	}
	if late {
		c.PerhapsDie()
		err = stage.ErrNoAnswer
	}
	var answer *http.Response
	if !late {
		answer, err = w.deliver(m, o, fault)
	}
	if err := c.Step(r.Context()); err != nil {
		return nil, err
	}
	return answer, err
}

// trouble is what goes wrong with a request. Only writes are late or doubled.
func trouble(c *stage.Call, writes bool) (fault faults.Fault, late, echo bool) {
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

// deliver has the service do a request at once, and shows what that did.
func (w *wire[O]) deliver(m Message, o *O, fault faults.Fault) (*http.Response, error) {
	w.table.stage.Mu.Lock()
	defer w.table.stage.Mu.Unlock()
	r, err := http.NewRequest(http.MethodPost, "http://localaws.invalid/", bytes.NewReader(m.body))
	if err != nil {
		return nil, err
	}
	r.Header = m.header
	w.table.fault = fault
	answer, err := w.table.account.RoundTrip(r)
	w.table.fault = faults.Fault{}
	if o == nil {
		if m.Operation != "GetItem" && m.Operation != "Query" {
			w.table.unasked(m.PK)
		}
		return answer, err
	}
	before, after := w.table.items[m.PK], w.table.look(m.PK)
	w.table.items[m.PK] = after
	switch {
	case fault.Error != "" || answer != nil && answer.StatusCode >= 500 && !fault.SpoilAnswer:
		w.table.stage.Must(sameItem(before, after), "I7", "%v failed and changed the item", o)
	case err == nil && answer.StatusCode == http.StatusBadRequest:
		w.table.stage.Must(sameItem(before, after), "I7", "%v was refused and changed the item", o)
		w.table.Tried(o, before, after, false)
	default: // it was done, though the answer may be lost or spoilt
		w.table.Tried(o, before, after, fault == faults.Fault{} || !sameItem(before, after))
	}
	return answer, err
}

func (t *Table[O]) unasked(pk string) {
	before, after := t.items[pk], t.look(pk)
	t.items[pk] = after
	if t.Unasked != nil && !sameItem(before, after) {
		t.Unasked(before, after)
	}
}

// Put is a foreign hand that puts an item, as it likes. The stage's mutex is held.
func (t *Table[O]) Put(item Item) {
	if _, err := t.quiet.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: &t.name, Item: item}); err != nil {
		panic(fmt.Errorf("put into the table of a world: %w", err))
	}
	t.unasked(item[schema.PK].(*types.AttributeValueMemberS).Value)
}

// Delete deletes an item. The stage's mutex is held.
func (t *Table[O]) Delete(pk string) {
	key := Item{schema.PK: &types.AttributeValueMemberS{Value: pk}}
	if _, err := t.quiet.DeleteItem(context.Background(), &dynamodb.DeleteItemInput{TableName: &t.name, Key: key}); err != nil {
		panic(fmt.Errorf("delete from the table of a world: %w", err))
	}
	delete(t.items, pk)
}

// sameItem compares every byte.
func sameItem(a, b Item) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
