package routingdb_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/landfall-dev/landfall/internal/lab/localaws"
	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/lab/routingtest"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/routingdb"
)

// endpointEnv names another DynamoDB to hold the store against: its word on conditions and lost answers counts
// as much as that of our own.
const endpointEnv = "LANDFALL_ENDPOINT"

func TestConformance(t *testing.T) {
	endpoint := os.Getenv(endpointEnv)
	routingtest.Run(t, routingtest.Harness{RealTime: endpoint != "", New: func(t *testing.T) routingtest.Subject {
		if endpoint != "" {
			return elsewhere(t, endpoint)
		}
		b := newBench(t)
		return b.subject(func() { b.next(faults.Fault{LoseAnswer: true}) })
	}})
}

// subject is the bench as the suite wants it.
func (b *bench) subject(loseAnswer func()) routingtest.Subject {
	return routingtest.Subject{Store: b.Receipts, LoseAnswer: loseAnswer, Raw: func(t *testing.T, id routing.ID) string {
		stored := b.stored(id)
		if stored == nil {
			return ""
		}
		raw, err := json.Marshal(stored)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}}
}

// elsewhere is a store on a table of its own at another endpoint.
func elsewhere(t *testing.T, endpoint string) routingtest.Subject {
	t.Helper()
	lossy := &lossyTransport{}
	client := dynamodb.New(dynamodb.Options{
		Region: localaws.Region, BaseEndpoint: &endpoint, HTTPClient: &http.Client{Transport: lossy},
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
	b := &bench{T: t, client: client, table: "receipts-" + time.Now().Format("150405.000000000")}
	b.Receipts = routingdb.NewReceipts(client, b.table)
	b.create(routingdb.ReceiptsTable(b.table))
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if _, err := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &b.table}); err != nil {
			t.Error(err)
		}
	})
	table := &dynamodb.DescribeTableInput{TableName: aws.String(b.table)}
	if err := dynamodb.NewTableExistsWaiter(client).Wait(t.Context(), table, time.Minute); err != nil {
		t.Fatal(err)
	}
	return b.subject(func() { lossy.lose.Store(true) })
}

// lossyTransport loses the answer to the next write.
type lossyTransport struct{ lose atomic.Bool }

func (l *lossyTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := http.DefaultTransport.RoundTrip(r)
	target := r.Header.Get("X-Amz-Target")
	write := strings.HasSuffix(target, ".PutItem") || strings.HasSuffix(target, ".UpdateItem")
	if err == nil && write && l.lose.Swap(false) {
		return nil, errors.Join(errors.New("the answer is lost"), answer.Body.Close())
	}
	return answer, err
}
