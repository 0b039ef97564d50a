package routing_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/memory"
	"github.com/landfall-dev/landfall/internal/routing"
)

// rig is an ingress queue, a group of consumers that do as they are told, a dead-letter queue, and routers.
type rig struct {
	*testing.T
	receipts memory.Receipts
	groups   memory.Groups
	router   *routing.Router
	policy   routing.Policy
	// visibility is the queue's own timeout: how long a message is away that nobody holds.
	visibility time.Duration
	// racy says that a forward may be on its way while the message moves on.
	racy bool

	// working are the consumers at work.
	working sync.WaitGroup

	mu       sync.Mutex
	queue    []*queued
	behave   map[string]behaviour
	forwards []routing.Forward
	// took are the consumers that have a copy, accepted those whose acceptance was granted, by message.
	took, accepted map[string][]string
	letters        []routing.DeadLetter
	handled        []routing.Handled
}

// queued is a message in the ingress queue.
type queued struct {
	routing.Incoming
	visibleAt time.Time
	deleted   bool
}

// behaviour is what a consumer does about a forward.
type behaviour func(ctx context.Context, f routing.Forward) routing.Answer

// first picks the first candidate that has capacity.
type first struct{}

func (first) Hash() string { return "0123456789abcdef0123456789abcdef" }

func (first) Select(_ context.Context, q routing.Question) (string, error) {
	for _, c := range q.Candidates {
		if c.HasCapacity() {
			return c.ID, nil
		}
	}
	return "", nil
}

// onRig runs a test in virtual time.
func onRig(t *testing.T, name string, test func(w *rig)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newRig(t)
			test(w)
			w.working.Wait()
		})
	})
}

func newRig(t *testing.T) *rig {
	w := &rig{
		T: t, visibility: 10 * time.Second, behave: map[string]behaviour{},
		took: map[string][]string{}, accepted: map[string][]string{},
	}
	w.router = w.newRouter()
	w.function(first{})
	return w
}

// newRouter is a router of its own, as another process has one.
func (w *rig) newRouter() *routing.Router {
	return &routing.Router{Receipts: &w.receipts, Groups: &w.groups, Ingress: w, Forwarder: w, DeadLetters: w}
}

func (w *rig) snapshot() routing.Snapshot {
	s, err := w.groups.Snapshot(context.Background(), "couriers")
	if err != nil {
		s = routing.Snapshot{Group: routing.NewGroup("couriers")}
	}
	s.Policy = w.policy
	return s
}

func (w *rig) function(f routing.Function) {
	s := w.snapshot()
	s.Function = f
	w.groups.Set(s)
}

// consumer adds a consumer, or replaces it.
func (w *rig) consumer(id string, does behaviour, changes ...func(*routing.Consumer)) {
	c := routing.Consumer{ID: id, ConsumerState: routing.ConsumerState{MaxInFlight: 10}}
	for _, change := range changes {
		change(&c)
	}
	s := w.snapshot()
	s.Group = s.With(c)
	w.groups.Set(s)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.behave[id] = does
}

func (w *rig) remove(id string) {
	s := w.snapshot()
	s.Group = s.Without(id)
	w.groups.Set(s)
}

// send puts messages m<from> ... into the ingress queue.
func (w *rig) send(ids ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range ids {
		w.queue = append(w.queue, &queued{
			Incoming: routing.Incoming{
				Message: routing.Message{ID: id, Fields: routing.ParseFields([]byte(`{"secret": "payload"}`))},
				Group:   "couriers", SentAt: time.Now(),
			},
			visibleAt: time.Now(),
		})
	}
}

// receive hands out what is visible, at most 10 messages.
func (w *rig) receive() (batch []routing.Incoming) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.queue {
		if len(batch) < 10 && !m.deleted && !m.visibleAt.After(time.Now()) {
			m.Receives++
			m.Handle = fmt.Sprintf("%s/%d", m.ID, m.Receives)
			m.visibleAt = time.Now().Add(w.visibility)
			batch = append(batch, m.Incoming)
		}
	}
	return batch
}

// invoke is one invocation of the router's function.
func (w *rig) invoke(batch []routing.Incoming) []routing.Handled {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	handled := w.router.Route(ctx, batch)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.handled = append(w.handled, handled...)
	return handled
}

// drive invokes the router as the queue hands messages out, for so long or until the queue is empty.
func (w *rig) drive(d time.Duration) {
	w.Helper()
	for until := time.Now().Add(d); ; {
		if batch := w.receive(); len(batch) > 0 {
			w.invoke(batch)
			continue
		}
		next, left := w.next()
		if left == 0 || next.After(until) {
			return
		}
		pass(min(max(time.Until(next), time.Millisecond), time.Second)) // a consumer may show it earlier
	}
}

// next is when the next message is visible, and how many there are.
func (w *rig) next() (next time.Time, left int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.queue {
		if !m.deleted {
			if left++; left == 1 || m.visibleAt.Before(next) {
				next = m.visibleAt
			}
		}
	}
	return next, left
}

// pass lets virtual time pass.
func pass(d time.Duration) {
	if d > 0 { // many timers that are due at once crash the race detector
		<-time.After(d)
	}
}

var errExpired = errors.New("the handle has expired")

// byHandle changes a message if the handle is its last one.
func (w *rig) byHandle(handle string, change func(*queued)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.queue {
		if m.Handle == handle && !m.deleted {
			change(m)
			return nil
		}
	}
	return errExpired
}

func (w *rig) Hold(_ context.Context, holds []routing.Hold) (errs []error) {
	for _, h := range holds {
		if h.For%time.Second != 0 || h.For < 0 || h.For > 12*time.Hour {
			w.Errorf("held for %v, want whole seconds up to 12 h", h.For)
		}
		errs = append(errs, w.byHandle(h.Message.Handle, func(m *queued) { m.visibleAt = time.Now().Add(h.For) }))
	}
	return errs
}

func (w *rig) Delete(_ context.Context, messages []routing.Incoming) (errs []error) {
	for _, m := range messages {
		errs = append(errs, w.byHandle(m.Handle, func(m *queued) { m.deleted = true }))
	}
	return errs
}

func (w *rig) Forward(ctx context.Context, forwards []routing.Forward) (answers []routing.Answer) {
	for _, f := range forwards {
		if receipt, _ := w.receipts.Get(ctx, f.Envelope.ID); !w.racy && receipt.Token != f.Envelope.Token {
			w.Errorf("forwarded under a token that is not in the receipt")
		}
		w.mu.Lock()
		w.forwards = append(w.forwards, f)
		does := w.behave[f.Consumer.ID]
		w.mu.Unlock()
		answers = append(answers, does(ctx, f))
	}
	return answers
}

func (w *rig) Bury(ctx context.Context, letters []routing.DeadLetter) []error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range letters {
		if l.Receipt.State != routing.Dead || l.Receipt.Reason == "" {
			w.Errorf("a dead letter whose receipt is %q, reason %q", l.Receipt.State, l.Receipt.Reason)
		}
	}
	w.letters = append(w.letters, letters...)
	return make([]error, len(letters))
}

// accept is what an explicit consumer does first; it deletes the ingress message if it may.
func (w *rig) accept(f routing.Forward) error {
	_, err := w.receipts.Write(context.Background(), routing.AcceptMove(f.Envelope.ID, f.Envelope.Attempt, f.Envelope.Token, time.Now()))
	if err != nil {
		return err
	}
	w.mu.Lock()
	if !slices.Contains(w.accepted[f.Message.ID], f.Consumer.ID) {
		w.accepted[f.Message.ID] = append(w.accepted[f.Message.ID], f.Consumer.ID)
	}
	w.mu.Unlock()
	_ = w.byHandle(f.Envelope.Handle, func(m *queued) { m.deleted = true })
	return nil
}

// decline is the consumer's word that it does not accept; it shows the ingress message if it may.
func (w *rig) decline(f routing.Forward) error {
	_, err := w.receipts.Write(context.Background(), routing.DeclineMove(f.Envelope.ID, f.Envelope.Attempt, f.Envelope.Token, time.Now()))
	if err == nil {
		_ = w.byHandle(f.Envelope.Handle, func(m *queued) { m.visibleAt = time.Now() })
	}
	return err
}

// copied notes that a consumer has a copy.
func (w *rig) copied(f routing.Forward) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.took[f.Message.ID], f.Consumer.ID) {
		w.took[f.Message.ID] = append(w.took[f.Message.ID], f.Consumer.ID)
	}
}

// Behaviours.

func (w *rig) accepts(after time.Duration) behaviour {
	return w.worker(func(f routing.Forward) { pass(after); _ = w.accept(f) })
}

func (w *rig) declines() behaviour {
	return w.worker(func(f routing.Forward) { _ = w.decline(f) })
}

func (w *rig) ignores() behaviour { return w.worker(func(routing.Forward) {}) }

// worker is a consumer behind a queue.
func (w *rig) worker(does func(f routing.Forward)) behaviour {
	return func(_ context.Context, f routing.Forward) routing.Answer {
		w.copied(f)
		w.working.Go(func() { does(f) })
		return routing.Answer{Kind: routing.Taken}
	}
}

func answers(a routing.Answer) behaviour {
	return func(context.Context, routing.Forward) routing.Answer { return a }
}

func refuses() behaviour {
	return answers(routing.Answer{Kind: routing.NotTaken, Text: "QueueDoesNotExist"})
}

// takesSilently has the message, and nobody hears of it.
func (w *rig) takesSilently(next behaviour) behaviour {
	return func(ctx context.Context, f routing.Forward) routing.Answer {
		next(ctx, f)
		return routing.Answer{}
	}
}

func (w *rig) receipt(message string) routing.Receipt {
	w.Helper()
	receipt, err := w.receipts.Get(context.Background(), routing.ID{Group: "couriers", Message: message})
	if err != nil {
		w.Fatal(err)
	}
	return receipt
}

// end checks that a message has come to exactly one end (I9, I11) and returns its receipt.
func (w *rig) end(message string) routing.Receipt {
	w.Helper()
	r := w.receipt(message)
	w.mu.Lock()
	defer w.mu.Unlock()
	accepted := w.accepted[message]
	if r.OnDelivery {
		accepted = w.took[message]
	}
	buried := 0
	for _, l := range w.letters {
		if l.Message.ID == message {
			buried++
			if l.Receipt.Reason != r.Reason {
				w.Errorf("%s: a dead letter says %q, the receipt %q", message, l.Receipt.Reason, r.Reason)
			}
		}
	}
	switch r.State {
	case routing.Accepted:
		if !slices.Equal(accepted, []string{r.Consumer}) || buried > 0 {
			w.Errorf("%s: accepted by %s; as they saw it, by %v; buried %d times", message, r.Consumer, accepted, buried)
		}
	case routing.Dead:
		if buried == 0 {
			w.Errorf("%s: dead, and not in the dead-letter queue", message)
		}
		if len(accepted) > 0 && r.Reason != routing.ReasonDeliveryUnknown {
			w.Errorf("%s: dead (%s), and accepted by %v", message, r.Reason, accepted)
		}
	default:
		w.Errorf("%s: has come to no end: %+v", message, r)
	}
	for _, m := range w.queue {
		if m.ID == message && !m.deleted {
			w.Errorf("%s: still in the ingress queue", message)
		}
	}
	if slices.Contains(r.Tried(), r.Consumer) {
		w.Errorf("%s: %s was picked again after %v", message, r.Consumer, r.Tried())
	}
	return r
}

// forwarded are the consumers that a message was forwarded to, in order.
func (w *rig) forwarded(message string) (to []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.forwards {
		if f.Message.ID == message {
			to = append(to, f.Consumer.ID)
		}
	}
	return to
}

func (w *rig) expect(what string, got, want any) {
	w.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		w.Errorf("%s: %v, want %v", what, got, want)
	}
}
