package ddb

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/localaws/attr"
	"github.com/landfall-dev/landfall/internal/lab/localaws/ledger"
	"github.com/landfall-dev/landfall/internal/lab/localaws/wire"
)

// Limits of a transaction.
const (
	maxTransactItems = 100
	maxTransactBytes = 4 << 20
	tokenLife        = 10 * time.Minute
)

type transactItem struct {
	Put, Update, Delete, ConditionCheck *params
}

type transactInput struct {
	TransactItems               []transactItem
	ClientRequestToken          string
	ReturnConsumedCapacity      string
	ReturnItemCollectionMetrics string
}

type transactAnswer struct {
	ConsumedCapacity []*consumed `json:",omitempty"`
}

// transaction is a TransactWriteItems that was checked as far as that needs no table.
type transaction struct {
	in        *transactInput
	mutations []*mutation
	digest    [32]byte  // of the items, however their JSON was written
	changes   []change  // once it is in progress
	ended     time.Time // zero until then
}

func (db *DB) transactWriteItems(in *transactInput) (operation, error) {
	var c wire.Constraints
	c.List("transactItems", len(in.TransactItems), maxTransactItems)
	checkCapacity(&c, in.ReturnConsumedCapacity)
	c.Enum("returnItemCollectionMetrics", in.ReturnItemCollectionMetrics, "SIZE", "NONE")
	c.Text("clientRequestToken", in.ClientRequestToken, 0, 36)
	if err := c.Err(); err != nil {
		return operation{}, err
	}
	tx := &transaction{in: in, mutations: make([]*mutation, len(in.TransactItems))}
	for i, item := range in.TransactItems {
		var err error
		if tx.mutations[i], err = item.mutation(fmt.Sprintf("transactItems.%d.member", i+1)); err != nil {
			return operation{}, err
		}
	}
	canonical, err := json.Marshal(in.TransactItems)
	if err != nil {
		return operation{}, fmt.Errorf("digest transaction: %w", err)
	}
	tx.digest = sha256.Sum256(canonical)
	return operation{
		resource: tx.mutations[0].of.table,
		conflict: conflictAmong(len(tx.mutations)),
		run:      func(j *job) (any, error) { return db.transact(j, tx) },
	}, nil
}

// mutation is the only write that an item of a transaction may hold; at is where the item stands.
func (item transactItem) mutation(at string) (*mutation, error) {
	writes := map[verb]*params{put: item.Put, update: item.Update, remove: item.Delete, check: item.ConditionCheck}
	maps.DeleteFunc(writes, func(_ verb, in *params) bool { return in == nil })
	if len(writes) > 1 {
		return nil, wire.Validation("TransactItems can only contain one of Check, Put, Update or Delete")
	}
	for v, in := range writes {
		var c wire.Constraints
		c.Required(at+".conditionCheck.conditionExpression", v != check || in.ConditionExpression != nil)
		c.Required(at+".update.updateExpression", v != update || in.UpdateExpression != nil)
		if err := c.Err(); err != nil {
			return nil, err
		}
		return in.mutation(v)
	}
	return nil, wire.Validation("Invalid Request: TransactWriteRequest should contain Delete or Put or Update request")
}

// tokens are the client request tokens of the last ten minutes.
type tokens struct {
	byToken map[string]*transaction
	ended   []*transaction // oldest first
}

func (t *tokens) forget(now time.Time) {
	for len(t.ended) > 0 && now.Sub(t.ended[0].ended) >= tokenLife {
		delete(t.byToken, t.ended[0].in.ClientRequestToken)
		t.ended = t.ended[1:]
	}
}

func tooLarge(bytes int) error {
	return wire.Forbid(bytes > maxTransactBytes, "Transaction size cannot exceed the limit of 4 MB")
}

// transact checks a transaction and holds its items until it is committed.
func (db *DB) transact(j *job, tx *transaction) (any, error) {
	db.tokens.forget(j.now)
	if earlier := db.tokens.byToken[tx.in.ClientRequestToken]; earlier != nil {
		return db.replay(j, tx, earlier)
	}
	if err := once(db, twiceInTransaction, tx.mutations, func(m *mutation) target { return m.of }); err != nil {
		return nil, err
	}
	if err := db.decideAll(j, tx); err != nil {
		return nil, err
	}
	bytes := 0
	for _, c := range tx.changes {
		bytes += max(c.old.Size(), c.new.Size())
	}
	if err := tooLarge(bytes); err != nil {
		j.costs = nil
		return nil, err
	}
	if tx.in.ClientRequestToken != "" {
		db.tokens.byToken[tx.in.ClientRequestToken] = tx
	}
	for _, c := range tx.changes {
		c.table.held[c.position] = true
	}
	j.commit = func(now time.Time) { db.commit(now, tx) }
	return transactAnswer{db.consumption(tx.in.ReturnConsumedCapacity, j.costs, true)}, nil
}

func (db *DB) commit(now time.Time, tx *transaction) {
	for i, c := range tx.changes {
		delete(c.table.held, c.position)
		if tx.mutations[i].verb != check {
			c.apply(now)
		}
	}
	if tx.in.ClientRequestToken != "" {
		tx.ended = now
		db.tokens.ended = append(db.tokens.ended, tx)
	}
}

// replay answers a token that was used before: the transaction is not done again, its items are read, at the size that
// the writes were charged for.
func (db *DB) replay(j *job, tx, earlier *transaction) (any, error) {
	switch {
	case earlier.digest != tx.digest:
		return nil, failure("IdempotentParameterMismatchException",
			"The client request token was used before, with other items")
	case earlier.ended.IsZero():
		return nil, failure("TransactionInProgressException",
			"The transaction with the given request token is already in progress")
	}
	for _, c := range earlier.changes {
		j.costs = append(j.costs, ledger.Cost{Table: c.table.name, Read: 2 * readUnits(max(c.old.Size(), c.new.Size()), true)})
	}
	return transactAnswer{db.consumption(tx.in.ReturnConsumedCapacity, j.costs, true)}, nil
}

// decideAll finds out what the items will be, or why the transaction is cancelled.
func (db *DB) decideAll(j *job, tx *transaction) error {
	reasons := make([]reason, len(tx.mutations))
	charges := map[*table][]charge{}
	for i, m := range tx.mutations {
		c, err := db.decide(m)
		reasons[i] = because(err)
		tx.changes = append(tx.changes, c)
		if c.table != nil {
			own := c.charges(2)
			j.costs = append(j.costs, costsOf(own)...)
			charges[c.table] = append(charges[c.table], own...)
		}
	}
	for t, list := range charges {
		if err := db.affordable(t, j.now, list...); err != nil && cancelled(reasons) == nil {
			reasons[0] = because(err)
		}
	}
	err := cancelled(reasons)
	if err != nil { // which consumes nothing of indexes: they were not written
		j.costs = slices.DeleteFunc(j.costs, func(c ledger.Cost) bool { return c.Index != "" })
	}
	return err
}

// reason is why a transaction was cancelled, or that it was not this item.
type reason struct {
	Code    string
	Message string   `json:",omitempty"`
	Item    attr.Map `json:",omitempty"`
}

// reasonCodes are what errors are called as reasons; any other one is of validation.
var reasonCodes = map[string]string{
	"":                                       "None",
	conditionFailedType:                      "ConditionalCheckFailed",
	"TransactionConflictException":           "TransactionConflict",
	"ThrottlingException":                    "ThrottlingError",
	"ProvisionedThroughputExceededException": "ProvisionedThroughputExceeded",
}

// because is the reason that the service's error for an item is, if any.
func because(err error) reason {
	e := &wire.Error{}
	errors.As(err, &e)
	item, _ := e.Fields["Item"].(attr.Map)
	return reason{cmp.Or(reasonCodes[e.Type], "ValidationError"), e.Message, item}
}

// conflictAmong is how a transaction of n items says that another one is in its way.
func conflictAmong(n int) error {
	reasons := slices.Repeat([]reason{because(nil)}, n)
	reasons[0] = because(conflict())
	return cancelled(reasons)
}

// cancelled is the error of a transaction that has a reason to fail, nil if it has none.
func cancelled(reasons []reason) error {
	codes, failed := make([]string, len(reasons)), false
	for i, r := range reasons {
		codes[i] = r.Code
		failed = failed || r.Code != "None"
	}
	if !failed {
		return nil
	}
	e := failure("TransactionCanceledException",
		"Transaction cancelled, please refer cancellation reasons for specific reasons [%s]", strings.Join(codes, ", "))
	e.Fields = fields{"CancellationReasons": reasons, "Message": e.Message}
	return e
}
