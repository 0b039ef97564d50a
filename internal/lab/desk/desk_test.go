package desk_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/landfall-dev/landfall/internal/config/yamlconfig"
	"github.com/landfall-dev/landfall/internal/lab/desk"
	"github.com/landfall-dev/landfall/internal/lab/localaws"
)

func TestNothingIsLeftAtAnEndpointThatGoesOn(t *testing.T) {
	t.Parallel()
	aws, err := localaws.Listen("127.0.0.1:0", localaws.New(localaws.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { aws.Close() })
	cfg, err := yamlconfig.Parse("landfall.yaml", []byte("groups: {g: {accept: explicit, route: weighted, consumers: {a: {sqs: queue-a}}}}"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := desk.Start(t.Context(), desk.Options{Source: ".", Config: cfg, Folder: t.TempDir(), Endpoint: aws.URL})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []error{d.MakeQueue(t.Context(), "queue-b"), d.Remove(t.Context()), d.Stop(t.Context())} {
		if step != nil {
			t.Error(step)
		}
	}
	queues, err := d.SQS("test").ListQueues(t.Context(), &sqs.ListQueuesInput{})
	if err != nil || len(queues.QueueUrls) > 0 {
		t.Errorf("queues: %v, %v", queues, err)
	}
	tables, err := d.DynamoDB("test").ListTables(t.Context(), &dynamodb.ListTablesInput{})
	if err != nil || len(tables.TableNames) > 0 {
		t.Errorf("tables: %v, %v", tables, err)
	}
}

func TestNoEndpointElsewhereIsTakenForThisMachine(t *testing.T) {
	t.Parallel()
	for endpoint, want := range map[string]bool{
		"http://127.0.0.1:4566": true, "http://localhost:4566": true, "https://[::1]:8000": true, "http://127.8.9.1": true,
		"":      false,
		"4566":  false,
		"http:": false,
		"https://dynamodb.us-east-1.amazonaws.com": false,
		"http://localhost.example.com":             false,
		"http://127.0.0.1.example.com":             false,
		"http://127.0.0.1@example.com":             false,
		"http://example.com#127.0.0.1":             false,
		"http://example.com/?127.0.0.1":            false,
		"http://0.0.0.0:4566":                      false,
		"http://[::]:4566":                         false,
		"http://10.0.0.1:4566":                     false,
		"http://169.254.169.254":                   false,
		"file:///127.0.0.1":                        false,
		"http://127.1:4566":                        false,
		"http://2130706433:4566":                   false,
		"http://127.0.0.1:4566\nhttp://x":          false,
	} {
		if err := desk.Loopback(endpoint); (err == nil) != want {
			t.Errorf("%q: %v, want allowed = %v", endpoint, err, want)
		}
	}
}
