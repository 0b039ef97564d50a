package landfall_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall"
	"github.com/landfall-dev/landfall/internal/lab/localaws"
	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/outboxdb"
	"github.com/landfall-dev/landfall/internal/schema"
	"github.com/landfall-dev/landfall/landfalltest"
)

func withKey(key, payload string) landfall.Row {
	return landfall.Row{Destination: "charge", Key: key, Payload: []byte(payload)}
}

// transact puts orders and rows in one transaction and reads its error.
func transact(t *testing.T, box *landfalltest.Outbox, orders []string, rows ...landfall.Row) (committed, err error) {
	t.Helper()
	var items []types.TransactWriteItem
	for _, id := range orders {
		items = append(items, order(id))
	}
	for _, r := range rows {
		item, err := box.Item(r)
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, item)
	}
	_, err = box.Client.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: items})
	return box.Committed(items, err), err
}

// TestCommittedTellsAnEarlierSuccessFromAFailure repeats a first transaction, that of order 1 with the rows
// a and b, in whole, in part and with changes.
func TestCommittedTellsAnEarlierSuccessFromAFailure(t *testing.T) {
	t.Parallel()
	const committed, conflict, other = "committed", "conflict", "the error itself"
	a, b, c := withKey("a", "1"), withKey("b", "1"), withKey("c", "1")
	cases := []struct {
		name   string
		orders []string
		rows   []landfall.Row
		want   string
	}{
		{"another", []string{"2"}, []landfall.Row{c}, committed},
		{"the same", []string{"1"}, []landfall.Row{a, b}, committed},
		{"the same, its rows in another order", []string{"1"}, []landfall.Row{b, a}, committed},
		{"other content", []string{"1"}, []landfall.Row{a, withKey("b", "2")}, conflict},
		{"other content and a new order", []string{"2"}, []landfall.Row{withKey("a", "2")}, conflict},
		{"a row more", []string{"1"}, []landfall.Row{a, b, c}, other},
		{"a row of the first and a new one", []string{"2"}, []landfall.Row{a, c}, other},
		{"the application's condition alone", []string{"1"}, []landfall.Row{c}, other},
		{"no row at all", []string{"1"}, nil, other},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			box := newBox(t)
			if err := createOrders(t.Context(), box.Client); err != nil {
				t.Fatal(err)
			}
			if _, err := transact(t, box, []string{"1"}, a, b); err != nil {
				t.Fatal(err)
			}
			got, original := transact(t, box, test.orders, test.rows...)
			switch test.want {
			case committed:
				if got != nil {
					t.Errorf("%v, want that it is committed", got)
				}
			case conflict:
				if !errors.Is(got, landfall.ErrConflict) || !errors.Is(got, original) {
					t.Errorf("%v, want a conflict that wraps %v", got, original)
				}
			case other:
				if got == nil || got != original {
					t.Errorf("%v, want %v", got, original)
				}
			}
		})
	}
}

// TestCommittedReturnsOtherErrorsUnchanged, whatever they hold.
func TestCommittedReturnsOtherErrorsUnchanged(t *testing.T) {
	t.Parallel()
	box := newBox(t)
	item, err := box.Item(withKey("a", "1"))
	if err != nil {
		t.Fatal(err)
	}
	items := []types.TransactWriteItem{order("1"), item}
	reasons := func(codes ...string) error {
		cancelled := &types.TransactionCanceledException{}
		for _, code := range codes {
			cancelled.CancellationReasons = append(cancelled.CancellationReasons, types.CancellationReason{Code: aws.String(code)})
		}
		return cancelled
	}
	with := func(stored map[string]types.AttributeValue, code *string) error {
		return &types.TransactionCanceledException{CancellationReasons: []types.CancellationReason{{}, {Code: code, Item: stored}}}
	}
	for name, err := range map[string]error{
		"none": nil, "of the network": errors.New("connection reset"), "no reasons": reasons(),
		"too few reasons": reasons("ConditionalCheckFailed"), "a transaction on the same row": reasons("None", "TransactionConflict"),
		"throttling": reasons("None", "ThrottlingError"), "no code": with(item.Put.Item, nil),
		"a row with a code of another kind": with(item.Put.Item, aws.String("TransactionConflict")),
	} {
		if got := box.Committed(items, err); got != err {
			t.Errorf("%s: %v, want %v", name, got, err)
		}
	}
	foreign := map[string]types.AttributeValue{schema.PK: item.Put.Item[schema.PK]}
	if got := box.Committed(items, with(foreign, aws.String("ConditionalCheckFailed"))); !errors.Is(got, landfall.ErrConflict) {
		t.Errorf("a row of a foreign writer, without origin: %v, want a conflict", got)
	}
}

// TestTransactionWhoseAnswerIsLostIsCommittedOnce: by the SDK's own repetition, or by the application's.
func TestTransactionWhoseAnswerIsLostIsCommittedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		losing := false
		account := localaws.New(localaws.Options{Faults: func(r faults.Request) faults.Fault {
			return faults.Fault{LoseAnswer: losing && r.Operation == "TransactWriteItems"}
		}})
		client := dynamodb.NewFromConfig(account.Config("test"))
		if _, err := client.CreateTable(t.Context(), outboxdb.Table(schema.OutboxTable)); err != nil {
			t.Fatal(err)
		}
		if err := createOrders(t.Context(), client); err != nil {
			t.Fatal(err)
		}
		box := &landfalltest.Outbox{Outbox: landfall.New(client, testConfig), Client: client}
		losing = true
		if committed, _ := transact(t, box, []string{"1"}, withKey("a", "1")); committed == nil {
			t.Fatal("every answer was lost, and yet it is said to be committed")
		}
		losing = false
		if committed, err := transact(t, box, []string{"1"}, withKey("a", "1")); committed != nil || err == nil {
			t.Errorf("the application's repetition: %v, of %v; want that it is committed", committed, err)
		}
	})
}

// TestPutWaitsForATransactionOnItsRow holds a row in a transaction and puts the same row meanwhile.
func TestPutWaitsForATransactionOnItsRow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		account := localaws.New(localaws.Options{Faults: func(r faults.Request) faults.Fault {
			if r.Operation == "TransactWriteItems" {
				return faults.Fault{During: time.Millisecond}
			}
			return faults.Fault{}
		}})
		client := dynamodb.NewFromConfig(account.Config("test"))
		if _, err := client.CreateTable(t.Context(), outboxdb.Table(schema.OutboxTable)); err != nil {
			t.Fatal(err)
		}
		box := &landfalltest.Outbox{Outbox: landfall.New(client, testConfig), Client: client}
		done := make(chan error)
		go func() {
			committed, _ := transact(t, box, nil, withKey("a", "1"))
			done <- committed
		}()
		synctest.Wait() // the transaction holds the row
		if err := box.Put(t.Context(), withKey("a", "1")); err != nil {
			t.Errorf("put: %v", err)
		}
		if err := <-done; err != nil {
			t.Errorf("transaction: %v", err)
		}
		conflicts := 0
		for _, entry := range account.Ledger().Entries() {
			if entry.Error == "TransactionConflictException" {
				conflicts++
			}
		}
		if conflicts == 0 {
			t.Error("the put did not meet the transaction")
		}
	})
}

// TestTransactionInProgressIsRetried repeats a transaction under its token while the first try is still at work, as
// an application does that lost the connection: the SDK waits, and it is committed once.
func TestTransactionInProgressIsRetried(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		account := localaws.New(localaws.Options{Faults: func(r faults.Request) faults.Fault {
			if r.Operation == "TransactWriteItems" {
				return faults.Fault{During: time.Millisecond}
			}
			return faults.Fault{}
		}})
		client := dynamodb.NewFromConfig(account.Config("test"))
		if _, err := client.CreateTable(t.Context(), outboxdb.Table(schema.OutboxTable)); err != nil {
			t.Fatal(err)
		}
		item, err := landfall.New(client, testConfig).Item(withKey("a", "1"))
		if err != nil {
			t.Fatal(err)
		}
		in := &dynamodb.TransactWriteItemsInput{ClientRequestToken: aws.String("token"), TransactItems: []types.TransactWriteItem{item}}
		done := make(chan error)
		for range 2 {
			go func() {
				_, err := client.TransactWriteItems(t.Context(), in)
				done <- err
			}()
			synctest.Wait() // the transaction is at work
		}
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		met, written := 0, 0.0
		for _, entry := range account.Ledger().Entries() {
			if entry.Error == "TransactionInProgressException" {
				met++
			}
			for _, cost := range entry.Costs {
				written += cost.Write
			}
		}
		if met == 0 || written != 3 { // a put in a transaction: 2, and the index 1
			t.Errorf("%d puts met a transaction in progress, %v write units", met, written)
		}
	})
}
