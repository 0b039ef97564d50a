package main

const (
	dbGroupsGo       = "internal/routingdb/groups.go"
	dbControlGo      = "internal/routingdb/control.go"
	dbOverridesGo    = "internal/routingdb/overrides.go"
	dbRouteDecodeGo  = "internal/routingdb/decode.go"
	dbRouteMoveGo    = "internal/routingdb/move.go"
	dbRouteReceiptGo = "internal/routingdb/receipts.go"
	dbRouteEncodeGo  = "internal/routingdb/encode.go"
)

// routingTableDB is what is broken on purpose of groups, the control table and the receipts.
var routingTableDB = []mutant{
	{name: "routing: a consumer under two names is two", file: dbGroupsGo,
		from: `				m.Consumer.Draining = true
`, to: ``},
	{name: "routing: a consumer of the configuration cannot be drained", file: dbGroupsGo,
		from: `static.Draining = static.Draining || m.Consumer.Draining`, to: `_ = m.Consumer.Draining`},
	{name: "routing: who joins under the id of one of the configuration replaces it", file: dbGroupsGo,
		from: `			group = group.With(static)`, to: `			group = group.With(m.Consumer)`},
	{name: "routing: what is said about somebody makes it a member", file: dbGroupsGo,
		from: `		case m.Consumer.Target != "":`, to: `		case true:`},
	{name: "routing: a function that cannot be made is that of the configuration", file: dbGroupsGo,
		from: `		return unmade{err}, err`, to: `		return spec.Function, err`},
	{name: "routing: a function that cannot be read is that of the configuration", file: dbGroupsGo,
		from: `		return unmade{route.Invalid}, nil //`, to: `		return spec.Function, nil //`},
	{name: "routing: a group that is not configured is empty", file: dbGroupsGo,
		from: `	if !found {
		return routing.Snapshot{}, routing.ErrNoGroup`, to: `	if found && false {
		return routing.Snapshot{}, routing.ErrNoGroup`},
	{name: "routing: a member that cannot be read is one all the same", file: dbOverridesGo,
		from: `			m = Member{`, to: `			_ = Member{`},
	{name: "routing: what cannot be read says nothing about a consumer of the configuration", file: dbOverridesGo,
		from: `routing.Consumer{ID: id, Draining: true}`, to: `routing.Consumer{ID: id}`},
	{name: "routing: who cannot be read and gets messages again, does not", file: dbControlGo,
		from: `len(left.Problems) == 0 {`, to: `true {`},
	{name: "routing: a lease is not read", file: dbOverridesGo,
		from: `, LeaseUntil: r.Millis(schema.LeaseUntil)`, to: ``},
	{name: "routing: who joins again does not drain any more", file: dbControlGo,
		from: `	w.SetOrRemove(schema.MaxInFlight, limit)`, to: `	w.SetOrRemove(schema.Draining, nil)
	w.SetOrRemove(schema.MaxInFlight, limit)`},
	{name: "routing: who joins again keeps its lease", file: dbControlGo,
		from: `	w.SetOrRemove(schema.LeaseUntil, lease)`, to: `	if lease != nil {
		w.Set(schema.LeaseUntil, lease)
	}`},
	{name: "routing: who leaves stays", file: dbControlGo,
		from: `	}
	return c.remove(ctx, group, memberKey(id))`, to: `	}
	return ctx.Err()`},
	{name: "routing: who stays drains", file: dbControlGo,
		from: `	w.SetOrRemove(schema.Draining, nil)
	w.RequireExists`, to: `	w.RequireExists`},
	{name: "routing: a route is not taken back", file: dbControlGo,
		from: `	return c.remove(ctx, group, schema.RouteItem)`, to: `	return ctx.Err()`},

	{name: "routing, DynamoDB: a receipt that cannot be read is accepted", file: dbRouteReceiptGo, sdk: true,
		from: `receipt.State, receipt.Reason = routing.Dead, ReasonInvalid`, to: `receipt.State = routing.Accepted`},
	{name: "routing, DynamoDB: a receipt that cannot be read is none", file: dbRouteReceiptGo, sdk: true,
		from: `	case len(stored) == 0 || `, to: `	case invalid != nil || len(stored) == 0 || `},
	{name: "routing, DynamoDB: a receipt that cannot be read is taken as it is", file: dbRouteReceiptGo, sdk: true,
		from: `	case invalid == nil:
		return receipt, nil
	}`, to: `	case invalid == nil || receipt.State != "":
		return receipt, nil
	}`},
	{name: "routing, DynamoDB: a receipt without a token is one", file: dbRouteDecodeGo, sdk: true,
		from: `r.Need(schema.Token, receipt.Token != "")`, to: `_ = receipt.Token`},
	{name: "routing, DynamoDB: the end of a broken receipt is not written", file: dbRouteReceiptGo, sdk: true,
		from: `	_, err := s.client.PutItem(ctx, w.Put(&s.table, ended), dynamo.RepeatConflicts)
	if err == nil {
		return receipt, nil
	}
	if newer, moved`, to: `	err := ctx.Err()
	_ = ended
	if err == nil {
		return receipt, nil
	}
	if newer, moved`},
	{name: "routing, DynamoDB: a broken receipt is ended though it has moved on", file: dbRouteReceiptGo, sdk: true,
		from: `		w.RequireIs(attribute, stored[attribute]) //`, to: `		_ = attribute //`},

	{name: "routing, DynamoDB: a move is not fenced by the token", file: dbRouteMoveGo, sdk: true,
		from: `	w.RequireIs(schema.Token, dynamo.Text(m.From.Token))
`, to: ``},
	{name: "routing, DynamoDB: a move is not fenced by the attempt", file: dbRouteMoveGo, sdk: true,
		from: `	w.RequireIs(schema.Attempt, dynamo.Number(m.From.Attempt))
`, to: ``},
	{name: "routing, DynamoDB: an acceptance is not fenced by the state", file: dbRouteMoveGo, sdk: true,
		from: `	case routing.Accept:
		w.RequireIs(schema.State, dynamo.Text(schema.StatePending))
`, to: `	case routing.Accept:
`},
	{name: "routing, DynamoDB: a decline is not fenced by the state", file: dbRouteMoveGo, sdk: true,
		from: `	case routing.Decline:
		w.RequireIs(schema.State, dynamo.Text(schema.StatePending))
`, to: `	case routing.Decline:
`},
	{name: "routing, DynamoDB: an attempt that delivery makes accepted is declined", file: dbRouteMoveGo, sdk: true,
		from: `		w.RequireFlag(schema.OnDelivery, false)
`, to: ``},
	{name: "routing, DynamoDB: an accepted message is given up", file: dbRouteMoveGo, sdk: true,
		from: `w.Value(dynamo.Text(schema.StateDeclined)), ")")`, to: `w.Value(dynamo.Text(schema.StateDeclined)), ", ", w.Value(dynamo.Text(schema.StateAccepted)), ")")`},
	{name: "routing, DynamoDB: a reroute is not fenced by the state", file: dbRouteMoveGo, sdk: true,
		from: `	w.RequireIs(schema.State, dynamo.Text(string(from.State)))
`, to: ``},
	{name: "routing, DynamoDB: a reroute does not see that the deadline was moved", file: dbRouteMoveGo, sdk: true,
		from: `w.RequireIsOrAbsent(schema.Mark, mark)`, to: `_ = mark`},
	{name: "routing, DynamoDB: a reroute is not fenced by the mark of Again", file: dbRouteMoveGo, sdk: true,
		from: `	w.RequireFlag(schema.Again, from.Again)
`, to: ``},
	{name: "routing, DynamoDB: the next attempt has the old token", file: dbRouteMoveGo, sdk: true,
		from: `	w.Set(schema.Token, dynamo.Text(m.Token))
`, to: ``},
	{name: "routing, DynamoDB: the history is not written", file: dbRouteMoveGo, sdk: true,
		from: `w.Value(dynamo.List(past)), ")")`, to: `w.Value(dynamo.List()), ")")
	_ = past`},
	{name: "routing, DynamoDB: a first attempt replaces what is there", file: dbRouteReceiptGo, sdk: true,
		from: `" <= ", w.Value(dynamo.Number(m.At.Unix())), ")")`, to: `" > ", w.Value(dynamo.Number(m.At.Unix())), ")")`},
	{name: "routing, DynamoDB: a lost answer of a write is a refusal", file: dbRouteReceiptGo, sdk: true,
		from: `	case m.Repeats(receipt):
		return receipt, nil
`, to: ``},
	{name: "routing, DynamoDB: a refusal is taken for a repetition", file: dbRouteReceiptGo, sdk: true,
		from: `	case m.Repeats(receipt):`, to: `	case true:`},
	{name: "routing, DynamoDB: what counts as acceptance is not written", file: dbRouteEncodeGo, sdk: true,
		from: `schema.OnDelivery: r.OnDelivery, schema.Again`, to: `schema.OnDelivery: false, schema.Again`},
}
