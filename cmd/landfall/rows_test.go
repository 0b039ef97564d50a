package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/lab/localaws"
	"github.com/landfall-dev/landfall/internal/lab/loopback"
	"github.com/landfall-dev/landfall/internal/outboxdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

// queueConfig has a destination that is a queue, and one that is a group.
const queueConfig = `
destinations:
  jobs: {group: couriers}
  mail: {sqs: mail-queue, deduplicates: never}
groups:
  couriers: {accept: explicit, route: least_loaded, max_wait: 2h, consumers: {north: {sqs: courier-north}}}
`

// rowsBundle is a table, and the command line on it.
type rowsBundle struct {
	t      *testing.T
	client *dynamodb.Client
	args   []string
}

func setupRows(t *testing.T) *rowsBundle {
	server, err := loopback.Listen("127.0.0.1:0", localaws.New(localaws.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	client := dynamodb.New(dynamodb.Options{
		Region: "eu-central-1", BaseEndpoint: aws.String(server.URL),
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
	if _, err := client.CreateTable(t.Context(), outboxdb.Table(schema.OutboxTable)); err != nil {
		t.Fatal(err)
	}
	config := write(t, "landfall.yaml", goodConfig)
	return &rowsBundle{t, client, []string{"--endpoint-url", server.URL, "--config", config}}
}

func (b *rowsBundle) execute(stdin string, args ...string) result {
	b.t.Helper()
	return execute(b.t, stdin, append(args, b.args...)...)
}

func (b *rowsBundle) must(stdin string, args ...string) string {
	b.t.Helper()
	got := b.execute(stdin, args...)
	if got.code != 0 || got.stderr != "" {
		b.t.Fatalf("landfall %s: exit code %d: %s", strings.Join(args, " "), got.code, got.stderr)
	}
	return got.stdout
}

func TestEnqueuedPayloadIsKeptByteForByte(t *testing.T) {
	t.Parallel()
	b := setupRows(t)
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for key, tt := range map[string]struct{ data, stdin, want string }{
		"text":  {`{"amount": 1}`, "", `{"amount": 1}`},
		"file":  {"@" + write(t, "payload", "from a file\n"), "", "from a file\n"},
		"stdin": {"-", string(every), string(every)},
		"empty": {"", "", ""},
	} {
		out := b.must(tt.stdin, "enqueue", "charge", "--key", key, "--data", tt.data, "--header", "X-Tenant=t1")
		name := strings.TrimSuffix(out, " is stored\n")
		if name == out || strings.Contains(name, key) {
			t.Errorf("answer %q: want the row's name, without its key", out)
		}
		if got := b.must("", "rows", "get", "charge", key, "--payload"); got != tt.want {
			t.Errorf("%s: payload %q, want %q", key, got, tt.want)
		}
		if got := b.must("", "rows", "get", name, "--payload"); got != tt.want {
			t.Errorf("%s: payload by name %q, want %q", key, got, tt.want)
		}
	}
}

func TestRowsForQueuesAndGroupsAreAccepted(t *testing.T) {
	t.Parallel()
	b := setupRows(t)
	b.args[len(b.args)-1] = write(t, "landfall.yaml", queueConfig)
	for _, destination := range []string{"mail", "jobs"} {
		b.must("", "enqueue", destination, "--key", "k", "--data", "{}")
		if got := b.must("", "rows", "get", destination, "k", "--payload"); got != "{}" {
			t.Errorf("%s: payload %q", destination, got)
		}
	}
}

func TestSameRowSucceedsAndOtherContentIsRefused(t *testing.T) {
	t.Parallel()
	b := setupRows(t)
	first := b.must("", "enqueue", "charge", "--key", "order-42", "--data", "a")
	name := strings.TrimSuffix(first, " is stored\n")
	if again := b.must("", "enqueue", "charge", "--key", "order-42", "--data", "a"); !strings.HasPrefix(again, name+" was stored before, at ") || !strings.HasSuffix(again, " and is pending\n") {
		t.Errorf("the same again: %q, want its status", again)
	}
	b.must("", "rows", "cancel", "charge", "order-42", "--by", "ada")
	if again := b.must("", "enqueue", "charge", "--key", "order-42", "--data", "a"); !strings.HasSuffix(again, " and is failed (landfall.cancelled)\n") {
		t.Errorf("the same again, after it failed: %q, want its status and code", again)
	}
	other := b.execute("", "enqueue", "charge", "--key", "order-42", "--data", "b")
	if other.code != 1 || !strings.Contains(other.stderr, "other content") || strings.Contains(other.stderr, "order-42") {
		t.Errorf("other content: %+v, want exit code 1 and no key in the error", other)
	}
	if got := b.must("", "rows", "get", "charge", "order-42", "--payload"); got != "a" {
		t.Errorf("payload %q, want a", got)
	}
}

func TestMissingRowIsANo(t *testing.T) {
	t.Parallel()
	b := setupRows(t)
	b.must("", "enqueue", "charge", "--key", "order-42", "--data", "a")
	for _, args := range [][]string{
		{"rows", "get", "charge", "order-43"},
		{"rows", "get", "mail", "order-42"},
		{"rows", "get", "charge/0000000000000000"},
	} {
		if got := b.execute("", args...); got.code != 1 || got.stdout != "" || !strings.Contains(got.stderr, "no row ") {
			t.Errorf("%v: %+v, want exit code 1", args, got)
		}
	}
}

func TestMissingTableSaysWhatToDo(t *testing.T) {
	t.Parallel()
	server, err := loopback.Listen("127.0.0.1:0", localaws.New(localaws.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	b := &rowsBundle{t, nil, []string{"--endpoint-url", server.URL, "--config", write(t, "landfall.yaml", goodConfig)}}
	for _, args := range [][]string{
		{"enqueue", "charge", "--key", "k", "--data", "d"},
		{"rows", "get", "charge", "k"},
		{"rows", "get", "charge/0123456789abcdef"},
		{"rows", "list"},
	} {
		if got := b.execute("", args...); got.code != 1 || !strings.Contains(got.stderr, "no table landfall-outbox in eu-central-1: set LANDFALL_OUTBOX_TABLE") {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

func TestListShowsEveryLane(t *testing.T) {
	t.Parallel()
	b := setupRows(t)
	want := map[string]bool{}
	for _, key := range []string{"a", "b", "c", "d", "e", "f"} { // over both lanes
		out := b.must("", "enqueue", "charge", "--key", key, "--data", "x")
		want[strings.TrimSuffix(out, " is stored\n")] = true
	}
	for _, key := range []string{"m", "n"} {
		b.must("", "enqueue", "mail", "--key", key, "--data", "x")
	}

	var views []rowView
	if err := json.Unmarshal([]byte(b.must("", "rows", "list", "charge", "--output", "json")), &views); err != nil {
		t.Fatal(err)
	}
	for _, v := range views {
		if !want[v.Name] || v.Status != "pending" || v.Key != "" || v.CreatedAt == nil {
			t.Errorf("listed %+v", v)
		}
		delete(want, v.Name)
	}
	if len(want) > 0 {
		t.Errorf("not listed: %v", want)
	}
	if got := b.must("", "rows", "list"); strings.Count(got, "\n") != 1+8 || !strings.HasPrefix(got, "ROW ") {
		t.Errorf("table:\n%s\nwant 8 rows", got)
	}
	if got := b.must("", "rows", "list", "--lane", "failed"); strings.Count(got, "\n") != 1 {
		t.Errorf("failed rows:\n%s\nwant none", got)
	}
	if got := b.must("", "rows", "list", "mail", "--lane", "due", "--limit", "1"); strings.Count(got, "\n") != 2 {
		t.Errorf("mail:\n%s\nwant one row", got)
	}
}

func TestControlCharactersDoNotReachTheTerminal(t *testing.T) {
	t.Parallel()
	const hostile = "a\x1b[2J\u009b\n\tä\u202e\U000e0041\x7f"
	if got := printable(hostile); got != "a?[2J???ä???" {
		t.Errorf("printable: %q", got)
	}
	if got := printableText(hostile); got != "a?[2J?\n\tä???" {
		t.Errorf("printableText: %q", got)
	}
	var out bytes.Buffer
	if err := (&app{stdout: &out}).printJSON(hostile); err != nil || out.String() != `"a\u001b[2J\u009b\n\tä\u202e\udb40\udc41\u007f"`+"\n" {
		t.Errorf("printJSON: %s, %v", &out, err)
	}
	var back string
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || back != hostile {
		t.Errorf("read again: %q, %v", back, err)
	}
}

func TestAuditFindsWhatNoSweepFinds(t *testing.T) {
	t.Parallel()
	b := setupRows(t)
	b.must("", "enqueue", "mail", "--key", "good", "--data", "{}", "--command-id", "command-1")
	if got := b.must("", "rows", "audit"); got != "1 rows checked, nothing found\n" {
		t.Errorf("a row in order: %q", got)
	}
	if got := b.must("", "rows", "audit", "--command", "command-1"); strings.Count(got, "\n") != 2 {
		t.Errorf("rows of the command:\n%s\nwant one", got)
	}
	now := &types.AttributeValueMemberN{Value: fmt.Sprint(time.Now().UnixMilli())}
	for key, lane := range map[string]types.AttributeValue{
		"secret-lost": nil, "secret-last": &types.AttributeValueMemberS{Value: "due#charge#1"}, // charge has two lanes
		"secret-beyond": &types.AttributeValueMemberS{Value: "due#charge#2"},
	} {
		item := map[string]types.AttributeValue{
			schema.PK:        &types.AttributeValueMemberS{Value: "charge#" + key},
			schema.Status:    &types.AttributeValueMemberS{Value: schema.StatusPending},
			schema.Payload:   &types.AttributeValueMemberS{Value: "secret payload"},
			schema.CreatedAt: now, schema.LaneAt: now,
		}
		if lane != nil {
			item[schema.Lane] = lane
		}
		if _, err := b.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(schema.OutboxTable), Item: item}); err != nil {
			t.Fatal(err)
		}
	}
	got := b.execute("", "rows", "audit")
	for _, finding := range []string{"lane is missing", "it is in lane number 2, and the destination has 2"} {
		if !strings.Contains(got.stdout, finding) {
			t.Errorf("not found: %s\n%s", finding, got.stdout)
		}
	}
	if got.code != exitNo || !strings.Contains(got.stderr, "2 of 4 rows have a finding") || strings.Contains(got.stdout+got.stderr, "secret") {
		t.Errorf("exit code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
}
