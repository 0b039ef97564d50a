package sqs_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/lab/localaws/sqs"
	"github.com/landfall-dev/landfall/internal/lab/localaws/wire"
)

// model is a queue in the fewest words: a list of messages in the order of sending.
type model struct {
	fifo     bool
	limit    int // receives before a message is a dead letter
	messages []*modelled
}

type modelled struct {
	body, group string
	shows       time.Time
	inFlight    bool
	receives    int
	handle      string
}

func (m *model) find(body string) *modelled {
	for _, x := range m.messages {
		if x.body == body {
			return x
		}
	}
	return nil
}

// offers is whether a message can be received now.
func (m *model) offers(x *modelled, now time.Time) bool {
	for _, before := range m.messages {
		if before == x {
			break
		}
		if m.fifo && before.group == x.group && before.shows.After(now) {
			return false
		}
	}
	return !x.shows.After(now)
}

// counts are what the queue must say of itself.
func (m *model) counts(now time.Time) string {
	var visible, inFlight, delayed int
	for _, x := range m.messages {
		switch {
		case !x.shows.After(now):
			visible++
		case x.inFlight:
			inFlight++
		default:
			delayed++
		}
	}
	return fmt.Sprint(visible, " ", inFlight, " ", delayed)
}

// world drives a service and the model side by side.
type world struct {
	t       *testing.T
	service *sqs.Service
	now     time.Time
	model
	sent int
}

func (w *world) do(operation string, in map[string]any, out any) {
	w.t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		w.t.Fatal(err)
	}
	op, err := w.service.Decode(&wire.Request{Operation: operation, Body: body})
	var done wire.Outcome
	if err == nil {
		done = op.Run(w.now, faults.Fault{})
		err = done.Err
	}
	if err != nil {
		w.t.Fatalf("%s %s: %v", operation, body, err)
	}
	answer, err := json.Marshal(done.Answer)
	if err == nil && out != nil {
		err = json.Unmarshal(answer, out)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) queue() string {
	if w.fifo {
		return "q.fifo"
	}
	return "q"
}

func (w *world) counted() string {
	var out struct{ Attributes map[string]string }
	w.do("GetQueueAttributes", map[string]any{"QueueUrl": w.queue(), "AttributeNames": []string{"All"}}, &out)
	return out.Attributes["ApproximateNumberOfMessages"] + " " + out.Attributes["ApproximateNumberOfMessagesNotVisible"] + " " + out.Attributes["ApproximateNumberOfMessagesDelayed"]
}

func (w *world) send(random *rand.Rand) {
	w.sent++
	x := &modelled{body: fmt.Sprint("m", w.sent), shows: w.now}
	in := map[string]any{"QueueUrl": w.queue(), "MessageBody": x.body}
	if w.fifo {
		x.group = fmt.Sprint("g", random.IntN(3))
		in["MessageGroupId"], in["MessageDeduplicationId"] = x.group, x.body
	} else {
		delay := random.IntN(3)
		x.shows = w.now.Add(time.Duration(delay) * time.Second)
		in["DelaySeconds"] = delay
	}
	w.do("SendMessage", in, nil)
	w.messages = append(w.messages, x)
}

func (w *world) receive(random *rand.Rand) {
	n, timeout := 1+random.IntN(4), random.IntN(4)
	var out struct {
		Messages []struct{ Body, ReceiptHandle string }
	}
	w.do("ReceiveMessage", map[string]any{"QueueUrl": w.queue(), "MaxNumberOfMessages": n, "VisibilityTimeout": timeout}, &out)
	for _, body := range w.buried() {
		x := w.find(body)
		if x == nil || !w.offers(x, w.now) || x.receives != w.limit {
			w.t.Fatalf("%s is a dead letter and should not be: %+v", body, x)
		}
		w.forget(x)
	}
	for _, m := range out.Messages {
		x := w.find(m.Body)
		if x == nil || !w.offers(x, w.now) || x.receives == w.limit {
			w.t.Fatalf("received %s, which is not to be received: %+v", m.Body, x)
		}
		x.receives++
		x.handle = m.ReceiptHandle
		defer func() {
			x.shows, x.inFlight = w.now.Add(time.Duration(timeout)*time.Second), timeout > 0
		}()
	}
	if len(out.Messages) < n {
		for _, x := range w.messages {
			got := slices.ContainsFunc(out.Messages, func(m struct{ Body, ReceiptHandle string }) bool { return m.Body == x.body })
			if !got && w.offers(x, w.now) {
				w.t.Fatalf("%s could be received, and was not", x.body)
			}
		}
	}
}

// buried takes the dead letters out of their queue.
func (w *world) buried() (bodies []string) {
	for {
		var out struct {
			Messages []struct{ Body, ReceiptHandle string }
		}
		w.do("ReceiveMessage", map[string]any{"QueueUrl": "dead-" + w.queue(), "MaxNumberOfMessages": 10}, &out)
		if len(out.Messages) == 0 {
			return bodies
		}
		for _, m := range out.Messages {
			bodies = append(bodies, m.Body)
			w.do("DeleteMessage", map[string]any{"QueueUrl": "dead-" + w.queue(), "ReceiptHandle": m.ReceiptHandle}, nil)
		}
	}
}

func (m *model) forget(x *modelled) {
	m.messages = slices.DeleteFunc(m.messages, func(y *modelled) bool { return y == x })
}

// touch deletes a message that was received, or changes its visibility.
func (w *world) touch(random *rand.Rand) {
	held := slices.DeleteFunc(slices.Clone(w.messages), func(x *modelled) bool { return !x.inFlight || !x.shows.After(w.now) })
	if len(held) == 0 {
		return
	}
	x := held[random.IntN(len(held))]
	in := map[string]any{"QueueUrl": w.queue(), "ReceiptHandle": x.handle}
	if random.IntN(2) == 0 {
		w.do("DeleteMessage", in, nil)
		w.forget(x)
		return
	}
	timeout := random.IntN(3)
	in["VisibilityTimeout"] = timeout
	w.do("ChangeMessageVisibility", in, nil)
	x.shows, x.inFlight = w.now.Add(time.Duration(timeout)*time.Second), timeout > 0
}

func TestQueueAgreesWithItsModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(25) {
		for _, fifo := range []bool{false, true} {
			w := &world{t: t, service: sqs.New(sqs.Options{Region: "us-east-1"}), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), model: model{fifo: fifo, limit: 3}}
			attributes := map[string]string{}
			if fifo {
				attributes["FifoQueue"] = "true"
			}
			w.do("CreateQueue", map[string]any{"QueueName": "dead-" + w.queue(), "Attributes": attributes}, nil)
			attributes["RedrivePolicy"] = `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead-` + w.queue() + `","maxReceiveCount":3}`
			w.do("CreateQueue", map[string]any{"QueueName": w.queue(), "Attributes": attributes}, nil)
			random := rand.New(rand.NewPCG(seed, 0))
			for step := range 150 {
				switch random.IntN(6) {
				case 0, 1:
					w.send(random)
				case 2, 3:
					w.receive(random)
				case 4:
					w.touch(random)
				case 5:
					w.now = w.now.Add(time.Duration(random.IntN(2500)) * time.Millisecond)
				}
				if want, got := w.counts(w.now), w.counted(); got != want {
					t.Fatalf("seed %d, fifo %t, step %d: %s, want %s", seed, fifo, step, got, want)
				}
			}
		}
	}
}

func TestDelayOfAFIFOQueuePrevailsOverZero(t *testing.T) {
	t.Parallel()
	w := &world{t: t, service: sqs.New(sqs.Options{Region: "us-east-1"}), now: time.Unix(1_000_000, 0), model: model{fifo: true}}
	w.do("CreateQueue", map[string]any{"QueueName": "q.fifo", "Attributes": map[string]string{"FifoQueue": "true", "DelaySeconds": "2"}}, nil)
	w.do("SendMessage", map[string]any{"QueueUrl": "q.fifo", "MessageBody": "m", "MessageGroupId": "g", "MessageDeduplicationId": "d", "DelaySeconds": 0}, nil)
	if got := w.counted(); got != "0 0 1" {
		t.Errorf("%s", got)
	}
}
