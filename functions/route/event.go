package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/landfall-dev/landfall/internal/routesqs"
)

// record is a message as Lambda hands it over
// (https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html#example-standard-queue-message-event).
type record struct {
	MessageID         string                                `json:"messageId"`
	ReceiptHandle     *string                               `json:"receiptHandle"`
	Body              *string                               `json:"body"`
	Attributes        json.RawMessage                       `json:"attributes"`
	MessageAttributes map[string]events.SQSMessageAttribute `json:"messageAttributes"`
	EventSource       string                                `json:"eventSource"`
	EventSourceARN    string                                `json:"eventSourceARN"`

	// system are the Attributes that can be read, err is why the record cannot.
	system map[string]json.RawMessage
	err    error
}

var errEvent = errors.New(`the event has no "Records" of an SQS queue: connect the function to an ingress queue only`)

// messageID is what an envelope may carry. Ids of SQS are UUIDs.
var messageID = regexp.MustCompile(`^[!-~]{1,100}$`)

// maxHandle bounds a receipt handle in bytes, so that it fits into an envelope. Those of SQS have some 400.
const maxHandle = 1024

// parseEvent reads the records of an event, each by itself, and counts those without an id: they cannot even be
// reported.
func parseEvent(event []byte) (records []record, unnamed int, err error) {
	var e struct{ Records lists }
	if json.Unmarshal(event, &e) != nil || len(e.Records) == 0 {
		return nil, 0, errEvent
	}
	for _, raw := range e.Records {
		var r record
		err := json.Unmarshal(raw, &r) // reads on when a member is of the wrong type
		if r.MessageID == "" {
			unnamed++
			continue
		}
		r.err = r.check(err)
		records = append(records, r)
	}
	return records, unnamed, nil
}

// lists are the elements of a list, and of every other one that is there under the same name: a record that is read over
// would count as handled.
type lists []json.RawMessage

// UnmarshalJSON implements [json.Unmarshaler].
func (l *lists) UnmarshalJSON(text []byte) error {
	var more []json.RawMessage
	err := json.Unmarshal(text, &more)
	*l = append(*l, more...)
	return err
}

// check is what keeps a record from being routed. No text of it quotes content.
func (r *record) check(err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		return fmt.Errorf("%.80q has the wrong type", wrong.Field)
	case err != nil:
		return errors.New("an attribute is not valid Base64")
	case !messageID.MatchString(r.MessageID):
		return errors.New("messageId is not 1 to 100 visible ASCII characters")
	case r.EventSource != "aws:sqs":
		return errors.New("eventSource is not aws:sqs")
	case r.ReceiptHandle == nil || *r.ReceiptHandle == "":
		return errors.New("receiptHandle is missing")
	case len(*r.ReceiptHandle) > maxHandle:
		return fmt.Errorf("receiptHandle exceeds %d bytes", maxHandle)
	case r.Body == nil || *r.Body == "":
		return errors.New("body is missing")
	}
	for name, a := range r.MessageAttributes {
		if err := checkAttribute(a); err != nil {
			return fmt.Errorf("message attribute %.80q: %w", name, err)
		}
	}
	_ = json.Unmarshal(r.Attributes, &r.system) // nothing depends on them
	return nil
}

// checkAttribute finds what would not be the same attribute when it is sent on. Lists are reserved, and empty.
func checkAttribute(a events.SQSMessageAttribute) error {
	value := a.StringValue
	if strings.HasPrefix(a.DataType, "Binary") {
		value = aws.String(string(a.BinaryValue))
	}
	switch {
	case a.DataType == "":
		return errors.New("it has no dataType")
	case len(a.StringListValues)+len(a.BinaryListValues) > 0:
		return errors.New("lists cannot be forwarded")
	case value == nil || *value == "":
		return errors.New("it has no value of its type")
	}
	return nil
}

// name is the record's in logs.
func (r *record) name() string {
	if !messageID.MatchString(r.MessageID) {
		return "with an invalid messageId"
	}
	return r.MessageID
}

func (r *record) source() routesqs.Source {
	s := routesqs.Source{
		MessageID: r.MessageID, QueueARN: r.EventSourceARN, Body: *r.Body,
		Trace: r.text("AWSTraceHeader"), FairGroup: r.text("MessageGroupId"),
		Attributes: map[string]types.MessageAttributeValue{},
	}
	for name, a := range r.MessageAttributes {
		to := types.MessageAttributeValue{DataType: aws.String(a.DataType), StringValue: a.StringValue}
		if strings.HasPrefix(a.DataType, "Binary") {
			to.StringValue, to.BinaryValue = nil, a.BinaryValue
		}
		s.Attributes[name] = to
	}
	return s
}

// text is a system attribute, "" if it is missing or none.
func (r *record) text(name string) (text string) {
	_ = json.Unmarshal(r.system[name], &text)
	return text
}

// number is a system attribute that counts, as text or not; 0 if it is missing, none or negative.
func (r *record) number(name string) int64 {
	n, err := strconv.ParseInt(strings.Trim(string(r.system[name]), `"`), 10, 64)
	if err != nil {
		return 0
	}
	return max(0, n)
}

// sentAt is when the message came into the queue; zero if unknown.
func (r *record) sentAt() time.Time {
	if n := r.number("SentTimestamp"); n > 0 {
		return time.UnixMilli(n)
	}
	return time.Time{}
}

func (r *record) receives() int { return int(r.number("ApproximateReceiveCount")) }
