// Package wire is AWS's JSON 1.0 protocol, for any service: a request names its operation in a header, answers and
// errors are JSON documents with a checksum. It knows nothing of what the operations mean.
package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/lab/localaws/ledger"
)

// Service is one AWS service behind the wire. Its state is guarded by the caller: Operations run one at a time.
type Service interface {
	Name() string   // "dynamodb"
	Target() string // what stands before the operation in X-Amz-Target: "DynamoDB_20120810"

	// Decode reads and checks a request as far as that needs no state. It is called concurrently.
	Decode(*Request) (Operation, error)
}

// Operation is a request that was read.
type Operation interface {
	Resource() string // the table or queue that it is about, may be empty
	// Run does the work of the request at a given time. The fault's Error, StaleIndex and Unprocessed are heeded.
	Run(now time.Time, fault faults.Fault) Outcome
}

// Outcome is what became of a request.
type Outcome struct {
	Answer any // JSON
	Err    error
	Costs  []ledger.Cost
	Billed int                 // requests that it is billed as, where that depends on its size
	Wait   *Wait               // if not nil: there is nothing to answer yet
	Commit func(now time.Time) // if not nil: what is left to do after the fault's During, before the answer
}

// Wait is how a request waits for others to change something, without holding anything up.
type Wait struct {
	Until time.Time                   // when to look again at the latest; now: at once, after all others
	Look  func(now time.Time) Outcome // called at that time, and after any other work was done
}

// Error is an error of a service as it travels. Its Message is for the caller and never holds secrets.
type Error struct {
	Namespace string // "com.amazonaws.dynamodb.v20120810"
	Type      string // "ConditionalCheckFailedException"
	Message   string
	Status    int            // 0 for 400
	Query     string         // what it is called in the query protocol, told in a header; empty if nothing
	Fields    map[string]any // further members of the document; with a Message, that stands for the usual message
}

func (e *Error) Error() string { return e.Type + ": " + e.Message }

// Protocol is an error of the protocol itself.
func Protocol(typ, format string, args ...any) *Error {
	return &Error{Namespace: "com.amazon.coral.service", Type: typ, Message: fmt.Sprintf(format, args...)}
}

// Request is a request before it is known what it means.
type Request struct {
	Target    string // of the service
	Host      string
	Trace     string // X-Amzn-Trace-Id
	Operation string
	Caller    string
	Body      []byte
}

// maxBody bounds the body of a request, in bytes, as DynamoDB does.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
const maxBody = 16 << 20

// Read takes a request from HTTP.
func Read(r *http.Request) (*Request, error) {
	target, operation, ok := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if r.Method != http.MethodPost || !ok {
		return nil, Protocol("UnknownOperationException", "send a POST with the header X-Amz-Target: <service>.<operation>")
	}
	var body []byte
	if r.Body != nil {
		defer func() { _ = r.Body.Close() }() // it was only read
		var err error
		if body, err = io.ReadAll(io.LimitReader(r.Body, maxBody+1)); err != nil {
			return nil, fmt.Errorf("read request: %w", err)
		}
	}
	if len(body) > maxBody {
		return nil, &Error{Namespace: "com.amazon.coral.service", Type: "RequestEntityTooLargeException",
			Message: fmt.Sprintf("the request exceeds %d bytes", maxBody), Status: http.StatusRequestEntityTooLarge}
	}
	return &Request{target, r.Host, r.Header.Get("X-Amzn-Trace-Id"), operation, caller(r.Header), body}, nil
}

// caller names the sender of a request: the header X-Landfall-Caller, or the application id in the SDK's user agent.
func caller(h http.Header) string {
	if c := h.Get("X-Landfall-Caller"); c != "" {
		return c
	}
	for _, part := range strings.Fields(h.Get("User-Agent")) {
		if app, ok := strings.CutPrefix(part, "app/"); ok {
			return app
		}
	}
	return ""
}

// Answer is an HTTP answer.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Encode makes the answer to a request: v as JSON, or err if it is not nil.
func Encode(requestID string, v any, err error) Answer {
	status := http.StatusOK
	h := http.Header{}
	if err != nil {
		status, v = document(err)
		var e *Error
		if errors.As(err, &e) && e.Query != "" {
			h.Set("X-Amzn-Query-Error", e.Query+";Sender")
		}
	}
	body, failed := json.Marshal(v)
	if failed != nil {
		status, body = http.StatusInternalServerError, []byte(`{"__type":"InternalServerError"}`)
	}
	h.Set("Content-Type", "application/x-amz-json-1.0")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("X-Amzn-Requestid", requestID)
	h.Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10))
	return Answer{status, h, body}
}

func document(err error) (status int, fields map[string]any) {
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{Namespace: "com.amazon.coral.service", Type: "InternalFailure", Message: err.Error(), Status: http.StatusInternalServerError}
	}
	fields = map[string]any{"__type": e.Namespace + "#" + e.Type}
	if maps.Copy(fields, e.Fields); fields["Message"] == nil {
		fields["message"] = e.Message
	}
	if e.Status == 0 {
		return http.StatusBadRequest, fields
	}
	return e.Status, fields
}

// Decode reads a JSON document into v, with the service's words for what has the wrong shape.
func Decode(body []byte, v any) error {
	err := json.Unmarshal(body, v)
	var typed *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &typed):
		return Protocol("SerializationException", "%s", mismatch(body, typed))
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) || len(body) == 0 {
		return Protocol("SerializationException", "the request is not valid JSON")
	}
	var corrupt base64.CorruptInputError
	if errors.As(err, &corrupt) {
		return Protocol("SerializationException", "a binary value is not valid Base64")
	}
	return err
}

// mismatch is how the service says that a value of a request has the wrong shape.
func mismatch(body []byte, e *json.UnmarshalTypeError) string {
	shape, _, _ := strings.Cut(e.Value, " ") // "number 1.5" did not fit into an integer
	want := ""
	switch e.Type.Kind() {
	case reflect.String:
		want = "String"
	case reflect.Bool:
		want = "Boolean"
	case reflect.Int:
		want = "Integer"
	case reflect.Int64:
		want = "Long"
	}
	switch {
	case shape == "object" || shape == "array":
		return "Start of structure or map found where not expected."
	case want == "":
		return "Unexpected field type"
	case shape == "bool" && bytes.HasSuffix(body[:min(int(e.Offset), len(body))], []byte("true")):
		shape = "true"
	case shape == "bool":
		shape = "false"
	}
	return strings.ToUpper(shape) + "_VALUE cannot be converted to " + want
}
