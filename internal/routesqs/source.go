package routesqs

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/schema"
)

// Source is a message as its ingress queue handed it out.
type Source struct {
	// MessageID is SQS's own, QueueARN the queue's.
	MessageID, QueueARN string
	Body                string
	Attributes          map[string]types.MessageAttributeValue
	// Trace is X-Ray's header, FairGroup the message group of a standard queue; "" if missing.
	Trace, FairGroup string
}

// Incoming is the message as the router takes it. What its own attribute says is left out of all counts: forwarding
// writes it anew.
func (s Source) Incoming(group, handle string, sentAt time.Time, receives int) routing.Incoming {
	own := s
	own.Attributes = maps.Clone(s.Attributes)
	delete(own.Attributes, routing.EnvelopeAttribute)
	in := routing.Incoming{
		Message: routing.Message{ID: s.id(), Fields: routing.ParseFields([]byte(s.Body)), Attributes: map[string]string{}},
		Group:   group, Handle: handle, SentAt: sentAt, Receives: receives,
		Bytes: own.bytes(), AttributeCount: len(own.Attributes), Source: s,
	}
	for name, a := range own.Attributes {
		if a.StringValue != nil && !binary(a) {
			in.Attributes[name] = *a.StringValue
		}
	}
	return in
}

var rowID = regexp.MustCompile(`^[0-9a-f]{64}$`)

// id is the message's id for the router: that of its row if the attribute has one, else that of SQS. A dead letter that
// was moved back is a new message. Its id is made of its end, so that it is one message even if it was buried twice.
func (s Source) id() string {
	if l, err := parseLetter(s.text(routing.EnvelopeAttribute)); err == nil {
		sum := sha256.Sum256([]byte(l.Group + "#" + l.MessageID + "#" + strconv.FormatInt(l.EndedAt, 10)))
		return hex.EncodeToString(sum[:])
	}
	if id := s.text(schema.MessageIDAttribute); rowID.MatchString(id) {
		return id
	}
	return s.MessageID
}

// text is the value of an attribute, "" if it is missing or no text.
func (s Source) text(name string) string { return aws.ToString(s.Attributes[name].StringValue) }

// bytes is the size that counts towards the limits of SQS: body, and name, type and value of each attribute
// (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html).
func (s Source) bytes() int {
	n := len(s.Body)
	for name, a := range s.Attributes {
		n += len(name) + len(aws.ToString(a.DataType)) + len(a.BinaryValue)
		if a.StringValue != nil {
			n += len(*a.StringValue)
		}
	}
	return n
}

func binary(a types.MessageAttributeValue) bool {
	return strings.HasPrefix(aws.ToString(a.DataType), "Binary")
}

// with is the message as it is sent on, with the one attribute in addition.
func (s Source) with(text string) types.SendMessageBatchRequestEntry {
	entry := types.SendMessageBatchRequestEntry{MessageBody: &s.Body, MessageAttributes: maps.Clone(s.Attributes)}
	if text != "" {
		if entry.MessageAttributes == nil {
			entry.MessageAttributes = map[string]types.MessageAttributeValue{}
		}
		entry.MessageAttributes[routing.EnvelopeAttribute] = textAttribute(text)
	}
	if s.FairGroup != "" {
		entry.MessageGroupId = &s.FairGroup
	}
	if s.Trace != "" {
		kind := "String"
		entry.MessageSystemAttributes = map[string]types.MessageSystemAttributeValue{
			string(types.MessageSystemAttributeNameForSendsAWSTraceHeader): {DataType: &kind, StringValue: &s.Trace},
		}
	}
	return entry
}

func textAttribute(text string) types.MessageAttributeValue {
	kind := "String"
	return types.MessageAttributeValue{DataType: &kind, StringValue: &text}
}

func millis(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }
