package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/functions/internal/functiontest"
	"github.com/landfall-dev/landfall/functions/internal/setup"
	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/observe"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

// BenchmarkEffect is the function's CPU for one effect of 1 KB, in full batches: decode the event, claim, send to nobody,
// settle. "own" is Landfall's, on a client that answers at once; "with_sdk" is on the SDK, with a transport that does;
// "sdk_alone" makes the same requests through the SDK and does nothing else, so that the difference is Landfall's.
func BenchmarkEffect(b *testing.B) {
	sdk := dynamodb.NewFromConfig(aws.Config{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		HTTPClient: &http.Client{Transport: nullTransport{}},
	})
	requests := make(chan *dynamodb.UpdateItemInput, 2*batch) // of a batch
	b.Run("own", func(b *testing.B) { benchEffect(b, nullClient{made: &sync.Map{}, seen: requests}) })
	b.Run("with_sdk", func(b *testing.B) { benchEffect(b, sdk) })
	close(requests)
	var all []*dynamodb.UpdateItemInput
	for in := range requests {
		all = append(all, in)
	}
	b.Run("sdk_alone", func(b *testing.B) {
		b.ReportAllocs()
		defer functiontest.ReportCPU(b)()
		for n := 0; n < b.N; n += batch {
			for _, in := range all {
				if _, err := sdk.UpdateItem(b.Context(), anew(in)); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

// anew is a request made once more, as whoever makes it has to.
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

const batch = schema.StreamBatch

func benchEffect(b *testing.B, client outboxdb.Client) {
	cfg, err := config.ParseYAML("landfall.yaml", []byte("destinations:\n  charge: {http: 'https://example.com', deduplicates: never}\n"))
	if err != nil {
		b.Fatal(err)
	}
	stdout := os.Stdout // where the function's metrics go
	if os.Stdout, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0); err != nil {
		b.Fatal(err)
	}
	defer func() { os.Stdout = stdout }()
	h := &handler{&setup.Function{
		Config: cfg, Store: outboxdb.New(client, schema.OutboxTable), Logger: observe.NewLogger(io.Discard, "stream", ""),
		Controls:     &setup.Controls{Reader: noControls{}, Logger: observe.NewLogger(io.Discard, "stream", "")},
		Destinations: []outbox.Destination{{Name: "charge", Policy: cfg.Destinations["charge"].Policy(), Sender: nobody{}}},
	}}
	now := time.Now().UnixMilli()
	var records []string
	for i := range batch {
		records = append(records, fmt.Sprintf(`{"eventID":"%d","eventName":"INSERT","eventVersion":"1.1","eventSource":"aws:dynamodb",`+
			`"awsRegion":"us-east-1","dynamodb":{"Keys":{"pk":{"S":"charge#order-%d"}},"NewImage":{"pk":{"S":"charge#order-%d"},"status":{"S":"pending"},`+
			`"lane":{"S":"due#charge#0"},"lane_at":{"N":"%d"},"created_at":{"N":"%d"},"attempt_count":{"N":"0"},"payload":{"S":"%s"}},"SizeBytes":1024}}`,
			i, i, i, now, now, strings.Repeat("x", 700)))
	}
	event := []byte(`{"Records":[` + strings.Join(records, ",") + `]}`)
	ctx := lambdacontext.NewContext(b.Context(), &lambdacontext.LambdaContext{AwsRequestID: "8f5e1c9a-3b7d-4e2f-a1c6-0d9b8e7f6a5c"})
	ctx, cancel := context.WithTimeout(ctx, time.Hour)
	defer cancel()
	b.ReportAllocs()
	defer functiontest.ReportCPU(b)()
	for n := 0; n < b.N; n += batch { // of batches that are full
		if answer, err := h.handle(ctx, event); err != nil || answer.Completed != batch {
			b.Fatalf("%+v, %v", answer, err)
		}
	}
}

// nobody takes everything.
type nobody struct{}

func (nobody) Send(context.Context, outbox.Row) outbox.Outcome { return outbox.Completed("") }

// noControls hold nothing back.
type noControls struct{}

func (noControls) Read(context.Context) ([]outboxdb.Control, error) { return nil, nil }

// claimed is a row as a claim returns it.
func claimed(pk string) map[string]types.AttributeValue {
	now := time.Now().UnixMilli()
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	number := func(n int64) types.AttributeValue {
		return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
	}
	return map[string]types.AttributeValue{
		schema.PK: text(pk), schema.Status: text(schema.StatusDispatching), schema.Lane: text("due#charge#0"), schema.LaneAt: number(now),
		schema.Payload: text(payload), schema.AttemptCount: number(1), schema.Origin: text("pGk7bXv3Yh0mQ2Zr5sT8uA"),
		schema.Token: text("pGk7bXv3Yh0mQ2Zr5sT8uA"), schema.ClaimedBy: text("8f5e1c9a-3b7d-4e2f-a1c6-0d9b8e7f6a5c"),
		schema.ClaimedAt: number(now), schema.Until: number(now + 40_000), schema.Window: number(0), schema.CreatedAt: number(now),
	}
}

var payload = strings.Repeat("x", 700)

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
type nullTransport struct{}

func (nullTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	request, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	answer := "{}"
	if strings.Contains(string(request), "ALL_NEW") {
		answer = claimedJSON(string(request))
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(strings.NewReader(answer)), ContentLength: int64(len(answer)), Request: r,
	}, nil
}

// claimedJSON is claimed, of the row that a request names, as the service says it.
func claimedJSON(request string) string {
	_, key, _ := strings.Cut(request, `"charge#`)
	key, _, _ = strings.Cut(key, `"`)
	var out strings.Builder
	out.WriteString(`{"Attributes":{`)
	for name, value := range claimed("charge#" + key) {
		if out.Len() > len(`{"Attributes":{`) {
			out.WriteByte(',')
		}
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
