package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestTrialPicksWhatTheRouterWould tests functions with the group's consumers and with others.
func TestTrialPicksWhatTheRouterWould(t *testing.T) {
	t.Parallel()
	b := setupGroups(t)
	b.send("courier-south", 1)
	b.must("", "consumers", "add", "couriers", "east", "--sqs", "courier-east", "--by", "ann")
	b.must("", "consumers", "drain", "couriers", "east", "--by", "ann")
	full := write(t, "consumers.json", `[{"id": "x", "current_in_flight": 3, "max_in_flight": 3}, {"id": "y", "tags": ["gold"], "weight": 9}]`)
	for _, tt := range []struct{ args, consumer, problem, why string }{
		{`couriers --message {}`, "north", "", "east: draining"},
		{`couriers --message {} --tried north`, "south", "", "north: tried, east: draining"},
		{`couriers --message {} --tried north,south`, "", "no consumer is a candidate", "north: tried, south: tried"},
		{`couriers cel consumers.filter(c,c.id==message.to) --message {"to":"south"}`, "south", "", ""},
		{`couriers cel consumers.filter(c,attributes.to==c.id) --message hello --attribute to=south`, "south", "", ""},
		{`couriers cel attempt==3?"south":"north" --message {} --attempt 3`, "south", "", ""},
		{`couriers cel message.to --message {"to":"east"}`, "", `the function picks "east", which is not a candidate`, ""},
		{`couriers cel message.to --message {}`, "", "the function crashed: ", ""},
		{`couriers cel "" --message {}`, "", "picks none of the candidates now", ""},
		{`couriers first_with_capacity --message {} --consumers @` + full, "y", "", ""},
		{`couriers affinity tier --message {"tier":"gold"} --consumers @` + full, "y", "", ""},
		{`couriers first_with_capacity --message {} --tried y --consumers @` + full, "", "picks none", "y: tried"},
		{`couriers --message {} --consumers []`, "", "no consumer is a candidate", ""},
		{`empty --message {}`, "", "no consumer is a candidate", ""},
	} {
		got := b.execute("", append(append([]string{"groups", "test"}, strings.Split(tt.args, " ")...), "--output", "json")...)
		var v decisionView
		if err := json.Unmarshal([]byte(got.stdout), &v); err != nil {
			t.Errorf("%s: %v: %+v", tt.args, err, got)
			continue
		}
		if want := map[bool]int{true: exitOK, false: exitNo}[tt.consumer != ""]; got.code != want || v.Consumer != tt.consumer || !strings.Contains(v.Problem, tt.problem) {
			t.Errorf("%s: exit code %d, %q, %q; want %d, %q, %q", tt.args, got.code, v.Consumer, v.Problem, want, tt.consumer, tt.problem)
		}
		for why := range strings.SplitSeq(tt.why, ", ") {
			id, why, _ := strings.Cut(why, ": ")
			found := why == ""
			for _, e := range v.Excluded {
				found = found || e.Consumer == id && e.Why == why
			}
			if !found {
				t.Errorf("%s: %+v, want that %s is excluded, for it is %s", tt.args, v.Excluded, id, why)
			}
		}
	}
	table := b.must("", "groups", "test", "couriers", "--message", "{}")
	for _, want := range []string{"route of the file: least_loaded", "north     picked", "not a candidate: draining"} {
		if !strings.Contains(table, want) {
			t.Errorf("%q is not in\n%s", want, table)
		}
	}
}

func TestMalformedTrialIsRefused(t *testing.T) {
	t.Parallel()
	b := setupGroups(t)
	for args, want := range map[string]string{
		`couriers`: "test needs --message",
		`couriers --message {} --attempt 1 --tried north`:  "--attempt 1: want 2 or more",
		`couriers --message {} --attribute a`:              "--attribute number 1: want NAME=VALUE",
		`couriers --message @no-such-file`:                 "read --message",
		`couriers --message {} --consumers {}`:             "--consumers: want a JSON list",
		`couriers --message {} --consumers [{"id":""}]`:    "number 1 has no id",
		`couriers --message {} --consumers [{"id":"a"}]x`:  "with nothing after it",
		`couriers --message {} --consumers [{"name":"a"}]`: "unknown field",
		`couriers cel message. --message {}`:               "line 1, column",
		`drivers --message {}`:                             "unknown group",
		`drivers weighted --message {} --consumers []`:     "unknown group",
	} {
		got := b.execute("", append([]string{"groups", "test"}, strings.Split(args, " ")...)...)
		if got.code != exitUsage || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: %+v, want %q", args, got, want)
		}
	}
}
