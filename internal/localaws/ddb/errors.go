package ddb

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/landfall-dev/landfall/internal/localaws/ddb/attr"
	"github.com/landfall-dev/landfall/internal/localaws/faults"
	"github.com/landfall-dev/landfall/internal/localaws/wire"
)

const namespace = "com.amazonaws.dynamodb.v20120810"

func failure(typ, format string, args ...any) *wire.Error {
	return &wire.Error{Namespace: namespace, Type: typ, Message: fmt.Sprintf(format, args...)}
}

func validation(format string, args ...any) *wire.Error {
	return &wire.Error{Namespace: "com.amazon.coral.validate", Type: "ValidationException", Message: fmt.Sprintf(format, args...)}
}

// forbid is a ValidationException if something is so. Rules in a row are a table: of cmp.Or, the first broken one counts.
func forbid(so bool, format string, args ...any) error {
	if !so {
		return nil
	}
	return validation(format, args...)
}

// invalid makes a ValidationException of what the packages attr and expr complain of.
func invalid(prefix string, err error) error {
	if err == nil {
		return nil
	}
	return validation("%s%s", prefix, err)
}

// code is the type of a service's error, empty for any other.
func code(err error) string {
	var e *wire.Error
	if errors.As(err, &e) {
		return e.Type
	}
	return ""
}

const conditionFailedType = "ConditionalCheckFailedException"

func conditionFailed(old attr.Map, show bool) *wire.Error {
	e := failure(conditionFailedType, "The conditional request failed")
	if show && old != nil {
		e.Fields = map[string]any{"Item": old}
	}
	return e
}

func conflict() *wire.Error {
	return failure("TransactionConflictException", "Transaction is ongoing for the item")
}

func throttled() *wire.Error {
	return failure("ThrottlingException", "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling your table or index so please try again shortly. If exceptions persist, check if you have a hot key: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html")
}

// Failure is the service's own error of a kind of fault.
func Failure(kind faults.Error) error {
	switch kind {
	case faults.Throttle:
		return throttled()
	case faults.Conflict:
		return conflict()
	case faults.Unavailable:
		e := failure("ServiceUnavailableException", "The service is unavailable. Please try again later")
		e.Status = http.StatusServiceUnavailable
		return e
	}
	e := failure("InternalServerError", "Internal server error")
	e.Status = http.StatusInternalServerError
	return e
}

// decodeError makes the service's error of what a request's JSON was refused for.
func decodeError(err error) error {
	var bad *attr.InvalidError
	var known *wire.Error
	switch {
	case errors.As(err, &bad):
		return validation("%s", bad.Message)
	case !errors.As(err, &known):
		return wire.Protocol("SerializationException", "%s", err)
	}
	return err
}

// constraints collects what is wrong with the parameters of a request, as the service reports it: all at once.
type constraints []string

func (c *constraints) add(value, parameter, rule string) {
	if value != "" {
		value += " "
	}
	*c = append(*c, fmt.Sprintf("Value %sat '%s' failed to satisfy constraint: %s", value, parameter, rule))
}

// enum demands one of a few values, or none.
func (c *constraints) enum(parameter, value string, allowed ...string) {
	if value != "" && !slices.Contains(allowed, value) {
		c.add("'"+value+"'", parameter, "Member must satisfy enum value set: ["+strings.Join(allowed, ", ")+"]")
	}
}

// required demands that a parameter is there.
func (c *constraints) required(parameter string, there bool) {
	if !there {
		c.add("null", parameter, "Member must not be null")
	}
}

// asked checks what an answer is to say of consumption.
func (c *constraints) asked(capacity string) {
	c.enum("returnConsumedCapacity", capacity, "INDEXES", "TOTAL", "NONE")
}

// between demands a length or a number in a range.
func (c *constraints) between(parameter, shown string, what string, n, low, high int) {
	if n < low {
		c.add(shown, parameter, fmt.Sprintf("Member must have %s greater than or equal to %d", what, low))
	}
	if n > high {
		c.add(shown, parameter, fmt.Sprintf("Member must have %s less than or equal to %d", what, high))
	}
}

// length demands a list with at least one and at most a number of members, which are not shown.
func (c *constraints) length(parameter string, n, high int) {
	shown := "'[]'"
	if n > 0 {
		shown = fmt.Sprintf("'[%d members]'", n)
	}
	c.between(parameter, shown, "length", n, 1, high)
}

// number demands a number in a range, if it is there.
func (c *constraints) number(parameter string, n *int, low, high int) {
	if n != nil {
		c.between(parameter, fmt.Sprintf("'%d'", *n), "value", *n, low, high)
	}
}

func (c *constraints) err() error {
	switch len(*c) {
	case 0:
		return nil
	case 1:
		return validation("1 validation error detected: %s", (*c)[0])
	}
	return validation("%d validation errors detected: %s", len(*c), strings.Join(*c, "; "))
}

// tableName demands a table's name and takes it out of an ARN.
func (c *constraints) tableName(name *string) string { return c.newTableName(name, 1) }

// newTableName demands a name of a minimal length; only new tables' names are held to the service's 3.
func (c *constraints) newTableName(name *string, shortest int) string {
	if c.required("tableName", name != nil); name == nil {
		return ""
	}
	n := *name
	if _, after, ok := strings.Cut(n, ":table/"); ok && strings.HasPrefix(n, "arn:") {
		n, _, _ = strings.Cut(after, "/")
	}
	c.between("tableName", "'"+n+"'", "length", len(n), shortest, 255)
	if len(n) > 0 && strings.Trim(n, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") != "" {
		c.add("'"+n+"'", "tableName", "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+")
	}
	return n
}
