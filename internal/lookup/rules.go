package lookup

import (
	"errors"
	"fmt"

	"github.com/landfall-dev/landfall/internal/egress"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// Rule says what an answer means that it matches.
type Rule struct {
	// Status, 200 to 599, that the answer must have.
	Status int
	// Pointer and Equals, both or neither: which value must stand where in the answer's body. The pointer (RFC 6901) leads
	// to text, a number as it is written, true or false.
	Pointer, Equals string
	// Then is the meaning of the answer.
	Then outbox.AnswerKind
}

// rule is a Rule ready for use.
type rule struct {
	says    Rule
	pointer egress.Pointer
}

func compile(rules []Rule, method string) (compiled []rule, err error) {
	if len(rules) == 0 {
		return nil, errors.New("rules: want at least one; without a rule, no answer decides anything")
	}
	for i, r := range rules {
		pointer, err := egress.ParsePointer(r.Pointer)
		switch {
		case err != nil:
			return nil, fmt.Errorf("rule %d: %w", i+1, err)
		case r.Status < 200 || r.Status > 599:
			return nil, fmt.Errorf("rule %d: status %d: want the status of a final answer, 200 to 599", i+1, r.Status)
		case (r.Pointer == "") != (r.Equals == ""):
			return nil, fmt.Errorf("rule %d: want pointer and equals, or neither", i+1)
		case r.Pointer != "" && method == "HEAD":
			return nil, fmt.Errorf("rule %d: pointer: an answer to HEAD has no body; use GET", i+1)
		case r.Then < outbox.AnswerUnresolved || r.Then > outbox.AnswerNotFound:
			return nil, fmt.Errorf("rule %d: then: want completed, failed, not_found or unresolved", i+1)
		}
		compiled = append(compiled, rule{r, pointer})
	}
	return compiled, nil
}

// judge applies the first rule that matches. A rule that needs the body and cannot read it ends the search: a later,
// wider rule was not written for such an answer.
func judge(rules []rule, a *egress.Answer) outbox.Answer {
	document, err := egress.ParseDocument(a.Body)
	for _, r := range rules {
		if r.says.Status != a.Status {
			continue
		}
		if r.says.Pointer != "" {
			if err != nil {
				return outbox.Answer{Code: bodyCode(err)}
			}
			value, fits := document.Find(r.pointer)
			if !fits {
				return outbox.Answer{Code: CodeValueInvalid}
			}
			if value != r.says.Equals {
				continue
			}
		}
		if r.says.Then == outbox.AnswerUnresolved {
			return outbox.Answer{Code: CodeRule}
		}
		return outbox.Answer{Kind: r.says.Then}
	}
	return outbox.Answer{Code: statusCode(a.Status)}
}

// bodyCode is the code of why a body cannot be read.
func bodyCode(err error) string {
	switch {
	case errors.Is(err, egress.ErrIncomplete):
		return CodeBodyIncomplete
	case errors.Is(err, egress.ErrAmbiguous):
		return CodeBodyAmbiguous
	default:
		return CodeBodyInvalid
	}
}
