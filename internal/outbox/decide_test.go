package outbox

import (
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var (
	start  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	policy = Policy{Deduplicates: Window(24 * time.Hour)}.WithDefaults()
)

func claimedRow(attempt int, maybe bool) Row {
	row := Row{
		ID: ID{"charge", "k"}, Status: StatusDispatching, Lane: Lane{DueLane, "charge", 3}, LaneAt: start,
		AttemptCount: attempt, Token: "t", ClaimedAt: start, Until: start.Add(40 * time.Second), Window: policy.Deduplicates, CreatedAt: start,
	}
	if maybe {
		row.MaybeSince = start.Add(-time.Minute)
	}
	return row
}

// TestDecide is the table of outcomes: rows are outcomes, columns say whether an earlier attempt may have
// arrived and whether there is room (budget, deliver_by, window) for another attempt.
func TestDecide(t *testing.T) {
	t.Parallel()
	never := func(p *Policy, r *Row) { p.Deduplicates = Never }
	configuredLater := func(p *Policy, r *Row) { r.Window = Never }
	windowOver := func(p *Policy, r *Row) {
		r.Window, p.Deduplicates = Window(time.Hour), Window(time.Hour)
		r.MaybeSince = start.Add(-time.Hour)
	}
	spent := func(p *Policy, r *Row) { p.Attempts = r.AttemptCount }
	tooLate := func(p *Policy, r *Row) { r.DeliverBy = start.Add(900 * time.Millisecond) }
	none := func(*Policy, *Row) {}
	for _, c := range []struct {
		name   string
		out    Outcome
		maybe  bool
		with   func(*Policy, *Row)
		status Status
		code   string
	}{
		{"completed", Completed("ref"), false, none, StatusCompleted, ""},
		{"completed, maybe", Completed("ref"), true, spent, StatusCompleted, ""},
		{"retryable", Retryable("r", 0), false, none, StatusPending, "r"},
		{"retryable, remote never deduplicates", Retryable("r", 0), false, never, StatusPending, "r"},
		{"retryable, budget spent", Retryable("r", 0), false, spent, StatusFailed, CodeAttemptsExhausted},
		{"retryable, deliver_by before the next time", Retryable("r", 0), false, tooLate, StatusFailed, CodeExpired},
		{"retryable, maybe", Retryable("r", 0), true, none, StatusPending, "r"},
		{"retryable, maybe, window over", Retryable("r", 0), true, windowOver, StatusOutcomeUnknown, "r"},
		{"retryable, maybe, budget spent", Retryable("r", 0), true, spent, StatusOutcomeUnknown, "r"},
		{"retryable, maybe, deliver_by before the next time", Retryable("r", 0), true, tooLate, StatusOutcomeUnknown, "r"},
		{"permanent", Permanent("p"), false, none, StatusFailed, "p"},
		{"permanent, maybe", Permanent("p"), true, none, StatusOutcomeUnknown, "p"},
		{"unknown", Unknown("ref", "u"), false, none, StatusPending, "u"},
		{"unknown, never deduplicates", Unknown("", "u"), false, never, StatusOutcomeUnknown, "u"},
		{"unknown, did not deduplicate when claimed", Unknown("", "u"), false, configuredLater, StatusOutcomeUnknown, "u"},
		{"unknown, budget spent", Unknown("", "u"), false, spent, StatusOutcomeUnknown, "u"},
		{"unknown, deliver_by before the next time", Unknown("", "u"), false, tooLate, StatusOutcomeUnknown, "u"},
		{"unknown, maybe", Unknown("", "u"), true, none, StatusPending, "u"},
		{"unknown, maybe, window over", Unknown("", "u"), true, windowOver, StatusOutcomeUnknown, "u"},
		{"a sender that says nothing", Outcome{}, false, never, StatusOutcomeUnknown, CodeWindowOver},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, row := policy, claimedRow(2, c.maybe)
			c.with(&p, &row)
			s := Decide(p, row, c.out, start)
			if s.Status != c.status || s.Code != c.code || s.Token != "t" || s.RemoteRef != c.out.Ref {
				t.Errorf("got %s, code %q, ref %q; want %s, %q, %q", s.Status, s.Code, s.RemoteRef, c.status, c.code, c.out.Ref)
			}
			after, err := s.Apply(row)
			if err != nil {
				t.Fatalf("an illegal move: %v", err)
			}
			mayHave := c.maybe || c.out.Kind == KindUnknown
			if after.MayHaveArrived() != mayHave {
				t.Errorf("maybe_since = %v after %v", after.MaybeSince, c.out.Kind)
			}
			if c.maybe && !after.MaybeSince.Equal(row.MaybeSince) {
				t.Errorf("maybe_since moved from %v to %v", row.MaybeSince, after.MaybeSince)
			}
			lanes := map[Status]Lane{
				StatusPending: row.Lane, StatusOutcomeUnknown: row.Lane.as(UnknownLane), StatusFailed: row.Lane.as(FailedLane), StatusCompleted: {},
			}
			if after.Lane != lanes[after.Status] {
				t.Errorf("lane = %v, want %v", after.Lane, lanes[after.Status])
			}
			if after.Status.Terminal() != after.ExpiresAt.Equal(start.Add(DefaultRetention)) {
				t.Errorf("a %s row expires at %v", after.Status, after.ExpiresAt)
			}
			if after.Status == StatusOutcomeUnknown && !after.LaneAt.Equal(row.Until.Add(DefaultLateArrival+SkewMargin)) {
				t.Errorf("first look at %v, want until + late_arrival + 5 s", after.LaneAt)
			}
		})
	}
}

func TestDecidePutsOffForAsLongAsAsked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		attempt  int
		after    time.Duration
		min, max time.Duration
	}{
		{"backoff, jittered", 1, 0, 900 * time.Millisecond, 1100 * time.Millisecond},
		{"third attempt", 3, 0, 14400 * time.Millisecond, 17600 * time.Millisecond},
		{"asked for less", 3, time.Second, 14400 * time.Millisecond, 17600 * time.Millisecond},
		{"asked for more", 1, 30 * time.Second, 30 * time.Second, 30 * time.Second},
		{"asked for too much", 1, math.MaxInt64, time.Hour, time.Hour},
		{"asked for the past", 1, math.MinInt64, 900 * time.Millisecond, 1100 * time.Millisecond},
	} {
		for _, kind := range []OutcomeKind{KindRetryable, KindUnknown} {
			s := Decide(policy, claimedRow(c.attempt, false), Outcome{Kind: kind, Code: "r", After: c.after}, start)
			if wait := s.LaneAt.Sub(start); s.Status != StatusPending || wait < c.min || wait > c.max {
				t.Errorf("%s, %s: %s, waits %v, want %v to %v", c.name, kind, s.Status, wait, c.min, c.max)
			}
		}
	}
}

// A wait that the remote's window or deliver_by does not allow for is cut short, where otherwise a person would have to
// find out what became of the row.
func TestRequestedWaitDoesNotEndARow(t *testing.T) {
	t.Parallel()
	short := policy
	short.Deduplicates = Window(30 * time.Minute)
	row := claimedRow(1, false)
	row.Window = short.Deduplicates
	for name, s := range map[string]Settlement{
		"window":     Decide(short, row, Outcome{Kind: KindUnknown, Code: "r", After: time.Hour}, start),
		"deliver_by": Decide(policy, withDeliverBy(claimedRow(1, false), start.Add(time.Minute)), Outcome{Kind: KindUnknown, Code: "r", After: time.Hour}, start),
	} {
		if wait := s.LaneAt.Sub(start); s.Status != StatusPending || wait > 2*time.Second {
			t.Errorf("%s: %s, waits %v, want another attempt after the usual wait", name, s.Status, wait)
		}
	}
}

func withDeliverBy(row Row, at time.Time) Row { row.DeliverBy = at; return row }

// TestWindowHolds pins the boundary: maybe_since + window > until + late_arrival + 5 s.
func TestWindowHolds(t *testing.T) {
	t.Parallel()
	row := claimedRow(2, true)
	until := start.Add(40 * time.Second)
	edge := Window(until.Add(DefaultLateArrival + SkewMargin).Sub(row.MaybeSince))
	for _, c := range []struct {
		then, today Window
		want        bool
	}{
		{edge, edge, false},
		{edge + 1, edge + 1, true},
		{edge + 1, Always, true},
		{Always, edge + 1, true},
		{Always, Always, true},
		{Always, edge, false},
		{edge, Always, false},
		{Always, Never, false},
		{Never, Always, false},
		{Never, Never, false},
	} {
		row.Window = c.then
		p := policy
		p.Deduplicates = c.today
		if got := p.windowHolds(row, until); got != c.want {
			t.Errorf("window %v then, %v today: holds = %v", time.Duration(c.then), time.Duration(c.today), got)
		}
	}
}

func TestBackoffNeverOverflows(t *testing.T) {
	t.Parallel()
	golden := map[int]time.Duration{
		0: time.Second, 1: time.Second, 2: 4 * time.Second, 3: 16 * time.Second, 4: time.Minute,
		9: time.Minute, math.MaxInt: time.Minute, math.MinInt: time.Second,
	}
	for attempts, want := range golden {
		if got := (Backoff{}).WithDefaults().Wait(attempts); got != want {
			t.Errorf("after %d attempts: %v, want %v", attempts, got, want)
		}
	}
	longest := Backoff{First: math.MaxInt64, Factor: math.MaxFloat64, Max: math.MaxInt64}
	for _, attempts := range []int{1, 2, 9, math.MaxInt} {
		if got := longest.Wait(attempts); got != math.MaxInt64 {
			t.Errorf("after %d attempts of the longest backoff: %v", attempts, got)
		}
	}
}

func TestJitterStaysWithinATenth(t *testing.T) {
	t.Parallel()
	seen := map[time.Duration]bool{}
	for i := range 1000 {
		wait := jitter(time.Minute, ID{"mail", strconv.Itoa(i / 2)}, i%2)
		if wait < 54*time.Second || wait > 66*time.Second {
			t.Fatalf("a minute became %v", wait)
		}
		seen[wait] = true
	}
	if len(seen) < 900 {
		t.Errorf("1,000 attempts gave %d waits", len(seen))
	}
}

// TestExamine is the table of what to do with a row that did not let itself be claimed.
func TestExamine(t *testing.T) {
	t.Parallel()
	pending := func(with ...func(*Policy, *Row)) []func(*Policy, *Row) {
		return append(with, func(_ *Policy, r *Row) { r.Status = StatusPending })
	}
	claimed := func(with ...func(*Policy, *Row)) []func(*Policy, *Row) { return with }
	at := func(d time.Duration) func(*Policy, *Row) { return func(_ *Policy, r *Row) { r.LaneAt = start.Add(d) } }
	until := func(d time.Duration) func(*Policy, *Row) { return func(_ *Policy, r *Row) { r.Until = start.Add(d) } }
	status := func(s Status) func(*Policy, *Row) { return func(_ *Policy, r *Row) { r.Status = s } }
	maybe := func(_ *Policy, r *Row) { r.MaybeSince = start.Add(-time.Hour) }
	never := func(p *Policy, _ *Row) { p.Deduplicates = Never }
	spent := func(p *Policy, r *Row) { p.Attempts = r.AttemptCount }
	expired := func(_ *Policy, r *Row) { r.DeliverBy = start }
	unreadable := func(_ *Policy, r *Row) { r.Unreadable = ErrNotFound }
	retired := func(p *Policy, _ *Row) { p.Retired = true }
	dead := until(-SkewMargin - time.Millisecond)
	claimedIn := func(d time.Duration) func(*Policy, *Row) {
		return func(_ *Policy, r *Row) { r.ClaimedAt = start.Add(d) }
	}
	const longestClaim = 10*time.Minute + 15*time.Second // a send's, the time to settle in, and what clocks may differ by
	for _, c := range []struct {
		name string
		with []func(*Policy, *Row)
		kind StepKind
		end  Status
		code string
	}{
		{"no row", claimed(status("")), Skip, "", ""},
		{"completed", claimed(status(StatusCompleted)), Skip, "", ""},
		{"failed", claimed(status(StatusFailed)), Skip, "", ""},
		{"unknown", claimed(status(StatusOutcomeUnknown)), Skip, "", ""},
		{"not due", pending(at(time.Millisecond)), Skip, "", ""},
		{"due", pending(), ClaimFrom, "", ""},
		{"due, maybe, window holds", pending(maybe), ClaimFrom, "", ""},
		{"due, maybe, never deduplicates", pending(maybe, never), End, StatusOutcomeUnknown, CodeWindowOver},
		{"due, never deduplicates", pending(never), ClaimFrom, "", ""},
		{"due, budget spent", pending(spent), End, StatusFailed, CodeAttemptsExhausted},
		{"due, budget spent, maybe", pending(spent, maybe), End, StatusOutcomeUnknown, CodeAttemptsExhausted},
		{"due, expired", pending(expired), End, StatusFailed, CodeExpired},
		{"due, expired, maybe", pending(expired, maybe), End, StatusOutcomeUnknown, CodeExpired},
		{"unreadable", pending(unreadable), End, StatusFailed, CodeRowInvalid},
		{"unreadable, not due", pending(unreadable, at(time.Hour)), Skip, "", ""},
		{"unreadable, maybe", pending(unreadable, maybe), End, StatusOutcomeUnknown, CodeRowInvalid},
		{"unreadable, of no known status, claimed once", claimed(unreadable, status(StatusInvalid)), End, StatusOutcomeUnknown, CodeRowInvalid},
		{"retired", pending(retired), Skip, "", ""},
		{"retired, expired, budget spent", pending(retired, expired, spent), End, StatusFailed, CodeAttemptsExhausted},
		{"in flight", claimed(), InFlight, "", ""},
		{"in flight by a slow clock", claimed(until(-SkewMargin)), InFlight, "", ""},
		{"in flight, unreadable", claimed(unreadable), InFlight, "", ""},
		{"claimed at the latest time that can be", claimed(claimedIn(longestClaim)), InFlight, "", ""},
		{"claimed later than can be", claimed(claimedIn(longestClaim + time.Millisecond)), End, StatusOutcomeUnknown, CodeClaimAbandoned},
		{"claimed in 300 days, until then", claimed(claimedIn(300*24*time.Hour), until(300*24*time.Hour)), End, StatusOutcomeUnknown, CodeClaimAbandoned},
		{"claimed in 300 days, and over", claimed(dead, claimedIn(300*24*time.Hour)), End, StatusOutcomeUnknown, CodeClaimAbandoned},
		{"a live claim of the longest send", claimed(claimedIn(SkewMargin), until(longestClaim)), InFlight, "", ""},
		{"abandoned", claimed(dead), TakeOver, "", ""},
		{"abandoned, never deduplicates", claimed(dead, never), End, StatusOutcomeUnknown, CodeClaimAbandoned},
		{"abandoned, budget spent", claimed(dead, spent), End, StatusOutcomeUnknown, CodeClaimAbandoned},
		{"abandoned, expired", claimed(dead, expired), End, StatusOutcomeUnknown, CodeClaimAbandoned},
		{"abandoned, retired", claimed(dead, retired), End, StatusOutcomeUnknown, CodeClaimAbandoned},
		{"abandoned, unreadable", claimed(dead, unreadable), End, StatusOutcomeUnknown, CodeRowInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, row := policy, claimedRow(2, false)
			for _, with := range c.with {
				with(&p, &row)
			}
			step := Examine(p, row, start)
			if step.Kind != c.kind || step.Settlement.Status != c.end || step.Settlement.Code != c.code {
				t.Fatalf("got kind %d, %q, %q; want %d, %q, %q", step.Kind, step.Settlement.Status, step.Settlement.Code, c.kind, c.end, c.code)
			}
			if step.Kind != End {
				return
			}
			if diff := cmp.Diff(row, *step.Settlement.From, cmpopts.EquateErrors()); diff != "" {
				t.Errorf("the fence is not what was read (-read +fence):\n%s", diff)
			}
			after, err := step.Settlement.Apply(row)
			if err != nil {
				t.Fatalf("an illegal move: %v", err)
			}
			if (after.Status == StatusOutcomeUnknown) != after.MayHaveArrived() {
				t.Errorf("%s with maybe_since = %v", after.Status, after.MaybeSince)
			}
		})
	}
}

func TestRowThatEndsForWantOfRoomKeepsTheCauseOfItsLastAttempt(t *testing.T) {
	t.Parallel()
	spent, overdue := claimedRow(policy.Attempts, false), withDeliverBy(claimedRow(1, false), start)
	tried := withDeliverBy(claimedRow(1, false), start)
	tried.Status, tried.Code = StatusPending, "test.tls"
	again := tried
	again.Code, again.Cause = CodeAttemptsExhausted, "test.dns"
	for name, c := range map[string]struct {
		s           Settlement
		code, cause string
	}{
		"budget spent":                             {Decide(policy, spent, Retryable("test.tls", 0), start), CodeAttemptsExhausted, "test.tls"},
		"past deliver_by":                          {Decide(policy, overdue, Retryable("test.429", 0), start), CodeExpired, "test.429"},
		"past deliver_by, while put off":           {Examine(policy, tried, start).Settlement, CodeExpired, "test.tls"},
		"past deliver_by, once given a new budget": {Examine(policy, again, start).Settlement, CodeExpired, "test.dns"},
		"not found, and no budget":                 {Resolve(policy, Row{ID: spent.ID, Status: StatusOutcomeUnknown, AttemptCount: spent.AttemptCount, Code: "test.cut"}, Answer{Kind: AnswerNotFound}, start), CodeAttemptsExhausted, "test.cut"},
		"refused":                                  {Decide(policy, overdue, Permanent("test.400"), start), "test.400", ""},
	} {
		if c.s.Code != c.code || c.s.Cause != c.cause {
			t.Errorf("%s: code %q, cause %q; want %q, %q", name, c.s.Code, c.s.Cause, c.code, c.cause)
		}
	}
}

func TestCompletedRowHasNeitherCodeNorCause(t *testing.T) {
	t.Parallel()
	held := claimedRow(1, true)
	held.Code, held.Cause = CodeAttemptsExhausted, "test.tls"
	unknown := held
	unknown.Status, unknown.Lane = StatusOutcomeUnknown, held.Lane.as(UnknownLane)
	person, err := Obey(policy, unknown, Order{Move: MarkCompleted, By: "ada", Reason: "seen", Force: true}, start)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		row Row
		s   Settlement
	}{
		"holder":      {held, Decide(policy, held, Outcome{Kind: KindCompleted, Code: "test.odd"}, start)},
		"late answer": {unknown, Decide(policy, held, Completed(""), start)},
		"lookup":      {unknown, Resolve(policy, unknown, Answer{Kind: AnswerCompleted, Code: "test.odd"}, start)},
		"person":      {unknown, person},
	} {
		after, err := c.s.Apply(c.row)
		if err != nil || after.Status != StatusCompleted || after.Code != "" || after.Cause != "" || c.s.Code != "" {
			t.Errorf("%s: %v: %s with code %q, cause %q; the settlement says %q", name, err, after.Status, after.Code, after.Cause, c.s.Code)
		}
	}
}

// TestRowClaimedInTheFutureIsAskedAboutSoon: neither its wait nor the window of the remote counts from a time to come.
func TestRowClaimedInTheFutureIsAskedAboutSoon(t *testing.T) {
	t.Parallel()
	const ahead = 300 * 24 * time.Hour
	row := claimedRow(1, false)
	row.CreatedAt = start.Add(-time.Hour)
	row.ClaimedAt, row.Until = start.Add(ahead), start.Add(ahead+40*time.Second)
	unknown, err := Examine(policy, row, start).Settlement.Apply(row)
	if err != nil {
		t.Fatal(err)
	}
	soon := policy.settledBy(policy.until(start))
	if !unknown.LaneAt.Equal(soon) || !unknown.MaybeSince.Equal(row.CreatedAt) {
		t.Errorf("wants attention at %v, may have arrived since %v; want %v, %v", unknown.LaneAt, unknown.MaybeSince, soon, row.CreatedAt)
	}
	for at, want := range map[time.Time]StepKind{soon.Add(-time.Millisecond): Skip, soon: Ask} {
		if step := ExamineUnknown(policy, unknown, true, at); step.Kind != want {
			t.Errorf("at %v: step %d, want %d", at, step.Kind, want)
		}
	}
	if _, err := Obey(policy, unknown, Order{Move: MarkCompleted, By: "ada", Reason: "seen"}, soon); err != nil {
		t.Errorf("a person cannot say what became of it: %v", err)
	}
}
