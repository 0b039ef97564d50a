package main

import (
	"compress/gzip"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/functions/internal/setup"
	"github.com/landfall-dev/landfall/internal/config/yamlconfig"
	"github.com/landfall-dev/landfall/internal/eventsource"
	"github.com/landfall-dev/landfall/internal/lab/functiontest"
	"github.com/landfall-dev/landfall/internal/observe"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

// BenchmarkEffect is the function's CPU for one effect of 1 KB, in full batches: decode the event, claim, send to a stand-in,
// settle. "own" is Landfall's, on a client that answers at once; "with_sdk" is on the SDK, with a transport that does;
// "sdk_alone" makes the same requests through the SDK and does nothing else, so that the difference is Landfall's.
// "with_sdk_50kb" is with_sdk for rows of 50 KB, compressed.
func BenchmarkEffect(b *testing.B) {
	sdk := func(p payload) *dynamodb.Client {
		return dynamodb.NewFromConfig(aws.Config{
			Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
			HTTPClient: &http.Client{Transport: nullTransport{p}},
		})
	}
	requests := make(chan *dynamodb.UpdateItemInput, 2*batch) // of a batch
	b.Run("own", func(b *testing.B) { benchEffect(b, nullClient{made: &sync.Map{}, seen: requests}, small) })
	b.Run("with_sdk", func(b *testing.B) { benchEffect(b, sdk(small), small) })
	large := compressed(50_000)
	b.Run("with_sdk_50kb", func(b *testing.B) { benchEffect(b, sdk(large), large) })
	close(requests)
	var all []*dynamodb.UpdateItemInput
	for in := range requests {
		all = append(all, in)
	}
	b.Run("sdk_alone", func(b *testing.B) {
		b.ReportAllocs()
		client := sdk(small)
		defer functiontest.ReportCPU(b)()
		for n := 0; n < b.N; n += batch {
			for _, in := range all {
				if _, err := client.UpdateItem(b.Context(), anew(in)); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

// anew is a request made once more, as its sender has to.
func anew(in *dynamodb.UpdateItemInput) *dynamodb.UpdateItemInput {
	out := *in
	out.UpdateExpression, out.ConditionExpression = aws.String(*in.UpdateExpression), aws.String(*in.ConditionExpression)
	out.Key, out.ExpressionAttributeValues = copied(in.Key), copied(in.ExpressionAttributeValues)
	out.ExpressionAttributeNames = maps.Clone(in.ExpressionAttributeNames)
	return &out
}

func copied(values map[string]types.AttributeValue) map[string]types.AttributeValue {
	out := map[string]types.AttributeValue{}
	for name, value := range values {
		switch v := value.(type) {
		case *types.AttributeValueMemberS:
			out[name] = &types.AttributeValueMemberS{Value: v.Value}
		case *types.AttributeValueMemberN:
			out[name] = &types.AttributeValueMemberN{Value: strings.Clone(v.Value)} // made of a number
		}
	}
	return out
}

const batch = eventsource.StreamBatch

func benchEffect(b *testing.B, client outboxdb.Client, p payload) {
	h, event := newHandler(b, client, acceptsAll{}), records(p)
	ctx, cancel := context.WithTimeout(invocation(b.Context()), time.Hour)
	defer cancel()
	b.ReportAllocs()
	defer functiontest.ReportCPU(b)()
	for n := 0; n < b.N; n += batch { // of batches that are full
		if answer, err := h.handle(ctx, event); err != nil || answer.Completed != batch {
			b.Fatalf("%+v, %v", answer, err)
		}
	}
}

// TestEffectStaysWithinItsAllocations counts those of Landfall's own, as BenchmarkEffect does.
func TestEffectStaysWithinItsAllocations(t *testing.T) {
	const most = 105 // 95 where nothing is measured
	h, event := newHandler(t, nullClient{made: &sync.Map{}}, acceptsAll{}), records(small)
	ctx, cancel := context.WithTimeout(invocation(t.Context()), time.Hour)
	defer cancel()
	got := testing.AllocsPerRun(100, func() {
		if answer, err := h.handle(ctx, event); err != nil || answer.Completed != batch {
			t.Errorf("%+v, %v", answer, err)
		}
	}) / batch
	if got > most {
		t.Errorf("%.0f allocations for an effect, want at most %d", got, most)
	}
}

// TestStallsAreRememberedAcrossInvocations: the next one of the process leaves the destination to the sweep.
func TestStallsAreRememberedAcrossInvocations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(t, nullClient{made: &sync.Map{}}, stalls{})
		h.function.Destinations = append(h.function.Destinations, outbox.Destination{Name: "mail"}) // who would have to wait
		for n := range 2 {
			ctx, cancel := context.WithTimeout(invocation(t.Context()), time.Minute)
			if answer, err := h.handle(ctx, records(small)); err != nil || (answer.Completed > 0) != (n == 0) {
				t.Errorf("invocation %d: %+v, %v", n, answer, err)
			}
			cancel()
		}
	})
}

// newHandler is the function with a store on a client, and a destination with a sender.
func newHandler(tb testing.TB, client outboxdb.Client, sender outbox.Sender) *handler {
	tb.Helper()
	cfg, err := yamlconfig.Parse("landfall.yaml", []byte("destinations:\n  charge: {http: 'https://example.com', deduplicates: never}\n"))
	if err != nil {
		tb.Fatal(err)
	}
	stdout := os.Stdout // where the function's metrics go
	if os.Stdout, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { os.Stdout = stdout })
	return &handler{&setup.Function{
		Config: cfg, Store: outboxdb.New(client, schema.OutboxTable), Logger: observe.NewLogger(io.Discard, "stream", ""),
		Controls:     &outboxdb.Gate{Reader: noControls{}, Logger: observe.NewLogger(io.Discard, "stream", "")},
		Destinations: []outbox.Destination{{Name: "charge", Policy: cfg.Destinations["charge"].Policy(), Sender: sender}},
	}}
}

// records are the event of a full batch.
func records(p payload) []byte {
	now := time.Now().UnixMilli()
	var all []string
	for i := range batch {
		all = append(all, fmt.Sprintf(`{"eventID":"%d","eventName":"INSERT","eventVersion":"1.1","eventSource":"aws:dynamodb",`+
			`"awsRegion":"us-east-1","dynamodb":{"Keys":{"pk":{"S":"charge#order-%d"}},"NewImage":{"pk":{"S":"charge#order-%d"},"status":{"S":"pending"},`+
			`"lane":{"S":"due#charge#0"},"lane_at":{"N":"%d"},"created_at":{"N":"%d"},"attempt_count":{"N":"0"},"payload":%s},"SizeBytes":1024}}`,
			i, i, i, now, now, p.image()))
	}
	return []byte(`{"Records":[` + strings.Join(all, ",") + `]}`)
}

func invocation(ctx context.Context) context.Context {
	return lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{AwsRequestID: "8f5e1c9a-3b7d-4e2f-a1c6-0d9b8e7f6a5c"})
}

// acceptsAll is a sender that accepts every row.
type acceptsAll struct{}

func (acceptsAll) Send(context.Context, outbox.Row) outbox.Outcome { return outbox.Completed("") }

// stalls takes everything, and its time.
type stalls struct{}

func (stalls) Send(context.Context, outbox.Row) outbox.Outcome {
	time.Sleep(6 * time.Second)
	return outbox.Completed("")
}

// payload is what a row has: text, or bytes that are compressed.
type payload struct {
	text string
	gzip []byte
}

var small = payload{text: strings.Repeat("x", 700)}

// compressed is a text of so many bytes that compresses to about an eighth.
func compressed(bytes int) payload {
	var text strings.Builder
	for random := rand.New(rand.NewPCG(1, 1)); text.Len() < bytes; {
		fmt.Fprintf(&text, `{"id":%d,"name":"somebody or other","url":"https://example.com/api/things/one"},`, random.IntN(1_000_000))
	}
	var out strings.Builder
	w := gzip.NewWriter(&out)
	_, _ = io.WriteString(w, text.String()) // a builder takes everything
	_ = w.Close()
	return payload{gzip: []byte(out.String())}
}

// image is the payload as the service says it.
func (p payload) image() string {
	if p.gzip != nil {
		return `{"B":"` + base64.StdEncoding.EncodeToString(p.gzip) + `"}`
	}
	return `{"S":"` + p.text + `"}`
}

// noControls hold nothing back.
type noControls struct{}

func (noControls) Read(context.Context) ([]outbox.Control, error) { return nil, nil }

// claimed is a row as a claim returns it.
func claimed(pk string) map[string]types.AttributeValue {
	now := time.Now().UnixMilli()
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	number := func(n int64) types.AttributeValue {
		return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
	}
	return map[string]types.AttributeValue{
		schema.PK: text(pk), schema.Status: text(schema.StatusDispatching), schema.Lane: text("due#charge#0"), schema.LaneAt: number(now),
		schema.Payload: text(small.text), schema.AttemptCount: number(1), schema.Origin: text("pGk7bXv3Yh0mQ2Zr5sT8uA"),
		schema.Token: text("pGk7bXv3Yh0mQ2Zr5sT8uA"), schema.ClaimedBy: text("8f5e1c9a-3b7d-4e2f-a1c6-0d9b8e7f6a5c"),
		schema.ClaimedAt: number(now), schema.Until: number(now + 40_000), schema.Window: number(0), schema.CreatedAt: number(now),
	}
}

// nullClient is a DynamoDB client that claims and settles everything. What it answers with is made once a second, since
// it is the SDK that makes it in earnest.
type nullClient struct {
	outboxdb.Client
	made *sync.Map // by pk
	seen chan<- *dynamodb.UpdateItemInput
}

// answer is what a claim returns.
type answer struct {
	at  time.Time
	out *dynamodb.UpdateItemOutput
}

var settled = &dynamodb.UpdateItemOutput{}

func (c nullClient) UpdateItem(_ context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	select {
	case c.seen <- in:
	default:
	}
	if in.ReturnValues != types.ReturnValueAllNew {
		return settled, nil
	}
	pk := in.Key[schema.PK].(*types.AttributeValueMemberS).Value
	made, ok := c.made.Load(pk)
	if !ok || time.Since(made.(answer).at) > time.Second {
		made = answer{time.Now(), &dynamodb.UpdateItemOutput{Attributes: claimed(pk)}}
		c.made.Store(pk, made)
	}
	return made.(answer).out, nil
}

// nullTransport answers as nullClient does.
type nullTransport struct{ payload }

func (t nullTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	request, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	answer := "{}"
	if strings.Contains(string(request), "ALL_NEW") {
		answer = claimedJSON(string(request), t.payload)
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(strings.NewReader(answer)), ContentLength: int64(len(answer)), Request: r,
	}, nil
}

// claimedJSON is claimed, of the row that a request names, as the service says it.
func claimedJSON(request string, p payload) string {
	_, key, _ := strings.Cut(request, `"charge#`)
	key, _, _ = strings.Cut(key, `"`)
	row := claimed("charge#" + key)
	delete(row, schema.Payload)
	var out strings.Builder
	out.WriteString(`{"Attributes":{"payload":` + p.image())
	if p.gzip != nil {
		row[schema.PayloadEncoding] = &types.AttributeValueMemberS{Value: schema.PayloadGzip}
	}
	for name, value := range row {
		out.WriteByte(',')
		switch v := value.(type) {
		case *types.AttributeValueMemberS:
			out.WriteString(`"` + name + `":{"S":"` + v.Value + `"}`)
		case *types.AttributeValueMemberN:
			out.WriteString(`"` + name + `":{"N":"` + v.Value + `"}`)
		}
	}
	out.WriteString("}}")
	return out.String()
}
