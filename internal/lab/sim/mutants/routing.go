package main

const (
	routeMoveGo      = "internal/routing/move.go"
	routeDecideGo    = "internal/routing/decide.go"
	routeBatchGo     = "internal/routing/batch.go"
	routeStagesGo    = "internal/routing/stages.go"
	routeSelectionGo = "internal/routing/selection.go"
	routeReceiptGo   = "internal/routing/receipt.go"
	routeFunctionGo  = "internal/routing/function.go"

	routeConsumerGo = "internal/routing/consumer.go"
)

// routingTable is what is broken on purpose of the router.
var routingTable = []mutant{
	{name: "routing: an acceptance is not fenced by the attempt", file: routeMoveGo,
		from: `r.Token == m.From.Token && r.Attempt == m.From.Attempt`, to: `r.Token == m.From.Token`},
	{name: "routing: an acceptance is not fenced by the token", file: routeMoveGo,
		from: `r.Token == m.From.Token && r.Attempt == m.From.Attempt`, to: `r.Attempt == m.From.Attempt`},
	{name: "routing: a stale acceptance is granted", file: routeMoveGo,
		from: `	case Accept:
		return pending
`, to: `	case Accept:
		return r.State == Pending
`},
	{name: "routing: a declined attempt is accepted", file: routeMoveGo,
		from: `	case Accept:
		return pending
`, to: `	case Accept:
		return pending || declined
`},
	{name: "routing: an attempt that delivery makes accepted is declined", file: routeMoveGo,
		from: `return pending && !r.OnDelivery`, to: `return pending`},
	{name: "routing: a reroute does not see that the deadline was moved", file: routeReceiptGo,
		from: `r.Mark == other.Mark && r.Again`, to: `r.Again`},
	{name: "routing: a reroute does not see that the attempt is another", file: routeMoveGo,
		from: `		return r.same(m.From) && (pending && !r.Again || declined)`, to: `		return r.State == Pending || r.State == Declined`},
	{name: "routing: a message leaves a consumer that may have been delivered to", file: routeMoveGo,
		from: `		return r.same(m.From) && (pending && !r.Again || declined)`, to: `		m.From.Again = r.Again
		return r.same(m.From) && (pending || declined)`},
	{name: "routing: an accepted message is given up", file: routeMoveGo,
		from: `		return pending || declined
	}
	return false
}

func (m Move) sameAttempt`, to: `		return m.sameAttempt(r)
	}
	return false
}

func (m Move) sameAttempt`},
	{name: "routing: a lost answer of a write is a refusal", file: routeMoveGo,
		from: `	case m.Repeats(r):
		return r, nil
`, to: ``},
	{name: "routing: history forgets", file: routeMoveGo,
		from: `r.History = append(slices.Clone(r.History), Past{`, to: `r.History = append(slices.Clone(r.History[:0]), Past{`},
	{name: "routing: the receipt expires before the queue's retention", file: routeMoveGo,
		from: `m.At.Add(Retention)`, to: `m.At.Add(Retention / 15)`},

	{name: "routing: who was tried is a candidate again", file: routeReceiptGo,
		from: `	return append(r.Tried(), r.Consumer)`, to: `	return []string{r.Consumer}`},
	{name: "routing: who has the message is a candidate for the next attempt", file: routeReceiptGo,
		from: `	return append(r.Tried(), r.Consumer)`, to: `	return r.Tried()`},
	{name: "routing: whoever the function names is picked", file: routeSelectionGo,
		from: `	case !slices.ContainsFunc(candidates, func(c Consumer) bool { return c.ID == id }):`, to: `	case false && !slices.ContainsFunc(candidates, func(c Consumer) bool { return c.ID == id }):`},
	{name: "routing: any member that the function names is picked", file: routeSelectionGo,
		from: `	case !slices.ContainsFunc(candidates, func(c Consumer) bool { return c.ID == id }):
		_, member := s.Consumer(id)
`, to: `	case !slices.ContainsFunc(s.consumers, func(c Consumer) bool { return c.ID == id }):
		_, member := s.Consumer(id)
`},
	{name: "routing: a message comes back to its queue under another name", file: routeSelectionGo,
		from: ` || s.hasTarget(tried, c.Target)`, to: ``},
	{name: "routing: draining consumers are candidates", file: routeSelectionGo,
		from: `		case membership == DrainingMember:
			excluded = append(excluded, Excluded{c.ID, ExcludedDraining})
`, to: ``},
	{name: "routing: leases do not end", file: routeSelectionGo,
		from: `		case membership == NoMember:
			excluded = append(excluded, Excluded{c.ID, ExcludedLeaseOver})
`, to: ``},
	{name: "routing: who lapsed lately is a candidate like others", file: routeSelectionGo,
		from: `		case lapsedLately != nil && lapsedLately(c.ID):`, to: `		case false:`},
	{name: "routing: a function changes the candidates that it is shown", file: routeSelectionGo,
		from: `Candidates: slices.Clone(q.Candidates)}`, to: `Candidates: q.Candidates}`},
	{name: "routing: what the batch gave does not count", file: routeSelectionGo,
		from: `candidates[i].plus(c.Given[candidates[i].ID])`, to: `candidates[i].plus(0)`},

	{name: "routing: a message moves on before its deadline", file: routeDecideGo,
		from: `	case beforeDeadline:
		return Step{Hold`, to: `	case beforeDeadline && s.Receipt.Attempt != 1:
		return Step{Hold`},
	{name: "routing: what may have been delivered lapses", file: routeDecideGo,
		from: `	case s.Receipt.OnDelivery:
		return s.deliverAgain()
`, to: `	case s.Receipt.OnDelivery && beforeDeadline:
		return s.deliverAgain()
`},
	{name: "routing: no answer is a refusal", file: routeStagesGo,
		from: `NoAnswer: ForwardUnknown, Taken`, to: `NoAnswer: ForwardRefused, Taken`},
	{name: "routing: a function that failed has done nothing", file: routeDecideGo,
		from: `end == "" || end == EndErrored && onDelivery`, to: `end == ""`},
	{name: "routing: a refusal proves that no other invocation delivered", file: routeDecideGo,
		from: `case s.Others && !(onDelivery && s.Receipt.Again):`, to: `case s.Others:`},
	{name: "routing: another's attempt is delivered unmarked", file: routeDecideGo,
		from: `	case !s.Receipt.Again:
		m := s.move(MarkAgain)`, to: `	case false:
		m := s.move(MarkAgain)`},
	{name: "routing: a refusal that was noted outlives the next forward", file: routeReceiptGo,
		from: `r.Mark != "" && r.Extensions == 0 && !r.Again`, to: `r.Mark != "" && !r.Again`},
	{name: "routing: a refusal that was noted outlives the forwards of others", file: routeReceiptGo,
		from: `r.Mark != "" && r.Extensions == 0 && !r.Again`, to: `r.Mark != "" && r.Extensions == 0`},
	{name: "routing: a refusal is noted though another invocation may have delivered", file: routeDecideGo,
		from: `return s.stay(!s.Receipt.Again)`, to: `return s.stay(true)`},
	{name: "routing: a deadline is moved though others are there", file: routeDecideGo,
		from: `	case s.Others:
		return Step{Select: true, End: end, Seen: s.Now}
	case end == EndDeclined`, to: `	case s.Others && s.Receipt.Attempt > 1:
		return Step{Select: true, End: end, Seen: s.Now}
	case end == EndDeclined`},
	{name: "routing: a message is given up while its consumer is there", file: routeDecideGo,
		from: `case end == EndDeclined || s.Current == NoMember:`, to: `case end == EndDeclined || s.Current != DrainingMember:`},
	{name: "routing: who declined is waited for", file: routeDecideGo,
		from: `case end == EndDeclined || s.Current == NoMember:`, to: `case s.Current == NoMember:`},
	{name: "routing: who left is waited for", file: routeDecideGo,
		from: `case end == EndDeclined || s.Current == NoMember:`, to: `case end == EndDeclined:`},
	{name: "routing: nothing is given up after max_wait", file: routeDecideGo,
		from: `s.SentAt.Add(s.Policy.MaxWait)`, to: `s.SentAt.Add(100 * s.Policy.MaxWait)`},
	{name: "routing: a dead message is deleted before it is buried", file: routeDecideGo,
		from: `	return Step{Move: &m, Bury: true, Delete: true}`, to: `	return Step{Move: &m, Delete: true}`},
	{name: "routing: a dead message that comes back is only deleted", file: routeDecideGo,
		from: `		return Step{Bury: true, Delete: true}
	}`, to: `		return Step{Delete: true}
	}`},
	{name: "routing: the queue gives up what the router could", file: routeDecideGo,
		from: `math.Ceil(0.9 * float64(maxReceives))`, to: `math.Ceil(1.2 * float64(maxReceives))`},
	{name: "routing: a message that was given up stays in the queue", file: routeDecideGo,
		from: `	return Step{Move: &m, Bury: true, Delete: true}`, to: `	return Step{Move: &m, Bury: true}`},
	{name: "routing: an oversize message is forwarded", file: routeDecideGo,
		from: `	case s.Oversize && s.Receipt.State == "":`, to: `	case false:`},
	{name: "routing: a message is back before its deadline", file: routeDecideGo,
		from: `return wholeSeconds(t.Sub(s.Now)) }`, to: `return max(time.Second, t.Sub(s.Now).Truncate(time.Second)) }`},

	{name: "routing: forwards go before holds", file: routeBatchGo,
		from: `	b.hold(flows)
	b.forward(flows)
`, to: `	b.forward(flows)
	b.hold(flows)
`},
	{name: "routing: forwards go before the receipt is written", file: routeBatchGo,
		from: `	each(flows, func(f *flow) bool { return f.step.Move != nil }, b.write)
`, to: `	b.hold(flows)
	b.forward(flows)
	each(flows, func(f *flow) bool { return f.step.Move != nil }, b.write)
`},
	{name: "routing: a refused write is taken for granted", file: routeBatchGo,
		from: `	case errors.As(err, &refused) && !refused.Receipt.same(m.From):
			f.refused = refused
			return`, to: `	case errors.As(err, &refused) && !refused.Receipt.same(m.From):
			b.written(f, m, f.receipt)
			return`},
	{name: "routing: a failed write is taken for granted", file: routeBatchGo,
		from: `		case wait > lastWait || b.ctx.Err() != nil:
			f.fail(fmt.Errorf("write receipt: %w", err), b.router.now())
			return`, to: `		case wait > lastWait || b.ctx.Err() != nil:
			b.written(f, m, f.receipt)
			return`},
	{name: "routing: a failed burial is taken for granted", file: routeStagesGo,
		from: `			f.fail(fmt.Errorf("dead-letter: %w", err), b.router.now())
			failed = append(failed, f)
`, to: `			failed = append(failed, f)
`},
	{name: "routing: a failed deletion is not reported", file: routeStagesGo,
		from: `			f.handled.Err = fmt.Errorf("delete: %w", err)
			continue
`, to: `			f.handled.Err = fmt.Errorf("delete: %w", err)
`},
	{name: "routing: a message without an end is not kept", file: routeBatchGo,
		from: `f.done, f.handled.GivenBack = Step{}, true, true }`, to: `f.done, f.handled.GivenBack, f.handled.Kept = Step{}, true, true, false }`},
	{name: "routing: a message whose group cannot be read is not kept", file: routeBatchGo,
		from: `	f.handled.Err, f.done = err, true
`, to: `	f.handled.Err, f.done, f.handled.Kept = err, true, f.group.unread == nil
`},
	{name: "routing: a refused write's consumer counts as busy", file: routeBatchGo,
		from: `		f.group.given[f.event.Consumer]--
`, to: ``},
	{name: "routing: errors show tokens", file: routeMoveGo,
		from: `e.Receipt.Attempt, e.Receipt.State)`, to: `e.Receipt.Attempt, e.Receipt.State+State(e.Receipt.Token))`},
	{name: "routing: errors show what the function named", file: routeFunctionGo,
		from: `	sum := sha256.Sum256([]byte(e.ID))
`, to: `	if e.ID != "" {
		return e.ID
	}
	sum := sha256.Sum256([]byte(e.ID))
`},
	{name: "routing: errors show why the function failed", file: routeFunctionGo,
		from: `fmt.Sprintf("routing function %.16s %s", e.Function, e.Failure)`, to: `fmt.Sprintf("routing function %.16s %s %v", e.Function, e.Failure, e.Cause)`},

	{name: "routing: a drain takes away what a consumer has", file: routeConsumerGo,
		from: `		return DrainingMember
	}`, to: `		return NoMember
	}`},
	{name: "routing: a message that nobody counts is a new one", file: routeBatchGo,
		from: `f.incoming.Receives != 1 && `, to: `f.incoming.Receives > 1 && `},
	{name: "routing: nothing left is a refusal", file: routeStagesGo,
		from: `NotSent: ForwardNotSent`, to: `NotSent: ForwardRefused`},
}
