package ddb

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/landfall-dev/landfall/internal/localaws/ddb/attr"
	"github.com/landfall-dev/landfall/internal/localaws/faults"
	"github.com/landfall-dev/landfall/internal/localaws/ledger"
	"github.com/landfall-dev/landfall/internal/localaws/wire"
)

// Limits of a transaction.
const (
	maxTransactItems = 100
	maxTransactBytes = 4 << 20
	tokenLife        = 10 * time.Minute
)

type transactItem struct {
	Put, Update, Delete, ConditionCheck *writeInput
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
	digest    [32]byte // of the items, however their JSON was written
}

func (db *DB) transactWriteItems(in *transactInput) (operation, error) {
	var c constraints
	c.length("transactItems", len(in.TransactItems), maxTransactItems)
	c.asked(in.ReturnConsumedCapacity)
	c.enum("returnItemCollectionMetrics", in.ReturnItemCollectionMetrics, "SIZE", "NONE")
	c.between("clientRequestToken", "'"+in.ClientRequestToken+"'", "length", len(in.ClientRequestToken), 0, 36)
	if err := c.err(); err != nil {
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
		resource: tx.mutations[0].table,
		conflict: conflictAmong(len(tx.mutations)),
		run:      func(now time.Time, _ faults.Fault) wire.Outcome { return db.transact(now, tx) },
	}, nil
}

// mutation is the only write that an item of a transaction may hold; at is where the item stands.
func (item transactItem) mutation(at string) (*mutation, error) {
	var only *writeInput
	var v verb
	for verb, in := range map[verb]*writeInput{put: item.Put, update: item.Update, remove: item.Delete, check: item.ConditionCheck} {
		if in == nil {
			continue
		}
		if only != nil {
			return nil, validation("TransactItems can only contain one of Check, Put, Update or Delete")
		}
		only, v = in, verb
	}
	if only == nil {
		return nil, validation("Invalid Request: TransactWriteRequest should contain Delete or Put or Update request")
	}
	var c constraints
	c.required(at+".conditionCheck.conditionExpression", v != check || only.ConditionExpression != nil)
	c.required(at+".update.updateExpression", v != update || only.UpdateExpression != nil)
	if err := c.err(); err != nil {
		return nil, err
	}
	return only.mutation(v)
}

// tokens are the client request tokens of the last ten minutes.
type tokens struct {
	byToken map[string]*request
	ended   []*request // oldest first
}

// request is a transaction that a token stands for.
type request struct {
	token   string
	digest  [32]byte
	changes []change
	ended   time.Time // zero while it is in progress
}

func (t *tokens) forget(now time.Time) {
	for len(t.ended) > 0 && now.Sub(t.ended[0].ended) >= tokenLife {
		delete(t.byToken, t.ended[0].token)
		t.ended = t.ended[1:]
	}
}

// transact checks a transaction and holds its items until it is committed.
func (db *DB) transact(now time.Time, tx *transaction) wire.Outcome {
	db.tokens.forget(now)
	if earlier := db.tokens.byToken[tx.in.ClientRequestToken]; earlier != nil {
		return db.replay(tx, earlier)
	}
	if err := once(db, twiceInTransaction, tx.mutations, func(m *mutation) target { return m.target }); err != nil {
		return failed(err)
	}
	changes, reasons, costs := db.decideAll(now, tx)
	if reasons != nil {
		return failed(cancelled(reasons), costs...)
	}
	bytes := 0
	for _, c := range changes {
		bytes += max(c.old.Size(), c.new.Size())
	}
	if bytes > maxTransactBytes {
		return failed(validation("Transaction size cannot exceed the limit of 4 MB"))
	}
	req := &request{token: tx.in.ClientRequestToken, digest: tx.digest, changes: changes}
	if req.token != "" {
		db.tokens.byToken[req.token] = req
	}
	for _, c := range changes {
		c.table.held[c.position] = true
	}
	return wire.Outcome{
		Answer: transactAnswer{db.consumption(tx.in.ReturnConsumedCapacity, costs, true)},
		Costs:  costs,
		Commit: func(now time.Time) { db.commit(now, tx, req) },
	}
}

func (db *DB) commit(now time.Time, tx *transaction, req *request) {
	for i, c := range req.changes {
		delete(c.table.held, c.position)
		if tx.mutations[i].verb != check {
			c.apply(now)
		}
	}
	if req.token != "" {
		req.ended = now
		db.tokens.ended = append(db.tokens.ended, req)
	}
}

// replay answers a token that was used before: the transaction is not done again, its items are read.
func (db *DB) replay(tx *transaction, earlier *request) wire.Outcome {
	switch {
	case earlier.digest != tx.digest:
		return failed(failure("IdempotentParameterMismatchException", "The client request token was used before, with other items"))
	case earlier.ended.IsZero():
		return failed(failure("TransactionInProgressException", "The transaction with the given request token is already in progress"))
	}
	var costs []ledger.Cost
	for _, c := range earlier.changes {
		costs = append(costs, ledger.Cost{Table: c.table.name, Read: 2 * readUnits(c.new.Size(), true)})
	}
	return wire.Outcome{Answer: transactAnswer{db.consumption(tx.in.ReturnConsumedCapacity, costs, true)}, Costs: costs}
}

// decideAll finds out what the items will be. If any write cannot be made, there are reasons, one for each item.
func (db *DB) decideAll(now time.Time, tx *transaction) (changes []change, reasons []reason, costs []ledger.Cost) {
	changes, reasons = make([]change, len(tx.mutations)), make([]reason, len(tx.mutations))
	bad := false
	charges := map[*table][]charge{}
	for i, m := range tx.mutations {
		c, err := db.locate(m)
		if err == nil && c.table.held[c.position] {
			err = conflict()
		} else if err == nil {
			err = m.decide(&c)
		}
		changes[i] = c
		reasons[i] = because(err, m, c)
		bad = bad || err != nil
		if c.table == nil {
			continue
		}
		own := c.charges(2)
		costs = append(costs, costsOf(own)...)
		charges[c.table] = append(charges[c.table], own...)
	}
	for t, list := range charges {
		if err := db.affordable(t, now, list...); err != nil && !bad {
			bad = true
			reasons[0] = because(err, nil, change{})
		}
	}
	if bad { // which consumes nothing of indexes: they were not written
		return nil, reasons, slices.DeleteFunc(costs, func(c ledger.Cost) bool { return c.Index != "" })
	}
	return changes, nil, costs
}

// reason is why a transaction was cancelled, or that it was not this item.
type reason struct {
	Code    string
	Message string   `json:",omitempty"`
	Item    attr.Map `json:",omitempty"`
}

// reasonCodes are what errors are called as reasons; any other one is of validation.
var reasonCodes = map[string]string{
	"TransactionConflictException":           "TransactionConflict",
	"ThrottlingException":                    "ThrottlingError",
	"ProvisionedThroughputExceededException": "ProvisionedThroughputExceeded",
}

func because(err error, m *mutation, c change) reason {
	if err == nil {
		return reason{Code: "None"}
	}
	if err == errCondition {
		r := reason{Code: "ConditionalCheckFailed", Message: "The conditional request failed"}
		if m.showOld {
			r.Item = c.old
		}
		return r
	}
	r := reason{Code: cmp.Or(reasonCodes[code(err)], "ValidationError"), Message: err.Error()}
	var e *wire.Error
	if errors.As(err, &e) {
		r.Message = e.Message
	}
	return r
}

// conflictAmong is how a transaction of n items says that another one is in its way.
func conflictAmong(n int) error {
	reasons := slices.Repeat([]reason{because(nil, nil, change{})}, n)
	reasons[0] = because(conflict(), nil, change{})
	return cancelled(reasons)
}

func cancelled(reasons []reason) *wire.Error {
	codes := make([]string, len(reasons))
	for i, r := range reasons {
		codes[i] = r.Code
	}
	e := failure("TransactionCanceledException", "Transaction cancelled, please refer cancellation reasons for specific reasons [%s]", strings.Join(codes, ", "))
	e.Fields = fields{"CancellationReasons": reasons}
	return e
}
