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

// The codes of kind sqs; kind group has the same below "landfall.group.". Besides these there are the service's own codes
// and those of package awscall, in lower case: "landfall.sqs.non_existent_queue", "landfall.sqs.no_answer".
const (
	// CodeSQSKeyInvalid: the idempotency key has a character that no message can carry. Nothing was sent.
	CodeSQSKeyInvalid = "landfall.sqs.key_invalid"
	// CodeSQSContentTypeInvalid: the content type of the row has such a character. Nothing was sent.
	CodeSQSContentTypeInvalid = "landfall.sqs.content_type_invalid"
	// CodeSQSPayloadEmpty: SQS accepts no empty message. Nothing was sent.
	CodeSQSPayloadEmpty = "landfall.sqs.payload_empty"
	// CodeSQSPayloadNotText: the payload is binary, or has a character that no message can carry, and the destination
	// does not say base64. Nothing was sent.
	CodeSQSPayloadNotText = "landfall.sqs.payload_not_text"
	// CodeSQSPayloadTooLarge: payload and attributes are more than a message may have. Nothing was sent.
	CodeSQSPayloadTooLarge = "landfall.sqs.payload_too_large"
	// CodeSQSNoTime: there was no time left to send.
	CodeSQSNoTime = "landfall.sqs.no_time"
	// CodeSQSGarbled: the service accepted a message, but the checksum in its answer is of another body.
	CodeSQSGarbled = "landfall.sqs.garbled"

	sqsPrefix = "landfall.sqs."
)

// Names of the attributes of a row's message, each a String. The key's is the header's of HTTP; the others are present if
// the row has them.
const (
	KeyAttribute         = DefaultKeyHeader
	ContentTypeAttribute = "Content-Type"
	TraceAttribute       = "traceparent"
)

// MaxSQSBytes bounds a message with its attributes, of which name, type and value count
// (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html). A queue may have a
// lower limit; its refusal is then permanent.
const MaxSQSBytes = 1 << 20

// SQSClient sends messages, as *sqs.Client does.
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
	// URL finds the URL of a queue. It has no other effect, so it may repeat its calls. Required.
	URL func(ctx context.Context, queue string) (string, error)
}

// Queue sends rows to one queue of SQS. Make one with [NewSQS] or [NewGroup]; it may be used from several goroutines at
// once.
type Queue struct {
	o      SQSOptions
	prefix string // of codes
	limit  int    // of a message, in bytes
	// key is the name and value of the attribute that carries the key.
	key func(outbox.ID) (name, value string)
}

// NewSQS returns a sender to a queue of an application's own.
func NewSQS(o SQSOptions) (*Queue, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	byKey := func(id outbox.ID) (string, string) { return KeyAttribute, id.Key }
	return &Queue{o: o, prefix: sqsPrefix, limit: MaxSQSBytes, key: byKey}, nil
}

func (o SQSOptions) check() error {
	if o.Client == nil || o.Queue == "" || o.URL == nil {
		return errors.New("sqs: want a client, a queue, and a function that finds the queue's URL")
	}
	return nil
}

// Send sends one message, once: the SDK does not repeat it. The outcome:
//
//	an answer without an error                      completed, the reference is the message's id
//	refused for its content (Invalid... and such)   permanent
//	refused otherwise: throttling, rights, no such
//	queue, any other 4xx; no connection             retryable
//	no answer, cut, 5xx, an answer that cannot be
//	read or is about another body                   unknown
//
// The deduplication id and the group id of a message to a FIFO queue are the SHA-256 of the row's primary key, in hex: no
// order is kept, and the queue recognises a repetition for 5 minutes.
func (q *Queue) Send(ctx context.Context, row outbox.Row) outbox.Outcome {
	in, code := q.message(row)
	if code != "" {
		return unsent(outbox.Permanent(q.code(code)))
	}
	if len(row.Headers) > 0 { // a message carries none
		return unsent(outbox.Retryable(outbox.CodeHeaderNotAllowed, 0))
	}
	url, err := q.o.URL(ctx, q.o.Queue)
	if err != nil {
		return unsent(outbox.Retryable(q.trouble(err), 0))
	}
	if ctx.Err() != nil {
		return unsent(outbox.Retryable(q.code(CodeSQSNoTime), 0))
	}
	in.QueueUrl = &url
	var watch awscall.Watch
	out, err := q.o.Client.SendMessage(watch.Context(ctx), in, once, func(o *sqs.Options) { o.APIOptions = append(o.APIOptions, watch.Option) })
	switch {
	case err == nil && garbled(*in.MessageBody, out):
		return outbox.Unknown(outbox.KeepableRef(aws.ToString(out.MessageId)), q.code(CodeSQSGarbled))
	case err == nil:
		return outbox.Completed(outbox.KeepableRef(aws.ToString(out.MessageId)))
	case watch.NothingLeft():
		return unsent(outbox.Retryable(q.trouble(err), 0))
	case !awscall.Refused(err):
		return outbox.Unknown("", q.trouble(err))
	case awscall.AboutContent(awscall.Code(err)):
		return outbox.Permanent(q.trouble(err))
	default:
		return outbox.Retryable(q.trouble(err), 0)
	}
}

// once keeps the SDK from repeating a message that may have arrived. The checksum of the body is compared here: the SDK
// would report a difference as an error like any other.
func once(o *sqs.Options) {
	o.Retryer = aws.NopRetryer{}
	o.DisableMessageChecksumValidation = true
}

func garbled(body string, out *sqs.SendMessageOutput) bool {
	sum := md5.Sum([]byte(body)) // the service's own choice; it guards against accidents alone
	return out.MD5OfMessageBody != nil && !strings.EqualFold(*out.MD5OfMessageBody, hex.EncodeToString(sum[:]))
}

// message makes a message of a row, or says by a code why no message can carry the row.
func (q *Queue) message(row outbox.Row) (in *sqs.SendMessageInput, code string) {
	body := string(row.Payload)
	switch {
	case q.o.Base64:
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
	if trace := outbox.Traceparent(row.Trace); trace != "" {
		in.MessageAttributes[TraceAttribute] = textAttribute(trace)
	}
	if size(in) > q.limit {
		return nil, CodeSQSPayloadTooLarge
	}
	if strings.HasSuffix(q.o.Queue, ".fifo") {
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

// fingerprint stands for a row's primary key where only letters and digits are allowed: 64 hex digits of SHA-256.
func fingerprint(id outbox.ID) string {
	sum := sha256.Sum256([]byte(id.PK()))
	return hex.EncodeToString(sum[:])
}

// fits reports whether SQS accepts a text
// (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html).
func fits(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool {
		return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xfffe || r == 0xffff
	})
}

// code puts one of the codes above below the kind's own name.
func (q *Queue) code(code string) string { return q.prefix + strings.TrimPrefix(code, sqsPrefix) }

// trouble is the code of a call that ended in an error: AWS.SimpleQueueService.NonExistentQueue becomes
// non_existent_queue.
func (q *Queue) trouble(err error) string {
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
