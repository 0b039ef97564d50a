package sender_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/landfall-dev/landfall/internal/lab/egresstest"
	"github.com/landfall-dev/landfall/internal/lab/localaws"
	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/lab/sendertest"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/schema"
	"github.com/landfall-dev/landfall/internal/sender"
)

// behindSQS makes senders of the kinds that end in a queue, here with that URL.
var behindSQS = map[string]func(client sender.SQSClient, url string) (outbox.Sender, error){
	"sqs": func(client sender.SQSClient, url string) (outbox.Sender, error) {
		return sender.NewSQS(sender.SQSOptions{Client: client, Queue: "mail", URL: always(url)})
	},
	"group": func(client sender.SQSClient, url string) (outbox.Sender, error) {
		return sender.NewGroup(sender.GroupOptions{Client: client, Group: "couriers", URL: always(url)})
	},
}

func always(url string) func(context.Context, string) (string, error) {
	return func(context.Context, string) (string, error) { return url, nil }
}

// clientOf is a client as functions have it, with the SDK's own retries.
func clientOf(endpoint string) *sqs.Client {
	return sqs.NewFromConfig(aws.Config{
		Region: "us-east-1", BaseEndpoint: &endpoint, Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
}

func TestSendersToQueuesPassTheSuite(t *testing.T) {
	t.Parallel()
	answers := map[sendertest.Behaviour]struct {
		status int
		body   string
	}{
		sendertest.Accepts:    {200, `{"MessageId": "m-1"}`},
		sendertest.Compresses: {200, egresstest.Gzip(`{"MessageId": "m-1"}`)},
		sendertest.Garbles:    {200, `{"MessageId": "m-`},
		sendertest.Defers:     {400, `{"__type": "com.amazonaws.sqs#RequestThrottled", "message": "slow down"}`},
		sendertest.Refuses:    {400, `{"__type": "com.amazonaws.sqs#InvalidMessageContents", "message": "no"}`},
		sendertest.Fails:      {500, `{"__type": "com.amazonaws.sqs#InternalFailure"}`},
	}
	for kind, newSender := range behindSQS {
		sendertest.Run(t, kind, func(t *testing.T, b sendertest.Behaviour) sendertest.Destination {
			var mu sync.Mutex
			var bodies []string
			received := make(chan struct{}, 100)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var in struct{ MessageBody string }
				src, _ := io.ReadAll(r.Body)
				_ = json.Unmarshal(src, &in)
				mu.Lock()
				bodies = append(bodies, in.MessageBody)
				mu.Unlock()
				received <- struct{}{}
				switch b {
				case sendertest.Cuts:
					panic(http.ErrAbortHandler)
				case sendertest.Stalls:
					<-r.Context().Done()
				default:
					if b == sendertest.Compresses {
						w.Header().Set("Content-Encoding", "gzip")
					}
					w.WriteHeader(answers[b].status)
					_, _ = io.WriteString(w, answers[b].body)
				}
			}))
			t.Cleanup(server.Close)
			if b == sendertest.Absent {
				server.Close()
			}
			s, err := newSender(clientOf(server.URL), server.URL+"/000000000000/q")
			if err != nil {
				t.Fatal(err)
			}
			return sendertest.Destination{Sender: s, Received: received, Arrived: func() []string {
				server.Close()
				return bodies
			}}
		})
	}
}

func TestAnswerOfSQSHasItsMeaning(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		want   outbox.Outcome
	}{
		"no members at all":      {200, `{}`, outbox.Completed("")},
		"an id too long to keep": {200, `{"MessageId": "` + strings.Repeat("m", 1000) + `"}`, outbox.Completed("")},
		"an id with controls":    {200, `{"MessageId": "a\nb"}`, outbox.Completed("")},
		"another body":           {200, `{"MessageId": "m-1", "MD5OfMessageBody": "00000000000000000000000000000000"}`, outbox.Unknown("m-1", "landfall.sqs.garbled")},
		"no JSON":                {200, `<html>`, outbox.Unknown("", "landfall.sqs.unknown_error")},
		"half of one":            {200, `{"MessageId": "m-`, outbox.Unknown("", "landfall.sqs.unknown_error")},
		"a failure":              {503, `{"__type": "ServiceUnavailable"}`, outbox.Unknown("", "landfall.sqs.service_unavailable")},
		"throttled":              {400, `{"__type": "com.amazonaws.sqs#RequestThrottled"}`, outbox.Retryable("landfall.sqs.request_throttled", 0)},
		"no such queue":          {400, `{"__type": "com.amazonaws.sqs#QueueDoesNotExist"}`, outbox.Retryable("landfall.sqs.queue_does_not_exist", 0)},
		"no right":               {403, `{"__type": "AccessDeniedException"}`, outbox.Retryable("landfall.sqs.access_denied_exception", 0)},
		"a key that is off":      {400, `{"__type": "com.amazonaws.sqs#KmsDisabled"}`, outbox.Retryable("landfall.sqs.kms_disabled", 0)},
		"too long for it":        {400, `{"__type": "com.amazonaws.sqs#InvalidParameterValue"}`, outbox.Permanent("landfall.sqs.invalid_parameter_value")},
		"not possible there":     {400, `{"__type": "com.amazonaws.sqs#UnsupportedOperation"}`, outbox.Permanent("landfall.sqs.unsupported_operation")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requests := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				requests++
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}))
			s, err := behindSQS["sqs"](clientOf(server.URL), server.URL+"/q")
			if err != nil {
				t.Fatal(err)
			}
			got := s.Send(t.Context(), order("{}"))
			server.Close()
			if diff := cmp.Diff(c.want, got); diff != "" || requests != 1 {
				t.Errorf("%d requests, outcome (-want +got):\n%s", requests, diff)
			}
		})
	}
}

// plaza is an SQS of its own, with faults, and the queues of the tests.
type plaza struct {
	*testing.T
	client *sqs.Client
	fault  faults.Fault // of SendMessage
}

func newPlaza(t *testing.T) *plaza {
	p := &plaza{T: t}
	account := localaws.New(localaws.Options{Faults: func(r faults.Request) faults.Fault {
		if r.Operation == "SendMessage" {
			return p.fault
		}
		return faults.Fault{}
	}})
	p.client = sqs.NewFromConfig(account.Config("landfall"))
	for _, name := range []string{"mail", "mail.fifo", "landfall-ingress-couriers"} {
		in := &sqs.CreateQueueInput{QueueName: &name, Attributes: map[string]string{"MaximumMessageSize": "1048576"}}
		if strings.HasSuffix(name, ".fifo") {
			in.Attributes["FifoQueue"] = "true"
		}
		if _, err := p.client.CreateQueue(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func (p *plaza) url(ctx context.Context, name string) (string, error) {
	out, err := p.client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name})
	if err != nil {
		return "", err
	}
	return *out.QueueUrl, nil
}

func (p *plaza) sqs(o sender.SQSOptions) outbox.Sender {
	p.Helper()
	o.Client, o.URL = p.client, p.url
	if o.Queue == "" {
		o.Queue = "mail"
	}
	s, err := sender.NewSQS(o)
	if err != nil {
		p.Fatal(err)
	}
	return s
}

func (p *plaza) group() outbox.Sender {
	p.Helper()
	s, err := sender.NewGroup(sender.GroupOptions{Client: p.client, URL: p.url, Group: "couriers"})
	if err != nil {
		p.Fatal(err)
	}
	return s
}

// waiting takes every message out of a queue.
func (p *plaza) waiting(name string) (messages []types.Message) {
	p.Helper()
	url, err := p.url(p.Context(), name)
	if err != nil {
		p.Fatal(err)
	}
	for {
		out, err := p.client.ReceiveMessage(p.Context(), &sqs.ReceiveMessageInput{
			QueueUrl: &url, MaxNumberOfMessages: 10, MessageAttributeNames: []string{"All"},
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
		})
		if err != nil {
			p.Fatal(err)
		}
		if len(out.Messages) == 0 {
			return messages
		}
		messages = append(messages, out.Messages...)
	}
}

func attributes(m types.Message) map[string]string {
	all := map[string]string{}
	for name, a := range m.MessageAttributes {
		all[name] = *a.DataType + ":" + *a.StringValue
	}
	return all
}

func sum(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:])
}

func TestRowReachesItsQueueWhole(t *testing.T) {
	t.Parallel()
	p := newPlaza(t)
	row := order("{\"a\": \"\u00e4\t\U0001F680\"}")
	row.ContentType, row.Trace = "application/vnd.order+json", trace
	for _, s := range []outbox.Sender{p.sqs(sender.SQSOptions{}), p.sqs(sender.SQSOptions{Queue: "mail.fifo"}), p.group()} {
		if out := s.Send(t.Context(), row); out.Kind != outbox.KindCompleted || out.Ref == "" {
			t.Fatalf("%+v", out)
		}
	}
	for queue, want := range map[string]map[string]string{
		"mail":      {"Idempotency-Key": "String:order-42", "Content-Type": "String:application/vnd.order+json", "traceparent": "String:" + trace},
		"mail.fifo": {"Idempotency-Key": "String:order-42", "Content-Type": "String:application/vnd.order+json", "traceparent": "String:" + trace},
		"landfall-ingress-couriers": {
			schema.MessageIDAttribute: "String:" + sum("charge#order-42"), "Content-Type": "String:application/vnd.order+json", "traceparent": "String:" + trace,
		},
	} {
		messages := p.waiting(queue)
		if len(messages) != 1 || *messages[0].Body != string(row.Payload) {
			t.Fatalf("%s: %d messages", queue, len(messages))
		}
		if diff := cmp.Diff(want, attributes(messages[0])); diff != "" {
			t.Errorf("%s (-want +got):\n%s", queue, diff)
		}
		if queue == "mail.fifo" && messages[0].Attributes["MessageDeduplicationId"] != sum("charge#order-42") {
			t.Errorf("deduplication by %s", messages[0].Attributes["MessageDeduplicationId"])
		}
	}
}

func TestFIFOQueueKeepsOneMessageOfARepeatedRow(t *testing.T) {
	t.Parallel()
	p := newPlaza(t)
	s := p.sqs(sender.SQSOptions{Queue: "mail.fifo"})
	row, other, elsewhere := order("{}"), order("{}"), order("{}")
	other.Key, elsewhere.Destination = "order-43", "refund"
	for _, row := range []outbox.Row{row, row, other, elsewhere} {
		if out := s.Send(t.Context(), row); out.Kind != outbox.KindCompleted {
			t.Fatalf("%+v", out)
		}
	}
	if got := p.waiting("mail.fifo"); len(got) != 3 {
		t.Errorf("%d messages, want one for each row", len(got))
	}
}

func TestBase64PayloadKeepsEveryByte(t *testing.T) {
	t.Parallel()
	p := newPlaza(t)
	row := order("")
	for b := range 256 {
		row.Payload = append(row.Payload, byte(b))
	}
	row.Binary = true
	if out := p.sqs(sender.SQSOptions{Base64: true}).Send(t.Context(), row); out.Kind != outbox.KindCompleted {
		t.Fatalf("%+v", out)
	}
	messages := p.waiting("mail")
	if len(messages) != 1 {
		t.Fatalf("%d messages", len(messages))
	}
	if got, err := base64.StdEncoding.DecodeString(*messages[0].Body); err != nil || string(got) != string(row.Payload) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestRowThatAQueueCannotCarryIsPermanent(t *testing.T) {
	t.Parallel()
	p := newPlaza(t)
	with := func(change func(*outbox.Row)) outbox.Row {
		row := order("{}")
		change(&row)
		return row
	}
	of := func(bytes int) outbox.Row { return order(strings.Repeat("x", bytes)) }
	const key = len("Idempotency-Key" + "String" + "order-42")
	id := len(schema.MessageIDAttribute+"String") + 64
	for _, c := range []struct {
		name   string
		sender outbox.Sender
		row    outbox.Row
		want   string
	}{
		{"nothing", p.sqs(sender.SQSOptions{}), order(""), "landfall.sqs.payload_empty"},
		{"nothing in Base64", p.sqs(sender.SQSOptions{Base64: true}), order(""), "landfall.sqs.payload_empty"},
		{"bytes", p.sqs(sender.SQSOptions{}), with(func(r *outbox.Row) { r.Binary = true }), "landfall.sqs.payload_not_text"},
		{"bytes for a group", p.group(), with(func(r *outbox.Row) { r.Binary = true }), "landfall.group.payload_not_text"},
		{"no UTF-8", p.sqs(sender.SQSOptions{}), order("\xff"), "landfall.sqs.payload_not_text"},
		{"a control", p.sqs(sender.SQSOptions{}), order("\x00"), "landfall.sqs.payload_not_text"},
		{"no character", p.sqs(sender.SQSOptions{}), order("\ufffe"), "landfall.sqs.payload_not_text"},
		{"a key with no character", p.sqs(sender.SQSOptions{}), with(func(r *outbox.Row) { r.Key = "\uffff" }), "landfall.sqs.key_invalid"},
		{"no key", p.sqs(sender.SQSOptions{}), with(func(r *outbox.Row) { r.Key = "" }), "landfall.sqs.key_invalid"},
		{"a content type with a control", p.sqs(sender.SQSOptions{}), with(func(r *outbox.Row) { r.ContentType = "a\x01" }), "landfall.sqs.content_type_invalid"},
		{"the largest", p.sqs(sender.SQSOptions{}), of(1<<20 - key), ""},
		{"larger", p.sqs(sender.SQSOptions{}), of(1<<20 - key + 1), "landfall.sqs.payload_too_large"},
		{"the largest in Base64", p.sqs(sender.SQSOptions{Base64: true}), of((1<<20 - key) / 4 * 3), ""},
		{"larger in Base64", p.sqs(sender.SQSOptions{Base64: true}), of((1<<20-key)/4*3 + 1), "landfall.sqs.payload_too_large"},
		{"the largest for a group", p.group(), of(1<<20 - 4<<10 - id), ""},
		{"larger for a group", p.group(), of(1<<20 - 4<<10 - id + 1), "landfall.group.payload_too_large"},
		{"a malformed trace", p.sqs(sender.SQSOptions{}), with(func(r *outbox.Row) { r.Trace = "\x00" }), ""},
	} {
		want := unsent(outbox.Permanent(c.want))
		if c.want == "" {
			want = outbox.Completed("")
		}
		got := c.sender.Send(t.Context(), c.row)
		got.Ref = ""
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		if n := len(p.waiting("mail")) + len(p.waiting("landfall-ingress-couriers")); (n == 1) != (c.want == "") {
			t.Errorf("%s: %d messages", c.name, n)
		}
	}
}

// The SDK's own retries must not come between: one message at most, and never called refused.
func TestMessageThatMayHaveArrivedIsSentOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		fault   faults.Fault
		want    outbox.Outcome
		arrived int
	}{
		{"the answer is lost", faults.Fault{LoseAnswer: true}, outbox.Unknown("", "landfall.sqs.cut"), 1},
		{"the answer is spoilt", faults.Fault{SpoilAnswer: true}, outbox.Unknown("", "landfall.sqs.internal_failure"), 1},
		{"the answer is late", faults.Fault{After: time.Minute}, outbox.Unknown("", "landfall.sqs.no_answer"), 1},
		{"it arrives late", faults.Fault{Before: time.Minute}, outbox.Unknown("", "landfall.sqs.no_answer"), 1},
		{"throttled", faults.Fault{Error: faults.Throttle}, outbox.Retryable("landfall.sqs.request_throttled", 0), 0},
		{"out of order", faults.Fault{Error: faults.Internal}, outbox.Unknown("", "landfall.sqs.internal_failure"), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPlaza(t)
				p.fault = c.fault
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				got := p.sqs(sender.SQSOptions{}).Send(ctx, order("{}"))
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				<-time.After(2 * time.Minute)
				if n := len(p.waiting("mail")); n != c.arrived {
					t.Errorf("%d messages, want %d", n, c.arrived)
				}
			})
		})
	}
}

// What ends before there is a connection has not arrived, though its error may read like one of a lost answer.
func TestMessageThatNeverLeftIsRetryable(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*sqs.Options){
		"no connection in time": func(o *sqs.Options) {
			o.HTTPClient = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}}}
		},
		"no handshake": func(o *sqs.Options) { // an untrusted certificate
			server := httptest.NewTLSServer(http.NotFoundHandler())
			server.Config.ErrorLog = log.New(io.Discard, "", 0)
			t.Cleanup(server.Close)
			o.BaseEndpoint = &server.URL
		},
		"no credentials": func(o *sqs.Options) {
			o.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
				return aws.Credentials{}, errors.New("none")
			})
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		client := sqs.New(clientOf("http://127.0.0.1:1").Options(), change)
		s, err := behindSQS["sqs"](client, "http://127.0.0.1:1/q")
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Send(ctx, order("{}")); got.Kind != outbox.KindRetryable || !got.Unsent {
			t.Errorf("%s: %+v", name, got)
		}
		cancel()
	}
}

func TestMissingQueueIsRetryable(t *testing.T) {
	t.Parallel()
	p := newPlaza(t)
	if got := p.sqs(sender.SQSOptions{Queue: "nowhere"}).Send(t.Context(), order("{}")); got != unsent(outbox.Retryable("landfall.sqs.non_existent_queue", 0)) {
		t.Errorf("%+v", got)
	}
	for _, o := range []sender.SQSOptions{{Client: p.client, URL: p.url}, {Queue: "q", URL: p.url}, {Client: p.client, Queue: "q"}} {
		if _, err := sender.NewSQS(o); err == nil {
			t.Errorf("made of %s", fmt.Sprint(o.Queue))
		}
	}
	if _, err := sender.NewGroup(sender.GroupOptions{Client: p.client, URL: p.url}); err == nil {
		t.Error("a group without a name")
	}
}

func TestRowWithHeadersIsNotSentAsAMessage(t *testing.T) {
	t.Parallel()
	p := newPlaza(t)
	row := order("{}")
	row.Headers = map[string]string{"X-Tenant": "acme"}
	want := unsent(outbox.Retryable(outbox.CodeHeaderNotAllowed, 0))
	if diff := cmp.Diff(want, p.sqs(sender.SQSOptions{}).Send(t.Context(), row)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
