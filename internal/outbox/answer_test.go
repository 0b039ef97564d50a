package outbox

import (
	"errors"
	"math"
	"testing"
	"time"
)

// doubtfulRow was claimed once at start and is about to be looked up for the first time.
func doubtfulRow() Row {
	row := claimedRow(1, false)
	row.Status, row.MaybeSince, row.Code, row.RemoteRef = StatusOutcomeUnknown, start, "test.cut", "ref"
	row.Lane = row.Lane.as(UnknownLane)
	row.LaneAt = policy.settledBy(row.Until)
	return row
}

// TestResolve is the table of answers: what becomes of a row, and of the doubt about it.
func TestResolve(t *testing.T) {
	t.Parallel()
	asked := doubtfulRow().LaneAt
	none := func(*Policy, *Row) {}
	spent := func(p *Policy, r *Row) { p.Attempts = r.AttemptCount }
	expired := func(_ *Policy, r *Row) { r.DeliverBy = asked }
	retired := func(p *Policy, _ *Row) { p.Retired = true }
	never := func(p *Policy, r *Row) { p.Deduplicates, r.Window = Never, Never }
	for _, c := range []struct {
		name   string
		answer Answer
		with   func(*Policy, *Row)
		status Status
		code   string
		maybe  bool
	}{
		{"completed", Answer{Kind: AnswerCompleted}, none, StatusCompleted, "", true},
		{"completed, budget spent", Answer{Kind: AnswerCompleted}, spent, StatusCompleted, "", true},
		{"completed, past deliver_by", Answer{Kind: AnswerCompleted}, expired, StatusCompleted, "", true},
		{"failed", Answer{Kind: AnswerFailed, Code: "test.declined"}, none, StatusFailed, "test.declined", true},
		{"failed, without a code", Answer{Kind: AnswerFailed}, none, StatusFailed, CodeLookupFailed, true},
		{"not found", Answer{Kind: AnswerNotFound}, none, StatusPending, "test.cut", false},
		{"not found, never deduplicates", Answer{Kind: AnswerNotFound}, never, StatusPending, "test.cut", false},
		{"not found, budget spent", Answer{Kind: AnswerNotFound}, spent, StatusFailed, CodeAttemptsExhausted, false},
		{"not found, past deliver_by", Answer{Kind: AnswerNotFound}, expired, StatusFailed, CodeExpired, false},
		{"not found, retired", Answer{Kind: AnswerNotFound}, retired, StatusPending, "test.cut", false},
		{"unresolved", Answer{Kind: AnswerUnresolved, Code: "test.down"}, none, StatusOutcomeUnknown, "test.down", true},
		{"unresolved, budget spent and past deliver_by", Answer{}, func(p *Policy, r *Row) { spent(p, r); expired(p, r) }, StatusOutcomeUnknown, "test.cut", true},
		{"a lookup that says nothing", Answer{}, none, StatusOutcomeUnknown, "test.cut", true},
		{"an answer that does not exist", Answer{Kind: 99}, none, StatusOutcomeUnknown, "test.cut", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, row := policy, doubtfulRow()
			c.with(&p, &row)
			s := Resolve(p, row, c.answer, asked)
			after, err := s.Apply(row)
			if err != nil {
				t.Fatalf("an illegal move: %v", err)
			}
			if after.Status != c.status || after.Code != c.code || after.MayHaveArrived() != c.maybe {
				t.Errorf("got %s, code %q, may have arrived = %v; want %s, %q, %v", after.Status, after.Code, after.MayHaveArrived(), c.status, c.code, c.maybe)
			}
			if !s.From.MaybeSince.Equal(row.MaybeSince) {
				t.Error("the fence is not what was read")
			}
			if after.RemoteRef != "ref" || after.LookupCount != 1 || after.AttemptCount != row.AttemptCount {
				t.Errorf("ref %q, %d lookups, %d attempts", after.RemoteRef, after.LookupCount, after.AttemptCount)
			}
			lanes := map[Status]Lane{
				StatusPending: row.Lane.as(DueLane), StatusOutcomeUnknown: row.Lane, StatusFailed: row.Lane.as(FailedLane), StatusCompleted: {},
			}
			if after.Lane != lanes[after.Status] {
				t.Errorf("lane = %v, want %v", after.Lane, lanes[after.Status])
			}
			if due := after.LaneAt; after.Status == StatusPending && !due.Equal(asked) {
				t.Errorf("due at %v, want now", due)
			}
			if after.Status.Terminal() != after.ExpiresAt.Equal(asked.Add(DefaultRetention)) {
				t.Errorf("a %s row expires at %v", after.Status, after.ExpiresAt)
			}
		})
	}
}

func TestLookupsAreSpacedOutAndGoOn(t *testing.T) {
	t.Parallel()
	for lookups, want := range map[int]time.Duration{
		0: time.Minute, 1: 4 * time.Minute, 2: 16 * time.Minute, 3: time.Hour, 9: time.Hour, math.MaxInt: time.Hour,
	} {
		row := doubtfulRow()
		row.LookupCount = lookups
		if got := Resolve(policy, row, Answer{}, start).LaneAt.Sub(start); got != want {
			t.Errorf("after %d lookups and one more: %v, want %v", lookups, got, want)
		}
	}
}

// TestExamineUnknown is the table of what a row found in an unknown lane is in need of.
func TestExamineUnknown(t *testing.T) {
	t.Parallel()
	asked := doubtfulRow().LaneAt
	status := func(s Status) func(*Policy, *Row) { return func(_ *Policy, r *Row) { r.Status = s } }
	moved := func(s Status) func(*Policy, *Row) {
		return func(_ *Policy, r *Row) { r.Status, r.Lane = s, r.Lane.as(DueLane) }
	}
	unreadable := func(_ *Policy, r *Row) { r.Unreadable = errors.New("payload: missing") }
	for _, c := range []struct {
		name  string
		with  func(*Policy, *Row)
		blind bool
		kind  StepKind
		end   Status
	}{
		{"in doubt", func(*Policy, *Row) {}, false, Ask, ""},
		{"no lookup", func(*Policy, *Row) {}, true, AwaitPerson, ""},
		{"unreadable", unreadable, false, AwaitPerson, ""},
		{"an attempt may still arrive", func(_ *Policy, r *Row) { r.Until = r.Until.Add(time.Millisecond) }, false, Skip, ""},
		{"late arrivals come later today", func(p *Policy, _ *Row) { p.LateArrival += time.Millisecond }, false, Skip, ""},
		{"no claim, its time has come", func(_ *Policy, r *Row) { r.Until = time.Time{} }, false, Ask, ""},
		{"no claim, its time has not come", func(_ *Policy, r *Row) { r.Until, r.LaneAt = time.Time{}, asked.Add(1) }, false, Skip, ""},
		{"retired", func(p *Policy, _ *Row) { p.Retired = true }, false, Ask, ""},
		{"completed", moved(StatusCompleted), false, Skip, ""},
		{"failed", moved(StatusFailed), false, Skip, ""},
		{"pending", moved(StatusPending), false, Skip, ""},
		{"dispatching", moved(StatusDispatching), false, Skip, ""},
		{"no row", moved(""), false, Skip, ""},
		{"misplaced, pending", func(_ *Policy, r *Row) { r.Status, r.MaybeSince = StatusPending, time.Time{} }, false, End, StatusFailed},
		{"misplaced, pending, may have arrived", status(StatusPending), false, End, StatusOutcomeUnknown},
		{"misplaced, claim abandoned", status(StatusDispatching), false, End, StatusOutcomeUnknown},
		{"misplaced, claimed", func(_ *Policy, r *Row) { r.Status, r.Until = StatusDispatching, asked }, false, InFlight, ""},
		{"misplaced, of no known status", status(StatusInvalid), false, End, StatusOutcomeUnknown},
		{"misplaced, completed", status(StatusCompleted), false, Skip, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, row := policy, doubtfulRow()
			c.with(&p, &row)
			step := ExamineUnknown(p, row, !c.blind, asked)
			if step.Kind != c.kind || step.Settlement.Status != c.end {
				t.Fatalf("got kind %d, %q; want %d, %q", step.Kind, step.Settlement.Status, c.kind, c.end)
			}
			if step.Kind != End {
				return
			}
			after, err := step.Settlement.Apply(row)
			if err != nil {
				t.Fatalf("an illegal move: %v", err)
			}
			if (after.Status == StatusOutcomeUnknown) != after.MayHaveArrived() || after.Code != CodeRowInvalid {
				t.Errorf("%s with maybe_since = %v, code %q", after.Status, after.MaybeSince, after.Code)
			}
		})
	}
}
