package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamotypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/landfall-dev/landfall/functions/internal/setup"
	"github.com/landfall-dev/landfall/internal/config/yamlconfig"
	"github.com/landfall-dev/landfall/internal/lab/functiontest"
)

// BenchmarkMessage is the function's CPU for one new message, in full batches: decode the event, select, put the receipt,
// hold, forward. "with_sdk" is all of it, on a transport that answers at once; "sdk_alone" makes as many and as large
// requests through the SDK and does nothing else, so that the difference is Landfall's.
func BenchmarkMessage(b *testing.B) {
	const batch = 10
	body := strings.Repeat("x", 700)
	sdk := aws.Config{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		HTTPClient: &http.Client{Transport: nullTransport{}},
	}
	tables := dynamodb.NewFromConfig(sdk)
	queues := sqs.NewFromConfig(sdk, func(o *sqs.Options) { o.DisableMessageChecksumValidation = true })
	ctx, cancel := context.WithTimeout(b.Context(), time.Hour)
	defer cancel()
	run := func(name string, invocation func() error) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			defer functiontest.ReportCPU(b)()
			for n := 0; n < b.N; n += batch { // of batches that are full
				if err := invocation(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}

	cfg, err := yamlconfig.Parse("landfall.yaml", []byte(couriers))
	if err != nil {
		b.Fatal(err)
	}
	router, err := setup.NewRouting(cfg, setup.Clients{DynamoDB: tables, SQS: queues}, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	var records []string
	for i := range batch {
		records = append(records, fmt.Sprintf(`{"messageId":"m-%d","receiptHandle":"h-%d","body":%q,"attributes":{"SentTimestamp":"%d",`+
			`"ApproximateReceiveCount":"1"},"messageAttributes":{},"eventSource":"aws:sqs","eventSourceARN":"arn:aws:sqs:us-east-1:000000000000:%s"}`,
			i, i, body, time.Now().UnixMilli(), ingress))
	}
	event := json.RawMessage(`{"Records":[` + strings.Join(records, ",") + `]}`)
	stdout := os.Stdout // where the function's metrics go
	if os.Stdout, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0); err != nil {
		b.Fatal(err)
	}
	defer func() { os.Stdout = stdout }()
	run("with_sdk", func() error {
		answer, err := (&handler{router}).handle(ctx, event)
		if err == nil && len(answer.BatchItemFailures) != batch {
			err = fmt.Errorf("%d of %d messages are held", len(answer.BatchItemFailures), batch)
		}
		return err
	})

	hold, forward := &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: aws.String("https://null/q")}, &sqs.SendMessageBatchInput{QueueUrl: aws.String("https://null/q")}
	for i := range batch {
		id := aws.String(fmt.Sprint(i))
		hold.Entries = append(hold.Entries, types.ChangeMessageVisibilityBatchRequestEntry{Id: id, ReceiptHandle: id, VisibilityTimeout: 30})
		forward.Entries = append(forward.Entries, types.SendMessageBatchRequestEntry{Id: id, MessageBody: &body, MessageAttributes: attributesOf("landfall", strings.Repeat("e", 300))})
	}
	item := map[string]dynamotypes.AttributeValue{}
	for _, name := range []string{"pk", "attempt", "token", "consumer", "state", "deadline", "tried", "history", "expires_at"} {
		item[name] = &dynamotypes.AttributeValueMemberS{Value: strings.Repeat("v", 25)}
	}
	run("sdk_alone", func() error {
		for range batch {
			if _, err := tables.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String("receipts"), Item: item, ConditionExpression: aws.String("attribute_not_exists(pk)")}); err != nil {
				return err
			}
		}
		if _, err := tables.Query(ctx, &dynamodb.QueryInput{TableName: aws.String("control"), KeyConditionExpression: aws.String("pk = :pk")}); err != nil {
			return err
		}
		if _, err := queues.ChangeMessageVisibilityBatch(ctx, hold); err != nil {
			return err
		}
		_, err := queues.SendMessageBatch(ctx, forward)
		return err
	})
}

// nullTransport is a DynamoDB with nothing in it, and an SQS that takes everything.
type nullTransport struct{}

func (nullTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	request, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	answer := "{}"
	switch _, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), "."); operation {
	case "GetQueueUrl":
		answer = `{"QueueUrl":"https://null/q"}`
	case "GetQueueAttributes":
		answer = `{"Attributes":{"ApproximateNumberOfMessages":"0","ApproximateNumberOfMessagesNotVisible":"0"}}`
	case "ChangeMessageVisibilityBatch", "SendMessageBatch":
		var in struct {
			Entries []struct {
				ID string `json:"Id"`
			}
		}
		if err := json.Unmarshal(request, &in); err != nil {
			return nil, err
		}
		var done []string
		for _, e := range in.Entries {
			done = append(done, `{"Id":"`+e.ID+`","MessageId":"m","MD5OfMessageBody":"m"}`)
		}
		answer = `{"Successful":[` + strings.Join(done, ",") + `],"Failed":[]}`
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(strings.NewReader(answer)), ContentLength: int64(len(answer)), Request: r,
	}, nil
}
