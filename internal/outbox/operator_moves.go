package outbox

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Obey is what a person's order makes of a row as it was read: a settlement, or [ErrNotAllowed].
//
//	order      row               becomes            refused if
//	completed  outcome_unknown   completed          an attempt may still arrive, and it is not forced
//	failed     outcome_unknown   failed             likewise
//	resend     outcome_unknown   pending, due now   likewise; an attempt may have arrived, unless the window
//	                                                holds or the person says that it never did
//	retry      failed            pending, due now   an attempt may have arrived
//	cancel     pending           failed             an attempt may have arrived
//
// What becomes pending has a new budget. It is refused if it would not be sent: past deliver_by, to a
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
		return Settlement{}, notAllowed("the row is %s; what became of it is asked of outcome_unknown rows only", row.Status)
	}
	if from := p.askableFrom(row); now.Before(from) {
		if !o.Force {
			return Settlement{}, notAllowed("an attempt may still arrive until %s: wait, or force it", from.UTC().Format(time.RFC3339))
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
		return Settlement{}, notAllowed("an attempt may have arrived, and the remote would not recognise another as the same: find out, and say so if it never arrived")
	}
	return s.again(p, row, now)
}

func (s Settlement) retry(p Policy, row Row, now time.Time) (Settlement, error) {
	switch {
	case row.Status != StatusFailed:
		return Settlement{}, notAllowed("the row is %s; only failed rows are retried", row.Status)
	case row.MayHaveArrived():
		return Settlement{}, notAllowed("an attempt arrived or may have: put it under a new key if it is to happen after all")
	case !row.ExpiresAt.IsZero() && !now.Before(row.ExpiresAt):
		return Settlement{}, notAllowed("the row's retention is over: put it again")
	}
	return s.again(p, row, now)
}

// again makes the row pending, due now, with a new budget.
func (s Settlement) again(p Policy, row Row, now time.Time) (Settlement, error) {
	switch {
	case row.Unreadable != nil:
		return Settlement{}, notAllowed("the row cannot be read, so it cannot be sent: %w", row.Unreadable)
	case row.expired(now):
		return Settlement{}, notAllowed("deliver_by is past since %s: it would not be sent", row.DeliverBy.UTC().Format(time.RFC3339))
	case p.Retired:
		return Settlement{}, notAllowed("the destination is retired: nothing is sent there")
	}
	s.Status, s.Lane, s.LaneAt, s.NewBudget = StatusPending, laneOf(p, row, DueLane), now, true
	return s, nil
}

func (s Settlement) cancel(p Policy, row Row, now time.Time) (Settlement, error) {
	switch {
	case row.Status != StatusPending:
		return Settlement{}, notAllowed("the row is %s; only pending rows are cancelled", row.Status)
	case row.MayHaveArrived():
		return Settlement{}, notAllowed("an attempt may have arrived: cancelling would not undo it")
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
		return notAllowed("%q is no move: want completed, failed, resend, retry or cancel", o.Move)
	case resolve && o.Reason == "":
		return notAllowed("a reason is missing: whoever reads the row later wants to know it")
	case o.By == "":
		return notAllowed("who gives the order is missing")
	case o.Ref != "" && o.Move != MarkCompleted:
		return notAllowed("a remote reference belongs to a completed row")
	case o.NeverArrived && o.Move != Resend:
		return notAllowed("that it never arrived is said to have it resent")
	case o.Force && !resolve:
		return notAllowed("%s waits for nothing, so nothing can be forced", o.Move)
	}
	return errors.Join(
		writable("who gives the order", o.By, MaxByBytes),
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
