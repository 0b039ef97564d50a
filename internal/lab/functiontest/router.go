package functiontest

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/config/yamlconfig"
	"github.com/landfall-dev/landfall/internal/lab/devstack"
	"github.com/landfall-dev/landfall/internal/lab/localaws"
	"github.com/landfall-dev/landfall/internal/lab/loopback"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/routingdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

// Router is the route function under test, with its tables and each group's ingress and dead-letter queue.
type Router struct {
	*testing.T // embedded: a test uses its router as its testing.T

	Stack    *devstack.Stack
	Output   *Output
	SQS      *sqs.Client
	Receipts *routingdb.Receipts
	Control  *routingdb.Control
}

// RouteFunction is the function's name on the stack.
const RouteFunction = "route"

// Tables have names other than the function's defaults.
const receiptsTable, controlTable = "test-receipts", "test-control"

// NewRouter starts the function with the configuration yaml. The names of the group's queues begin with prefix; queues
// are the queues of its consumers.
func NewRouter(t *testing.T, prefix, yaml string, queues ...string) *Router {
	t.Helper()
	cfg, file := writeConfig(t, yaml)
	server, err := loopback.Listen("127.0.0.1:0", localaws.New(localaws.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	sdk := aws.Config{
		Region: devstack.DefaultRegion, BaseEndpoint: &server.URL, AppID: "test",
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	}
	tables := dynamodb.NewFromConfig(sdk)
	r := &Router{
		T: t, Output: &Output{}, SQS: sqs.NewFromConfig(sdk),
		Receipts: routingdb.NewReceipts(tables, receiptsTable), Control: routingdb.NewControl(tables, controlTable),
	}
	for _, group := range cfg.GroupNames() {
		queues = append(queues, schema.IngressQueue(prefix, group), schema.DeadLetterQueue(prefix, group))
	}
	r.create(tables, queues)
	r.start(map[string]string{
		schema.ConfigEnv: file, schema.QueuePrefixEnv: prefix, schema.ReceiptsTableEnv: receiptsTable, schema.ControlTableEnv: controlTable,
		"AWS_ENDPOINT_URL": server.URL, "AWS_SDK_UA_APP_ID": "landfall-route",
	})
	return r
}

// writeConfig writes landfall.json for a landfall.yaml.
func writeConfig(t *testing.T, yaml string) (cfg *config.Config, file string) {
	t.Helper()
	cfg, err := yamlconfig.Parse("landfall.yaml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	resolved, err := cfg.Resolved()
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), schema.ConfigFile)
	if err := os.WriteFile(file, resolved, 0o644); err != nil {
		t.Fatal(err)
	}
	return cfg, file
}

// create creates the tables and the queues.
func (r *Router) create(tables *dynamodb.Client, queues []string) {
	r.Helper()
	for _, table := range []*dynamodb.CreateTableInput{routingdb.ReceiptsTable(receiptsTable), routingdb.ControlTable(controlTable)} {
		if _, err := tables.CreateTable(r.Context(), table); err != nil {
			r.Fatal(err)
		}
	}
	for _, name := range queues {
		if _, err := r.SQS.CreateQueue(r.Context(), &sqs.CreateQueueInput{QueueName: &name}); err != nil {
			r.Fatal(err)
		}
	}
}

// start builds the function and starts the stack.
func (r *Router) start(env map[string]string) {
	r.Helper()
	binary, err := devstack.Build(r.Context(), ".", RouteFunction)
	if err != nil {
		r.Fatal(err)
	}
	r.Stack, err = devstack.Start(devstack.Config{Output: r.Output, Functions: []devstack.Function{
		{Name: RouteFunction, Path: binary, Timeout: time.Minute, Env: env},
	}})
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(r.Stop)
}

// Stop lets what is under way finish; then the output is complete.
func (r *Router) Stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	r.Stack.Stop(ctx)
}

// Map maps an ingress queue to the function until ctx ends.
func (r *Router) Map(ctx context.Context, queue string) {
	r.Helper()
	err := r.Stack.MapQueue(ctx, devstack.QueueMapping{
		Function: RouteFunction, Client: r.SQS, Queue: r.URL(queue), ReportBatchItemFailures: true,
	})
	if err != nil {
		r.Fatal(err)
	}
}

// Invoke sends the function an event.
func (r *Router) Invoke(event string) devstack.Result {
	r.Helper()
	result, err := r.Stack.Invoke(r.Context(), RouteFunction, []byte(event))
	if err != nil {
		r.Fatal(err)
	}
	return result
}

// URL is that of a queue.
func (r *Router) URL(queue string) string {
	r.Helper()
	out, err := r.SQS.GetQueueUrl(r.Context(), &sqs.GetQueueUrlInput{QueueName: &queue})
	if err != nil {
		r.Fatal(err)
	}
	return *out.QueueUrl
}

// Send puts a message into a queue and returns its id.
func (r *Router) Send(queue, body string, attributes map[string]types.MessageAttributeValue) string {
	r.Helper()
	url := r.URL(queue)
	out, err := r.SQS.SendMessage(r.Context(), &sqs.SendMessageInput{QueueUrl: &url, MessageBody: &body, MessageAttributes: attributes})
	if err != nil {
		r.Fatal(err)
	}
	return *out.MessageId
}

// Receive takes up to ten messages, and waits for the first for up to so many seconds.
func (r *Router) Receive(queue string, seconds int32) []types.Message {
	r.Helper()
	url := r.URL(queue)
	out, err := r.SQS.ReceiveMessage(r.Context(), &sqs.ReceiveMessageInput{
		QueueUrl: &url, MaxNumberOfMessages: 10, WaitTimeSeconds: seconds,
		MessageAttributeNames: []string{"All"}, MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"},
	})
	if err != nil {
		r.Fatal(err)
	}
	return out.Messages
}

// Receipt is a message's.
func (r *Router) Receipt(group, message string) routing.Receipt {
	r.Helper()
	receipt, err := r.Receipts.Get(r.Context(), routing.ID{Group: group, Message: message})
	if err != nil {
		r.Fatal(err)
	}
	return receipt
}
