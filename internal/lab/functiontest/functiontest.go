// Package functiontest runs one function's own binary for a test, with a DynamoDB in process, and sends it
// raw events over the runtime API. It is for the functions' tests alone.
package functiontest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/landfall-dev/landfall"
	"github.com/landfall-dev/landfall/internal/config/yamlconfig"
	"github.com/landfall-dev/landfall/internal/lab/desk"
	"github.com/landfall-dev/landfall/internal/lab/devstack"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

// Bench is a function under test.
type Bench struct {
	*testing.T // embedded: a test uses its bench as its testing.T

	Desk *desk.Desk
	// Folder holds the function's landfall.json.
	Folder string
	Output *Output
	Box    *landfall.Outbox
	Store  *outboxdb.Store

	function string
}

// New starts a desk with the configuration yaml, the function, and the other functions that the configuration names.
func New(t *testing.T, function, yaml string, others ...devstack.Function) *Bench {
	t.Helper()
	cfg, err := yamlconfig.Parse("landfall.yaml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	b := &Bench{T: t, Folder: t.TempDir(), Output: &Output{}, function: function}
	b.Desk, err = desk.Start(t.Context(), desk.Options{Config: cfg, Folder: b.Folder, Functions: others, Output: b.Output})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := b.Desk.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	client := b.Desk.DynamoDB("test")
	b.Store = outboxdb.New(client, schema.OutboxTable)
	writer := landfall.Config{Table: schema.OutboxTable, Destinations: map[string]landfall.Destination{}}
	for _, name := range cfg.Names() {
		writer.Destinations[name] = landfall.Destination{}
	}
	b.Box = landfall.New(client, writer)
	return b
}

// Put puts a row.
func (b *Bench) Put(destination, key, payload string) {
	b.Helper()
	if err := b.Box.Put(b.Context(), landfall.Row{Destination: destination, Key: key, Payload: []byte(payload)}); err != nil {
		b.Fatal(err)
	}
}

// Row is a row as it is stored.
func (b *Bench) Row(destination, key string) outbox.Row {
	b.Helper()
	row, err := b.Store.Get(b.Context(), outbox.ID{Destination: destination, Key: key})
	if err != nil {
		b.Fatal(err)
	}
	return row
}

// NothingStored fails the test if a text stands anywhere in the outbox table.
func (b *Bench) NothingStored(text string) {
	b.Helper()
	out, err := b.Desk.DynamoDB("test").Scan(b.Context(), &dynamodb.ScanInput{TableName: aws.String(schema.OutboxTable)})
	if err != nil {
		b.Fatal(err)
	}
	stored, err := json.Marshal(out.Items)
	if err != nil || strings.Contains(string(stored), text) {
		b.Errorf("%q is stored, or cannot be looked for: %v", text, err)
	}
}

// Raw sends an event and returns the function's answer, which may be an error.
func (b *Bench) Raw(event string) devstack.Result {
	b.Helper()
	result, err := b.Desk.Stack.Invoke(b.Context(), b.function, []byte(event))
	if err != nil {
		b.Fatal(err)
	}
	return result
}

// Invoke sends an event that the function must understand.
func (b *Bench) Invoke(event string) string {
	b.Helper()
	result := b.Raw(event)
	if result.FunctionError != "" || !json.Valid(result.Payload) {
		b.Fatalf("%s: %s %s\n%s", event, result.FunctionError, result.Payload, b.Output)
	}
	return string(result.Payload)
}

// RefusesOtherEvents sends events of other shapes, and the given ones. Each must fail with an error that contains why.
func (b *Bench) RefusesOtherEvents(why string, more ...string) {
	b.Helper()
	for _, event := range append(more, `{}`, `{"Records": []}`, `{"part": 2, "of": 2}`, `[]`, `"hello"`, `null`) {
		result := b.Raw(event)
		if result.FunctionError == "" || !strings.Contains(string(result.Payload), why) {
			b.Errorf("%s: %s %s, want a visible error", event, result.FunctionError, result.Payload)
		}
	}
}

// Output keeps what the function prints.
type Output struct {
	mu  sync.Mutex
	all strings.Builder
	// more is closed by the next line; nil if nothing waits for it.
	more chan struct{}
}

func (o *Output) Write(line []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.more != nil {
		close(o.more)
		o.more = nil
	}
	return o.all.Write(line)
}

// Has waits until the function has printed all of these texts. A function's answer can come before the lines that it
// printed earlier: the pipe and the runtime API are read independently. After 10 seconds it reports false.
func (o *Output) Has(texts ...string) bool {
	late := time.After(10 * time.Second)
	for {
		o.mu.Lock()
		missing := slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(o.all.String(), text) })
		if o.more == nil {
			o.more = make(chan struct{})
		}
		more := o.more
		o.mu.Unlock()
		if !missing {
			return true
		}
		select {
		case <-more:
		case <-late:
			return false
		}
	}
}

func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all.String()
}
