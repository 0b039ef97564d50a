package sqs

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/lab/localaws/wire"
)

// legacy is what an error is called in the query protocol, which clients are still told in a header, and its status.
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/CommonErrors.html
var legacy = map[string]struct {
	code   string
	status int
}{
	"BatchEntryIdsNotDistinct":          {"AWS.SimpleQueueService.BatchEntryIdsNotDistinct", 400},
	"BatchRequestTooLong":               {"AWS.SimpleQueueService.BatchRequestTooLong", 400},
	"EmptyBatchRequest":                 {"AWS.SimpleQueueService.EmptyBatchRequest", 400},
	"InvalidBatchEntryId":               {"AWS.SimpleQueueService.InvalidBatchEntryId", 400},
	"InvalidParameterValueException":    {"InvalidParameterValue", 400},
	"MissingRequiredParameterException": {"MissingParameter", 400},
	"OverLimit":                         {"OverLimit", 403},
	"PurgeQueueInProgress":              {"AWS.SimpleQueueService.PurgeQueueInProgress", 403},
	"QueueDeletedRecently":              {"AWS.SimpleQueueService.QueueDeletedRecently", 400},
	"QueueDoesNotExist":                 {"AWS.SimpleQueueService.NonExistentQueue", 400},
	"QueueNameExists":                   {"QueueAlreadyExists", 400},
	"ReceiptHandleIsInvalid":            {"ReceiptHandleIsInvalid", 404},
	"RequestThrottled":                  {"RequestThrottled", 403},
	"ResourceNotFoundException":         {"ResourceNotFoundException", 404},
	"TooManyEntriesInBatchRequest":      {"AWS.SimpleQueueService.TooManyEntriesInBatchRequest", 400},
}

func failure(typ, format string, args ...any) *wire.Error {
	e := &wire.Error{Namespace: "com.amazonaws.sqs", Type: typ, Message: fmt.Sprintf(format, args...), Status: 400, Query: typ}
	if l, ok := legacy[typ]; ok {
		e.Query, e.Status = l.code, l.status
	}
	return e
}

// invalid is an error of a parameter's value.
func invalid(format string, args ...any) *wire.Error {
	e := failure("InvalidParameterValueException", format, args...)
	e.Namespace = "com.amazon.coral.service"
	return e
}

// invalidValue is invalid in the words that most parameters share.
func invalidValue(parameter string, value any, reason string) *wire.Error {
	return invalid("Value %v for parameter %s is invalid. Reason: %s", value, parameter, reason)
}

func missing(parameter string) *wire.Error {
	e := failure("MissingRequiredParameterException", "The request must contain the parameter %s.", parameter)
	e.Namespace = "com.amazon.coral.service"
	return e
}

func noQueue() *wire.Error {
	return failure("QueueDoesNotExist", "The specified queue does not exist.")
}

// faulty is the service's own error of a kind of fault.
func faulty(kind faults.Error) error {
	switch kind {
	case faults.Throttle:
		return failure("RequestThrottled", "The request was denied due to request throttling.")
	case faults.Unavailable:
		return serverFault("ServiceUnavailable", http.StatusServiceUnavailable)
	}
	return serverFault("InternalFailure", http.StatusInternalServerError)
}

func serverFault(typ string, status int) *wire.Error {
	e := failure(typ, "The request could not be served. Repeat it later")
	e.Namespace, e.Status, e.Query = "com.amazon.coral.service", status, ""
	return e
}

// integer demands a number in a range, if there is one.
func integer(parameter string, n *int, low, high int, reason string) error {
	if n != nil && (*n < low || *n > high) {
		return invalidValue(parameter, *n, reason)
	}
	return nil
}

// batchError is what became of an entry of a batch that was not done.
type batchError struct {
	Id          string
	Code        string
	Message     string
	SenderFault bool
}

func entryFailed(id string, err error) batchError {
	var e *wire.Error
	if !errors.As(err, &e) {
		return batchError{id, "InternalError", err.Error(), false}
	}
	return batchError{id, e.Query, e.Message, true}
}
