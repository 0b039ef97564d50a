package sim

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/sim/stage"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// law knows what happened to each row and reports what must not happen. Its methods are called with the
// stage's mutex held.
type law struct {
	stage     *stage.Stage
	world     *world
	histories map[outbox.ID]*history
	orderOf   map[*process]outbox.Order
	// heldUp is until when the fast path may leave a destination to the sweep.
	heldUp map[string]time.Time
}

// history is what happened to a row, as the law saw it.
type history struct {
	wanted   outbox.Row
	present  bool
	expired  bool
	attempts []*attempt
	// claims counts those since the budget was last new.
	claims int
	// ordered are the people whose orders took effect.
	ordered map[*process]bool
	// answer is what the last lookup of a process said.
	answer map[*process]outbox.Answer
}

func newHistory(wanted outbox.Row) *history {
	return &history{wanted: wanted, ordered: map[*process]bool{}, answer: map[*process]outbox.Answer{}}
}

// attempt is one claim of a row.
type attempt struct {
	token string
	by    *process
	// at and until are the claim's own times, by the clock of its process.
	at, until time.Time
	// window is the remote's deduplication as its process was configured.
	window    outbox.Window
	takenOver bool
	// alone: the claim before it was abandoned, so that it must not be sent beside another.
	alone bool
	// heard is when the process learnt that it has it, by its own clock; late says that it was too late to send.
	heard   time.Time
	late    bool
	sends   int
	sending bool
	began   time.Time // the send
	answer  *outbox.Outcome
	// answered is when the process heard it, by its own clock.
	answered time.Time
	verdict  verdict
}

// verdict is what is on record about an attempt.
type verdict int

const (
	_ verdict = iota // its claim was not ended yet
	// harmless: its holder recorded that it did not arrive.
	harmless
	// suspect: it may have arrived, for all that is on record.
	suspect
	// landed: its holder recorded that it arrived.
	landed
	// cleared: later the remote or a person said that it did not arrive.
	cleared
)

// suspects are the attempts of which the record says that they may have arrived.
func (h *history) suspects() (all []*attempt) {
	for _, a := range h.attempts {
		if a.verdict == suspect {
			all = append(all, a)
		}
	}
	return all
}

func (h *history) clear() {
	for _, a := range h.suspects() {
		a.verdict = cleared
	}
}

func (h *history) find(token string) *attempt {
	for _, a := range h.attempts {
		if a.token == token {
			return a
		}
	}
	return nil
}

func (l *law) attempt(row outbox.Row) *attempt { return l.history(row.ID).find(row.Token) }

// history is that of a row that an application put; a process must name no other.
func (l *law) history(id outbox.ID) *history {
	if h := l.histories[id]; h != nil {
		return h
	}
	l.stage.Violated("conservation", "%s: no application put such a row", id)
	return newHistory(outbox.Row{})
}

// wants notes the row that an application is about to put.
func (l *law) wants(row outbox.Row) {
	l.histories[row.ID] = newHistory(row)
}

// expired is called when the time to live has deleted a row.
func (l *law) expired(id outbox.ID, row outbox.Row) {
	l.stage.Events++
	l.stage.Happened["deleted by the time to live"]++
	l.stage.Note(0, "%s expires", id)
	l.stage.Must(row.Status.Terminal(), "retention", "%s is %s, and expired", id, row.Status)
	h := l.history(id)
	h.present, h.expired = false, true
}

// observe is called each time a write is tried, with the row before and after it.
func (l *law) observe(o *operation, before, after outbox.Row, accepted bool) {
	l.stage.Events++
	changed := !sameRow(before, after)
	o.shown = o.showsIn(after)
	if !changed {
		l.stage.Note(o.by.actor.Number, "%s: no change, accepted %t", o, accepted)
	} else {
		l.stage.Release(o.id())
		l.stage.Note(o.by.actor.Number, "%s: %s -> %s, attempt %d, lane_at %v, maybe %t, code %q", o, before.Status, after.Status,
			after.AttemptCount, after.LaneAt.Sub(l.stage.Begun), after.MayHaveArrived(), after.Code)
	}
	if o.claim != nil && o.shown {
		o.result = after
	}
	switch {
	case !accepted:
		l.stage.Must(!changed, "I7", "%s was refused and changed the row", o)
		l.mustBeForeign(o, before)
		l.mustNotBeNew(o, before)
		return
	case !changed:
		l.stage.Must(o.shown || o.put != nil, "I2", "%s was accepted and the row does not show it", o)
		l.mustBeRepeat(o, before)
		return
	}
	if o.put == nil {
		l.unchanging(o, before, after)
	}
	switch {
	case o.put != nil:
		l.wasPut(o, before, after)
	case o.claim != nil:
		l.claimed(o, before, after)
	case o.showsIn(before):
		l.refined(o, before, after)
	default:
		l.settled(o, before, after)
	}
	l.placed(o, after)
}

// showsIn reports whether a row shows that the operation took effect.
func (o *operation) showsIn(row outbox.Row) bool {
	switch {
	case o.put != nil:
		return row.Origin == o.put.Origin
	case o.claim != nil:
		return row.Status == outbox.StatusDispatching && row.Token == o.claim.Token
	}
	s := o.settlement
	token := s.Token
	if s.From != nil {
		token = s.From.Token
	}
	if row.Status != s.Status || row.Token != token || !s.ResolvedAt.IsZero() && row.ResolutionID != s.ResolutionID {
		return false
	}
	switch {
	case s.Status == outbox.StatusPending:
		return row.LaneAt.Equal(s.LaneAt)
	case s.LookedUp && s.Status == outbox.StatusOutcomeUnknown:
		return row.LaneAt.Equal(s.LaneAt) && row.LookupCount == s.From.LookupCount+1
	}
	return true
}

// mustBeRepeat checks that an accepted write that changed nothing had taken effect before.
func (l *law) mustBeRepeat(o *operation, row outbox.Row) {
	if s := o.settlement; s != nil && row.Status == outbox.StatusOutcomeUnknown {
		l.stage.Must(s.RemoteRef == "" || row.RemoteRef != "", "conservation", "%s forgot the remote's reference", o)
	}
	if o.settlement != nil && o.settlement.From == nil && !row.Status.Terminal() {
		l.stage.Must(l.mine(o.by, o.settlement.Token), "I2", "%s was accepted from a process that does not hold the claim", o)
	}
}

// mustBeForeign checks that a refused settlement was not the holder's: whatever the holder of a claim settles is
// legal.
func (l *law) mustBeForeign(o *operation, row outbox.Row) {
	if s := o.settlement; s != nil && s.From == nil && row.Status == outbox.StatusDispatching && row.Token == s.Token {
		l.stage.Violated(map[bool]string{true: "I5", false: "I2"}[s.Status == outbox.StatusFailed], "%s was refused, and it is the holder's", o)
	}
}

// asRead checks that a write that is fenced by a reading finds the row as it was read.
func (l *law) asRead(o *operation, from *outbox.Row, before outbox.Row) {
	l.stage.Must(from == nil || from.Status == before.Status && from.Token == before.Token && from.AttemptCount == before.AttemptCount &&
		from.ResolutionID == before.ResolutionID,
		"I2", "%s, and the row is another than was read", o)
}

func (l *law) mine(p *process, token string) bool {
	for _, h := range l.histories {
		if a := h.find(token); a != nil {
			return a.by == p
		}
	}
	return false
}

func (l *law) wasPut(o *operation, before, after outbox.Row) {
	l.stage.Must(before.Status == "", "I1", "%s replaced the row that was there", o)
	l.stage.Must(o.put.Unreadable != nil || sameRow(*o.put, after), "conservation", "%s stored something else", o)
	l.history(o.id()).present = true
	l.world.reports(after)
}

// unchanging checks that what an application put stays as it was.
func (l *law) unchanging(o *operation, before, after outbox.Row) {
	same := before.ID == after.ID && bytes.Equal(before.Payload, after.Payload) && before.Binary == after.Binary &&
		before.ContentType == after.ContentType && maps.Equal(before.Headers, after.Headers) && before.Origin == after.Origin &&
		before.CommandID == after.CommandID && before.Trace == after.Trace && before.CreatedAt.Equal(after.CreatedAt) &&
		before.DeliverBy.Equal(after.DeliverBy)
	l.stage.Must(same, "conservation", "%s changed what the application had put", o)
}

// placed checks that a row is in the lane of its status.
func (l *law) placed(o *operation, row outbox.Row) {
	kinds := map[outbox.Status]outbox.LaneKind{
		outbox.StatusPending: outbox.DueLane, outbox.StatusDispatching: outbox.DueLane, outbox.StatusInvalid: outbox.DueLane,
		outbox.StatusOutcomeUnknown: outbox.UnknownLane, outbox.StatusFailed: outbox.FailedLane,
	}
	want := outbox.Lane{Kind: kinds[row.Status], Destination: row.Destination, Shard: l.history(row.ID).wanted.Lane.Shard}
	if row.Status == outbox.StatusCompleted {
		want = outbox.Lane{}
	}
	l.stage.Must(row.Lane == want, "I6", "%s: a %s row is in lane %v", o, row.Status, row.Lane)
	l.stage.Must(row.LaneAt.IsZero() == (row.Status == outbox.StatusCompleted), "I6", "%s: a %s row has lane_at %v", o, row.Status, row.LaneAt)
	l.stage.Must(row.Status.Terminal() != row.ExpiresAt.IsZero(), "retention", "%s: a %s row expires at %v", o, row.Status, row.ExpiresAt)
	l.stage.Must((row.Status == outbox.StatusCompleted) != row.CompletedAt.IsZero(), "retention", "%s: a %s row was completed at %v", o, row.Status, row.CompletedAt)
	l.suspected(o, row)
}

// suspected checks that maybe_since is the time of the first claim whose attempt may have arrived, as far as
// is on record.
func (l *law) suspected(o *operation, row outbox.Row) {
	suspects := l.history(row.ID).suspects()
	switch {
	case len(suspects) > 0:
		l.stage.Must(row.MaybeSince.Equal(suspects[0].at), "I4", "%s: maybe_since is %v, and the first attempt that may have arrived was claimed at %v",
			o, row.MaybeSince, suspects[0].at)
	case row.Unreadable == nil && row.Status != outbox.StatusCompleted:
		l.stage.Must(row.MaybeSince.IsZero(), "I5", "%s: maybe_since is set, though every attempt demonstrably did not arrive", o)
	}
	switch row.Status {
	case outbox.StatusFailed:
		told := l.history(row.ID).answer[o.by].Kind == outbox.AnswerFailed || l.orderOf[o.by].Move == outbox.MarkFailed
		l.stage.Must(len(suspects) == 0 || told, "I5", "%s: failed, and an attempt may have arrived", o)
	case outbox.StatusOutcomeUnknown:
		l.stage.Must(len(suspects) > 0 || row.Unreadable != nil, "I5", "%s: unknown, and no attempt can have arrived", o)
	}
}

// sameRow compares all that is stored.
func sameRow(a, b outbox.Row) bool {
	return a.ID == b.ID && a.Status == b.Status && a.Lane == b.Lane && a.LaneAt.Equal(b.LaneAt) &&
		bytes.Equal(a.Payload, b.Payload) && a.Binary == b.Binary && a.ContentType == b.ContentType && maps.Equal(a.Headers, b.Headers) &&
		a.AttemptCount == b.AttemptCount && a.LookupCount == b.LookupCount && a.Origin == b.Origin &&
		a.Token == b.Token && a.ClaimedBy == b.ClaimedBy && a.ClaimedAt.Equal(b.ClaimedAt) && a.Until.Equal(b.Until) &&
		a.MaybeSince.Equal(b.MaybeSince) && a.Window == b.Window && a.Code == b.Code && a.Cause == b.Cause && a.RemoteRef == b.RemoteRef &&
		a.CommandID == b.CommandID && a.Trace == b.Trace && a.CreatedAt.Equal(b.CreatedAt) && a.CompletedAt.Equal(b.CompletedAt) &&
		a.DeliverBy.Equal(b.DeliverBy) && a.ExpiresAt.Equal(b.ExpiresAt) && a.Resolution == b.Resolution && (a.Unreadable == nil) == (b.Unreadable == nil)
}

// ids of all rows, in a fixed order.
func (l *law) ids() []outbox.ID {
	return slices.SortedFunc(maps.Keys(l.histories), func(a, b outbox.ID) int { return bytes.Compare([]byte(a.PK()), []byte(b.PK())) })
}
