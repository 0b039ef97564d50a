package desk_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/landfall-dev/landfall/internal/config/yamlconfig"
	"github.com/landfall-dev/landfall/internal/lab/desk"
	"github.com/landfall-dev/landfall/internal/lab/localaws"
	"github.com/landfall-dev/landfall/internal/lab/loopback"
)

func TestRemoveLeavesAnExternalEndpointEmpty(t *testing.T) {
	t.Parallel()
	aws, err := loopback.Listen("127.0.0.1:0", localaws.New(localaws.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { aws.Close() })
	cfg, err := yamlconfig.Parse("landfall.yaml", []byte("groups: {g: {accept: explicit, route: weighted, consumers: {a: {sqs: queue-a}}}}"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := desk.Start(t.Context(), desk.Options{Config: cfg, Folder: t.TempDir(), Endpoint: aws.URL})
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

func TestEndpointOutsideThisMachineIsRefused(t *testing.T) {
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

func TestDeskServesProgramsAndRefusesWebPages(t *testing.T) {
	t.Parallel()
	cfg, err := yamlconfig.Parse("landfall.yaml", []byte("groups: {g: {accept: explicit, route: weighted, consumers: {a: {sqs: queue-a}}}}"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := desk.Start(t.Context(), desk.Options{Config: cfg, Folder: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Stop(context.Background()) })
	ttl, err := d.DynamoDB("test").DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: sdk.String(d.OutboxTable())})
	if err != nil || ttl.TimeToLiveDescription.TimeToLiveStatus != "ENABLED" {
		t.Errorf("time to live: %v, %v", ttl, err)
	}
	vault := secretsmanager.NewFromConfig(d.SDK("test"))
	if _, err := vault.CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{Name: sdk.String("s"), SecretString: sdk.String("hidden")}); err != nil {
		t.Fatal(err)
	}
	for name, request := range map[string][3]string{ // method, path, target
		"scan payloads":     {http.MethodPost, "/", "DynamoDB_20120810.Scan"},
		"read a secret":     {http.MethodPost, "/", "secretsmanager.GetSecretValue"},
		"invoke a function": {http.MethodPost, "/2015-03-31/functions/dispatch/invocations", ""},
		"read the ledger":   {http.MethodGet, "/ledger", ""},
		"empty the ledger":  {http.MethodDelete, "/ledger", ""},
	} {
		body := `{"TableName":"` + d.OutboxTable() + `","SecretId":"s"}`
		if status := send(t, d.Endpoint, request, body, nil); status/100 != 2 && request[1] != "/2015-03-31/functions/dispatch/invocations" {
			t.Errorf("%s: a program got %d", name, status)
		}
		for header, value := range map[string]string{"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site", "Host": "evil.example:80"} {
			if status := send(t, d.Endpoint, request, body, http.Header{header: {value}}); status != http.StatusForbidden {
				t.Errorf("%s: a page with %s got %d", name, header, status)
			}
		}
	}
}

// send sends a request of a program, or of a page with more headers.
func send(t *testing.T, endpoint string, request [3]string, body string, more http.Header) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), request[0], endpoint+request[1], strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Amz-Target", request[2])
	for name, values := range more {
		r.Header[name] = values
	}
	if host := more.Get("Host"); host != "" {
		r.Host = host
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	return answer.StatusCode
}
