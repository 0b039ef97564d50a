package routesqs

import (
	"context"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/landfall-dev/landfall/internal/awscall"
	"github.com/landfall-dev/landfall/internal/routing"
)

// SendClient is what forwards and dead letters are sent by; *sqs.Client is one.
type SendClient interface {
	SendMessageBatch(context.Context, *sqs.SendMessageBatchInput, ...func(*sqs.Options)) (*sqs.SendMessageBatchOutput, error)
}

// once keeps the SDK from sending again what may have arrived.
func once(o *sqs.Options) { o.Retryer = aws.NopRetryer{} }

// batch sends messages to queues, in as few requests as the limits allow.
type batch struct {
	client  SendClient
	url     func(ctx context.Context, queue string) (string, error)
	options []func(*sqs.Options)
	entries []types.SendMessageBatchRequestEntry
	queues  []string // by entry
	answers []routing.Answer
}

func (b *batch) send(ctx context.Context) []routing.Answer {
	b.answers = make([]routing.Answer, len(b.entries))
	every := make([]int, len(b.entries))
	for i := range every {
		every[i] = i
	}
	of := func(i int) (string, int) {
		e := b.entries[i]
		return b.queues[i], Source{Body: *e.MessageBody, Attributes: e.MessageAttributes}.bytes()
	}
	chunks(every, of, func(queue string, chunk []int) {
		url, err := b.url(ctx, queue)
		if err != nil { // nothing was sent
			b.answer(chunk, routing.Answer{Kind: undelivered(err), Text: "find the queue: " + awscall.Code(err)})
			return
		}
		b.request(ctx, url, chunk)
	})
	return b.answers
}

func (b *batch) answer(chunk []int, a routing.Answer) {
	for _, i := range chunk {
		b.answers[i] = a
	}
}

// request sends some entries and notes what is known of each. If all are refused, maybe for the sake of one of them,
// each half is tried by itself.
func (b *batch) request(ctx context.Context, url string, chunk []int) {
	if ctx.Err() != nil {
		b.answer(chunk, routing.Answer{Kind: routing.NotSent, Text: "no time was left"})
		return
	}
	in := &sqs.SendMessageBatchInput{QueueUrl: &url}
	for _, i := range chunk {
		e := b.entries[i]
		e.Id = aws.String(strconv.Itoa(i))
		in.Entries = append(in.Entries, e)
	}
	var watch awscall.Watch
	options := append([]func(*sqs.Options){func(o *sqs.Options) { o.APIOptions = append(o.APIOptions, watch.Option) }}, b.options...)
	out, err := b.client.SendMessageBatch(watch.Context(ctx), in, options...)
	refused := awscall.Refused(err)
	switch code := awscall.Code(err); {
	case err == nil:
		b.read(out, chunk)
	case refused && len(chunk) > 1 && awscall.AboutContent(code):
		b.request(ctx, url, chunk[:len(chunk)/2])
		b.request(ctx, url, chunk[len(chunk)/2:])
	case refused:
		b.answer(chunk, routing.Answer{Kind: undelivered(err), Text: code})
	case watch.NothingLeft():
		b.answer(chunk, routing.Answer{Kind: routing.NotSent, Text: "nothing was sent: " + code})
	default:
		b.answer(chunk, routing.Answer{Text: code})
	}
}

// undelivered is the answer for a call that had no effect: it was refused, or the service could not be reached.
func undelivered(err error) routing.AnswerKind {
	if awscall.Refused(err) && awscall.Code(err) != awscall.NotConnected {
		return routing.NotTaken
	}
	return routing.NotSent
}

// read notes what an answer says of each entry. One that it does not mention may have been taken, and one that
// failed by no fault of the sender's, too, unless it was throttled.
func (b *batch) read(out *sqs.SendMessageBatchOutput, chunk []int) {
	b.answer(chunk, routing.Answer{Text: noWord})
	for _, taken := range out.Successful {
		if i := index(chunk, taken.Id); i >= 0 {
			b.answers[i] = routing.Answer{Kind: routing.Taken}
		}
	}
	for _, failed := range out.Failed {
		i, code := index(chunk, failed.Id), awscall.Word(aws.ToString(failed.Code))
		switch {
		case i < 0:
		case failed.SenderFault || awscall.Throttled(code):
			b.answers[i] = routing.Answer{Kind: routing.NotTaken, Text: code}
		default:
			b.answers[i] = routing.Answer{Text: code}
		}
	}
}
