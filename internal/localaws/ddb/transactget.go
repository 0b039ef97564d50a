package ddb

import (
	"fmt"
	"time"

	"github.com/landfall-dev/landfall/internal/localaws/ddb/attr"
	"github.com/landfall-dev/landfall/internal/localaws/faults"
	"github.com/landfall-dev/landfall/internal/localaws/ledger"
	"github.com/landfall-dev/landfall/internal/localaws/wire"
)

type transactGetInput struct {
	TransactItems          []struct{ Get *getInput }
	ReturnConsumedCapacity string
}

type transactGetAnswer struct {
	Responses        []itemAnswer
	ConsumedCapacity []*consumed `json:",omitempty"`
}

type itemAnswer struct {
	Item attr.Map `json:",omitempty"`
}

func (db *DB) transactGetItems(in *transactGetInput) (operation, error) {
	var c constraints
	c.length("transactItems", len(in.TransactItems), maxTransactItems)
	c.asked(in.ReturnConsumedCapacity)
	for i, item := range in.TransactItems {
		c.required(fmt.Sprintf("transactItems.%d.member.get", i+1), item.Get != nil)
	}
	if err := c.err(); err != nil {
		return operation{}, err
	}
	lookups := make([]lookup, len(in.TransactItems))
	for i, item := range in.TransactItems {
		var err error
		if lookups[i], err = item.Get.lookup(); err != nil {
			return operation{}, err
		}
		lookups[i].factor = 2
	}
	return operation{
		resource: lookups[0].table,
		conflict: conflictAmong(len(lookups)),
		run: func(now time.Time, _ faults.Fault) wire.Outcome {
			return db.transactGet(now, in.ReturnConsumedCapacity, lookups)
		},
	}, nil
}

// transactGet reads all items, unless one cannot be read or is held by a transaction.
func (db *DB) transactGet(now time.Time, asked string, lookups []lookup) wire.Outcome {
	reasons := make([]reason, len(lookups))
	items := make([]itemAnswer, len(lookups))
	if err := once(db, twiceInTransaction, lookups, func(l lookup) target { return l.target }); err != nil {
		return failed(err)
	}
	var costs []ledger.Cost
	bad, bytes := false, 0
	for i, l := range lookups {
		item, cost, err := db.found(l, now)
		if t := db.tables[l.table]; err == nil && t.held[string(t.key.position(l.key))] {
			err = conflict()
		}
		items[i].Item = item
		costs = append(costs, cost)
		bytes += item.Size()
		reasons[i] = because(err, nil, change{})
		bad = bad || err != nil
	}
	switch {
	case bad:
		return failed(cancelled(reasons))
	case bytes > maxTransactBytes:
		return failed(validation("Transaction size cannot exceed the limit of 4 MB"))
	}
	return wire.Outcome{Answer: transactGetAnswer{items, db.consumption(asked, costs, true)}, Costs: costs}
}
