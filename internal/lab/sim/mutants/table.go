package main

const (
	claimGo    = "internal/outbox/claim.go"
	decideGo   = "internal/outbox/decide.go"
	policyGo   = "internal/outbox/policy.go"
	attemptGo  = "internal/outbox/attempt.go"
	fastGo     = "internal/outbox/fastpath.go"
	sweepGo    = "internal/outbox/sweep.go"
	runGo      = "internal/outbox/run.go"
	answerGo   = "internal/outbox/answer.go"
	operatorGo = "internal/outbox/operator.go"
	rowGo      = "internal/outbox/row.go"
)

// Packages whose tests notice what worlds hardly ever meet. The suite of stores is run in two of them.
const (
	domainTests = "internal/outbox"
	memoryTests = "internal/lab/memory"
	dbTests     = "internal/outboxdb"
)

// table is what is broken on purpose. A name says what the protocol then does.
var table = []mutant{
	{name: "a claim takes a row of any status", file: claimGo,
		from: `due := row.Status == StatusPending && !row.LaneAt.After(c.DueBy())`, to: `due := !row.LaneAt.After(c.DueBy())`},
	{name: "a claim takes a row before it is due", file: claimGo,
		from: `due := row.Status == StatusPending && !row.LaneAt.After(c.DueBy())`, to: `due := row.Status == StatusPending`},
	{name: "a blind claim takes a row that may have arrived", file: claimGo,
		from: `due && !row.MayHaveArrived() && `, to: `due && `},
	{name: "a blind claim takes a row past deliver_by", file: claimGo,
		from: ` && !row.expired(c.At) && `, to: ` && `},
	{name: "a blind claim takes a row without budget", file: claimGo,
		from: ` && row.AttemptCount < c.Attempts`, to: ``},
	{name: "a take over is not fenced by the attempt, nor by the token", file: claimGo,
		from: `row.Status == c.From.Status &&
		row.Token == c.From.Token && row.AttemptCount == c.From.AttemptCount`, to: `row.Status == c.From.Status`},
	{name: "a claim is good from a reading from before an order", file: claimGo,
		from: ` && row.ResolutionID == c.From.ResolutionID`, to: ``, tests: memoryTests},
	{name: "a claim is good from a reading in another doubt", file: claimGo, tests: memoryTests,
		from: ` &&
		row.MaybeSince.Equal(c.From.MaybeSince)`, to: ``},
	{name: "a take over forgets that the abandoned attempt may have arrived", file: claimGo,
		from: `row = row.suspected(c.At) //`, to: `_ = row.suspected(c.At) //`},
	{name: "the end of a claim goes down", file: claimGo,
		from: `if row.Until.After(until) {`, to: `if false {`},
	{name: "the window follows the configuration of the last claim", file: claimGo,
		from: `	} else {
		row.Window = c.Window
	}`, to: `	}
	row.Window = c.Window`},
	{name: "claims are not counted", file: claimGo, from: `	row.AttemptCount++
`, to: ``},
	{name: "a claim whose answer was lost is refused when repeated", file: claimGo,
		from: `if row.Status == StatusDispatching && row.Token == c.Token {`, to: `if false {`},
	{name: "any claim of a claimed row is taken for a repetition", file: claimGo,
		from: `if row.Status == StatusDispatching && row.Token == c.Token {`, to: `if row.Status == StatusDispatching {`},
	{name: "a blind claim whose own token is on the row is granted again", file: claimGo, tests: memoryTests,
		from: `			row.Token != c.Token && (`, to: `			(`},

	{name: "the fast path claims rows that were claimed before", file: claimGo,
		from: `row.AttemptCount < c.Attempts && !row.crashed() &&
			row.Token != c.Token && (c.Due.IsZero() || row.Token == "")`, to: `(row.AttemptCount < c.Attempts || !c.Due.IsZero()) && !row.crashed() && row.Token != c.Token`},
	{name: "the fast path claims rows for later", file: fastGo,
		from: `return now.Add(d.to.Policy.HeadStart)`, to: `return row.LaneAt`},
	{name: "the fast path believes what was reported of a row's times", file: fastGo,
		from: `Due: d.dueBy(row, now), `, to: `Due: now.Add(time.Hour), `},
	{name: "the fast path claims rows of destinations that are retired", file: fastGo,
		from: `d.to.Policy.Retired || by.Stalls`, to: `by.Stalls`},
	{name: "the fast path claims for as long as a sweep", file: fastGo,
		from: `newRun(ctx, d, FastPathFor,`, to: `newRun(ctx, d, time.Hour,`},
	{name: "the fast path ignores what is reported", file: fastGo,
		from: `of[row.Destination] = append(of[row.Destination], row)`, to: `of[row.Destination] = of[row.Destination]`},
	{name: "the fast path leaves every row to the sweep", file: fastGo,
		from: `		if d.to.Policy.Retired || by.Stalls`, to: `		if true || by.Stalls`},
	{name: "the fast path takes one row of a batch", file: fastGo,
		from: `			return
		}
	}
}`, to: `			return
		}
		return
	}
}`},
	{name: "the fast path does not know of the head start", file: fastGo,
		from: `return now.Add(d.to.Policy.HeadStart)`, to: `return now`},
	{name: "the fast path asks for rows that are due for the sweep", file: fastGo,
		from: `Due: d.dueBy(row, now), `, to: ``},
	{name: "every claim is too late to send", file: attemptGo,
		from: `late := d.run.now().After(row.ClaimedAt.Add(SkewMargin))`, to: `late := !d.run.now().Before(row.ClaimedAt)`},
	{name: "a destination that stalled once is left to the sweep for ever", file: fastGo,
		from: `.Add(leave)`, to: `.Add(100 * leave)`},
	{name: "a destination that stalls holds back the others", file: fastGo,
		from: `return time.Now().Before(s.until[destination])`, to: `for _, until := range s.until {
		if time.Now().Before(until) {
			return true
		}
	}
	return false`},
	{name: "a quick send is a stall", file: fastGo,
		from: `took < slowFrom`, to: `took < slowFrom/100`},
	{name: "the fast path believes a writer's clock however wrong", file: fastGo,
		from: `0 < ahead && ahead <= SkewMargin`, to: `0 < ahead`},
	{name: "the sweep claims rows that are the fast path's", file: attemptGo,
		from: `Claim{ID: id, At: d.run.now(), Attempts`, to: `Claim{ID: id, At: d.run.now(), Due: d.run.now().Add(time.Minute), Attempts`},

	{name: "settling is not fenced by the token", file: claimGo,
		from: `s.Token != "" && row.Token == s.Token && legalForHolder`, to: `s.Token != "" && legalForHolder`},
	{name: "a reader's settlement is not fenced by the token", file: claimGo,
		from: `row.Status == s.From.Status && row.Token == s.From.Token && row`, to: `row.Status == s.From.Status && row`},
	{name: "a reader's settlement is not fenced by the status", file: claimGo,
		from: `seen := row.Status == s.From.Status && `, to: `seen := `},
	{name: "a lookup is not fenced by the number of lookups", file: claimGo,
		from: ` &&
		(s.Status != StatusOutcomeUnknown || row.LookupCount == s.From.LookupCount)`, to: ``},
	{name: "an order that another order followed takes effect again", file: claimGo,
		from: ` &&
		row.ResolutionID == s.From.ResolutionID`, to: ``},
	{name: "any person's same order is taken for this one", file: claimGo,
		from: `if !s.ResolvedAt.IsZero() && row.ResolutionID != s.ResolutionID {`, to: `if false {`},
	{name: "an order has no id", file: operatorGo,
		from: `	if s.ResolutionID, err = newToken(o.Rand); err != nil {`, to: `	if _, err = newToken(o.Rand); err != nil {`},
	{name: "a settlement whose answer was lost conflicts when repeated", file: claimGo,
		from: `if row.Status != s.Status || row.Token != s.fenceToken() {`, to: `if true {`},
	{name: "any end of a row is taken for this one's", file: claimGo,
		from: `if row.Status != s.Status || row.Token != s.fenceToken() {`, to: `if row.Status != s.Status && !row.Status.Terminal() || row.Token != s.fenceToken() {`},
	{name: "maybe_since is dropped on settling", file: claimGo,
		from: `} else if !s.MaybeSince.IsZero() {`, to: `} else if false {`},
	{name: "maybe_since survives the remote's word that nothing arrived", file: claimGo,
		from: `	if s.Certain {
		row.MaybeSince = time.Time{}
	} else`, to: `	`},
	{name: "a holder fails a row that may have arrived", file: claimGo,
		from: `to == StatusCompleted || to == StatusFailed && !row.MayHaveArrived()
	case StatusOutcomeUnknown:
		return to == StatusCompleted //`, to: `to == StatusCompleted || to == StatusFailed
	case StatusOutcomeUnknown:
		return to != StatusDispatching //`},
	{name: "a late answer completes a row whatever its status", file: claimGo,
		from: `	case StatusOutcomeUnknown:
		return to == StatusCompleted // a`, to: `	case StatusOutcomeUnknown, StatusFailed, StatusPending:
		return to == StatusCompleted || to == StatusPending // a`},
	{name: "a reader ends a live claim as pending", file: decideGo,
		from: `if !ahead && !now.After(row.Until.Add(SkewMargin)) {`, to: `if false {`},

	{name: "unknown is treated as retryable", file: decideGo,
		from: `if out.Kind == KindUnknown && !row.MayHaveArrived() {`, to: `if false {`},
	{name: "maybe_since moves with each attempt", file: decideGo,
		from: `if out.Kind == KindUnknown && !row.MayHaveArrived() {`, to: `if out.Kind == KindUnknown {`},
	{name: "a row that ends after its budget forgets the last trouble", file: decideGo,
		from: `return cmp.Or(s.Code, row.Cause, row.Code)`, to: `return cmp.Or("", row.Cause, row.Code)`},
	{name: "a row that is ended unsent forgets the last trouble", file: decideGo,
		from: `return cmp.Or(s.Code, row.Cause, row.Code)`, to: `return cmp.Or(s.Code)`},
	{name: "a row that cannot be read does not say why", file: decideGo,
		from: `return row.Unreadable.Error()`, to: `return ""`},
	{name: "a completed row keeps its code", file: claimGo,
		from: `	if s.Status == StatusCompleted {
		row.Code, row.Cause = "", ""
	} else if`, to: `	if`},
	{name: "a refusal fails a row of which an attempt may have arrived", file: decideGo,
		from: `	case KindPermanent:
		return s.without(p, row, out.Code, now)`, to: `	case KindPermanent:
		return s.failed(p, row, out.Code, now)`},
	{name: "an exhausted budget fails a row of which an attempt may have arrived", file: decideGo,
		from: `	if row.MayHaveArrived() {
		s.Status`, to: `	if row.MayHaveArrived() && code != CodeAttemptsExhausted {
		s.Status`},
	{name: "a refused row is tried again", file: decideGo,
		from: `	case KindPermanent:
		return s.without(p, row, out.Code, now)
`, to: ``},
	{name: "the budget is one too many", file: decideGo,
		from: `row.AttemptCount >= p.Attempts`, to: `row.AttemptCount > p.Attempts`},
	{name: "the window is ignored", file: decideGo,
		from: `case row.MayHaveArrived() && !p.windowHolds(`, to: `case false && !p.windowHolds(`},
	{name: "the window is checked against the claim before", file: decideGo,
		from: `later(row.Until, p.until(at))`, to: `row.Until`},
	{name: "deliver_by is ignored", file: decideGo, from: `case row.expired(at):`, to: `case false:`},
	{name: "what the remote asked to wait is ignored", file: decideGo,
		from: `max(wait, min(out.After, MaxRetryAfter))`, to: `max(wait, 0)`},
	{name: "a row is put off as of its claim", file: decideGo,
		from: `next := now.Add(`, to: `next := row.ClaimedAt.Add(`},
	{name: "an unknown row stays in the due lane", file: decideGo,
		from: `s.Status, s.Lane, s.LaneAt = StatusOutcomeUnknown, laneOf(p, row, UnknownLane)`, to: `s.Status, s.Lane, s.LaneAt = StatusOutcomeUnknown, laneOf(p, row, DueLane)`},
	{name: "a row changes its shard", file: decideGo,
		from: `	return row.Lane.as(kind)`, to: `	return Lane{Kind: kind, Destination: row.Destination, Shard: row.Lane.Shard + 1}`},

	{name: "the window is only today's", file: policyGo,
		from: `switch w := row.Window.Smaller(p.Deduplicates); {`, to: `switch w := p.Deduplicates; {`},
	{name: "the window is only the one of the first claim", file: policyGo,
		from: `switch w := row.Window.Smaller(p.Deduplicates); {`, to: `switch w := row.Window; {`},
	{name: "always beats never", file: policyGo,
		from: `	case w == Always:
		return other`, to: `	case w == Always:
		return w`},
	{name: "late arrivals do not count for the window", file: policyGo,
		from: `row.MaybeSince.Add(time.Duration(w)).After(p.settledBy(until))`, to: `row.MaybeSince.Add(time.Duration(w)).After(until)`},

	{name: "a row claimed in the future is in flight until then", file: decideGo, tests: domainTests,
		from: `ahead := row.claimedAhead(now) //`, to: `ahead := false //`},
	{name: "a live claim by a clock that is ahead is ended", file: decideGo, tests: domainTests,
		from: `now.Add(MaxSendTimeout + ClaimMargin + SkewMargin)`, to: `now`},
	{name: "a row claimed in the future is asked about then", file: decideGo, tests: domainTests,
		from: ` || row.claimedAhead(now) { // unreadable`, to: ` { // unreadable`},
	{name: "a row claimed in the future cannot be asked about before", file: answerGo, tests: domainTests,
		from: ` || row.claimedAhead(now) {`, to: ` {`},
	{name: "the window counts from a claim in the future", file: decideGo, tests: domainTests,
		from: `!since.IsZero() && !since.After(now.Add(SkewMargin))`, to: `!since.IsZero()`},
	{name: "claims are taken over though clocks differ", file: decideGo,
		from: `row.Until.Add(SkewMargin)`, to: `row.Until`},
	{name: "a retired destination is claimed", file: sweepGo,
		from: `if d.to.Policy.Retired || entry.Destination != d.to.Name {`, to: `if entry.Destination != d.to.Name {`},
	{name: "a retired destination's rows end though it may come back", file: decideGo,
		from: `case p.Retired && !row.expired(now):`, to: `case false:`},
	{name: "an abandoned row of a retired destination is sent", file: decideGo,
		from: `p.Retired || obstacle`, to: `obstacle`},
	{name: "an abandoned row is always sent again", file: decideGo,
		from: `p.Retired || obstacle(p, abandoned, now) != ""`, to: `p.Retired || obstacle(p, row, now) != "" && abandoned.AttemptCount >= p.Attempts`},
	{name: "an abandoned row may be failed", file: decideGo,
		from: `	if suspect && !row.MayHaveArrived() {`, to: `	if false {`},
	{name: "an abandoned row is claimed beside others", file: attemptGo,
		from: `		if alone {`, to: `		if true {`},

	{name: "the image is sent instead of the claimed row", file: attemptGo,
		from: `	case err == nil:
		d.attempt(row, takeOver)`, to: `	case err == nil:
		if c.From != nil {
			row = *c.From
		}
		d.attempt(row, takeOver)`},
	{name: "a claim that was answered late is sent", file: attemptGo,
		from: `case late || remaining(d.run.ctx)`, to: `case late && false || remaining(d.run.ctx)`},
	{name: "a claim whose answer was lost is sent unseen", file: attemptGo,
		from: `if err == nil && row.Status == StatusDispatching && row.Token == token {`, to: `if err == nil {`},
	{name: "a row that was put off is claimed unseen", file: sweepGo,
		from: `d.follow(*from, Examine(d.to.Policy, *from, d.run.now()), false)`, to: `d.claimKnown(id, from, false)`},
	{name: "a silent sender means that nothing arrived", file: attemptGo,
		from: `Unknown("", CodeNoAnswer)`, to: `Retryable(CodeNoAnswer, 0)`},
	{name: "a panic means that nothing arrived", file: attemptGo,
		from: `Unknown("", CodeSenderPanicked)`, to: `Retryable(CodeSenderPanicked, 0)`},
	{name: "a lane is left out", file: runGo,
		from: `shard := (first + i) % d.Policy.Shards`, to: `shard := (first + i) % max(d.Policy.Shards-1, 1)`},
	{name: "what was abandoned before is claimed beside others", file: claimGo,
		from: ` && !row.crashed()`, to: ``},

	{name: "the remote is asked too early", file: answerGo,
		from: `	case now.Before(p.askableFrom(row, now)):
		return Step{Kind: Skip}
`, to: ``},
	{name: "the remote is asked at the claim's end", file: answerGo,
		from: `	return p.settledBy(row.Until)`, to: `	return row.Until`},
	{name: "a row that failed there is sent again", file: answerGo,
		from: `		return s.failed(p, row, a.Code, now)`, to: `		s.Status, s.Lane, s.LaneAt = StatusPending, laneOf(p, row, DueLane), now
		return s`},
	{name: "a lookup without an answer resends", file: answerGo,
		from: `	case AnswerNotFound:
		s.Certain`, to: `	case AnswerNotFound, AnswerUnresolved:
		s.Certain`},
	{name: "a resend forgets its budget", file: answerGo,
		from: `s.Certain, row.MaybeSince = true, time.Time{}`, to: `s.Certain, s.NewBudget, row.MaybeSince = true, true, time.Time{}`},
	{name: "a lookup is not counted", file: answerGo, from: `, LookedUp: true}`, to: `}`},

	{name: "a person resends though the window is over", file: operatorGo,
		from: `case row.MayHaveArrived() && !p.windowHolds(`, to: `case false && !p.windowHolds(`},
	{name: "a person resolves while attempts may arrive", file: operatorGo,
		from: `		if !o.Force {`, to: `		if false {`},
	{name: "a failed row of which an attempt arrived is retried", file: operatorGo,
		from: `	case row.MayHaveArrived():
		return Settlement{}, notAllowed("an attempt arrived`, to: `	case false:
		return Settlement{}, notAllowed("an attempt arrived`},
	{name: "a person moves rows of destinations that are not configured", file: operatorGo,
		from: `	return Policy{}, fmt.Errorf("%w: destination`, to: `	if id.Key != "" {
		return Policy{}.WithDefaults(), nil
	}
	return Policy{}, fmt.Errorf("%w: destination`},
	{name: "a row is retried though its retention is over", file: operatorGo,
		from: `!row.ExpiresAt.IsZero() && !now.Before(row.ExpiresAt)`, to: `false`},
	{name: "a retry has no new budget", file: operatorGo, from: `, s.NewBudget = StatusPending, laneOf(p, row, DueLane), now, true`, to: ` = StatusPending, laneOf(p, row, DueLane), now`},

	{name: "logs show keys", file: rowGo,
		from: `sum := sha256.Sum256([]byte(id.PK()))
`, to: `return id.PK()
	sum := sha256.Sum256([]byte(id.PK()))
`},
}
