package routingdb_test

import (
	"context"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/landfall-dev/landfall/internal/lab/routingtest"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/routingdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

// docs is the page that names the attributes of both tables.
func docs(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/routing.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// differing returns the names of the fields in which two structs differ.
func differing(a, b any) (names []string) {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range x.NumField() {
		if !reflect.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
			names = append(names, x.Type().Field(i).Name)
		}
	}
	return names
}

// TestEveryFieldOfAReceiptIsEncodedDecodedAndDocumented, and so is every field of its past attempts.
func TestEveryFieldOfAReceiptIsEncodedDecodedAndDocumented(t *testing.T) {
	t.Parallel()
	var receipt routing.Receipt
	routingtest.Fill(t, &receipt)
	receipt.State = routing.Pending
	item := routingdb.Encode(receipt)
	decoded, err := routingdb.Decode(receipt.ID, item)
	if err != nil {
		t.Fatal(err)
	}
	if lost := differing(receipt, decoded); lost != nil {
		t.Errorf("encode or decode loses %v", lost)
	}
	attributes := slices.Collect(maps.Keys(item))
	attributes = append(attributes, schema.Invalid, schema.End)
	page := docs(t)
	for _, attribute := range attributes {
		if !strings.Contains(page, "| `"+attribute+"` |") {
			t.Errorf("no table of docs/routing.md has the attribute %s", attribute)
		}
	}
}

// oneLoad says the same of every queue.
type oneLoad routing.Load

func (l oneLoad) Load(context.Context, string) (routing.Load, error) { return routing.Load(l), nil }

// TestEveryFieldOfAConsumerIsStoredReadAndDocumented: those of its state come from its item or from its queue.
func TestEveryFieldOfAConsumerIsStoredReadAndDocumented(t *testing.T) {
	t.Parallel()
	w := newCouriers(t)
	load := routing.Load{InFlight: 20, Waiting: 22}
	w.groups.Queues = oneLoad(load)
	var c routing.Consumer
	routingtest.Fill(t, &c)
	c.Target, c.LeaseUntil = "sqs:east", time.Now().Add(time.Hour).Truncate(time.Millisecond)
	c.CurrentInFlight, c.BufferDepth = 0, 0 // of a draining consumer, no load is read
	w.must(w.control.Join(t.Context(), "couriers", c, "ada"))
	w.must(w.control.Drain(t.Context(), "couriers", c.ID, true, "ada"))
	if lost := differing(c, w.consumer(c.ID)); lost != nil {
		t.Errorf("the control table loses %v", lost)
	}
	out, err := w.client.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String(schema.ControlTable)})
	w.must(err)
	page := docs(t)
	for attribute := range out.Items[0] {
		if !strings.Contains(page, "`"+attribute+"`") {
			t.Errorf("docs/routing.md does not name the attribute %s of a member", attribute)
		}
	}
	w.must(w.control.Drain(t.Context(), "couriers", c.ID, false, "ada"))
	c.Draining, c.CurrentInFlight, c.BufferDepth = false, load.Given(), load.Waiting
	if lost := differing(c, w.consumer(c.ID)); lost != nil {
		t.Errorf("a snapshot loses %v", lost)
	}
}

func (w *couriers) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}
