package config

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
)

// Rule says what an answer means that meets all of its conditions. It has at least one.
type Rule struct {
	Status Statuses `json:"status,omitempty"`
	// Header is about a header of the answer; nil: about none.
	Header *HeaderRule `json:"header,omitempty"`
	// Pointer is a JSON pointer into the body; "": the test, which is Contains then, is about the text of the whole body.
	Pointer string `json:"pointer,omitempty"`
	Test
	// Then is a word; which ones there are depends on what the rule is for.
	Then string `json:"then"`
}

// HeaderRule is a condition on a header.
type HeaderRule struct {
	Name string `json:"name"`
	Test
}

// Test is about one value. Exactly one of its fields is set.
type Test struct {
	Contains string   `json:"contains,omitempty"`
	Equals   string   `json:"equals,omitempty"`
	Exists   *bool    `json:"exists,omitempty"`
	OneOf    []string `json:"one_of,omitempty"`
}

func (t Test) count() (n int) {
	for _, set := range []bool{t.Contains != "", t.Equals != "", t.Exists != nil, len(t.OneOf) > 0} {
		if set {
			n++
		}
	}
	return n
}

// Statuses are statuses, such as "404", and classes of them, such as "4xx". None: any status.
type Statuses []string

// MarshalJSON writes one status without a list, and a number as a number.
func (s Statuses) MarshalJSON() ([]byte, error) {
	var all []any
	for _, status := range s {
		if n, err := strconv.Atoi(status); err == nil {
			all = append(all, n)
		} else {
			all = append(all, status)
		}
	}
	if len(all) == 1 {
		return json.Marshal(all[0])
	}
	return json.Marshal(all)
}

// UnmarshalJSON reads a status or a list, of numbers and text.
func (s *Statuses) UnmarshalJSON(src []byte) error {
	var all []json.RawMessage
	if json.Unmarshal(src, &all) != nil {
		all = []json.RawMessage{src}
	}
	*s = Statuses{}
	for _, one := range all {
		*s = append(*s, string(bytes.Trim(one, `"`)))
	}
	return nil
}

// cover says whether every answer that has one of the other statuses has one of these.
func (s Statuses) cover(other Statuses) bool {
	if len(s) == 0 {
		return true
	}
	return len(other) > 0 && !slices.ContainsFunc(other, func(status string) bool {
		return !slices.Contains(s, status) && (len(status) != 3 || !slices.Contains(s, status[:1]+"xx"))
	})
}

var (
	scalarType = Type{Form: Scalar, Want: "a text, a number, true or false", Schema: `{"type": ["string", "number", "boolean"]}`}
	statusType = Type{
		Form: Scalar, Want: "a status or a class, such as 404 or 4xx",
		Schema: `{"anyOf": [{"type": "integer", "minimum": 200, "maximum": 599}, {"type": "string", "pattern": "^[2-5]([0-9][0-9]|xx)$"}]}`,
		Check: func(text string) string {
			if badStatus(text) && (len(text) != 3 || text[1:] != "xx" || text[0] < '2' || text[0] > '5') {
				return Quote(text) + " is not the status of a final answer; write 200 to 599, or a class from 2xx to 5xx"
			}
			return ""
		},
	}
)

// badStatus says that a text is not the status of a final answer.
func badStatus(text string) bool {
	status, err := strconv.Atoi(text)
	return err != nil || strconv.Itoa(status) != text || status < 200 || status > 599
}

// testKeys are the tests of a value.
func testKeys(of string) []Key {
	return []Key{
		{Name: "contains", Type: bounded("a text", maxHeaderValue), Example: "error", Help: "A part of " + of + "."},
		{Name: "equals", Type: scalarType, Example: "succeeded", Help: "What " + of + " must be. A number is compared as it is written."},
		{Name: "exists", Type: boolean, Example: "true", Help: "Whether there is " + of + ". In JSON null is none; an empty text or list is one."},
		{Name: "one_of", Type: Type{Form: List, Want: "a list of values, such as [queued, running]", Min: 1, Max: 100, Of: &scalarType},
			Example: "[queued, running]", Help: "Values of which " + of + " must be one."},
	}
}

const oneTest = `{"oneOf": [{"required": ["contains"]}, {"required": ["equals"]}, {"required": ["exists"]}, {"required": ["one_of"]}]}`

var headerRuleTable = &Table{
	Schema: oneTest,
	Title:  "header", Help: "A condition on a header of the answer: `name` and exactly one of the other keys. If the header stands there several times, one value is enough.",
	Keys: sorted(testKeys("the header"), []Key{
		{Name: "name", Type: headerType, Required: true, Missing: "write the name of a header", Example: "Transient-Error", Help: "The header, in any case."},
	}),
}

// ruleTable is the table of the rules of one list, with the words that may follow then.
func ruleTable(title, help, example, then string, words ...string) *Table {
	wordType := oneOf(words...)
	return &Table{
		Title: title, Help: help, Example: example,
		Schema: `{"anyOf": [{"required": ["status"]}, {"required": ["header"]}, {"required": ["pointer"]}, {"required": ["contains"]}],
			"dependentRequired": {"equals": ["pointer"], "one_of": ["pointer"], "exists": ["pointer"]},
			"if": {"required": ["pointer"]}, "then": ` + oneTest + `}`,
		Keys: sorted(testKeys("the value that `pointer` leads to"), []Key{
			{Name: "header", Type: mapping(headerRuleTable), Example: "{name: Transient-Error, equals: true}", Help: "A header of the answer, and what it must be."},
			{Name: "pointer", Type: pointerType, Example: "/status", Help: "A JSON pointer into the body of the answer. Without it `contains` is about the text of the whole body."},
			{Name: "status", Example: "[404, 410]", Help: "The status of the answer. Without it the rule is about answers of any status.",
				Type: Type{Form: List, Want: "a status, a class or a list, such as 404, 4xx or [404, 410]", Min: 1, Max: 100, One: true, Of: &statusType}},
			{Name: "then", Type: wordType, Required: true, Missing: "write " + wordType.Want, Example: words[len(words)-1], Help: then},
		}),
	}
}

// rulesType is a list of rules.
func rulesType(t *Table, least int64, example string) Type {
	of := mapping(t)
	return Type{Form: List, Want: "a list of rules, such as " + example, Min: least, Max: 100, Of: &of}
}

const aboutRules = "All conditions of a rule must hold: `status`, `header`, and `pointer` with exactly one of `equals`, `one_of`, `exists` and `contains`. "

var (
	outcomeRules = ruleTable("answers", "What answers to sends mean. "+aboutRules+"If a rule needs a body that was cut, is longer than 1 MiB or is not JSON, or a value of another type, no later rule is tried: of a 2xx the outcome is unknown, else HTTP decides. A 2xx that came before the whole request was sent is always unknown.",
		`destinations:
  graph:
    http: https://graph.example.com/query
    deduplicates: 24h
    answers:
      - {status: 2xx, pointer: /errors/0/extensions/code, one_of: [THROTTLED, TIMEOUT], then: retryable}
      - {status: 2xx, pointer: /errors/0, exists: true, then: permanent}
      - {status: 422, header: {name: Transient-Error, equals: true}, then: retryable}
      - {status: [500, 503], contains: nothing was written, then: retryable}
`,
		"What follows. `completed`: the effect happened. `retryable`: it did not, and the request may be sent again. `permanent`: it did not and never will. `unknown`: it may have happened.",
		"completed", "retryable", "permanent", "unknown")
	lookupRules = ruleTable("rules", "What answers to a lookup mean. "+aboutRules+"If a rule needs a body that was cut, is longer than 1 MiB or is not JSON, or a value of another type, no later rule is tried and the row stays unresolved.", "",
		"What follows. `completed`: the effect happened. `failed`: it never will. `not_found`: the request never arrived, and may be sent again. `unresolved`: the row waits.",
		"completed", "failed", "not_found", "unresolved")
)

// rules checks what the keys of each rule say together, and that each rule can decide. method is a lookup's, else "".
func (c *checker) rules(path string, rules []Rule, method string) {
	const tests = "exactly one of equals, one_of, exists, contains"
	for i, r := range rules {
		at, body := path+"."+strconv.Itoa(i), r.Pointer != "" || r.Test.count() > 0
		switch {
		case len(r.Status) == 0 && r.Header == nil && !body:
			c.failf(at, "no condition; write status, header, pointer or contains")
		case r.Header != nil && r.Header.Test.count() != 1:
			c.failf(at+".header", "write %s beside name", tests)
		case r.Pointer != "" && r.Test.count() != 1:
			c.failf(at, "write %s beside pointer", tests)
		case r.Pointer == "" && (r.Equals != "" || r.OneOf != nil || r.Exists != nil):
			c.failf(at, "equals, one_of and exists need pointer; add it, or write contains for the text of the whole body")
		case body && method == "HEAD":
			c.failf(at, "an answer to HEAD has no body; remove pointer and contains, or change method")
		default:
			for j, before := range rules[:i] {
				if before.always(r) {
					c.failf(at, "rule %d of the list decides every answer that this rule is about; move this one before it, or remove one", j+1)
					break
				}
			}
		}
	}
}

// always says whether a rule matches whenever another one does, as far as that is plain.
func (r Rule) always(other Rule) bool {
	if !r.Status.cover(other.Status) {
		return false
	}
	sameHead := r.Header == nil || reflect.DeepEqual(r.Header, other.Header)
	sameBody := r.Pointer == "" && r.Test.count() == 0 || r.Pointer == other.Pointer && reflect.DeepEqual(r.Test, other.Test)
	return sameHead && sameBody
}

// idleStatuses reports statuses of which answers decides every answer.
func (c *checker) idleStatuses(path string, h *HTTP) {
	for status := range h.Statuses {
		text := strconv.Itoa(status)
		for _, r := range h.Answers {
			if r.always(Rule{Status: Statuses{text}}) {
				c.failf(path+".statuses."+text, "a rule of answers decides every answer of this status; remove one of the two")
				break
			}
		}
	}
}
