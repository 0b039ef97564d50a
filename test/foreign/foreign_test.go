//go:build foreign

// Package foreign checks the documented formats with programs in other languages. Landfall sends rows put by Python and
// by the AWS command line as docs/row-format.md describes, and the consumer of docs/routing.md works its messages.
// The tests need python3 with boto3, and aws. They have a build tag: go test -tags foreign ./test/foreign
package foreign

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/lab/localaws"
	"github.com/landfall-dev/landfall/internal/lab/loopback"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
)

const table = "foreign-outbox"

// desk is a DynamoDB on a loopback port with the tables.
type desk struct {
	t     *testing.T
	url   string
	store *outboxdb.Store

	mu   sync.Mutex
	sent map[outbox.ID][][]byte
}

func newDesk(t *testing.T) *desk {
	account := localaws.New(localaws.Options{})
	server, err := loopback.Listen("127.0.0.1:0", account)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	client := dynamodb.NewFromConfig(account.Config("test"))
	orders := &dynamodb.CreateTableInput{
		TableName: aws.String("orders"), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
	}
	for _, create := range []*dynamodb.CreateTableInput{outboxdb.Table(table), orders} {
		if _, err := client.CreateTable(t.Context(), create); err != nil {
			t.Fatal(err)
		}
	}
	return &desk{t: t, url: server.URL, store: outboxdb.New(client, table), sent: map[outbox.ID][][]byte{}}
}

// Send makes the desk a remote that accepts everything.
func (d *desk) Send(_ context.Context, row outbox.Row) outbox.Outcome {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sent[row.ID] = append(d.sent[row.ID], row.Payload)
	return outbox.Completed("")
}

// environment leads a program's AWS client to the endpoint.
func environment(endpoint string) []string {
	return append(os.Environ(), "AWS_ENDPOINT_URL="+endpoint, "AWS_REGION="+localaws.Region, "AWS_DEFAULT_REGION="+localaws.Region,
		"AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local", "AWS_EC2_METADATA_DISABLED=true")
}

// run runs a program against the desk and returns what it printed.
func (d *desk) run(name string, args ...string) []byte {
	d.t.Helper()
	cmd := exec.CommandContext(d.t.Context(), name, args...)
	cmd.Env = append(environment(d.url), "LANDFALL_OUTBOX_TABLE="+table)
	out, err := cmd.Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			d.t.Fatalf("%s: %v\n%s", name, err, failed.Stderr)
		}
		d.t.Fatalf("%s: %v", name, err)
	}
	return out
}

func (d *desk) sweep() {
	d.t.Helper()
	dispatcher := outbox.Dispatcher{Store: d.store, Destinations: []outbox.Destination{
		{Name: "charge", Policy: outbox.Policy{Shards: 4}, Sender: d},
	}}
	if _, err := dispatcher.RunOnce(d.t.Context()); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) check(pk string, sent []byte, ends outbox.Status) {
	d.t.Helper()
	id := outbox.ParsePK(pk)
	row, err := d.store.Get(d.t.Context(), id)
	if err != nil || row.Status != ends {
		d.t.Errorf("%s is %q, %v; want %s", pk, row.Status, err, ends)
	}
	if got := d.sent[id]; ends == outbox.StatusFailed && len(got) != 0 || ends == outbox.StatusCompleted && (len(got) != 1 || !bytes.Equal(got[0], sent)) {
		d.t.Errorf("%s: %d sends, or the bytes are not those of the row", pk, len(got))
	}
}

func TestRowsOfAPythonProgramAreSentUnchanged(t *testing.T) {
	d := newDesk(t)
	lines := bufio.NewScanner(bytes.NewReader(d.run("python3", "put_rows.py")))
	lines.Buffer(nil, 1<<20)
	d.sweep()
	rows := 0
	for ; lines.Scan(); rows++ {
		var want struct {
			PK   string
			Sent []byte
			Ends outbox.Status
		}
		if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		d.check(want.PK, want.Sent, want.Ends)
	}
	if err := lines.Err(); err != nil || rows < 15 {
		t.Errorf("checked %d rows, %v", rows, err)
	}
}

// TestExampleOfTheCommandLineWorks runs the command of the page as it is written there.
func TestExampleOfTheCommandLineWorks(t *testing.T) {
	d := newDesk(t)
	page, err := os.ReadFile("../../docs/row-format.md")
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile("(?s)```sh\n(aws dynamodb put-item.*?)```").FindSubmatch(page)
	if command == nil {
		t.Fatal("the page has no command")
	}
	row, err := filepath.Abs("../../testdata/rows/minimal.json")
	if err != nil {
		t.Fatal(err)
	}
	text := bytes.ReplaceAll(command[1], []byte("file://row.json"), []byte("'file://"+row+"'"))
	d.run("sh", "-c", string(text))
	d.sweep()
	d.check("charge#order-42", []byte(`{"amount": 1200}`), outbox.StatusCompleted)
}
