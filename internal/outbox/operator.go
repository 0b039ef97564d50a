package outbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Move is a change that a person orders for a row.
type Move string

// Three moves say what became of a row of unknown outcome; the others are for failed and pending rows.
const (
	// MarkCompleted: the effect happened.
	MarkCompleted Move = "completed"
	// MarkFailed: the effect did not and will not happen.
	MarkFailed Move = "failed"
	// Resend: send it again.
	Resend Move = "resend"
	// Retry sends a failed row again, with a new budget and the same key.
	Retry Move = "retry"
	// Cancel ends a pending row without sending it.
	Cancel Move = "cancel"
)

// Order is a move, with its author and reason.
type Order struct {
	Move Move
	// By is the author of the order, 1 to 128 bytes.
	By string
	// Reason is 1 to 512 bytes; Retry and Cancel do without.
	Reason string
	// Ref is what the remote calls the effect, up to 512 bytes; only for MarkCompleted. Optional.
	Ref string
	// Force orders the move though an attempt may still arrive. It is recorded.
	Force bool
	// NeverArrived is the author's word that no attempt arrived; only for Resend.
	NeverArrived bool
}

// Bounds of what a person may write on a row, in bytes.
const (
	MaxByBytes     = 128
	MaxReasonBytes = 512
	MaxRefBytes    = 512
)

// Codes of rows that a person ended.
const (
	CodeCancelled    = "landfall.cancelled"
	CodeMarkedFailed = "landfall.operator.failed"
)

// ErrNotAllowed is an order that the row does not allow; the error's text says why, and what to do instead.
var ErrNotAllowed = errors.New("not allowed")

// OperatorStore is what the operator needs of a table of rows; see [Store].
type OperatorStore interface {
	Get(ctx context.Context, id ID) (Row, error)
	Settle(ctx context.Context, s Settlement) error
}

// Operator carries out a person's orders, one row at a time.
type Operator struct {
	Store OperatorStore
	// Destinations are those whose rows may be moved. Neither senders nor lookups are needed.
	Destinations []Destination
	// Now is the clock. Defaults to time.Now. Readings are cut to the millisecond.
	Now func() time.Time
	// Rand is where the ids of orders come from. Defaults to crypto/rand.Reader.
	Rand io.Reader
}

// Operation is an order on one row: the row as read, the settlement, and the row that results.
type Operation struct {
	Before     Row
	Settlement Settlement
	After      Row
}

// Plan reads a row, strongly consistently, and says what an order would do. It changes nothing. The
// error is [ErrNotFound], [ErrNotAllowed] or what kept the row from being read.
func (o *Operator) Plan(ctx context.Context, id ID, order Order) (Operation, error) {
	p, err := o.policy(id)
	if err != nil {
		return Operation{}, err
	}
	row, err := o.Store.Get(ctx, id)
	if err != nil {
		return Operation{}, err
	}
	s, err := Obey(p, row, order, readClock(o.Now))
	if err != nil {
		return Operation{Before: row}, err
	}
	if s.ResolutionID, err = newToken(o.Rand); err != nil {
		return Operation{Before: row}, err
	}
	after, err := s.Apply(row)
	if err != nil {
		return Operation{Before: row}, fmt.Errorf("%s a row that is %s: %w", order.Move, row.Status, err)
	}
	return Operation{Before: row, Settlement: s, After: after}, nil
}

// Do carries out an order, on the condition that the row is still what was read. The error is one of
// Plan's, [ErrConflict] if the row moved on in between, or what kept the order from being written: then
// it may have taken effect, and giving it again tells.
func (o *Operator) Do(ctx context.Context, id ID, order Order) (Operation, error) {
	op, err := o.Plan(ctx, id, order)
	if err != nil {
		return op, err
	}
	return op, settleFor(ctx, o.Store, op.Settlement, ClaimMargin)
}

func (o *Operator) policy(id ID) (Policy, error) {
	for _, d := range o.Destinations {
		if d.Name == id.Destination {
			return d.Policy.WithDefaults(), nil
		}
	}
	return Policy{}, fmt.Errorf("%w: destination of row %s is not configured: add it to the configuration, as retired if nothing may be sent there", ErrNotAllowed, id)
}

// Explain says in a few words what the operation does to the row.
func (op Operation) Explain() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s -> %s", op.Before.Status, op.After.Status)
	if op.After.Code != op.Before.Code {
		fmt.Fprintf(&b, " (%s)", op.After.Code)
	}
	if op.After.Status == StatusPending {
		fmt.Fprintf(&b, ", due at once with a new budget of attempts")
		switch {
		case op.After.MayHaveArrived():
			b.WriteString("; an earlier attempt may have arrived: sent only while the remote recognises the key")
		case op.Before.MayHaveArrived():
			b.WriteString("; recorded on your word: no earlier attempt arrived")
		}
	}
	if op.After.Status == StatusFailed && op.After.MayHaveArrived() {
		b.WriteString("; never sent again: an attempt arrived or may have")
	}
	if op.After.Status.Terminal() {
		fmt.Fprintf(&b, "; kept until %s", op.After.ExpiresAt.UTC().Format(time.DateTime))
	}
	if op.Settlement.Forced {
		b.WriteString("; forced before it was certain")
	}
	return b.String()
}

// Obey decides about a person's order on a row as it was read: a settlement, or [ErrNotAllowed].
//
//	order      row               becomes            refused if
//	completed  outcome_unknown   completed          an attempt may still arrive, and it is not forced
//	failed     outcome_unknown   failed             likewise
//	resend     outcome_unknown   pending, due now   likewise; an attempt may have arrived, unless the window
//	                                                holds or the person says that it never did
//	retry      failed            pending, due now   an attempt may have arrived
//	cancel     pending           failed             an attempt may have arrived
//
// The settlement lacks the order's id, which [Operator.Plan] adds. What becomes pending has a new budget. It is refused if it would not be sent: past deliver_by, to a
// retired destination, unreadable.
func Obey(p Policy, row Row, o Order, now time.Time) (Settlement, error) {
	if err := o.validate(); err != nil {
		return Settlement{}, err
	}
	s := Settlement{ID: row.ID, From: &row, Resolution: Resolution{ResolvedBy: o.By, ResolvedAt: now, Reason: o.Reason}}
	switch o.Move {
	case Retry:
		return s.retry(p, row, now)
	case Cancel:
		return s.cancel(p, row, now)
	}
	if row.Status != StatusOutcomeUnknown {
		return Settlement{}, notAllowed("the row is %s; only outcome_unknown rows are resolved", row.Status)
	}
	if from := p.askableFrom(row, now); now.Before(from) {
		if !o.Force {
			return Settlement{}, notAllowed("an attempt may still arrive until %s: wait, or force the move", from.UTC().Format(time.RFC3339))
		}
		s.Forced = true
	}
	switch o.Move {
	case MarkCompleted:
		s.RemoteRef = o.Ref
		return s.completed(p, now), nil
	case MarkFailed:
		return s.failed(p, row, CodeMarkedFailed, now), nil
	}
	return s.resend(p, row, o, now)
}

func (s Settlement) resend(p Policy, row Row, o Order, now time.Time) (Settlement, error) {
	switch {
	case o.NeverArrived:
		s.Certain = true
	case row.MayHaveArrived() && !p.windowHolds(row, later(row.Until, p.until(now))):
		return Settlement{}, notAllowed("an attempt may have arrived, and the remote would not recognise the repetition: ask the remote, and confirm it if no attempt arrived")
	}
	return s.again(p, row, now)
}

func (s Settlement) retry(p Policy, row Row, now time.Time) (Settlement, error) {
	switch {
	case row.Status != StatusFailed:
		return Settlement{}, notAllowed("the row is %s; only failed rows are retried", row.Status)
	case row.MayHaveArrived():
		return Settlement{}, notAllowed("an attempt arrived or may have: put a new row under a new key")
	case !row.ExpiresAt.IsZero() && !now.Before(row.ExpiresAt):
		return Settlement{}, notAllowed("the row's retention is over: put the row again")
	}
	return s.again(p, row, now)
}

// again makes the row pending, due now, with a new budget.
func (s Settlement) again(p Policy, row Row, now time.Time) (Settlement, error) {
	switch {
	case row.Unreadable != nil:
		return Settlement{}, notAllowed("the row cannot be read, so it cannot be sent: %w", row.Unreadable)
	case row.expired(now):
		return Settlement{}, notAllowed("deliver_by passed at %s: the row would not be sent", row.DeliverBy.UTC().Format(time.RFC3339))
	case p.Retired:
		return Settlement{}, notAllowed("the destination is retired: the row would not be sent")
	}
	s.Status, s.Lane, s.LaneAt, s.NewBudget = StatusPending, laneOf(p, row, DueLane), now, true
	return s, nil
}

func (s Settlement) cancel(p Policy, row Row, now time.Time) (Settlement, error) {
	switch {
	case row.Status != StatusPending:
		return Settlement{}, notAllowed("the row is %s; only pending rows are cancelled", row.Status)
	case row.MayHaveArrived():
		return Settlement{}, notAllowed("an attempt may have arrived: cancelling does not undo it")
	}
	return s.failed(p, row, CodeCancelled, now), nil
}

func notAllowed(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrNotAllowed}, args...)...)
}

// validate checks the order itself, whatever the row.
func (o Order) validate() error {
	resolve := o.Move == MarkCompleted || o.Move == MarkFailed || o.Move == Resend
	switch {
	case !resolve && o.Move != Retry && o.Move != Cancel:
		return notAllowed("unknown move %q: want completed, failed, resend, retry or cancel", o.Move)
	case resolve && o.Reason == "":
		return notAllowed("the reason is missing: it is kept on the row")
	case o.By == "":
		return notAllowed("the author of the order is missing")
	case o.Ref != "" && o.Move != MarkCompleted:
		return notAllowed("a remote reference goes with completed only")
	case o.NeverArrived && o.Move != Resend:
		return notAllowed("the confirmation that no attempt arrived goes with resend only")
	case o.Force && !resolve:
		return notAllowed("%s cannot be forced: it does not wait", o.Move)
	}
	return errors.Join(
		writable("the author of the order", o.By, MaxByBytes),
		writable("the reason", o.Reason, MaxReasonBytes),
		writable("the remote reference", o.Ref, MaxRefBytes))
}

func writable(what, text string, most int) error {
	switch {
	case len(text) > most:
		return notAllowed("%s has %d bytes, want at most %d", what, len(text), most)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return notAllowed("%s must be UTF-8 text without control characters", what)
	}
	return nil
}
