// Package localaws is AWS in one process, for tests, simulations and a developer's desk: services behind AWS's wire
// protocol, as an http.RoundTripper without sockets and as an http.Handler.
//
// An Account starts no goroutine and takes its time from time.Now, so inside a testing/synctest bubble its time is
// virtual. It does what goes wrong in the real thing, too, when a faults.Plan says so, and its ledger knows what each
// request cost. It is not all of AWS: docs/local-aws.md lists the operations; there is no IAM, and nothing is kept
// when the process ends.
package localaws

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/landfall-dev/landfall/internal/lab/localaws/ddb"
	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/lab/localaws/ledger"
	"github.com/landfall-dev/landfall/internal/lab/localaws/secrets"
	"github.com/landfall-dev/landfall/internal/lab/localaws/sqs"
	"github.com/landfall-dev/landfall/internal/lab/localaws/wire"
)

// Region is the region of every account.
const Region = ddb.Region

// Options are the settings of an Account. The zero value is an account that never fails and keeps all ledger entries.
type Options struct {
	Faults          faults.Plan // Defaults to faults.None.
	KeepEntries     int         // Ledger entries to keep, the sums apart. Defaults to all.
	PartitionLimits bool        // Throttle what exceeds 1,000 write or 3,000 read units a second of one partition key.
	InFlight        int         // Messages of a queue that can be in flight. Defaults to sqs.MaxInFlight.
}

// Account is an AWS account with one region, empty at first. It is safe for concurrent use.
type Account struct {
	plan     faults.Plan
	ledger   *ledger.Ledger
	services map[string]wire.Service // by target
	dynamodb *ddb.DB

	mu    sync.Mutex // guards the state of the services and what follows
	seq   uint64
	tasks []*task // by time, then by request
}

// task is work with a due time; the first request after that time does it.
type task struct {
	at    time.Time
	seq   uint64
	run   func(now time.Time) (again time.Time) // zero: it is done
	done  bool
	moved chan struct{} // if not nil: it ran and waits, for others or until at; signalled when at changes, or done
}

// New makes an empty account.
func New(o Options) *Account {
	if o.Faults == nil {
		o.Faults = faults.None
	}
	if o.KeepEntries == 0 {
		o.KeepEntries = -1
	}
	db := ddb.New(ddb.Options{PartitionLimits: o.PartitionLimits})
	vault := secrets.New(Region)
	queues := sqs.New(sqs.Options{Region: Region, InFlight: o.InFlight})
	return &Account{
		plan:   o.Faults,
		ledger: ledger.New(o.KeepEntries),
		services: map[string]wire.Service{
			db.Target(): db, db.Streams.Target(): db.Streams, queues.Target(): queues, vault.Target(): vault,
		},
		dynamodb: db,
	}
}

// Config is an SDK configuration whose clients talk to the account without sockets. caller is what the ledger and the
// fault plan call them.
func (a *Account) Config(caller string) aws.Config {
	return aws.Config{
		Region:       Region,
		Credentials:  credentials.NewStaticCredentialsProvider("local", "local", ""),
		HTTPClient:   &http.Client{Transport: a},
		BaseEndpoint: aws.String("http://localaws.invalid"),
		AppID:        caller,
	}
}

// Ledger is the account's ledger. Work whose time has come is done first.
func (a *Account) Ledger() *ledger.Ledger {
	a.Settle()
	return a.ledger
}

// Settle does all work whose time has come. Requests do so by themselves; Settle is for callers that look without one.
func (a *Account) Settle() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.runDue(time.Now())
}

// ReapExpired deletes the items whose time to live is over, as the service does up to 48 hours late, and returns how
// many. Nothing else deletes them: until then they are read as any other item.
func (a *Account) ReapExpired() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	a.runDue(now)
	return a.dynamodb.ReapExpired(now)
}

// errCut is a connection that was closed before an answer came.
var errCut = fmt.Errorf("localaws: connection cut: %w", io.ErrUnexpectedEOF)

// RoundTrip makes the account an http.RoundTripper.
func (a *Account) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := a.exchange(r)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		Status: fmt.Sprint(answer.Status, " ", http.StatusText(answer.Status)), StatusCode: answer.Status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: dated(answer.Header), Body: io.NopCloser(bytes.NewReader(answer.Body)), ContentLength: int64(len(answer.Body)),
		Request: r,
	}, nil
}

// LedgerPath is where ServeHTTP answers with the ledger.
const LedgerPath = "/ledger"

// ServeHTTP makes the account an http.Handler.
func (a *Account) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == LedgerPath {
		a.Ledger().ServeHTTP(w, r)
		return
	}
	answer, err := a.exchange(r)
	if err != nil { // the answer is lost, or the caller is gone
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), dated(answer.Header))
	w.WriteHeader(answer.Status)
	_, _ = w.Write(answer.Body) // the caller may be gone
}

// dated adds the Date of an answer that leaves now, as every service of AWS writes it: whole seconds, cut. It is the account's own
// clock, virtual where that is.
func dated(h http.Header) http.Header {
	h.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	return h
}

// exchange answers a request, after the latencies that the plan asks for. An error means that there is no answer.
func (a *Account) exchange(r *http.Request) (wire.Answer, error) {
	if err := r.Context().Err(); err != nil { // it never left
		return wire.Answer{}, err
	}
	req, err := wire.Read(r)
	var failed *wire.Error
	switch {
	case errors.As(err, &failed):
		return wire.Encode(requestID(0), nil, err), nil
	case err != nil:
		return wire.Answer{}, err
	}
	entry := ledger.Entry{Operation: req.Operation, Caller: req.Caller}
	op, err := a.decode(req, &entry)
	if err != nil {
		return a.refuse(entry, err), nil
	}
	ctx := r.Context()
	done, fault, err := a.perform(ctx, op, entry)
	if err != nil {
		return wire.Answer{}, err
	}
	switch {
	case fault.LoseAnswer:
		return wire.Answer{}, errCut
	case fault.SpoilAnswer && done.result.Err == nil:
		done.result.Err = op.Run(time.Now(), faults.Fault{Error: faults.Internal}).Err // no work: only the service's words for it
	}
	return wire.Encode(requestID(done.seq), done.result.Answer, done.result.Err), nil
}

func (a *Account) decode(req *wire.Request, entry *ledger.Entry) (wire.Operation, error) {
	service := a.services[req.Target]
	if service == nil {
		return nil, wire.Protocol("UnknownOperationException", "the service %s is not part of the local AWS", req.Target)
	}
	entry.Service = service.Name()
	return service.Decode(req)
}

// refuse answers a request that is wrong by itself: it consumes nothing, and no plan is asked.
func (a *Account) refuse(entry ledger.Entry, err error) wire.Answer {
	a.mu.Lock()
	a.seq++
	entry.Seq = a.seq
	a.mu.Unlock()
	entry.Time, entry.Error = time.Now(), typeOf(err)
	a.ledger.Record(entry)
	return wire.Encode(requestID(entry.Seq), nil, err)
}

// requestID looks like the service's request ids and is the same in the same run.
func requestID(seq uint64) string { return fmt.Sprintf("%052d", seq) }

func typeOf(err error) string {
	var e *wire.Error
	if errors.As(err, &e) {
		return e.Type
	}
	return "InternalFailure"
}

// outcome is what became of the request with a number.
type outcome struct {
	seq    uint64
	result wire.Outcome
}

// perform runs an operation at its time. If the caller gives up meanwhile, the work is still done at its time; but one
// that waits for others takes nothing then.
func (a *Account) perform(ctx context.Context, op wire.Operation, entry ledger.Entry) (outcome, faults.Fault, error) {
	var out outcome
	var commit *task
	work, fault := a.begin(op, &entry, &out, &commit)
	if err := a.await(ctx, work); err != nil {
		if now, gone := a.abandon(work); gone {
			entry.Time, entry.Billed = now, 1
			a.ledger.Record(entry)
		}
		return outcome{}, fault, err // out is not ours to read before the work is done
	}
	if commit != nil {
		if err := a.await(ctx, commit); err != nil {
			return outcome{}, fault, err
		}
	}
	return out, fault, wait(ctx, fault.After, nil)
}

// begin asks the plan about a request and schedules its work, which sets out, and commit if there is more to do.
func (a *Account) begin(op wire.Operation, entry *ledger.Entry, out *outcome, commit **task) (*task, faults.Fault) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	a.seq++
	entry.Seq, entry.Resource = a.seq, op.Resource()
	fault := a.plan(faults.Request{Seq: a.seq, Service: entry.Service, Operation: entry.Operation,
		Resource: entry.Resource, Caller: entry.Caller, Time: now})
	entry.Faulty = fault.Any()
	look := func(now time.Time) wire.Outcome { return op.Run(now, fault) }
	work := a.schedule(now.Add(fault.Before), entry.Seq, func(now time.Time) (again time.Time) {
		result := look(now)
		if result.Wait != nil {
			look = result.Wait.Look
			return result.Wait.Until
		}
		*out = outcome{entry.Seq, result}
		entry.Time, entry.Costs, entry.Billed = now, result.Costs, result.Billed
		if result.Err != nil {
			entry.Error = typeOf(result.Err)
		}
		a.ledger.Record(*entry)
		if result.Commit != nil {
			*commit = a.schedule(now.Add(fault.During), entry.Seq, func(now time.Time) time.Time {
				result.Commit(now)
				return time.Time{}
			})
		}
		return time.Time{}
	})
	a.runDue(now)
	return work, fault
}

// schedule adds a task. The lock is held.
func (a *Account) schedule(at time.Time, seq uint64, run func(time.Time) time.Time) *task {
	t := &task{at: at, seq: seq, run: run}
	a.insert(t)
	return t
}

func (a *Account) insert(t *task) {
	i, _ := slices.BinarySearchFunc(a.tasks, t, inOrder)
	a.tasks = slices.Insert(a.tasks, i, t)
}

func (a *Account) remove(t *task) {
	i := slices.Index(a.tasks, t)
	a.tasks = slices.Delete(a.tasks, i, i+1)
}

func inOrder(x, y *task) int { return cmp.Or(x.at.Compare(y.at), cmp.Compare(x.seq, y.seq)) }

// runDue runs the tasks whose time has come, each as of its own time. The lock is held.
func (a *Account) runDue(now time.Time) {
	for len(a.tasks) > 0 && !a.tasks[0].at.After(now) {
		t := a.tasks[0]
		at := t.at
		a.tasks = a.tasks[1:]
		a.run(t, at)
		a.look(at)
	}
}

// run runs a task that was taken out, which may wait then.
func (a *Account) run(t *task, now time.Time) {
	again := t.run(now)
	t.done = again.IsZero()
	changed := t.done || !again.Equal(t.at)
	if !t.done {
		t.at = again
		a.insert(t)
	}
	switch {
	case t.moved != nil && changed:
		select {
		case t.moved <- struct{}{}:
		default: // it is signalled already
		}
	case t.moved == nil && !t.done:
		t.moved = make(chan struct{}, 1)
	}
}

// look lets those that wait look whether work that was just done is what they wait for; the oldest first, until none
// finds any.
func (a *Account) look(now time.Time) {
	for found := true; found; {
		found = false
		waiting := slices.DeleteFunc(slices.Clone(a.tasks), func(t *task) bool { return t.moved == nil })
		slices.SortFunc(waiting, func(x, y *task) int { return cmp.Compare(x.seq, y.seq) })
		for _, t := range waiting {
			a.remove(t)
			a.run(t, now)
			found = found || t.done
		}
	}
}

// abandon takes a task out if it waits.
func (a *Account) abandon(t *task) (now time.Time, gone bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t.done || t.moved == nil {
		return time.Time{}, false
	}
	a.remove(t)
	return time.Now(), true
}

// await returns when the task is done, or the caller gives up.
func (a *Account) await(ctx context.Context, t *task) error {
	for {
		done, left, moved := a.progress(t)
		if done {
			return nil
		}
		if err := wait(ctx, left, moved); err != nil {
			return err
		}
	}
}

// progress runs what is due and says whether a task is done, else how long it is until it is due, and what signals
// that this has changed.
func (a *Account) progress(t *task) (done bool, left time.Duration, moved <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	a.runDue(now)
	return t.done, t.at.Sub(now), t.moved
}

// wait returns after a while, or on a signal.
func wait(ctx context.Context, d time.Duration, signal <-chan struct{}) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-signal:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
