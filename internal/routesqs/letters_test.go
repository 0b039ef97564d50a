package routesqs_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/routesqs"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/schema"
)

func (b *bench) deadLetters() *routesqs.DeadLetters {
	return &routesqs.DeadLetters{Client: b.Client, URL: b.queues.URL, Queue: func(string) string { return "dead" }}
}

// ended is a receipt of a message that was given up after so many attempts.
func ended(in routing.Incoming, reason routing.Reason, attempts int) routing.Receipt {
	at := time.UnixMilli(1_700_000_000_000)
	r := routing.Receipt{ID: routing.ID{Group: in.Group, Message: in.ID}, State: routing.Dead, Reason: reason, EndedAt: at, Attempt: attempts, Token: "token-of-secrets"}
	for i := range attempts {
		if r.Consumer != "" {
			r.History = append(r.History, routing.Past{Consumer: r.Consumer, End: routing.EndDeclined, AssignedAt: at, Deadline: at, EndedAt: at})
		}
		r.Consumer = fmt.Sprintf("consumer-%03d-%s", i, strings.Repeat("n", 40))
	}
	return r
}

// TestDeadLetterHasItsReason, nor other than the message was.
func TestDeadLetterHasItsReason(t *testing.T) {
	inBubble(t, func(b *bench) {
		attributes := map[string]types.MessageAttributeValue{"key": {DataType: aws.String("Binary"), BinaryValue: everyByte()}}
		for i := range 8 {
			attributes[fmt.Sprint("a", i)] = text("String", "x")
		}
		in := message(routesqs.Source{Body: "body\t\n", Attributes: maps.Clone(attributes)})
		for _, attempts := range []int{0, 1, 3, 200} {
			r := ended(in, routing.ReasonMaxWait, attempts)
			if errs := b.deadLetters().Bury(b.Context(), []routing.DeadLetter{{Message: in, Receipt: r}}); errs[0] != nil {
				b.Fatal(errs[0])
			}
			got := b.receive("dead")
			if len(got) != 1 || *got[0].Body != "body\t\n" {
				b.Fatalf("%+v", got)
			}
			said := *got[0].MessageAttributes["landfall"].StringValue
			delete(got[0].MessageAttributes, "landfall")
			if !reflect.DeepEqual(got[0].MessageAttributes, attributes) {
				b.Errorf("attributes %v", got[0].MessageAttributes)
			}
			var l routesqs.Letter
			if err := json.Unmarshal([]byte(said), &l); err != nil || len(said) > routing.MaxEnvelopeBytes || strings.Contains(said, "secrets") {
				b.Fatalf("%d bytes: %.100s, %v", len(said), said, err)
			}
			if l.Reason != "max_wait" || l.Group != "couriers" || l.MessageID != "m1" || l.EndedAt != 1_700_000_000_000 || l.Attempt != attempts ||
				l.Consumer != r.Consumer || l.Tried == nil || len(l.Tried)+l.Omitted != len(r.History) {
				b.Errorf("after %d attempts: %+v", attempts, l)
			}
			if n := len(l.Tried); n > 0 && l.Tried[n-1].Consumer != r.History[len(r.History)-1].Consumer {
				b.Errorf("the last one tried is %s", l.Tried[n-1].Consumer)
			}
		}
	})
}

// TestLetterFitsIntoTheLargestMessage that an ingress queue may have, and one that is larger stays as it is.
func TestLetterFitsIntoTheLargestMessage(t *testing.T) {
	inBubble(t, func(b *bench) {
		largest := message(routesqs.Source{Body: strings.Repeat("x", routing.MaxIncomingBytes)})
		attributes := map[string]types.MessageAttributeValue{}
		for i := range 10 {
			attributes[fmt.Sprint("a", i)] = text("String", "x")
		}
		oversize := message(routesqs.Source{Body: strings.Repeat("y", 1<<20-90), Attributes: attributes})
		errs := b.deadLetters().Bury(b.Context(), []routing.DeadLetter{
			{Message: largest, Receipt: ended(largest, routing.ReasonNobodyLeft, 200)},
			{Message: oversize, Receipt: ended(oversize, routing.ReasonOversize, 0)},
		})
		got := b.all("dead")
		if errs[0] != nil || errs[1] != nil || len(got) != 2 {
			b.Fatalf("%d letters, %v", len(got), errs)
		}
		for _, m := range got {
			if _, told := m.MessageAttributes["landfall"]; told != strings.HasPrefix(*m.Body, "x") || !told && len(m.MessageAttributes) != 10 {
				b.Errorf("a letter of %d bytes with %d attributes; told why: %v", len(*m.Body), len(m.MessageAttributes), told)
			}
		}
	})
}

// TestBuryReportsEveryFailure: then it is buried again.
func TestBuryReportsEveryFailure(t *testing.T) {
	inBubble(t, func(b *bench) {
		var letters []routing.DeadLetter
		for range 2 {
			in := message(routesqs.Source{})
			letters = append(letters, routing.DeadLetter{Message: in, Receipt: ended(in, routing.ReasonMaxWait, 1)})
		}
		for name, fault := range map[string]faults.Fault{
			"throttled": {Error: faults.Throttle}, "failing": {Error: faults.Internal}, "answers lost": {LoseAnswer: true}, "left out": {Unprocessed: 2},
		} {
			b.fault.Store(&fault)
			for _, err := range b.deadLetters().Bury(b.Context(), letters) {
				if err == nil || strings.Contains(err.Error(), "secrets") {
					b.Errorf("%s: %v", name, err)
				}
			}
		}
	})
}

// TestDeadLetterThatIsMovedBackIsANewMessage, and is one message though it was buried twice; only a row's own id, and
// no other, stands in for that of SQS.
func TestDeadLetterThatIsMovedBackIsANewMessage(t *testing.T) {
	inBubble(t, func(b *bench) {
		row := strings.Repeat("0a", 32)
		first := message(routesqs.Source{Attributes: map[string]types.MessageAttributeValue{schema.MessageIDAttribute: text("String", row)}})
		letter := routing.DeadLetter{Message: first, Receipt: ended(first, routing.ReasonMaxWait, 1)}
		later := letter
		later.Receipt.EndedAt = later.Receipt.EndedAt.Add(time.Millisecond)
		if errs := b.deadLetters().Bury(b.Context(), []routing.DeadLetter{letter, letter, later}); errs[0] != nil || errs[1] != nil || errs[2] != nil {
			b.Fatal(errs)
		}
		var ids []string
		for _, m := range b.all("dead") {
			in := message(routesqs.Source{MessageID: *m.MessageId, Attributes: m.MessageAttributes})
			ids = append(ids, in.ID)
			if in.AttributeCount != 1 {
				b.Errorf("%d attributes, want one: the letter is replaced", in.AttributeCount)
			}
		}
		if ids[0] != ids[1] || ids[0] == ids[2] || len(ids[0]) != 64 || ids[0] == row {
			b.Errorf("ids %v", ids)
		}
		for value, want := range map[string]string{row: row, row[1:]: "m1", strings.ToUpper(row): "m1", row + "0": "m1", "": "m1"} {
			in := message(routesqs.Source{Attributes: map[string]types.MessageAttributeValue{schema.MessageIDAttribute: text("String", value)}})
			if in.ID != want {
				b.Errorf("id %q: the message is %q, want %q", value, in.ID, want)
			}
		}
		envelope := routing.Envelope{ID: routing.ID{Group: "couriers", Message: "m0"}, Attempt: 1, Token: "t", Deadline: time.Now(), Handle: "h"}.Text()
		for _, none := range []string{"", "null", "{}", "hello", envelope, `{"message_id": "m0", "reason": "max_wait"}`,
			`{"reason": "max_wait", "ended_at": 1}`, `{"message_id": "m0", "ended_at": 1}`, `{"message_id": "m0", "reason": "max_wait", "ended_at": -1}`} {
			if in := message(routesqs.Source{Attributes: map[string]types.MessageAttributeValue{"landfall": text("String", none)}}); in.ID != "m1" {
				b.Errorf("%q is taken for a letter", none)
			}
		}
	})
}
