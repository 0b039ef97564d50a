package outbox

import "time"

// StepKind is what a dispatcher does with a row that it did not simply claim.
type StepKind int

const (
	// Skip: nothing is due; the index was stale, or the destination is retired.
	Skip StepKind = iota
	// InFlight: somebody holds a live claim.
	InFlight
	// ClaimFrom: claim it, conditional on what was read.
	ClaimFrom
	// TakeOver: claim it alone and after all others (I8), from a holder that is gone or after one that was.
	TakeOver
	// End: settle it without a send.
	End
	// Ask: ask the remote what became of it.
	Ask
	// AwaitPerson: nothing but a person can tell what became of it.
	AwaitPerson
)

// Step is what to do with a row; Settlement belongs to End.
type Step struct {
	Kind       StepKind
	Settlement Settlement
}

// Examine decides about a row as it was read: after a refused claim, or instead of one.
//
//	pending, not due                              skip
//	pending, unreadable                           end: failed; outcome_unknown if an attempt may have arrived
//	pending, past deliver_by, budget or window    end: likewise
//	pending, destination retired                  skip
//	pending, its last claim was abandoned         claim alone
//	pending                                       claim, conditional on what was read
//	dispatching, claim alive (5 s for clocks)     in flight
//	dispatching, may be sent again                take over
//	dispatching                                   end: outcome_unknown
//	anything else                                 skip
func Examine(p Policy, row Row, now time.Time) Step {
	switch {
	case row.Status == StatusDispatching:
		return examineClaimed(p, row, now)
	case row.Status == StatusOutcomeUnknown || row.Status.Terminal() || row.Status == "":
		return Step{Kind: Skip}
	case row.LaneAt.After(now):
		return Step{Kind: Skip}
	case row.Unreadable != nil:
		return end(p, row, row.Status != StatusPending && row.Token != "", CodeRowInvalid, now)
	case p.Retired && !row.expired(now):
		return Step{Kind: Skip}
	}
	if code := obstacle(p, row, now); code != "" {
		return end(p, row, false, code, now)
	}
	if row.crashed() {
		return Step{Kind: TakeOver}
	}
	return Step{Kind: ClaimFrom}
}

func examineClaimed(p Policy, row Row, now time.Time) Step {
	if !now.After(row.Until.Add(SkewMargin)) {
		return Step{Kind: InFlight}
	}
	if row.Unreadable != nil {
		return end(p, row, true, CodeRowInvalid, now)
	}
	if abandoned := row.suspected(now); p.Retired || obstacle(p, abandoned, now) != "" {
		return end(p, row, true, CodeClaimAbandoned, now)
	}
	return Step{Kind: TakeOver}
}

// end settles a row that was read, without a send. suspect says that its last claim may have been
// sent though nothing on the row says so yet.
func end(p Policy, row Row, suspect bool, code string, now time.Time) Step {
	s := Settlement{ID: row.ID, From: &row}
	if suspect && !row.MayHaveArrived() {
		s.MaybeSince = row.suspected(now).MaybeSince
		return Step{Kind: End, Settlement: s.without(p, row.suspected(now), code, now)}
	}
	return Step{Kind: End, Settlement: s.without(p, row, code, now)}
}

// suspected is the row with the attempt of its last claim taken for one that may have arrived.
func (r Row) suspected(now time.Time) Row {
	if r.MayHaveArrived() {
		return r
	}
	for _, since := range []time.Time{r.ClaimedAt, r.CreatedAt, now} {
		if !since.IsZero() {
			r.MaybeSince = since
			break
		}
	}
	return r
}
