// Package awscall classifies the errors of calls to AWS services: whether a call demonstrably had no effect, and which word
// for the trouble is safe to log. Callers must let the SDK send a request only once (aws.NopRetryer): of several requests,
// only the last one's error would be known.
package awscall

import (
	"context"
	"errors"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Refused reports whether a call demonstrably had no effect: no connection was made, or the service itself refused
// it, by an answer of class 4xx or by throttling. Anything else may have taken effect: a timeout, a cut, an answer
// of class 5xx or one that cannot be read.
func Refused(err error) bool {
	var answered *awshttp.ResponseError
	var failure smithy.APIError
	if errors.As(err, &answered) && errors.As(err, &failure) {
		status := answered.HTTPStatusCode()
		return status >= http.StatusBadRequest && status < http.StatusInternalServerError || Throttled(failure.ErrorCode())
	}
	return notConnected(err)
}

// Throttled reports whether a service's error code says that there were too many calls.
func Throttled(code string) bool {
	_, throttled := retry.DefaultThrottleErrorCodes[code]
	return throttled
}

// AboutContent reports whether SQS refused the content of a message, and not its sender, its queue or its rate.
func AboutContent(code string) bool {
	return slices.ContainsFunc([]string{
		"InvalidMessageContents", "InvalidParameterValue", "InvalidAttributeValue", "MissingParameter",
		"MissingRequiredParameter", "Unsupported", "TooLong",
	}, func(part string) bool { return strings.Contains(code, part) })
}

func notConnected(err error) bool {
	var dial *net.OpError
	return errors.As(err, &dial) && dial.Op == "dial"
}

// The words of [Code] for errors without a code of the service's own.
const (
	NotConnected = "NotConnected"
	NoAnswer     = "NoAnswer" // in time
	Cut          = "Cut"      // the connection ended before the answer was there
	UnknownError = "UnknownError"
)

var word = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)

// Code is one word for the trouble, the service's own if it gave one. It contains nothing of the request, which the text of
// an error may quote.
func Code(err error) string {
	var failure smithy.APIError
	var timeout net.Error
	var sending *smithyhttp.RequestSendError
	switch {
	case errors.As(err, &failure):
		return Word(failure.ErrorCode())
	case notConnected(err):
		return NotConnected
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.As(err, &timeout) && timeout.Timeout():
		return NoAnswer
	case errors.As(err, &sending):
		return Cut
	}
	return UnknownError
}

// Word returns code if it has the form of an error code, else UnknownError.
func Word(code string) string {
	if !word.MatchString(code) {
		return UnknownError
	}
	return code
}
