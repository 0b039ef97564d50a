package devstack

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// queueRecord is a message as a function gets it
// (https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html). Lambda is seen to send null for what
// is not there, and to leave it out; here it is null, which is harder to read.
type queueRecord struct {
	MessageID              string                    `json:"messageId"`
	ReceiptHandle          string                    `json:"receiptHandle"`
	Body                   string                    `json:"body"`
	Attributes             map[string]string         `json:"attributes"`
	MessageAttributes      map[string]queueAttribute `json:"messageAttributes"`
	MD5OfMessageAttributes *string                   `json:"md5OfMessageAttributes"`
	MD5OfBody              string                    `json:"md5OfBody"`
	EventSource            string                    `json:"eventSource"`
	EventSourceARN         string                    `json:"eventSourceARN"`
	AWSRegion              string                    `json:"awsRegion"`
}

// queueAttribute is a message attribute. The lists are reserved, and always empty.
type queueAttribute struct {
	StringValue      *string  `json:"stringValue"`
	BinaryValue      []byte   `json:"binaryValue"` // Base64
	StringListValues []string `json:"stringListValues"`
	BinaryListValues [][]byte `json:"binaryListValues"`
	DataType         string   `json:"dataType"`
}

const eventStart, eventEnd = `{"Records":[`, `]}`

// event is the event of the batch's records.
func (b batch) event() []byte {
	texts := make([][]byte, len(b.records))
	for i, r := range b.records {
		texts[i] = r.text
	}
	return slices.Concat([]byte(eventStart), bytes.Join(texts, []byte(",")), []byte(eventEnd))
}

// pack makes batches of messages, in their order: one, unless it would exceed MaxRequest bytes.
func (q *queueSource) pack(messages []types.Message, until time.Time) (batches []batch) {
	size := 0 // of the last one's event
	for _, m := range messages {
		r := record{id: aws.ToString(m.MessageId), handle: aws.ToString(m.ReceiptHandle), text: q.record(m)}
		if size += len(",") + len(r.text); len(batches) == 0 || size > MaxRequest {
			batches, size = append(batches, batch{until: until}), len(eventStart)+len(r.text)+len(eventEnd)
		}
		b := &batches[len(batches)-1]
		b.records = append(b.records, r)
	}
	return batches
}

// record is a message in JSON.
func (q *queueSource) record(m types.Message) []byte {
	r := queueRecord{
		MessageID:              aws.ToString(m.MessageId),
		ReceiptHandle:          aws.ToString(m.ReceiptHandle),
		Body:                   aws.ToString(m.Body),
		Attributes:             m.Attributes,
		MessageAttributes:      make(map[string]queueAttribute, len(m.MessageAttributes)),
		MD5OfMessageAttributes: m.MD5OfMessageAttributes,
		MD5OfBody:              aws.ToString(m.MD5OfBody),
		EventSource:            "aws:sqs",
		EventSourceARN:         q.arn,
		AWSRegion:              q.region,
	}
	for name, a := range m.MessageAttributes {
		r.MessageAttributes[name] = queueAttribute{StringValue: a.StringValue, BinaryValue: a.BinaryValue,
			StringListValues: []string{}, BinaryListValues: [][]byte{}, DataType: aws.ToString(a.DataType)}
	}
	return compact(r)
}

// compact is JSON of strings, bytes, numbers and the like, which always marshal.
func compact(v any) []byte {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false) // it would make a text up to six times as long
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}
