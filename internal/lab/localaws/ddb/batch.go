package ddb

import (
	"cmp"
	"maps"
	"slices"

	"github.com/landfall-dev/landfall/internal/lab/localaws/attr"
	"github.com/landfall-dev/landfall/internal/lab/localaws/wire"
)

// Limits of batches.
const (
	maxBatchGets   = 100
	maxBatchWrites = 25
	maxBatchBytes  = 16 << 20
)

type batchGetInput struct {
	RequestItems           map[string]*params
	ReturnConsumedCapacity string
}

type batchGetAnswer struct {
	Responses        map[string][]attr.Map
	UnprocessedKeys  map[string]*params
	ConsumedCapacity []*consumed `json:",omitempty"`
}

// batchRead is one key of a batch.
type batchRead struct {
	lookup lookup
	table  *params
}

func (db *DB) batchGetItem(in *batchGetInput) (operation, error) {
	if len(in.RequestItems) == 0 {
		return operation{}, wire.Validation("The requestItems parameter is required for BatchGetItem")
	}
	var c wire.Constraints
	checkCapacity(&c, in.ReturnConsumedCapacity)
	var reads []batchRead
	for _, name := range slices.Sorted(maps.Keys(in.RequestItems)) {
		t := in.RequestItems[name]
		if t == nil || len(t.Keys) == 0 {
			c.Add("'[]'", "requestItems."+name+".member.keys", "Member must have length greater than or equal to 1")
			continue
		}
		if len(t.Keys) > maxBatchGets {
			return operation{}, wire.Validation("1 validation error detected: Value at "+
				"'RequestItems.%s.member.Keys' failed to satisfy constraint: Member must have length less than or "+
				"equal to %d", name, maxBatchGets)
		}
		get := *t
		get.TableName, get.Key = &name, t.Keys[0]
		l, err := get.lookup()
		if err != nil {
			return operation{}, err
		}
		for _, key := range t.Keys {
			l.of.key = key
			reads = append(reads, batchRead{l, t})
		}
	}
	if err := cmp.Or(c.Err(), wire.Forbid(len(reads) > maxBatchGets,
		"Too many items requested for the BatchGetItem call")); err != nil {
		return operation{}, err
	}
	return operation{resource: reads[0].lookup.of.table, run: func(j *job) (any, error) { return db.batchGet(j, in, reads) }}, nil
}

func (db *DB) batchGet(j *job, in *batchGetInput, reads []batchRead) (any, error) {
	if err := once(db, twiceInBatch, reads, func(r batchRead) target { return r.lookup.of }); err != nil {
		return nil, err
	}
	answer := batchGetAnswer{Responses: map[string][]attr.Map{}, UnprocessedKeys: map[string]*params{}}
	bytes, last := 0, len(reads)-j.fault.Unprocessed
	var refused error
	for i, r := range reads {
		name := r.lookup.of.table
		var item attr.Map
		if refused = throttled(); i < last && bytes < maxBatchBytes {
			item, refused = db.found(j, r.lookup)
		}
		switch {
		case code(refused) == "ValidationException":
			j.costs = nil
			return nil, refused
		case refused != nil: // not now
			left := answer.UnprocessedKeys[name]
			if left == nil {
				whole := *r.table
				whole.Keys, left = nil, &whole
				answer.UnprocessedKeys[name] = left
			}
			left.Keys = append(left.Keys, r.lookup.of.key)
		case item != nil:
			bytes += item.Size()
			answer.Responses[name] = append(answer.Responses[name], item)
		case answer.Responses[name] == nil:
			answer.Responses[name] = []attr.Map{}
		}
	}
	if len(j.costs) == 0 && j.fault.Unprocessed == 0 {
		return nil, refused
	}
	answer.ConsumedCapacity = db.consumption(in.ReturnConsumedCapacity, j.costs, false)
	return answer, nil
}

type batchWrite struct {
	PutRequest    *struct{ Item attr.Map } `json:",omitempty"`
	DeleteRequest *struct{ Key attr.Map }  `json:",omitempty"`
}

type batchWriteInput struct {
	RequestItems                map[string][]batchWrite
	ReturnConsumedCapacity      string
	ReturnItemCollectionMetrics string
}

type batchWriteAnswer struct {
	UnprocessedItems map[string][]batchWrite
	ConsumedCapacity []*consumed `json:",omitempty"`
}

// batchMutation is one write of a batch.
type batchMutation struct {
	mutation *mutation
	in       batchWrite
}

func (db *DB) batchWriteItem(in *batchWriteInput) (operation, error) {
	if len(in.RequestItems) == 0 {
		return operation{}, wire.Validation("The requestItems parameter is required for BatchWriteItem")
	}
	var writes []batchMutation
	for _, name := range slices.Sorted(maps.Keys(in.RequestItems)) {
		list := in.RequestItems[name]
		if len(list) == 0 || len(list) > maxBatchWrites {
			return operation{}, wire.Validation("1 validation error detected: Value '{%s=[%d requests]}' at "+
				"'requestItems' failed to satisfy constraint: Map value must satisfy constraint: [Member must have "+
				"length less than or equal to %d, Member must have length greater than or equal to 1]",
				name, len(list), maxBatchWrites)
		}
		for _, w := range list {
			v, one := put, params{
				TableName: &name, ReturnConsumedCapacity: in.ReturnConsumedCapacity,
				ReturnItemCollectionMetrics: in.ReturnItemCollectionMetrics,
			}
			switch {
			case (w.PutRequest == nil) == (w.DeleteRequest == nil):
				return operation{}, wire.Validation("Supplied AttributeValue has more than one datatypes set, must " +
					"contain exactly one of the supported datatypes")
			case w.PutRequest != nil:
				one.Item = w.PutRequest.Item
			default:
				one.Key, v = w.DeleteRequest.Key, remove
			}
			m, err := one.mutation(v)
			if err != nil {
				return operation{}, err
			}
			writes = append(writes, batchMutation{m, w})
		}
	}
	if len(writes) > maxBatchWrites {
		return operation{}, wire.Validation("Too many items requested for the BatchWriteItem call")
	}
	run := func(j *job) (any, error) { return db.batchWriteAll(j, in, writes) }
	return operation{resource: writes[0].mutation.of.table, run: run}, nil
}

// batchWriteAll does each write by itself: there is no transaction around them.
func (db *DB) batchWriteAll(j *job, in *batchWriteInput, writes []batchMutation) (any, error) {
	if err := once(db, twiceInBatch, writes, func(w batchMutation) target { return w.mutation.of }); err != nil {
		return nil, err
	}
	changes := make([]change, len(writes))
	for i, w := range writes {
		var err error
		if changes[i], err = db.locate(w.mutation); err == nil {
			err = w.mutation.complete(&changes[i])
		}
		if err != nil {
			return nil, err
		}
	}
	answer := batchWriteAnswer{UnprocessedItems: map[string][]batchWrite{}}
	last := len(writes) - j.fault.Unprocessed
	for i, c := range changes {
		name := writes[i].mutation.of.table
		charges := c.charges(1)
		if i >= last || c.table.held[c.position] || db.affordable(c.table, j.now, charges...) != nil {
			answer.UnprocessedItems[name] = append(answer.UnprocessedItems[name], writes[i].in)
			continue
		}
		j.costs = append(j.costs, costsOf(charges)...)
		c.apply(j.now)
	}
	if len(j.costs) == 0 && j.fault.Unprocessed == 0 {
		return nil, throttled()
	}
	answer.ConsumedCapacity = db.consumption(in.ReturnConsumedCapacity, j.costs, false)
	return answer, nil
}
