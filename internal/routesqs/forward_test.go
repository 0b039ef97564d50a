package routesqs_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/routesqs"
	"github.com/landfall-dev/landfall/internal/routing"
)

func newQueues(b *bench) *routesqs.Queues { return routesqs.NewQueues(b.Client) }

// everyByte is all 256 of them.
func everyByte() []byte {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	return every
}

func text(kind, value string) types.MessageAttributeValue {
	return types.MessageAttributeValue{DataType: &kind, StringValue: &value}
}

// TestForwardKeepsTheMessage (case Q18): the envelope comes in addition, in the place of an older one.
func TestForwardKeepsTheMessage(t *testing.T) {
	inBubble(t, func(b *bench) {
		from := routesqs.Source{
			Body: "{\"a\":  1.50}\r\n\t\u2028 \U0001F6A2 </script>", Trace: "Root=1-5759e988-bd862e3fe1be46a994272793", FairGroup: "tenant-7",
			Attributes: map[string]types.MessageAttributeValue{
				"key": {DataType: aws.String("Binary.aes"), BinaryValue: everyByte()}, "tenant": text("String", "acme"),
				"weight": text("Number.kg", "1.50"), "landfall": text("String", "an older one"),
			},
		}
		if a := b.forward(b.Context(), b.forwarder(), "sqs:north", message(from)); a[0] != (routing.Answer{Kind: routing.Taken}) {
			b.Fatalf("%+v", a)
		}
		got := b.receive("north")
		if len(got) != 1 || *got[0].Body != from.Body || got[0].Attributes["AWSTraceHeader"] != from.Trace || got[0].Attributes["MessageGroupId"] != from.FairGroup {
			b.Fatalf("%+v", got)
		}
		envelope, err := routing.ParseEnvelope(*got[0].MessageAttributes["landfall"].StringValue)
		if err != nil || envelope.Token != "token-of-secrets" || envelope.Handle != "handle-of-secrets" {
			b.Errorf("envelope of %v, %v", envelope.ID, err)
		}
		delete(got[0].MessageAttributes, "landfall")
		delete(from.Attributes, "landfall")
		if !reflect.DeepEqual(got[0].MessageAttributes, from.Attributes) {
			b.Errorf("attributes %+v", got[0].MessageAttributes)
		}
	})
}

// TestForwardThatMayHaveBeenTakenIsNotRefused, and nothing is sent twice, whatever goes wrong.
func TestForwardThatMayHaveBeenTakenIsNotRefused(t *testing.T) {
	for name, c := range map[string]struct {
		target string
		fault  faults.Fault
		left   time.Duration
		want   routing.AnswerKind
		there  int
		text   string
	}{
		"all is well":         {"sqs:north", faults.Fault{}, time.Minute, routing.Taken, 2, ""},
		"the answer is lost":  {"sqs:north", faults.Fault{LoseAnswer: true}, time.Minute, routing.NoAnswer, 2, "Cut"},
		"it is spoilt":        {"sqs:north", faults.Fault{SpoilAnswer: true}, time.Minute, routing.NoAnswer, 2, "InternalFailure"},
		"a failure":           {"sqs:north", faults.Fault{Error: faults.Internal}, time.Minute, routing.NoAnswer, 0, "InternalFailure"},
		"not there":           {"sqs:north", faults.Fault{Error: faults.Unavailable}, time.Minute, routing.NoAnswer, 0, "ServiceUnavailable"},
		"too slow to begin":   {"sqs:north", faults.Fault{Before: time.Hour}, time.Second, routing.NoAnswer, 2, "NoAnswer"},
		"too slow to answer":  {"sqs:north", faults.Fault{After: time.Hour}, time.Second, routing.NoAnswer, 2, "NoAnswer"},
		"throttled":           {"sqs:north", faults.Fault{Error: faults.Throttle}, time.Minute, routing.NotTaken, 0, "RequestThrottled"},
		"no time was left":    {"sqs:north", faults.Fault{}, -1, routing.NotSent, 0, "no time was left"},
		"no such queue":       {"sqs:nowhere", faults.Fault{}, time.Minute, routing.NotTaken, 0, "find the queue: AWS.SimpleQueueService.NonExistentQueue"},
		"a FIFO queue":        {"sqs:orders.fifo", faults.Fault{}, time.Minute, routing.NotTaken, 0, "its target is neither a standard queue nor a function"},
		"a function, by none": {"lambda:f", faults.Fault{}, time.Minute, routing.NotTaken, 0, "its target is neither a standard queue nor a function"},
		"no target":           {"", faults.Fault{}, time.Minute, routing.NotTaken, 0, "its target is neither a standard queue nor a function"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				north := b.url("north")
				b.fault.Store(&c.fault)
				ctx, cancel := context.WithTimeout(b.Context(), c.left)
				defer cancel()
				for _, a := range b.forward(ctx, b.forwarder(), c.target, message(routesqs.Source{}), message(routesqs.Source{})) {
					if a != (routing.Answer{Kind: c.want, Text: c.text}) {
						b.Errorf("%+v, want %v, %q", a, c.want, c.text)
					}
				}
				<-time.After(2 * time.Hour)
				b.fault.Store(nil)
				if got := b.all("north"); len(got) != c.there {
					b.Errorf("%d messages are in the queue %s, want %d", len(got), *north, c.there)
				}
				if n := b.requests("SendMessageBatch"); n > 1 {
					b.Errorf("%d requests, want one at most", n)
				}
			})
		})
	}
}

// TestMessageMissingInABatchAnswerIsUnknown (case X4).
func TestMessageMissingInABatchAnswerIsUnknown(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.fault.Store(&faults.Fault{Unprocessed: 1})
		a := b.forward(b.Context(), b.forwarder(), "sqs:north", message(routesqs.Source{}), message(routesqs.Source{}))
		if a[0].Kind != routing.Taken || a[1] != (routing.Answer{Kind: routing.NoAnswer, Text: "InternalError"}) {
			b.Errorf("%+v", a)
		}
	})
}

// mendacious answers about other entries than it was sent.
type mendacious struct{}

func (mendacious) SendMessageBatch(context.Context, *sqs.SendMessageBatchInput, ...func(*sqs.Options)) (*sqs.SendMessageBatchOutput, error) {
	return &sqs.SendMessageBatchOutput{
		Successful: []types.SendMessageBatchResultEntry{{}, {Id: aws.String("2")}, {Id: aws.String("-1")}, {Id: aws.String("secret")}},
		Failed:     []types.BatchResultErrorEntry{{SenderFault: true}, {Id: aws.String("1"), Code: aws.String("secret, it says"), SenderFault: true}},
	}, nil
}

// TestMessageMissingInAHoldAnswerIsAnError: it may have been taken.
func TestMessageMissingInAHoldAnswerIsAnError(t *testing.T) {
	t.Parallel()
	f := &routesqs.Forwarder{Client: mendacious{}, URL: func(context.Context, string) (string, error) { return "url", nil }}
	a := (&bench{T: t}).forward(t.Context(), f, "sqs:north", message(routesqs.Source{}), message(routesqs.Source{}))
	if a[0].Kind != routing.NoAnswer || a[0].Text == "" || a[1] != (routing.Answer{Kind: routing.NotTaken, Text: "UnknownError"}) {
		t.Errorf("%+v", a)
	}
}

// TestBatchesFitTheLimitsOfSQS (cases P2 and Q19), by count or by bytes, and answers keep their order.
func TestBatchesFitTheLimitsOfSQS(t *testing.T) {
	inBubble(t, func(b *bench) {
		var all []routing.Incoming
		for i := range 25 {
			all = append(all, message(routesqs.Source{Body: fmt.Sprint(i, strings.Repeat("x", 300_000)), Attributes: map[string]types.MessageAttributeValue{
				"a": text("String", strings.Repeat("y", 100_000)),
			}}))
		}
		for range 25 {
			all = append(all, message(routesqs.Source{}))
		}
		all[3] = message(routesqs.Source{Body: "one that SQS does not take: \x01"})
		for i, a := range b.forward(b.Context(), b.forwarder(), "sqs:north", all...) {
			if want := i != 3; (a.Kind == routing.Taken) != want || !want && a.Kind != routing.NotTaken {
				b.Errorf("message %d: %+v", i, a)
			}
		}
		if n := b.requests("SendMessageBatch"); n != 14 {
			b.Errorf("%d requests, want 14: 12 for two large ones each, the last with 8 small ones, and 2 for the rest", n)
		}
		if got := b.all("north"); len(got) != len(all)-1 {
			b.Errorf("%d messages arrived", len(got))
		}
	})
}

// picky refuses whole batches for the sake of one message, as SQS does of some.
type picky struct {
	*sqs.Client
	code  string
	calls int
}

func (p *picky) SendMessageBatch(ctx context.Context, in *sqs.SendMessageBatchInput, o ...func(*sqs.Options)) (*sqs.SendMessageBatchOutput, error) {
	p.calls++
	for _, e := range in.Entries {
		if strings.Contains(*e.MessageBody, "poison") {
			return nil, &awshttp.ResponseError{ResponseError: &smithyhttp.ResponseError{
				Response: &smithyhttp.Response{Response: &http.Response{StatusCode: 400}}, Err: &smithy.GenericAPIError{Code: p.code, Message: "it says poison"},
			}}
		}
	}
	return p.Client.SendMessageBatch(ctx, in, o...)
}

// TestRefusedMessageLeavesItsBatchForwarded when SQS refuses all of it; what is about the sender is not asked again.
func TestRefusedMessageLeavesItsBatchForwarded(t *testing.T) {
	inBubble(t, func(b *bench) {
		var all []routing.Incoming
		for i := range 10 {
			all = append(all, message(routesqs.Source{Body: map[bool]string{true: "poison", false: "good"}[i == 6]}))
		}
		client := &picky{Client: b.Client, code: "InvalidMessageContents"}
		for i, a := range b.forward(b.Context(), &routesqs.Forwarder{Client: client, URL: b.queues.URL}, "sqs:north", all...) {
			if want := map[bool]routing.AnswerKind{true: routing.NotTaken, false: routing.Taken}[i == 6]; a.Kind != want || strings.Contains(a.Text, "poison") {
				b.Errorf("message %d: %+v, want %v", i, a, want)
			}
		}
		if got := b.all("north"); len(got) != 9 {
			b.Errorf("%d messages arrived, want 9", len(got))
		}
		client = &picky{Client: b.Client, code: "AccessDenied"}
		for i, a := range b.forward(b.Context(), &routesqs.Forwarder{Client: client, URL: b.queues.URL}, "sqs:north", all...) {
			if a != (routing.Answer{Kind: routing.NotTaken, Text: "AccessDenied"}) {
				b.Errorf("message %d: %+v", i, a)
			}
		}
		if client.calls != 1 {
			b.Errorf("%d requests without the right to send", client.calls)
		}
	})
}

// TestForwardThatNeverLeftIsReportedAsNotSent: a queue that takes connections, and does not shake hands.
func TestForwardThatNeverLeftIsReportedAsNotSent(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	endpoint := "https://" + l.Addr().String()
	client := sqs.NewFromConfig(aws.Config{
		Region: "us-east-1", BaseEndpoint: &endpoint, Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	f := &routesqs.Forwarder{Client: client, URL: func(context.Context, string) (string, error) { return endpoint + "/q", nil }}
	b := &bench{T: t}
	if a := b.forward(ctx, f, "sqs:north", message(routesqs.Source{}))[0]; a.Kind != routing.NotSent || a.Text != "nothing was sent: NoAnswer" {
		t.Errorf("%+v", a)
	}
}

// TestFailedConnectionIsReportedAsNotSent: whoever asks cannot reach SQS, or SQS cannot say where the queue is.
func TestFailedConnectionIsReportedAsNotSent(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	endpoint := "http://" + l.Addr().String()
	l.Close()
	client := sqs.NewFromConfig(aws.Config{
		Region: "us-east-1", BaseEndpoint: &endpoint, Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
	for text, url := range map[string]func(context.Context, string) (string, error){
		"NotConnected":             func(context.Context, string) (string, error) { return endpoint + "/q", nil },
		"find the queue: NoAnswer": func(context.Context, string) (string, error) { return "", context.DeadlineExceeded },
	} {
		b, f := &bench{T: t}, &routesqs.Forwarder{Client: client, URL: url}
		if a := b.forward(t.Context(), f, "sqs:north", message(routesqs.Source{}))[0]; a != (routing.Answer{Kind: routing.NotSent, Text: text}) {
			t.Errorf("%+v, want %q", a, text)
		}
	}
}

// TestOwnAttributeIsLeftOutOfAllCounts against the room that a message has: forwarding replaces them.
func TestOwnAttributeIsLeftOutOfAllCounts(t *testing.T) {
	t.Parallel()
	plain := message(routesqs.Source{Body: "abc", Attributes: map[string]types.MessageAttributeValue{"n": text("Number", "12"), "b": {DataType: aws.String("Binary"), BinaryValue: everyByte()}}})
	if plain.Bytes != 3+1+6+2+1+6+256 || plain.AttributeCount != 2 {
		t.Errorf("%d bytes, %d attributes", plain.Bytes, plain.AttributeCount)
	}
	again := message(routesqs.Source{Body: "abc", Attributes: map[string]types.MessageAttributeValue{"landfall": text("String", strings.Repeat("x", 1000))}})
	if again.Bytes != 3 || again.AttributeCount != 0 || len(again.Attributes) != 0 {
		t.Errorf("%d bytes, %d attributes, for the routing function %d", again.Bytes, again.AttributeCount, len(again.Attributes))
	}
	if !bytes.Equal([]byte(plain.Attributes["n"]), []byte("12")) || len(plain.Attributes) != 1 {
		t.Errorf("for the routing function: %d attributes", len(plain.Attributes))
	}
}
