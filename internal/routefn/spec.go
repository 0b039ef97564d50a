package routefn

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Kind is a kind of routing function, in the words of configurations.
type Kind string

// The kinds. The first five are built in; all of them pass over consumers that have no capacity.
const (
	// FirstWithCapacity picks by order of ids.
	FirstWithCapacity Kind = "first_with_capacity"
	// LeastLoaded picks the one with the fewest messages in flight and waiting.
	LeastLoaded Kind = "least_loaded"
	// Rendezvous picks the same one for the same value of a field, and moves few values when members change.
	Rendezvous Kind = "rendezvous"
	// Weighted picks by weight, from a hash of message id and attempt.
	Weighted Kind = "weighted"
	// Affinity picks the least loaded of those that have the value of a field for a tag, or of all.
	Affinity Kind = "affinity"
	// CEL is an expression; see [Compile].
	CEL Kind = "cel"
	// Lambda asks a function of AWS Lambda.
	Lambda Kind = "lambda"
)

// MaxFieldBytes bounds the name of a message's field in a spec.
const MaxFieldBytes = 256

// Spec says which routing function. It is a value that can be stored and compared.
type Spec struct {
	Kind Kind
	// Argument is the field of Rendezvous and Affinity, the source of CEL, the function of Lambda; "" for
	// the others.
	Argument string
}

// Hash names the function by its content: for CEL the SHA-256 of the source, otherwise that of kind and
// argument, in hex.
func (s Spec) Hash() string {
	content := s.Argument
	if s.Kind != CEL {
		content = strings.TrimSpace(string(s.Kind) + " " + s.Argument)
	}
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// Validate reports what is wrong with the spec, CEL errors with their position.
func (s Spec) Validate() error {
	if s.Kind == CEL {
		return CheckCEL(s.Argument)
	}
	return s.check()
}

func (s Spec) check() error {
	switch s.Kind {
	case FirstWithCapacity, LeastLoaded, Weighted:
		if s.Argument != "" {
			return fmt.Errorf("routing function %s takes no argument", s.Kind)
		}
	case Rendezvous, Affinity:
		if s.Argument == "" || len(s.Argument) > MaxFieldBytes || !utf8.ValidString(s.Argument) {
			return fmt.Errorf("routing function %s: want the name of a field of the message, 1 to %d bytes", s.Kind, MaxFieldBytes)
		}
	case Lambda:
		if s.Argument == "" || strings.ContainsFunc(s.Argument, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return errors.New("routing function lambda: want a function's name or ARN")
		}
	default:
		return fmt.Errorf("unknown routing function %q; want one of %s", s.Kind, kinds())
	}
	return nil
}

func kinds() string {
	all := []string{
		string(FirstWithCapacity), string(LeastLoaded), string(Rendezvous), string(Weighted), string(Affinity),
		string(CEL), string(Lambda),
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
