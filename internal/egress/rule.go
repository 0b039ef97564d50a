package egress

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Rule says what follows from an answer that meets all of its conditions. It has at least one.
type Rule[T any] struct {
	// Status lists statuses, such as "404", and classes, such as "4xx", of which the answer has one. Empty: any status.
	Status []string
	// Header, if not "", is a header of which a value passes HeaderTest. Names are compared without case.
	Header     string
	HeaderTest Test
	// Pointer (RFC 6901), if not "", leads to a value in the body that passes Test. Without it, Test has at most Contains,
	// and the text of the whole body must pass.
	Pointer string
	Test    Test
	// Then is what follows.
	Then T
}

// Test is about one value: text, a number as it is written, true or false. Exactly one of the fields is set.
type Test struct {
	// OneOf are the texts of which the value is one, byte for byte. A number is compared as it is written, never rounded.
	OneOf []string
	// Contains is a part of the value.
	Contains string
	// Exists says whether there is a value, of any type. In JSON null is none.
	Exists *bool
}

func (t Test) isSet() bool { return t.count() > 0 }

func (t Test) count() (n int) {
	for _, set := range []bool{len(t.OneOf) > 0, t.Contains != "", t.Exists != nil} {
		if set {
			n++
		}
	}
	return n
}

// passes is about a value that is there.
func (t Test) passes(value string) bool {
	switch {
	case t.Exists != nil:
		return *t.Exists
	case t.Contains != "":
		return strings.Contains(value, t.Contains)
	default:
		return slices.Contains(t.OneOf, value)
	}
}

// NeedsBody says whether the rule is about an answer's body.
func (r Rule[T]) NeedsBody() bool { return r.Pointer != "" || r.Test.isSet() }

var ruleStatus = regexp.MustCompile(`^[2-5]([0-9][0-9]|xx)$`)

func (r Rule[T]) check() error {
	for _, status := range r.Status {
		if !ruleStatus.MatchString(status) {
			return fmt.Errorf("status %q: want 200 to 599, or a class such as 4xx", status)
		}
	}
	switch {
	case len(r.Status) == 0 && r.Header == "" && !r.NeedsBody():
		return errors.New("want at least one condition")
	case r.Header == "" && r.HeaderTest.isSet(), r.Header != "" && (!IsToken(r.Header) || r.HeaderTest.count() != 1):
		return errors.New("header: want a name and one test")
	case r.Pointer == "" && (r.Test.OneOf != nil || r.Test.Exists != nil):
		return errors.New("pointer: missing; only contains can be about the whole body")
	case r.Pointer != "" && r.Test.count() != 1:
		return errors.New("pointer: want one test")
	}
	return nil
}

// Rules are rules that are ready for use. Make them with [CompileRules].
type Rules[T any] struct {
	all      []Rule[T]
	pointers []Pointer
}

// CompileRules checks rules. An error names the rule, counted from 1.
func CompileRules[T any](rules []Rule[T]) (Rules[T], error) {
	compiled := Rules[T]{all: rules}
	for i, r := range rules {
		pointer, err := ParsePointer(r.Pointer)
		if err == nil {
			err = r.check()
		}
		if err != nil {
			return Rules[T]{}, fmt.Errorf("rule %d: %w", i+1, err)
		}
		compiled.pointers = append(compiled.pointers, pointer)
	}
	return compiled, nil
}

// Match finds the first rule whose conditions an answer meets: then is what follows, number counts it from 1. number is 0 if
// there is none.
//
// A rule that needs the body, and cannot read it or finds a value of another type than its test needs, ends the search: a
// later, wider rule was not written for such an answer. trouble says why, and nothing follows.
func (rs Rules[T]) Match(a *Answer) (then T, number int, trouble Trouble) {
	var none T
	var document *Document // parsed at most once
	for i, r := range rs.all {
		if !r.meetsHead(a) {
			continue
		}
		holds := true
		switch {
		case r.Pointer != "":
			if document == nil {
				d, trouble := ParseDocument(a.Body)
				if trouble != "" {
					return none, i + 1, trouble
				}
				document = &d
			}
			if holds, trouble = document.passes(rs.pointers[i], r.Test); trouble != "" {
				return none, i + 1, trouble
			}
		case r.NeedsBody():
			if a.Body == nil {
				return none, i + 1, BodyIncomplete
			}
			holds = bytes.Contains(a.Body, []byte(r.Test.Contains))
		}
		if holds {
			return r.Then, i + 1, ""
		}
	}
	return none, 0, ""
}

// meetsHead is about the conditions on status and header. Of a header that stands there several times, any value counts.
func (r Rule[T]) meetsHead(a *Answer) bool {
	status := strconv.Itoa(a.Status)
	if len(r.Status) > 0 && !slices.Contains(r.Status, status) && !slices.Contains(r.Status, status[:1]+"xx") {
		return false
	}
	if r.Header == "" {
		return true
	}
	values := a.Header.Values(r.Header)
	if len(values) == 0 {
		return r.HeaderTest.Exists != nil && !*r.HeaderTest.Exists
	}
	return slices.ContainsFunc(values, r.HeaderTest.passes)
}

// passes says whether the value at a pointer passes a test.
func (d Document) passes(at Pointer, t Test) (bool, Trouble) {
	value, fits := d.at(at)
	switch {
	case !fits:
		return false, ValueInvalid
	case value == nil:
		return t.Exists != nil && !*t.Exists, ""
	case t.Exists != nil:
		return *t.Exists, ""
	}
	text, fits := scalar(value)
	if !fits {
		return false, ValueInvalid
	}
	return t.passes(text), ""
}
