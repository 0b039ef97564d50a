package landfalltest_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/landfall-dev/landfall"
	"github.com/landfall-dev/landfall/consumer"
	"github.com/landfall-dev/landfall/landfalltest"
)

var cfg = landfall.Config{Destinations: map[string]landfall.Destination{
	"mail": {HeadStart: 5 * time.Second, Headers: []string{"X-Tenant"}},
}}

func ExampleOutbox() {
	box, err := landfalltest.New(cfg)
	if err != nil {
		log.Fatal(err)
	}
	// The code under test gets box.Outbox as it gets its *landfall.Outbox in production.
	signUp(context.Background(), box.Outbox, "ada")

	rows, err := box.Rows(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for _, row := range rows {
		fmt.Println(row.Destination, row.Key, string(row.Payload))
	}
	// Output: mail welcome-ada {"to": "ada"}
}

func signUp(ctx context.Context, box *landfall.Outbox, user string) {
	row := landfall.Row{Destination: "mail", Key: "welcome-" + user, Payload: fmt.Appendf(nil, `{"to": %q}`, user)}
	if err := box.Put(ctx, row); err != nil {
		log.Fatal(err)
	}
}

// TestRowsAreReturnedAsPut, whatever is made of them in the table, and they come in order.
func TestRowsAreReturnedAsPut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		box, err := landfalltest.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		want := []landfall.Row{
			{Destination: "mail", Key: "z", Payload: make([]byte, 100_000), ContentType: "application/json"},
			{Destination: "mail", Key: "a", Payload: []byte{0xff}, ContentType: "image/png", Headers: map[string]string{"X-Tenant": "t"},
				NotBefore: time.Now().Add(time.Hour), DeliverBy: time.Now().Add(2 * time.Hour), CommandID: "c",
				Trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
			{Destination: "mail", Key: "b", Payload: []byte{}, ContentType: "application/json"},
		}
		for i, row := range want {
			if err := box.Put(t.Context(), row); err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				<-time.After(time.Millisecond)
			}
		}
		got, err := box.Rows(t.Context())
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
	})
}

// TestRowsReturnsAllPages puts more than a page of a scan holds.
func TestRowsReturnsAllPages(t *testing.T) {
	t.Parallel()
	box, err := landfalltest.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	noise, x := make([]byte, 300_000), uint32(1)
	for i := range noise {
		x = x*1664525 + 1013904223
		noise[i] = byte(x >> 24)
	}
	for i := range 5 {
		if err := box.Put(t.Context(), landfall.Row{Destination: "mail", Key: fmt.Sprint(i), Payload: noise}); err != nil {
			t.Fatal(err)
		}
	}
	if rows, err := box.Rows(t.Context()); err != nil || len(rows) != 5 {
		t.Errorf("%d rows, %v; want 5", len(rows), err)
	}
}

// TestRulesAndConflictsAreReal asks for the errors of the real thing.
func TestRulesAndConflictsAreReal(t *testing.T) {
	t.Parallel()
	box, err := landfalltest.New(landfall.Config{Table: "my-outbox", Destinations: cfg.Destinations})
	if err != nil {
		t.Fatal(err)
	}
	row := landfall.Row{Destination: "mail", Key: "k", Payload: []byte("1")}
	if err := box.Put(t.Context(), row); err != nil {
		t.Fatal(err)
	}
	if row.Payload = []byte("2"); !errors.Is(box.Put(t.Context(), row), landfall.ErrConflict) {
		t.Error("put under a used key succeeded, want a conflict")
	}
	var invalid *landfall.RowError
	if row.Key = ""; !errors.As(box.Put(t.Context(), row), &invalid) {
		t.Error("a row without a key was taken")
	}
	if _, err := landfalltest.New(landfall.Config{Table: "?"}); err == nil {
		t.Error("a table of an impossible name was made")
	}
}

// TestMoveOnRefusesAnAcceptedMessage, as the router does not.
func TestMoveOnRefusesAnAcceptedMessage(t *testing.T) {
	t.Parallel()
	group, err := landfalltest.NewGroup("couriers")
	if err != nil {
		t.Fatal(err)
	}
	id, err := group.Send(t.Context(), "parcel 42")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	err = consumer.New(group.Receipts, group.Queues, group.Config()).Consume(ctx, group.Queue, func(context.Context, types.Message) error {
		stop()
		return nil
	})
	if state, stateErr := group.State(t.Context(), id); err != nil || state != "accepted" || stateErr != nil {
		t.Errorf("%v, then it is %q, %v", err, state, stateErr)
	}
	if err := group.MoveOn(t.Context(), id); err == nil {
		t.Error("it moved on")
	}
	if state, err := group.State(t.Context(), "unsent"); state != "" || err != nil {
		t.Errorf("a message that was not sent is %q, %v", state, err)
	}
	if _, err := landfalltest.NewGroup("?"); err == nil {
		t.Error("a group of an impossible name was made")
	}
}

// TestSendWorksBesideADeclinedMessage of the next ones: it is visible in the ingress queue again.
func TestSendWorksBesideADeclinedMessage(t *testing.T) {
	t.Parallel()
	group, err := landfalltest.NewGroup("couriers")
	if err != nil {
		t.Fatal(err)
	}
	worker := consumer.New(group.Receipts, group.Queues, group.Config())
	for _, body := range []string{"1", "2", "3"} {
		id, err := group.Send(t.Context(), body)
		if err != nil {
			t.Fatal(err)
		}
		got, err := group.Queues.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &group.Queue, MessageAttributeNames: []string{"All"}})
		if err != nil || len(got.Messages) != 1 || *got.Messages[0].Body != body || consumer.MessageID(got.Messages[0]) != id {
			t.Fatalf("%+v, %v", got, err)
		}
		if err := worker.Decline(t.Context(), got.Messages[0]); err != nil {
			t.Fatal(err)
		}
	}
	shown, err := group.Queues.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &group.Ingress, MaxNumberOfMessages: 10})
	if err != nil || len(shown.Messages) != 3 {
		t.Errorf("%d declined messages are visible, want 3: %v", len(shown.Messages), err)
	}
}
