package lookup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/landfall-dev/landfall/internal/egress"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// Rule says what an answer of one status means, if it matches.
type Rule struct {
	// Status, 200 to 599, that the answer must have.
	Status int
	// Pointer and Equals, both or neither: what must stand where in the answer's body. The pointer (RFC 6901) leads to
	// text, a number as it is written, true or false.
	Pointer, Equals string
	// Then is what the answer means.
	Then outbox.AnswerKind
}

// rule is a Rule ready for use.
type rule struct {
	Rule
	pointer egress.Pointer
}

func compile(rules []Rule, method string) (compiled []rule, err error) {
	if len(rules) == 0 {
		return nil, errors.New("rules: without any nothing is ever decided")
	}
	for i, r := range rules {
		pointer, err := egress.ParsePointer(r.Pointer)
		switch {
		case err != nil:
			return nil, fmt.Errorf("rule %d: %w", i+1, err)
		case r.Status < 200 || r.Status > 599:
			return nil, fmt.Errorf("rule %d: status %d: no final answer has it, want 200 to 599", i+1, r.Status)
		case (r.Pointer == "") != (r.Equals == ""):
			return nil, fmt.Errorf("rule %d: want pointer and equals, or neither", i+1)
		case r.Pointer != "" && method == "HEAD":
			return nil, fmt.Errorf("rule %d: an answer to HEAD has no body to point into", i+1)
		case r.Then < outbox.AnswerUnresolved || r.Then > outbox.AnswerNotFound:
			return nil, fmt.Errorf("rule %d: then: want completed, failed, not_found or unresolved", i+1)
		}
		compiled = append(compiled, rule{r, pointer})
	}
	return compiled, nil
}

// judge is what the first matching rule says. A rule that should look at the body and cannot ends it: a later, wider
// rule was not written for such an answer.
func judge(rules []rule, a *egress.Answer) outbox.Answer {
	var document any
	var code string
	read := false
	for _, r := range rules {
		if r.Status != a.Status {
			continue
		}
		if r.Pointer != "" {
			if !read {
				document, code = decode(a.Body)
				read = true
			}
			if code != "" {
				return outbox.Answer{Code: code}
			}
			value, valid := find(document, r.pointer)
			if !valid {
				return outbox.Answer{Code: CodeValueInvalid}
			}
			if value != r.Equals {
				continue
			}
		}
		if r.Then == outbox.AnswerUnresolved {
			return outbox.Answer{Code: CodeRule}
		}
		return outbox.Answer{Kind: r.Then}
	}
	return outbox.Answer{Code: statusCode(a.Status)}
}

// find follows a pointer to text, a number, true or false; it is "" if nothing or null is there. Anything else that the
// pointer does not fit makes the document invalid: it is not of the kind that the rule was written for.
func find(value any, pointer egress.Pointer) (text string, valid bool) {
	for _, name := range pointer {
		switch v := value.(type) {
		case nil:
			return "", true
		case map[string]any:
			value = v[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || strconv.Itoa(i) != name {
				return "", false
			}
			if i >= len(v) {
				return "", true
			}
			value = v[i]
		default:
			return "", false
		}
	}
	switch v := value.(type) {
	case nil:
		return "", true
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}

// decode reads a body, or says by its code why it cannot be relied on. Two values under one name would be one for this
// reader and the other for the next.
func decode(body []byte) (document any, code string) {
	switch {
	case body == nil:
		return nil, CodeBodyIncomplete
	case !utf8.Valid(body) || !json.Valid(body): // nested too deeply, too
		return nil, CodeBodyInvalid
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	document, err := decodeValue(dec)
	switch {
	case errors.Is(err, errTwice):
		return nil, CodeBodyAmbiguous
	case err != nil:
		return nil, CodeBodyInvalid
	}
	return document, ""
}

var errTwice = errors.New("an object has a name twice")

func decodeValue(dec *json.Decoder) (any, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		object := map[string]any{}
		for dec.More() {
			name, err := dec.Token()
			if err != nil {
				return nil, err
			}
			text, _ := name.(string)
			if _, twice := object[text]; twice {
				return nil, errTwice
			}
			if object[text], err = decodeValue(dec); err != nil {
				return nil, err
			}
		}
		_, err = dec.Token()
		return object, err
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			value, err := decodeValue(dec)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err = dec.Token()
		return list, err
	}
	return token, nil
}
