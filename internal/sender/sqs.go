package sender

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/landfall-dev/landfall/internal/awscall"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// The codes of kind sqs that it writes itself; kind group has the same below "landfall.group.". Besides these there is
// the service's own code or one of package awscall, in lower case: "landfall.sqs.non_existent_queue", ".no_answer".
const (
	// CodeSQSKeyInvalid: the idempotency key has a character that no message can carry. Nothing was sent.
	CodeSQSKeyInvalid = "landfall.sqs.key_invalid"
	// CodeSQSContentTypeInvalid: the content type of the row has such a character. Nothing was sent.
	CodeSQSContentTypeInvalid = "landfall.sqs.content_type_invalid"
	// CodeSQSPayloadEmpty: SQS takes no empty message. Nothing was sent.
	CodeSQSPayloadEmpty = "landfall.sqs.payload_empty"
	// CodeSQSPayloadNotText: the payload is bytes, or has a character that no message can carry, and the destination
	// does not say base64. Nothing was sent.
	CodeSQSPayloadNotText = "landfall.sqs.payload_not_text"
	// CodeSQSPayloadTooLarge: payload and attributes are more than a message may have. Nothing was sent.
	CodeSQSPayloadTooLarge = "landfall.sqs.payload_too_large"
	// CodeSQSNoTime: there was no time left to send.
	CodeSQSNoTime = "landfall.sqs.no_time"
	// CodeSQSGarbled: the service took a message, but says that it had another body.
	CodeSQSGarbled = "landfall.sqs.garbled"

	sqsPrefix = "landfall.sqs."
)

// Names of the message attributes that a row becomes, each a String. The key's is as in HTTP; the others are there if
// the row has them.
const (
	KeyAttribute         = DefaultKeyHeader
	ContentTypeAttribute = "Content-Type"
	TraceAttribute       = "traceparent"
)

// MaxSQSBytes is the size of a message with its attributes: of each, name, type and value count
// (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html). A queue may be set
// to take less; then its refusal is permanent.
const MaxSQSBytes = 1 << 20

// SQSClient is what messages are sent by; *sqs.Client is one.
type SQSClient interface {
	SendMessage(context.Context, *sqs.SendMessageInput, ...func(*sqs.Options)) (*sqs.SendMessageOutput, error)
}

// SQSOptions describe a destination of kind sqs.
type SQSOptions struct {
	// Base64 says that every body is the Base64 (RFC 4648, section 4) of the payload. Defaults to false: the payload
	// itself, which then must be text.
	Base64 bool
	// Client sends. Required.
	Client SQSClient
	// Queue is a name or an ARN. One that ends in .fifo is a FIFO queue. Required.
	Queue string
	// URL finds a queue. It has no effect but that, so it may try several times. Required.
	URL func(ctx context.Context, queue string) (string, error)
}

// SQS sends rows to one queue. Make one with [NewSQS]; it may be used from several goroutines at once.
type SQS struct{ queue }

// queue is what kinds of destinations behind SQS have in common.
type queue struct {
	SQSOptions
	prefix string // of codes
	limit  int    // of bytes
	// key is the name and value of the attribute that the key travels as.
	key func(outbox.ID) (name, value string)
}

// NewSQS returns a sender.
func NewSQS(o SQSOptions) (*SQS, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	byKey := func(id outbox.ID) (string, string) { return KeyAttribute, id.Key }
	return &SQS{queue{SQSOptions: o, prefix: sqsPrefix, limit: MaxSQSBytes, key: byKey}}, nil
}

func (o SQSOptions) check() error {
	if o.Client == nil || o.Queue == "" || o.URL == nil {
		return errors.New("sqs: want a client, a queue, and a way to find it")
	}
	return nil
}

// Send sends one message, once: the SDK does not repeat it. What is known then:
//
//	a good answer                                  completed, the reference is the message's id
//	refused for what it says (Invalid... and such)  permanent
//	refused otherwise: throttling, rights, no such
//	queue, any other 4xx; no connection            retryable
//	no answer, cut, 5xx, an answer that cannot be
//	read or names another body                     unknown
//
// A message to a FIFO queue has the SHA-256 of the row's primary key, in hex, for its deduplication id and its group: no
// order is kept, and the queue recognises a repetition for 5 minutes.
func (q *queue) Send(ctx context.Context, row outbox.Row) outbox.Outcome {
	in, code := q.message(row)
	if code != "" {
		return outbox.Permanent(q.code(code))
	}
	url, err := q.URL(ctx, q.Queue)
	if err != nil {
		return outbox.Retryable(q.trouble(err), 0)
	}
	if ctx.Err() != nil {
		return outbox.Retryable(q.code(CodeSQSNoTime), 0)
	}
	in.QueueUrl = &url
	var watch awscall.Watch
	out, err := q.Client.SendMessage(watch.Context(ctx), in, once, func(o *sqs.Options) { o.APIOptions = append(o.APIOptions, watch.Option) })
	switch {
	case err == nil && garbled(*in.MessageBody, out):
		return outbox.Unknown(keepable(aws.ToString(out.MessageId)), q.code(CodeSQSGarbled))
	case err == nil:
		return outbox.Completed(keepable(aws.ToString(out.MessageId)))
	case watch.NothingLeft():
		return outbox.Retryable(q.trouble(err), 0)
	case !awscall.Refused(err):
		return outbox.Unknown("", q.trouble(err))
	case awscall.AboutContent(awscall.Code(err)):
		return outbox.Permanent(q.trouble(err))
	default:
		return outbox.Retryable(q.trouble(err), 0)
	}
}

// once keeps the SDK from sending again what may have arrived. The sum of the body is compared here: the SDK would make
// an error of it that cannot be told from others.
func once(o *sqs.Options) {
	o.Retryer = aws.NopRetryer{}
	o.DisableMessageChecksumValidation = true
}

func garbled(body string, out *sqs.SendMessageOutput) bool {
	sum := md5.Sum([]byte(body)) // it is what the service answers with, and guards against accidents alone
	return out.MD5OfMessageBody != nil && !strings.EqualFold(*out.MD5OfMessageBody, hex.EncodeToString(sum[:]))
}

// message is what a row becomes, or the code of why it can become none.
func (q *queue) message(row outbox.Row) (in *sqs.SendMessageInput, code string) {
	body := string(row.Payload)
	switch {
	case q.Base64:
		body = base64.StdEncoding.EncodeToString(row.Payload)
	case row.Binary || !fits(body):
		return nil, CodeSQSPayloadNotText
	}
	if body == "" {
		return nil, CodeSQSPayloadEmpty
	}
	name, value := q.key(row.ID)
	if value == "" || !fits(value) {
		return nil, CodeSQSKeyInvalid
	}
	if !fits(row.ContentType) {
		return nil, CodeSQSContentTypeInvalid
	}
	in = &sqs.SendMessageInput{MessageBody: &body, MessageAttributes: map[string]types.MessageAttributeValue{name: textAttribute(value)}}
	if row.ContentType != "" {
		in.MessageAttributes[ContentTypeAttribute] = textAttribute(row.ContentType)
	}
	if traceparent.MatchString(row.Trace) {
		in.MessageAttributes[TraceAttribute] = textAttribute(row.Trace)
	}
	if size(in) > q.limit {
		return nil, CodeSQSPayloadTooLarge
	}
	if strings.HasSuffix(q.Queue, ".fifo") {
		id := fingerprint(row.ID)
		in.MessageDeduplicationId, in.MessageGroupId = &id, &id
	}
	return in, ""
}

func textAttribute(value string) types.MessageAttributeValue {
	return types.MessageAttributeValue{DataType: aws.String("String"), StringValue: &value}
}

func size(in *sqs.SendMessageInput) int {
	n := len(*in.MessageBody)
	for name, a := range in.MessageAttributes {
		n += len(name) + len(*a.DataType) + len(*a.StringValue)
	}
	return n
}

// fingerprint is a row's primary key where only letters and digits are possible: 64 hex digits of SHA-256.
func fingerprint(id outbox.ID) string {
	sum := sha256.Sum256([]byte(id.PK()))
	return hex.EncodeToString(sum[:])
}

// fits reports whether SQS takes a text
// (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html).
func fits(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool {
		return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xfffe || r == 0xffff
	})
}

// code is one of the codes above, below the kind's own name.
func (q *queue) code(code string) string { return q.prefix + strings.TrimPrefix(code, sqsPrefix) }

// trouble is the code of a call that ended in an error: AWS.SimpleQueueService.NonExistentQueue is non_existent_queue.
func (q *queue) trouble(err error) string {
	var b strings.Builder
	lower := false
	for _, r := range strings.TrimPrefix(awscall.Code(err), "AWS.SimpleQueueService.") {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			r, lower = '_', false
		case unicode.IsUpper(r) && lower:
			b.WriteByte('_')
			fallthrough
		default:
			lower = !unicode.IsUpper(r)
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return q.prefix + b.String()
}
