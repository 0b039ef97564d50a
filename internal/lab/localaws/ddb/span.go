package ddb

import (
	"cmp"
	"encoding/binary"
	"math"

	"github.com/landfall-dev/landfall/internal/lab/localaws/attr"
	"github.com/landfall-dev/landfall/internal/lab/localaws/ddb/expr"
	"github.com/landfall-dev/landfall/internal/lab/localaws/wire"
)

// span is a range of positions, low <= p < high, that is read in one direction.
type span struct {
	low, high string // an empty high is none
	down      bool
	hash      attr.Value // of a query
}

// after is the first position that begins with no such prefix, and is behind those that do; empty if there is none.
func after(prefix string) string {
	b := []byte(prefix)
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] != 0xff {
			b[i]++
			return string(b[:i+1])
		}
	}
	return ""
}

// span is what the parameters of a page select of its source.
func (s source) span(p *page, query bool) (span, error) {
	var sp span
	var err error
	if query {
		sp, err = s.queried(p)
	} else {
		sp = segment(p.in)
	}
	if err != nil || p.in.ExclusiveStartKey == nil {
		return sp, err
	}
	start, err := s.start(p.in.ExclusiveStartKey)
	if err != nil {
		return sp, err
	}
	if start < sp.low || sp.high != "" && start >= sp.high {
		if query {
			return sp, wire.Validation("The provided starting key is outside query boundaries based on provided conditions")
		}
		return sp, wire.Validation("The provided starting key is invalid: Invalid ExclusiveStartKey. Please use "+
			"ExclusiveStartKey with correct Segment. TotalSegments: %d Segment: %d",
			*p.in.TotalSegments, *p.in.Segment)
	}
	if sp.down {
		sp.high = start
	} else {
		sp.low = start + "\x00" // the next one that there can be
	}
	return sp, nil
}

// segment is the part of a scan: positions begin with a hash of 64 bits, of which each segment takes a range.
func segment(in *params) span {
	if in.TotalSegments == nil {
		return span{}
	}
	width := math.MaxUint64/uint64(*in.TotalSegments) + 1
	bound := func(i int) string { return string(binary.BigEndian.AppendUint64(nil, width*uint64(i))) }
	sp := span{low: bound(*in.Segment)}
	if *in.Segment+1 < *in.TotalSegments {
		sp.high = bound(*in.Segment + 1)
	}
	return sp
}

// queried is the part of one partition that a key condition selects.
func (s source) queried(p *page) (span, error) {
	k, err := p.keys.KeyCondition(s.key[0].name, s.key.sort().name)
	if err != nil {
		return span{}, invalid("", err)
	}
	if err := cmp.Or(checkOperands(s.key, k), checkFilter(p.filter, s.key)); err != nil {
		return span{}, err
	}
	hash := string(partition(k.Hash))
	sp := span{low: hash, high: after(hash), hash: k.Hash, down: p.in.ScanIndexForward != nil && !*p.in.ScanIndexForward}
	at := func(v attr.Value) string { return string(attr.AppendKey([]byte(hash), v)) }
	switch k.Op {
	case "=":
		sp.low, sp.high = at(k.Low), after(at(k.Low))
	case "<":
		sp.high = at(k.Low)
	case "<=":
		sp.high = after(at(k.Low))
	case ">":
		sp.low = after(at(k.Low))
	case ">=":
		sp.low = at(k.Low)
	case "BETWEEN":
		sp.low, sp.high = at(k.Low), after(at(k.High))
	case "begins_with":
		sp.low = string(attr.AppendKeyPrefix([]byte(hash), k.Low))
		sp.high = after(sp.low)
	}
	return sp, nil
}

// checkOperands is an error if a value has not the type of its key attribute, or is none that a key can have.
func checkOperands(key keySchema, k expr.KeyCondition) error {
	for _, o := range []struct {
		a keyAttr
		v attr.Value
	}{{key[0], k.Hash}, {key.sort(), k.Low}, {key.sort(), k.High}} {
		if o.v == nil {
			continue
		}
		if o.v.Type() != o.a.typ {
			return wire.Validation(invalidParameters + "Condition parameter type does not match schema type")
		}
		if o.a.typ != attr.TypeN && attr.Size(o.v) == 0 && k.Op != "begins_with" {
			return wire.Validation("One or more parameter values are not valid. The AttributeValue for a key "+
				"attribute cannot contain an empty string value. Key: %s", o.a.name)
		}
	}
	if k.Op == "begins_with" && key.sort().typ == attr.TypeN {
		return wire.Validation("Invalid KeyConditionExpression: Incorrect operand type for operator or function; " +
			"operator or function: begins_with, operand type: N")
	}
	return nil
}

// checkFilter is an error if a filter uses the key of what is queried.
func checkFilter(filter *expr.Condition, key keySchema) error {
	if filter != nil {
		for _, n := range filter.Names() {
			if key.has(n) {
				return wire.Validation("Filter Expression can only contain non-primary key attributes: Primary key "+
					"attribute: %s", n)
			}
		}
	}
	return nil
}
