package devstack

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Limits of a synchronous invocation, in bytes. The request's is documented
// (https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html); the response's is
// the number that the service names when it refuses one.
const (
	MaxRequest  = 6 << 20
	MaxResponse = 6<<20 + 100
)

// Unhandled is the value of Result.FunctionError when the function failed.
const Unhandled = "Unhandled"

// What Invoke answers when the function was not run at all. In parentheses, the error of Lambda's
// own API.
var (
	ErrThrottled       = errors.New("rate exceeded: the function's concurrency is used up") // TooManyRequestsException
	ErrUnknownFunction = errors.New("function not found")                                   // ResourceNotFoundException
	ErrRequestTooLarge = errors.New("request is larger than 6 MB")                          // RequestTooLargeException
	ErrInvalidRequest  = errors.New("request is not valid JSON")                            // InvalidRequestContentException
	ErrStopped         = errors.New("the stack is stopped")
	ErrNotRunning      = errors.New("no such invocation is running")
)

// Result is what became of an invocation, as Lambda's Invoke answers it.
type Result struct {
	RequestID string
	// FunctionError is empty, or Unhandled: then Payload is a JSON object with errorType and
	// errorMessage, from the function or, if that could not answer, in Lambda's words.
	FunctionError string
	// Payload is what the function answered, at most MaxResponse bytes.
	Payload []byte
}

// ErrorType returns the errorType of a failed invocation, such as Runtime.ExitError or
// Sandbox.Timedout; it is empty when the invocation succeeded or its error says no type.
func (r Result) ErrorType() string {
	if r.FunctionError == "" {
		return ""
	}
	var body struct {
		ErrorType string `json:"errorType"`
	}
	if err := json.Unmarshal(r.Payload, &body); err != nil {
		return "" // a runtime may post any bytes as its error
	}
	return body.ErrorType
}

// invocation is one event on its way through a process.
type invocation struct {
	id       string
	payload  []byte
	arn      string
	trace    string
	deadline time.Time // set when a process takes the invocation

	// done is closed when the process, having answered, asks for its next invocation. Only then
	// is it free, and only then does Lambda hand the answer to the caller.
	done chan struct{}

	// Guarded by the runtime API's lock until done is closed or the process has ended.
	answered bool
	result   Result
}

// fault returns the answer that Lambda itself gives for a function that did not.
func fault(requestID, errorType, format string, args ...any) Result {
	payload, err := json.Marshal(map[string]string{
		"errorType":    errorType,
		"errorMessage": fmt.Sprintf(format, args...),
	})
	if err != nil {
		panic(err) // two strings always marshal
	}
	return Result{RequestID: requestID, FunctionError: Unhandled, Payload: payload}
}
