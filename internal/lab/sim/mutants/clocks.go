package main

const (
	clockGo     = "internal/clock/clock.go"
	clockSDKGo  = "internal/clock/sdk.go"
	reconcileGo = "internal/outbox/reconciler.go"
)

// clocks break the watch over a process's own clock, or the places that ask it.
var clocks = []mutant{
	{name: "a clock may be off by ten times the bound", file: clockGo,
		from: `Bound = 2500 * time.Millisecond`, to: `Bound = 25 * time.Second`},
	{name: "a clock's bound has the wrong sign", file: clockGo,
		from: `i.from > Bound || i.to < -Bound`, to: `i.from > -Bound || i.to < Bound`},
	{name: "a clock that is ahead is never noticed", file: clockGo,
		from: `i.from > Bound || i.to < -Bound`, to: `i.to < -Bound`},
	{name: "a clock's Date is taken as if it were not cut", file: clockGo,
		from: `interval{t0.Sub(wrote) - time.Second,`, to: `interval{t0.Sub(wrote),`},
	{name: "a clock's proof is forgotten at once", file: clockGo,
		from: `Remember = time.Minute`, to: `Remember = time.Nanosecond`},
	{name: "a clock is watched by no answer of the SDK", file: clockSDKGo, sdk: true,
		from: `answer.Header.Get("Date")`, to: `answer.Header.Get("X-Date")`},
	{name: "a row is sent though its claim's own answer shows a clock that is off", file: attemptGo, tests: "./internal/outbox",
		from: `case !d.run.trusted(): //`, to: `case false: //`},
	{name: "a sweep claims by a clock that is off", file: attemptGo,
		from: `!d.hasTime() || !d.run.trusted()`, to: `!d.hasTime() || !c.Due.IsZero() && !d.run.trusted()`},
	{name: "the fast path claims by a clock that is off", file: attemptGo,
		from: `!d.hasTime() || !d.run.trusted()`, to: `!d.hasTime() || c.Due.IsZero() && !d.run.trusted()`},
	{name: "a sweep ends rows by a clock that is off", file: attemptGo,
		from: `	if !d.run.trusted() {
		return
	}
	a := Attempt{ID: s.ID, Number: s.From.AttemptCount,`, to: `	a := Attempt{ID: s.ID, Number: s.From.AttemptCount,`},
	{name: "a reconciler asks by a clock that is off", file: reconcileGo,
		from: `case !w.run.trusted():`, to: `case false:`},
}
