package ddb

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/landfall-dev/landfall/internal/lab/localaws/attr"
	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/lab/localaws/wire"
)

const namespace = "com.amazonaws.dynamodb.v20120810"

func failure(typ, format string, args ...any) *wire.Error {
	return &wire.Error{Namespace: namespace, Type: typ, Message: fmt.Sprintf(format, args...)}
}

// invalid makes a ValidationException of what the packages attr and expr complain of.
func invalid(prefix string, err error) error {
	if err == nil {
		return nil
	}
	return wire.Validation("%s%s", prefix, err)
}

// code is the type of a service's error, empty for any other.
func code(err error) string {
	e := &wire.Error{}
	errors.As(err, &e)
	return e.Type
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
	return failure("ThrottlingException",
		"Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling your "+
			"table or index so please try again shortly. If exceptions persist, check if you have a hot key: "+
			"https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html")
}

// faulty is the service's own error of a kind of fault.
func faulty(kind faults.Error) error {
	switch kind {
	case faults.Throttle:
		return throttled()
	case faults.Conflict:
		return conflict()
	}
	e := failure("InternalServerError", "Internal server error")
	e.Status = http.StatusInternalServerError
	if kind == faults.Unavailable {
		e = failure("ServiceUnavailableException", "The service is unavailable. Please try again later")
		e.Status = http.StatusServiceUnavailable
	}
	return e
}

// decodeError makes the service's error of what a request was refused for, if it was.
func decodeError(err error) error {
	var bad *attr.InvalidError
	var known *wire.Error
	switch {
	case errors.As(err, &bad):
		return wire.Validation("%s", bad.Message)
	case err == nil || errors.As(err, &known):
		return err
	}
	return wire.Protocol("SerializationException", "%s", err)
}

// checkCapacity checks what an answer is to say of consumption.
func checkCapacity(c *wire.Constraints, capacity string) {
	c.Enum("returnConsumedCapacity", capacity, "INDEXES", "TOTAL", "NONE")
}

// tableName demands a table's name and takes it out of an ARN.
func tableName(c *wire.Constraints, name *string) string { return newTableName(c, name, 1) }

// newTableName demands a name of a minimal length; only new tables' names are held to the service's 3.
func newTableName(c *wire.Constraints, name *string, shortest int) string {
	if c.Required("tableName", name != nil); name == nil {
		return ""
	}
	n := *name
	if _, after, ok := strings.Cut(n, ":table/"); ok && strings.HasPrefix(n, "arn:") {
		n, _, _ = strings.Cut(after, "/")
	}
	c.Text("tableName", n, shortest, 255)
	if len(n) > 0 && strings.Trim(n, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") != "" {
		c.Add("'"+n+"'", "tableName", "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+")
	}
	return n
}
