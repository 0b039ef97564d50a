package outbox

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// TestObey is the table of what a person may do to a row: the resulting status, or why not.
func TestObey(t *testing.T) {
	t.Parallel()
	asked := doubtfulRow().LaneAt
	in := func(s Status, maybe bool) func(*Policy, *Row) {
		return func(_ *Policy, r *Row) {
			if r.Status = s; !maybe {
				r.MaybeSince = time.Time{}
			}
			switch s {
			case StatusFailed:
				r.Lane, r.ExpiresAt = r.Lane.as(FailedLane), asked.Add(time.Hour)
			case StatusPending, StatusDispatching:
				r.Lane = r.Lane.as(DueLane)
			}
		}
	}
	doubt := func(*Policy, *Row) {}
	early := func(_ *Policy, r *Row) { r.Until = r.Until.Add(time.Second) }
	never := func(p *Policy, _ *Row) { p.Deduplicates = Never }
	unreadable := func(_ *Policy, r *Row) { r.Unreadable = errors.New("payload: missing") }
	expired := func(_ *Policy, r *Row) { r.DeliverBy = asked }
	retired := func(p *Policy, _ *Row) { p.Retired = true }
	spent := func(p *Policy, r *Row) { p.Attempts = r.AttemptCount }
	overSoon := func(p *Policy, r *Row) { // it would hold for a claim that ended when the last one did
		r.Window = Window(p.settledBy(r.Until).Sub(r.MaybeSince) + time.Second)
	}
	gone := func(_ *Policy, r *Row) { r.ExpiresAt = asked }
	both := func(a, b func(*Policy, *Row)) func(*Policy, *Row) {
		return func(p *Policy, r *Row) { a(p, r); b(p, r) }
	}
	for _, c := range []struct {
		name  string
		order Order
		with  func(*Policy, *Row)
		want  Status
		maybe bool   // after it
		why   string // or part of the refusal
	}{
		{"it completed", Order{Move: MarkCompleted, Ref: "ch_1"}, doubt, StatusCompleted, true, ""},
		{"it failed", Order{Move: MarkFailed}, doubt, StatusFailed, true, ""},
		{"it completed, unreadable", Order{Move: MarkCompleted}, unreadable, StatusCompleted, true, ""},
		{"it completed, retired", Order{Move: MarkCompleted}, retired, StatusCompleted, true, ""},
		{"too early to say completed", Order{Move: MarkCompleted}, early, "", false, "may still arrive"},
		{"too early to say failed", Order{Move: MarkFailed}, early, "", false, "may still arrive"},
		{"too early to say it never arrived", Order{Move: Resend, NeverArrived: true}, early, "", false, "may still arrive"},
		{"too early, forced", Order{Move: MarkFailed, Force: true}, early, StatusFailed, true, ""},
		{"forced without need", Order{Move: MarkFailed, Force: true}, doubt, StatusFailed, true, ""},

		{"resend within the window", Order{Move: Resend}, doubt, StatusPending, true, ""},
		{"resend, budget spent", Order{Move: Resend}, spent, StatusPending, true, ""},
		{"resend without window", Order{Move: Resend}, never, "", false, "may have arrived"},
		{"resend, window over before another claim ends", Order{Move: Resend}, overSoon, "", false, "may have arrived"},
		{"resend without window what cannot have arrived", Order{Move: Resend}, both(in(StatusOutcomeUnknown, false), never), StatusPending, false, ""},
		{"resend, forced but without window", Order{Move: Resend, Force: true}, both(early, never), "", false, "may have arrived"},
		{"resend, it never arrived", Order{Move: Resend, NeverArrived: true}, never, StatusPending, false, ""},
		{"resend past deliver_by", Order{Move: Resend, NeverArrived: true}, expired, "", false, "deliver_by"},
		{"resend to a retired destination", Order{Move: Resend, NeverArrived: true}, retired, "", false, "retired"},
		{"resend what cannot be read", Order{Move: Resend, NeverArrived: true}, unreadable, "", false, "payload: missing"},

		{"resolve a pending row", Order{Move: MarkFailed}, in(StatusPending, false), "", false, "is pending"},
		{"resolve a row in flight", Order{Move: MarkCompleted, Force: true}, in(StatusDispatching, false), "", false, "is dispatching"},
		{"resolve a completed row", Order{Move: Resend}, in(StatusCompleted, false), "", false, "is completed"},
		{"resolve a failed row", Order{Move: Resend}, in(StatusFailed, false), "", false, "is failed"},

		{"retry", Order{Move: Retry}, in(StatusFailed, false), StatusPending, false, ""},
		{"retry what may have arrived", Order{Move: Retry}, in(StatusFailed, true), "", false, "arrived"},
		{"retry what is unknown", Order{Move: Retry}, doubt, "", false, "is outcome_unknown"},
		{"retry what completed", Order{Move: Retry}, in(StatusCompleted, false), "", false, "is completed"},
		{"retry what is in flight", Order{Move: Retry}, in(StatusDispatching, false), "", false, "is dispatching"},
		{"retry after retention", Order{Move: Retry}, both(in(StatusFailed, false), gone), "", false, "retention"},
		{"retry past deliver_by", Order{Move: Retry}, both(in(StatusFailed, false), expired), "", false, "deliver_by"},
		{"retry to a retired destination", Order{Move: Retry}, both(in(StatusFailed, false), retired), "", false, "retired"},
		{"retry what cannot be read", Order{Move: Retry}, both(in(StatusFailed, false), unreadable), "", false, "payload: missing"},

		{"cancel", Order{Move: Cancel}, in(StatusPending, false), StatusFailed, false, ""},
		{"cancel to a retired destination", Order{Move: Cancel}, both(in(StatusPending, false), retired), StatusFailed, false, ""},
		{"cancel what may have arrived", Order{Move: Cancel}, in(StatusPending, true), "", false, "may have arrived"},
		{"cancel what is in flight", Order{Move: Cancel}, in(StatusDispatching, false), "", false, "is dispatching"},
		{"cancel what failed", Order{Move: Cancel}, in(StatusFailed, false), "", false, "is failed"},
		{"cancel what is unknown", Order{Move: Cancel}, doubt, "", false, "is outcome_unknown"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, row := policy, doubtfulRow()
			c.with(&p, &row)
			c.order.By, c.order.Reason = "ada", "seen in the console"
			s, err := Obey(p, row, c.order, asked)
			if c.why != "" {
				if !errors.Is(err, ErrNotAllowed) || !strings.Contains(err.Error(), c.why) {
					t.Errorf("got %s, %v; want a refusal that says %q", s.Status, err, c.why)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			after, err := s.Apply(row)
			if err != nil {
				t.Fatalf("an illegal move: %v", err)
			}
			if after.Status != c.want || after.MayHaveArrived() != c.maybe {
				t.Errorf("got %s, may have arrived = %v; want %s, %v", after.Status, after.MayHaveArrived(), c.want, c.maybe)
			}
			want := Resolution{ResolvedBy: "ada", ResolvedAt: asked, Reason: "seen in the console", Forced: c.order.Force && row.Until.After(doubtfulRow().Until)}
			if after.Resolution != want {
				t.Errorf("recorded %+v, want %+v", after.Resolution, want)
			}
			if after.Status == StatusPending && (after.AttemptCount != 0 || !after.LaneAt.Equal(asked) || after.Lane != row.Lane.as(DueLane) || !after.ExpiresAt.IsZero()) {
				t.Errorf("pending with %d attempts in %v at %v, expires %v", after.AttemptCount, after.Lane, after.LaneAt, after.ExpiresAt)
			}
			if after.Status.Terminal() != after.ExpiresAt.Equal(asked.Add(DefaultRetention)) {
				t.Errorf("a %s row expires at %v", after.Status, after.ExpiresAt)
			}
			if after.Status == StatusCompleted && c.order.Ref != "" && after.RemoteRef != c.order.Ref {
				t.Errorf("remote_ref %q", after.RemoteRef)
			}
		})
	}
}

func TestOrderWithoutAuthorOrReasonIsRefused(t *testing.T) {
	t.Parallel()
	for name, order := range map[string]Order{
		"no move":                            {By: "ada", Reason: "r"},
		"no such move":                       {Move: "undo", By: "ada", Reason: "r"},
		"no reason":                          {Move: MarkFailed, By: "ada"},
		"no author":                          {Move: MarkFailed, Reason: "r"},
		"retry, no author":                   {Move: Retry},
		"reference of a failure":             {Move: MarkFailed, By: "ada", Reason: "r", Ref: "ch_1"},
		"never arrived, and completed":       {Move: MarkCompleted, By: "ada", Reason: "r", NeverArrived: true},
		"forced retry":                       {Move: Retry, By: "ada", Force: true},
		"a reason too long":                  {Move: MarkFailed, By: "ada", Reason: strings.Repeat("r", MaxReasonBytes+1)},
		"a reason of several lines":          {Move: MarkFailed, By: "ada", Reason: "one\ntwo"},
		"a name that is no text":             {Move: MarkFailed, By: "\xff", Reason: "r"},
		"a reference too long for the index": {Move: MarkCompleted, By: "ada", Reason: "r", Ref: strings.Repeat("r", MaxRefBytes+1)},
	} {
		row := doubtfulRow()
		if s, err := Obey(policy, row, order, row.LaneAt); !errors.Is(err, ErrNotAllowed) || s.Status != "" {
			t.Errorf("%s: got %s, %v", name, s.Status, err)
		}
	}
}
