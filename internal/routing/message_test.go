package routing_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/landfall-dev/landfall/internal/routing"
)

func text(s string) routing.Value   { return routing.Value{Kind: routing.TextValue, Text: s} }
func whole(n int64) routing.Value   { return routing.Value{Kind: routing.IntValue, Int: n} }
func float(f float64) routing.Value { return routing.Value{Kind: routing.FloatValue, Float: f} }
func truth(b bool) routing.Value    { return routing.Value{Kind: routing.BoolValue, Bool: b} }

func TestParseFieldsOfAnyBody(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		body string
		want routing.Fields
	}{
		{`hello`, nil}, {``, nil}, {`"hello"`, nil}, {`[{"a": 1}]`, nil}, {`7`, nil}, {`null`, routing.Fields{}}, {`{}`, routing.Fields{}},
		{"\xef\xbb\xbf{}", nil}, {`{"a": 1} {"b": 2}`, nil}, {`{"a": 1`, nil}, {`{a: 1}`, nil}, {"\x00\xff", nil},
		{strings.Repeat(`{"a":`, 100_000), nil},
		{` { "b" : "x" , "a" : true, "c":false ,"d": null } `, routing.Fields{
			{"a", truth(true)}, {"b", text("x")}, {"c", truth(false)}, {"d", routing.Value{}},
		}},
		{`{"o": {"x": 1}, "l": [1], "a": 1}`, routing.Fields{{"a", whole(1)}}},
		{`{"a": 1, "a": 2}`, routing.Fields{{"a", whole(2)}}},
		{`{"": "", "é": "\u00e9", "s": "\ud83d"}`, routing.Fields{{"", text("")}, {"s", text("\ufffd")}, {"é", text("é")}}},
		{`{"a": 9223372036854775807, "b": -9223372036854775808, "c": 9223372036854775808, "d": -0}`, routing.Fields{
			{"a", whole(math.MaxInt64)}, {"b", whole(math.MinInt64)}, {"c", float(9223372036854775808)}, {"d", whole(0)},
		}},
		{`{"a": 1.0, "b": 1e3, "c": 1e999, "d": -1e999, "e": 1e-999, "f": 0.1}`, routing.Fields{
			{"a", float(1)}, {"b", float(1000)}, {"c", routing.Value{}}, {"d", routing.Value{}}, {"e", float(0)}, {"f", float(0.1)},
		}},
	} {
		if diff := cmp.Diff(c.want, routing.ParseFields([]byte(c.body))); diff != "" {
			t.Errorf("%.40q (-want +got):\n%s", c.body, diff)
		}
	}
}

func FuzzParseFields(f *testing.F) {
	for _, body := range []string{`{"a": 1, "b": [2], "c": "x"}`, `hello`, `{"a": 1e999}`, `{"a":{"a":{}}}`, "{\"\xff\": -0.0}"} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		fields := routing.ParseFields(body)
		for i, field := range fields {
			if i > 0 && fields[i-1].Name >= field.Name {
				t.Errorf("%q is not before %q", fields[i-1].Name, field.Name)
			}
			if v, found := fields.Get(field.Name); !found || v != field.Value {
				t.Errorf("%q is not found", field.Name)
			}
			if math.IsInf(field.Value.Float, 0) || math.IsNaN(field.Value.Float) {
				t.Errorf("%q is not finite", field.Name)
			}
		}
		var object map[string]any
		if fields == nil && json.Unmarshal(body, &object) == nil {
			t.Errorf("a JSON object has no fields: %q", body)
		}
	})
}

// TestEqualValuesHaveOneText because its number is written in another way.
func TestEqualValuesHaveOneText(t *testing.T) {
	t.Parallel()
	for want, numbers := range map[string][]string{
		"0": {`0`, `-0`, `0.0`, `-0.0`, `-0e9`, `-1e-999`, `0E+1`}, "100": {`100`, `100.0`, `1e2`, `1E+02`}, "-0.5": {`-0.5`, `-5e-1`},
		"10000000000000000000": {`10000000000000000000`, `1e19`},
	} {
		for _, number := range numbers {
			if v, _ := routing.ParseFields([]byte(`{"a": ` + number + `}`)).Get("a"); v.String() != want {
				t.Errorf("%s is %q, want %q", number, v, want)
			}
		}
	}
}

func TestCapacityStaysInRange(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ current, most, available int64 }{
		{0, 0, 0}, {0, 5, 5}, {5, 5, 0}, {6, 5, 0}, {-3, 5, 5}, {0, -1, 0},
		{math.MaxInt64, 1, 0}, {math.MinInt64, math.MaxInt64, math.MaxInt64}, {1, routing.Unlimited, math.MaxInt64 - 1},
	} {
		s := routing.ConsumerState{CurrentInFlight: c.current, MaxInFlight: c.most}
		if got := s.AvailableCapacity(); got != c.available || s.HasCapacity() != (c.available > 0) {
			t.Errorf("%+v: %d, has capacity %v, want %d", s, got, s.HasCapacity(), c.available)
		}
	}
	if s := (routing.ConsumerState{Tags: []string{"eu"}}); !s.HasAffinity("eu") || s.HasAffinity("") {
		t.Error("affinity is not by tag")
	}
}

func TestGroupIsImmutableAndOrdered(t *testing.T) {
	t.Parallel()
	tags := []string{"eu"}
	group := routing.NewGroup("couriers", routing.Consumer{ID: "b"}, routing.Consumer{ID: "a", ConsumerState: routing.ConsumerState{Tags: tags}},
		routing.Consumer{ID: "b", Target: "second"})
	more := group.With(routing.Consumer{ID: "aa"}).With(routing.Consumer{ID: "c"}).With(routing.Consumer{ID: "a", Target: "replaced"})
	less := more.Without("b").Without("nobody")
	tags[0] = "us"
	group.Consumers()[0] = routing.Consumer{ID: "z"}
	ids := func(g routing.Group) (ids string) {
		for _, c := range g.Consumers() {
			ids += " " + c.ID + ":" + c.Target
		}
		return ids
	}
	for want, g := range map[string]routing.Group{" a: b:second": group, " a:replaced aa: b:second c:": more, " a:replaced aa: c:": less} {
		if got := ids(g); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if a, found := group.Consumer("a"); !found || a.Tags[0] != "eu" {
		t.Errorf("a = %+v, %v", a, found)
	}
	if _, found := less.Consumer("b"); found {
		t.Error("b is still there")
	}
}

func TestCandidatesAreFilteredBeforeTheFunctionPicks(t *testing.T) {
	t.Parallel()
	group := routing.NewGroup("couriers",
		routing.Consumer{ID: "e"}, routing.Consumer{ID: "d"},
		routing.Consumer{ID: "c", LeaseUntil: now.Add(1)}, routing.Consumer{ID: "b", LeaseUntil: now},
		routing.Consumer{ID: "a", Draining: true},
	)
	lapsed := func(ids string) func(string) bool { return func(id string) bool { return strings.Contains(ids, id) } }
	for _, c := range []struct {
		tried    []string
		lapsed   string
		want     string
		excluded string
	}{
		{nil, "", "cde", "a: draining, b: its lease is over"},
		{[]string{"d", "a", "gone"}, "", "ce", "a: tried, b: its lease is over, d: tried"},
		{nil, "d", "ce", "a: draining, b: its lease is over, d: let a message lapse lately, and others are left"},
		{[]string{"c"}, "de", "de", "a: draining, b: its lease is over, c: tried"},
		{[]string{"c", "d", "e"}, "de", "", "a: draining, b: its lease is over, c: tried, d: tried, e: tried"},
	} {
		candidates, excluded := routing.Snapshot{Group: group}.Candidates(c.tried, lapsed(c.lapsed), now)
		var ids string
		var why []string
		for _, candidate := range candidates {
			ids += candidate.ID
		}
		for _, e := range excluded {
			why = append(why, fmt.Sprintf("%s: %s", e.Consumer, e.Why))
		}
		if got := strings.Join(why, ", "); ids != c.want || got != c.excluded {
			t.Errorf("tried %v, lapsed %q: %q without %s, want %q without %s", c.tried, c.lapsed, ids, got, c.want, c.excluded)
		}
	}
}

// A program that joins with the target of another may sort before it, and so be the one that is given more.
func TestMessageNeverReturnsToATargetUnderAnotherName(t *testing.T) {
	t.Parallel()
	group := routing.NewGroup("couriers",
		routing.Consumer{ID: "spot-1", Target: "sqs:arn:aws:sqs:eu-west-1:000000000000:east"},
		routing.Consumer{ID: "spot-2", Target: "sqs:east", Draining: true}, routing.Consumer{ID: "west", Target: "lambda:east"})
	candidates, _ := routing.Snapshot{Group: group}.Candidates([]string{"spot-2"}, nil, now)
	if len(candidates) != 1 || candidates[0].ID != "west" {
		t.Errorf("%+v", candidates)
	}
}

func TestImpossiblePolicyIsRefused(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]routing.Policy{
		"no time to accept":             {AcceptTimeout: 1},
		"longer than a queue can hide":  {AcceptTimeout: routing.MaxAcceptTimeout + 1, MaxWait: 1 << 60},
		"dead before anybody can lapse": {AcceptTimeout: 2 * routing.DefaultMaxWait},
		"given up by the queue at once": {MaxReceives: 1},
	} {
		if err := p.Validate(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := (routing.Policy{}).Validate(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
}
