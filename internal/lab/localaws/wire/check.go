package wire

import (
	"fmt"
	"slices"
	"strings"
)

// Operations are what a service S can do, by name.
type Operations[S any] map[string]func(S, []byte) (Operation, error)

// Decode reads a request; product is what a refusal calls the service.
func (all Operations[S]) Decode(product string, service S, r *Request) (Operation, error) {
	read, ok := all[r.Operation]
	if !ok {
		return nil, Protocol("UnknownOperationException", "the operation %s is not part of the local %s", r.Operation, product)
	}
	return read(service, r.Body)
}

// Reading is how an operation of the service S is read: its parameters are decoded, then checked.
func Reading[S, T any, O Operation](check func(S, *T) (O, error)) func(S, []byte) (Operation, error) {
	return func(service S, body []byte) (Operation, error) {
		in := new(T)
		if err := Decode(body, in); err != nil {
			return nil, err
		}
		op, err := check(service, in)
		if err != nil {
			return nil, err
		}
		return op, nil
	}
}

// Given is the value of an optional parameter, or else what stands for it.
func Given[T any](parameter *T, otherwise T) T {
	if parameter == nil {
		return otherwise
	}
	return *parameter
}

// Validation is an error of a request's parameters.
func Validation(format string, args ...any) *Error {
	text := fmt.Sprintf(format, args...)
	return &Error{Namespace: "com.amazon.coral.validate", Type: "ValidationException", Message: text}
}

// Forbid is a ValidationException if something is so. Rules in a row are a table: of cmp.Or, the first broken one
// counts.
func Forbid(so bool, format string, args ...any) error {
	if !so {
		return nil
	}
	return Validation(format, args...)
}

// Constraints collect what is wrong with each parameter of a request for itself, which is reported all at once.
type Constraints []string

// Add says that the value of a parameter breaks a rule. value is as it is shown, empty if it is not.
func (c *Constraints) Add(value, parameter, rule string) {
	if value != "" {
		value += " "
	}
	*c = append(*c, fmt.Sprintf("Value %sat '%s' failed to satisfy constraint: %s", value, parameter, rule))
}

// Enum demands one of a few values, or none.
func (c *Constraints) Enum(parameter, value string, allowed ...string) {
	if value != "" && !slices.Contains(allowed, value) {
		c.Add("'"+value+"'", parameter, "Member must satisfy enum value set: ["+strings.Join(allowed, ", ")+"]")
	}
}

// Required demands that a parameter is there.
func (c *Constraints) Required(parameter string, there bool) {
	if !there {
		c.Add("null", parameter, "Member must not be null")
	}
}

// Between demands that what is counted of a parameter, its length or its value, is in a range.
func (c *Constraints) Between(parameter, shown, what string, n, low, high int) {
	if n < low {
		c.Add(shown, parameter, fmt.Sprintf("Member must have %s greater than or equal to %d", what, low))
	}
	if n > high {
		c.Add(shown, parameter, fmt.Sprintf("Member must have %s less than or equal to %d", what, high))
	}
}

// Text demands a length in a range.
func (c *Constraints) Text(parameter, value string, low, high int) {
	c.Between(parameter, "'"+value+"'", "length", len(value), low, high)
}

// List demands at least one and at most a number of members, which are not shown.
func (c *Constraints) List(parameter string, n, high int) {
	shown := "'[]'"
	if n > 0 {
		shown = fmt.Sprintf("'[%d members]'", n)
	}
	c.Between(parameter, shown, "length", n, 1, high)
}

// Number demands a number in a range, if it is there.
func (c *Constraints) Number(parameter string, n *int, low, high int) {
	if n != nil {
		c.Between(parameter, fmt.Sprintf("'%d'", *n), "value", *n, low, high)
	}
}

// Err is the ValidationException that says all that is wrong, nil if nothing is.
func (c *Constraints) Err() error {
	switch len(*c) {
	case 0:
		return nil
	case 1:
		return Validation("1 validation error detected: %s", (*c)[0])
	}
	return Validation("%d validation errors detected: %s", len(*c), strings.Join(*c, "; "))
}
