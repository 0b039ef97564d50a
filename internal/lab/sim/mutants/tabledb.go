package main

const (
	controlsGo = "internal/outboxdb/controls.go"
	gateGo     = "internal/outboxdb/gate.go"
	dbClaimGo  = "internal/outboxdb/claim.go"
	dbSettleGo = "internal/outboxdb/settle.go"
	dbWriteGo  = "internal/outboxdb/write.go"
	dbPutGo    = "internal/outboxdb/put.go"
)

// tableDB is what is broken on purpose of the outbox's tables.
var tableDB = []mutant{
	{name: "a pause is not read", file: controlsGo,
		from: `c.Paused = r.Flag(schema.Paused)`, to: `_ = r.Flag(schema.Paused)`},
	{name: "a control that cannot be read is no pause", file: controlsGo,
		from: `c.Unreadable = r.Err("the control")`, to: `_ = r.Err("the control")`},
	{name: "a limit that cannot be read is no trouble", file: controlsGo,
		from: `if n, ok := r.Whole(schema.MaxConcurrency,`, to: `if n, ok := lenient.Whole(schema.MaxConcurrency,`},
	{name: "a limit is not read", file: controlsGo,
		from: `c.MaxConcurrency = int(n)`, to: `c.MaxConcurrency = 0 * int(n)`},
	{name: "what is resumed stays paused", file: controlsGo,
		from: `"resume", destination, reason, by, schema.Paused, nil)`, to: `"resume", destination, reason, by, schema.Paused, &types.AttributeValueMemberBOOL{Value: true})`},
	{name: "what is not limited any more stays so", file: controlsGo,
		from: `"unlimit", destination, reason, by, schema.MaxConcurrency, nil)`, to: `"unlimit", destination, reason, by, schema.Reason+"s", nil)`},
	{name: "a limit takes a pause back", file: controlsGo,
		from: `	w.SetOrRemove(attribute, v)`, to: `	w.SetOrRemove(attribute, v)
	if attribute == schema.MaxConcurrency {
		w.Remove(schema.Paused)
	}`},

	{name: "the controls are read once", file: gateGo,
		from: `0 <= age && age < ControlsFor`, to: `0 <= age`},
	{name: "the controls are as old as the answer, not as the question", file: gateGo,
		from: `g.at, g.all = asked, all`, to: `g.at, g.all = time.Now(), all`},
	{name: "a paused destination is not left out", file: policyGo,
		from: `		case controls[i].Stops():
			continue
`, to: ``},
	{name: "a control that cannot be read leaves nothing out", file: policyGo,
		from: `c.Paused || c.Unreadable != nil`, to: `c.Paused`},
	{name: "a limit raises a concurrency", file: policyGo,
		from: `min(d.Policy.WithDefaults().Concurrency, controls[i].MaxConcurrency)`, to: `controls[i].MaxConcurrency`},
	{name: "controls that cannot be read are those of before", file: gateGo,
		from: `		return nil, err
	}
	g.at`, to: `		return g.all, nil
	}
	g.at`},

	{name: "DynamoDB: a claim takes a row of any status", file: dbClaimGo, sdk: true,
		from: `	w.RequireIs(schema.Status, pending)
`, to: ``},
	{name: "DynamoDB: a claim takes a row before it is due", file: dbClaimGo, sdk: true,
		from: `	w.Require(schema.LaneAt, " <= ", w.Value(dynamo.Millis(c.DueBy())))
	w.RequireAbsent(`, to: `	w.RequireAbsent(`},
	{name: "DynamoDB: a blind claim takes a row that may have arrived", file: dbClaimGo, sdk: true,
		from: `	w.RequireAbsent(schema.MaybeSince)
	w.RequireOrAbsent(schema.Code`, to: `	w.RequireOrAbsent(schema.Code`},
	{name: "DynamoDB: a blind claim takes a row past deliver_by", file: dbClaimGo, sdk: true,
		from: `	w.RequireOrAbsent(schema.DeliverBy, " > ", at)
`, to: ``},
	{name: "DynamoDB: a blind claim takes a row without budget", file: dbClaimGo, sdk: true,
		from: `w.Value(dynamo.Number(c.Attempts))`, to: `w.Value(dynamo.Number(c.Attempts+9))`},
	{name: "DynamoDB: a claim is not counted", file: dbClaimGo, sdk: true,
		from: `w.Value(one))`, to: `w.Value(zero))`},
	{name: "DynamoDB: the end of a claim goes down", file: dbClaimGo, sdk: true,
		from: `w.Set(schema.Until, dynamo.Millis(next.Until))`, to: `w.Set(schema.Until, dynamo.Millis(c.Until))`},
	{name: "DynamoDB: the window follows the last claim", file: dbClaimGo, sdk: true,
		from: `windowSeconds(next.Window)`, to: `windowSeconds(c.Window)`},
	{name: "DynamoDB: a take over forgets that the attempt may have arrived", file: dbClaimGo, sdk: true,
		from: `if !c.From.MayHaveArrived() && next.MayHaveArrived() {`, to: `if false {`},
	{name: "DynamoDB: a blind claim whose own token is on the row is granted again", file: dbClaimGo, tests: dbTests,
		from: `		w.RequireOrAbsent(schema.Token, " <> ", w.Value(dynamo.Text(c.Token)))
`, to: `		w.RequireOrAbsent(schema.Token, " <> ", w.Value(dynamo.Text("")))
`},
	{name: "DynamoDB: the answer of a claim is the row before it", file: dbClaimGo, sdk: true,
		from: `types.ReturnValueAllNew`, to: `types.ReturnValueAllOld`},
	{name: "DynamoDB: a lost answer of a claim is a refusal", file: dbClaimGo, sdk: true,
		from: `	if row.Status == outbox.StatusDispatching && row.Token == c.Token {`, to: `	if false {`},
	{name: "DynamoDB: a refused claim is won if the row is claimed", file: dbClaimGo, sdk: true,
		from: `	if row.Status == outbox.StatusDispatching && row.Token == c.Token {`, to: `	if row.Status == outbox.StatusDispatching {`},
	{name: "DynamoDB: a settlement is not fenced by the token", file: dbSettleGo, sdk: true,
		from: `	w.RequireIs(schema.Token, dynamo.Text(st.Token))
`, to: ``},
	{name: "DynamoDB: a settlement is not fenced by the status", file: dbSettleGo, sdk: true,
		from: `	case outbox.StatusPending, outbox.StatusOutcomeUnknown:
		w.Require(status, " = ", held)`, to: `	case outbox.StatusPending, outbox.StatusOutcomeUnknown:
		w.Require("(", status, " = ", held, " OR attribute_exists(", status, "))")`},
	{name: "DynamoDB: a lost answer of a settlement is a conflict", file: dbSettleGo, sdk: true,
		from: `	if !st.Repeats(row) {`, to: `	if true {`},
	{name: "DynamoDB: any refused settlement has taken effect", file: dbSettleGo, sdk: true,
		from: `	if !st.Repeats(row) {`, to: `	if false {`},
	{name: "DynamoDB: a lookup is not fenced by the number of lookups", file: dbSettleGo, sdk: true,
		from: `		requireLookups(w, *st.From)
`, to: ``},
	{name: "DynamoDB: maybe_since is not written", file: dbSettleGo, sdk: true,
		from: `	} else if !st.MaybeSince.IsZero() {`, to: `	} else if false {`},
	{name: "DynamoDB: maybe_since is not removed", file: dbSettleGo, sdk: true,
		from: `		w.Remove(schema.MaybeSince)
`, to: ``},
	{name: "DynamoDB: a completed row stays in its lane", file: dbSettleGo, sdk: true,
		from: `		w.Remove(schema.Lane)
		w.Remove(schema.LaneAt)
`, to: ``},
	{name: "DynamoDB: a completed row keeps its code", file: dbSettleGo, sdk: true,
		from: `		w.Remove(schema.Code)
`, to: ``},
	{name: "DynamoDB: a completed row keeps its cause", file: dbSettleGo, tests: dbTests,
		from: `		w.Remove(schema.Code)
		w.Remove(schema.Cause)
`, to: `		w.Remove(schema.Code)
`},
	{name: "DynamoDB: a new code keeps the cause of the one before", file: dbSettleGo, tests: dbTests,
		from: `		if st.Cause == "" {
			w.Remove(schema.Cause)
		} else {`, to: `		if st.Cause != "" {`},
	{name: "DynamoDB: a reader's write is not fenced by the token", file: dbWriteGo, sdk: true,
		from: `		w.RequireIs(schema.Token, dynamo.Text(row.Token))
	}`, to: `	}`},
	{name: "DynamoDB: a reader's write is not fenced by the order before it", file: dbWriteGo, sdk: true,
		from: `		w.RequireIs(schema.ResolutionID, dynamo.Text(row.ResolutionID))
`, to: ``},
	{name: "DynamoDB: a reader's write is not fenced by the first order", file: dbWriteGo, tests: dbTests,
		from: `		w.RequireAbsent(schema.ResolutionID)
`, to: ``},
	{name: "DynamoDB: an unreadable row's write is not fenced by the order", file: dbWriteGo, tests: dbTests,
		from: `		w.RequireIs(schema.ResolutionID, raw.resolutionID)
`, to: ``},
	{name: "DynamoDB: an order's id is not written", file: dbSettleGo, tests: dbTests,
		from: `[]string{schema.ResolutionID, schema.ResolvedBy`, to: `[]string{schema.ResolvedBy`},
	{name: "DynamoDB: a claim from a reading takes a row before it is due", file: dbClaimGo, tests: dbTests,
		from: `	if c.From.Status == outbox.StatusPending {`, to: `	if false {`},
	{name: "DynamoDB: a claim writes the window of an old reading", file: dbClaimGo, tests: dbTests,
		from: `		w.RequireIs(schema.MaybeSince, dynamo.Millis(c.From.MaybeSince))
`, to: ``},
	{name: "DynamoDB: a claim replaces the window of a row in doubt", file: dbClaimGo, tests: dbTests,
		from: `	} else {
		w.RequireAbsent(schema.MaybeSince)
	}`, to: `	}`},
	{name: "DynamoDB: a reader's write is not fenced by the number of attempts", file: dbWriteGo, tests: dbTests,
		from: `	requireCount(w, schema.AttemptCount, row.AttemptCount)
`, to: ``},
	{name: "DynamoDB: a reference is filled in whatever became of the row", file: dbSettleGo, tests: dbTests,
		from: `	requireUnchanged(&w, row)
	w.RequireAbsent(schema.RemoteRef)`, to: `	w.RequireAbsent(schema.RemoteRef)`},
	{name: "DynamoDB: a reference replaces the one that is there", file: dbSettleGo, tests: dbTests,
		from: `	requireUnchanged(&w, row)
	w.RequireAbsent(schema.RemoteRef)`, to: `	requireUnchanged(&w, row)`},
	{name: "DynamoDB: a row that is written anew is not fenced", file: dbSettleGo, tests: dbTests,
		from: `	var w dynamo.Write
	fence(&w, st)
`, to: `	var w dynamo.Write
`},
	{name: "DynamoDB: a reader's write is not fenced by the status", file: dbWriteGo, sdk: true,
		from: `	w.RequireIs(schema.Status, dynamo.Text(string(row.Status)))
	if`, to: `	if`},
	{name: "DynamoDB: what cannot be read is fenced by what it would mean", file: dbWriteGo, sdk: true,
		from: `ok && row.Unreadable != nil {`, to: `ok && false && raw.status != nil {`},
	{name: "DynamoDB: a put replaces the row that is there", file: dbPutGo, sdk: true,
		from: `		schema.ExpiresAt, " <= ", w.Value(dynamo.Number(time.Now().Unix())))`, to: `		schema.ExpiresAt, " <= ", w.Value(dynamo.Number(time.Now().Unix())), " OR attribute_exists(", w.Name(schema.Status), ")")`},
	{name: "DynamoDB: a put again is a conflict", file: dbPutGo, sdk: true,
		from: `		if Repeats(put.Item, item) {`, to: `		if Repeats(put.Item, item) && false {`},
}
