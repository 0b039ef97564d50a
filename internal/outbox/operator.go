package outbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Move is what a person may have done to a row.
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

// Order is a move with what it takes to answer for it.
type Order struct {
	Move Move
	// By is who gives the order, 1 to 128 bytes.
	By string
	// Reason is 1 to 512 bytes; Retry and Cancel do without.
	Reason string
	// Ref is what the remote calls the effect, up to 512 bytes; only for MarkCompleted. Optional.
	Ref string
	// Force says what became of the row though an attempt may arrive still. It is recorded.
	Force bool
	// NeverArrived assures that no attempt arrived, on the person's word; only for Resend.
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

// ErrNotAllowed is an order that the row does not allow; the error's text says why and what would do.
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
}

// Operation is an order on one row: the row as it was read, what is written, and the row that results.
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
	return Policy{}, fmt.Errorf("%w: destination of row %s is not configured: bring it back, as retired if nothing is to be sent", ErrNotAllowed, id)
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
			b.WriteString("; as of now no earlier attempt arrived, on your word")
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
