package routefn

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/landfall-dev/landfall/internal/routing"
)

// asking is a question about three consumers: a full one in the EU, one with much and one with little to do.
func asking(body string, changes ...func(*routing.Question)) routing.Question {
	q := routing.Question{
		Attempt: 1,
		Message: routing.Message{
			ID: "m1", Fields: routing.ParseFields([]byte(body)), Attributes: map[string]string{"kind": "parcel"},
		},
		Candidates: []routing.Consumer{
			{ID: "a", Weight: 3, ConsumerState: routing.ConsumerState{CurrentInFlight: 5, MaxInFlight: 5, Tags: []string{"eu", "cold"}}},
			{ID: "b", ConsumerState: routing.ConsumerState{CurrentInFlight: 9, MaxInFlight: 10, BufferDepth: 4, Tags: []string{"eu"}}},
			{ID: "c", ConsumerState: routing.ConsumerState{CurrentInFlight: 1, MaxInFlight: routing.Unlimited, Tags: []string{"us"}}},
		},
	}
	for _, change := range changes {
		change(&q)
	}
	return q
}

const body = `{"tier": "gold", "weight": 12, "price": 3.5, "fragile": true, "note": null, "region": "eu",
	"customer-id": "c-7", "huge": 9007199254740993, "nested": {"x": 1}}`

func TestCELPicks(t *testing.T) {
	t.Parallel()
	const least = `consumers.filter(c, c.has_capacity && consumers.all(d, !d.has_capacity || c.current_in_flight <= d.current_in_flight))`
	cases := []struct{ source, want string }{
		{`"b"`, "b"},
		{`""`, ""},
		{`null`, ""},
		{`consumers`, "a"},
		{`consumers[1]`, "b"},
		{`consumers[1].id`, "b"},
		{`consumers.map(c, c.id)`, "a"},
		{`consumers.filter(c, c.has_capacity)`, "b"},
		{`consumers.filter(c, c.has_capacity).map(c, c.id)[1]`, "c"},
		{`consumers.filter(c, false)`, ""},
		{least, "c"},
		{`consumers.filter(c, c.available_capacity > 1)`, "c"},
		{`consumers.filter(c, c.buffer_depth == 4)`, "b"},
		{`consumers.filter(c, c.weight == 1)`, "b"},
		{`consumers.filter(c, c.max_in_flight == 10)`, "b"},
		{`consumers.filter(c, message.region in c.tags && c.has_capacity)`, "b"},
		{`consumers.filter(c, c.tags.exists(t, t.startsWith("u")))`, "c"},
		{`attributes.kind == "parcel" ? "c" : "b"`, "c"},
		{`attempt == 1 ? "b" : "c"`, "b"},
		{`message["customer-id"] == "c-7" ? "b" : "c"`, "b"},
		{`message.tier.matches("^g.*d$") ? "b" : "c"`, "b"},
		{`matches(message.tier, "^[a-z]{2,4}$") ? "b" : "c"`, "b"},
		{`has(message.tier) && !has(message.missing) ? "b" : "c"`, "b"},
		{`"tier" in message && !("missing" in message) ? "b" : "c"`, "b"},
		{`size(message) == 8 && message.exists(name, name == "tier") ? "b" : "c"`, "b"},
		{`message.note == null ? "b" : "c"`, "b"},
		{`dyn(consumers)[2].id`, "c"},
		{`dyn("c")`, "c"},

		// Numbers of different types.
		{`message.weight > 11.5 && message.price < 4 && message.weight == 12.0 ? "b" : "c"`, "b"},
		{`message.weight >= 12u && 3 < message.price ? "b" : "c"`, "b"},
		{`attempt < 1.5 && 0.5 < attempt && attempt >= 1u ? "b" : "c"`, "b"},
		{`message.huge == 9007199254740993 && message.huge != 9007199254740992 ? "b" : "c"`, "b"},
		{`consumers.filter(c, c.current_in_flight < message.price)`, "c"},

		// A missing field is false in a predicate, however the predicate is made.
		{`message.missing == "gold" ? "b" : "c"`, "c"},
		{`message.missing != "gold" ? "b" : "c"`, "c"},
		{`!(message.missing == "gold") ? "b" : "c"`, "c"},
		{`message.missing > 3 ? "b" : "c"`, "c"},
		{`message.missing ? "b" : "c"`, "c"},
		{`message.nested == 1 ? "b" : "c"`, "c"},
		{`attributes.missing == "x" ? "b" : "c"`, "c"},
		{`message["missing"].startsWith("x") ? "b" : "c"`, "c"},
		{`message.missing == 1 || message.tier == "gold" ? "b" : "c"`, "b"},
		{`message.missing == 1 && message.tier == "gold" ? "b" : "c"`, "c"},
		{`consumers.filter(c, message.missing in c.tags)`, ""},
		{`consumers.filter(c, !c.tags.exists(t, t == message.missing))`, "a"},
		{`consumers.exists(c, c.id == message.missing) ? "b" : "c"`, "c"},
		{`consumers.exists(c, c.id == "a" || c.id == message.missing) ? "b" : "c"`, "b"},
		{`consumers.all(c, c.id != message.missing) ? "b" : "c"`, "c"},
		{`consumers.exists_one(c, c.id == message.missing) ? "b" : "c"`, "c"},
		{`consumers.exists(c, c.id == message.missing) == false ? "b" : "c"`, "b"},
		{`consumers.all(c, c.id != message.missing) == false ? "b" : "c"`, "b"},
		{`consumers.map(c, c.id == message.missing, c.id)`, ""},
		{`consumers.filter(c, (message.missing ? 1 : 2) == 2)`, "a"},
	}
	for _, c := range cases {
		f, err := Compile(c.source)
		if err != nil {
			t.Errorf("%s: %v", c.source, err)
			continue
		}
		if got, err := f.Select(t.Context(), asking(body)); err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", c.source, got, errors.Unwrap(err), c.want)
		}
	}
}

func TestCELFailureIsAnErrorWithoutContent(t *testing.T) {
	t.Parallel()
	for _, source := range []string{
		`message.missing`,
		`consumers[7]`,
		`consumers.filter(c, false)[0]`,
		`dyn(3)`,
		`dyn([["a"]])`,
		`string(1 / (attempt - 1))`,
		`message.tier > 3 ? "b" : "c"`,
		`message.tier ? "b" : "c"`,
		`int(message.tier) == 3 ? "b" : "c"`, // a failure of another kind than a missing field
		`timestamp(message.tier) == timestamp("2026-01-01T00:00:00Z") ? "b" : "c"`,
		`{"x": "b"}[message.tier]`,
		`dyn(consumers)[0].nothing`,
		`message == message ? "b" : "c"`,
	} {
		f, err := Compile(source)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		got, err := f.Select(t.Context(), asking(body))
		var evaluation *routing.EvaluationError
		if got != "" || !errors.As(err, &evaluation) || evaluation.Failure != routing.Crashed || evaluation.Function != f.Hash() {
			t.Errorf("%s: %q, %#v, want a crash", source, got, err)
		} else if strings.Contains(err.Error(), "gold") {
			t.Errorf("%s: content of the message in %q", source, err)
		}
	}
}

func TestCELSourceErrorsHaveAPosition(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		source       string
		line, column int
		text         string
	}{
		{"", 0, 0, "empty"},
		{" \n ", 0, 0, "empty"},
		{strings.Repeat(" ", MaxSourceBytes) + `"a"`, 0, 0, "bytes"},
		{`consumers.filter(c, c.capacity > 1)`, 1, 22, "capacity"},
		{"consumers\n  .filter(c, d.id == \"a\")", 2, 14, "undeclared reference to 'd'"},
		{`consumer`, 1, 1, "undeclared"},
		{`1 +`, 1, 4, "Syntax error"},
		{`message.tier == "gold"`, 1, 1, "type bool"},
		{`attempt`, 1, 1, "type int"},
		{`[1, 2]`, 1, 1, "list(int)"},
		{`attempt + "x"`, 1, 9, "overload"},
		{`@consumer{id: "x"}`, 1, 1, ""},
		{`consumer{id: "x"}`, 1, 9, "undeclared"},
		{`message.tier.matches("(") ? "a" : "b"`, 1, 22, "matches"},
		{`message.tier.matches("(a{100}){9}") ? "a" : "b"`, 1, 22, "too large"},
		{`message.tier.matches(message.pattern) ? "a" : "b"`, 1, 29, "must be written"},
		{`matches(message.tier, "a" + message.pattern) ? "a" : "b"`, 1, 27, "must be written"},
		{`[` + strings.Repeat(`"a",`, 1200) + `]`, 0, 0, "node"},
		{`duration("x") == duration("1s") ? "a" : "b"`, 1, 10, "duration"},
		{`@holds(true) ? "a" : "b"`, 0, 0, ""},
		{strings.Repeat("(", 100) + `"a"` + strings.Repeat(")", 100), 0, 0, ""},
		{strings.Repeat("[", 100) + strings.Repeat("]", 100), 0, 0, ""},
		{`"a"` + strings.Repeat(` + "a"`, 1300), 0, 0, ""},
		{`consumers.exists(a, consumers.exists(b, consumers.exists(c, consumers.exists(d, consumers.exists(e, true))))) ? "a" : "b"`, 1, 97, "nest"},
		{`consumers` + strings.Repeat(`.filter(c, true)`, 5), 0, 0, "nest"},
		{"\"a\x00\xff", 0, 0, ""},
	} {
		_, err := Compile(c.source)
		var at *SourceError
		if !errors.As(err, &at) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%.60q: %v, want a SourceError with %q", c.source, err, c.text)
		} else if c.line > 0 && (at.Line != c.line || at.Column != c.column) {
			t.Errorf("%.60q: %v, want line %d, column %d", c.source, err, c.line, c.column)
		}
		if specErr := (Spec{Kind: CEL, Argument: c.source}).Validate(); (specErr == nil) != (err == nil) {
			t.Errorf("%.60q: validates as %v", c.source, specErr)
		}
	}
}

func TestCELEvaluationIsBounded(t *testing.T) {
	const megabyte = 1 << 20
	many := func(q *routing.Question) {
		q.Candidates = slices.Repeat(q.Candidates[2:], 400)
	}
	cases := map[string]struct {
		source string
		body   string
	}{
		"three nested loops over 400":       {`consumers.exists(a, consumers.exists(b, consumers.exists(c, c.id == "x"))) ? "a" : "c"`, "{}"},
		"a list multiplied":                 {`[consumers]` + strings.Repeat(`.map(l, l`+strings.Repeat(` + l`, 50)+`)`, 3) + `.exists(l, l == l) ? "a" : "c"`, "{}"},
		"a list of unknown type multiplied": {`[dyn(consumers)]` + strings.Repeat(`.map(l, l`+strings.Repeat(` + l`, 50)+`)`, 3) + `.exists(l, l == l) ? "a" : "c"`, "{}"},
		"a text multiplied":                 {`[message.t]` + strings.Repeat(`.map(l, l`+strings.Repeat(` + l`, 50)+`)`, 3) + `.exists(l, l == "x") ? "a" : "c"`, `{"t": "` + strings.Repeat("x", 500) + `"}`},
		"a long text doubled":               {`[message.t].map(l, l + l).map(l, l + l).map(l, l + l).exists(l, l == "x") ? "a" : "c"`, `{"t": "` + strings.Repeat("x", megabyte) + `"}`},
		"a long text copied many times":     {`consumers.map(c, bytes(message.t)).exists(b, b == b"x") ? "a" : "c"`, `{"t": "` + strings.Repeat("x", megabyte) + `"}`},
		"a long text searched":              {`consumers.exists(c, message.t.contains("y") || message.t.matches("y+z")) ? "a" : "c"`, `{"t": "` + strings.Repeat("x", megabyte) + `"}`},
		"a text searched in many ways":      {`message.t.matches("(?:x?){90}y") ? "a" : "c"`, `{"t": "` + strings.Repeat("x", megabyte) + `"}`},
		"the same, written otherwise":       {`matches(message.t, "(?:x?){90}y") ? "a" : "c"`, `{"t": "` + strings.Repeat("x", megabyte) + `"}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f, err := Compile(c.source)
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			q := asking(c.body, many)
			runtime.ReadMemStats(&before)
			begun := time.Now()
			got, err := f.Select(t.Context(), q)
			took := time.Since(begun)
			runtime.ReadMemStats(&after)
			var evaluation *routing.EvaluationError
			if !errors.As(err, &evaluation) {
				t.Errorf("%q, %v, want a failure", got, err)
			}
			if allocated := (after.TotalAlloc - before.TotalAlloc) / megabyte; allocated > 64 {
				t.Errorf("it allocated %d MiB", allocated)
			}
			if took > 10*celTimeout {
				t.Errorf("it took %v", took)
			}
		})
	}
}

func TestCELChargesForLongValues(t *testing.T) {
	t.Parallel()
	long := types.String(strings.Repeat("x", 1<<20))
	list := types.NewStringList(types.DefaultTypeAdapter, make([]string, 5000))
	for _, c := range []struct {
		function string
		args     []ref.Val
		least    uint64
	}{
		{"_+_", []ref.Val{long, long}, 200_000},
		{"_+_", []ref.Val{list, list}, 5000},
		{"_==_", []ref.Val{list, types.True}, 5000},
		{"@in", []ref.Val{types.True, list}, 5000},
		{"matches", []ref.Val{long, types.String("y+z")}, 100_000},
		{"matches", []ref.Val{types.String("x"), long}, 100_000},
		{"matches", []ref.Val{types.String(long[:1000]), types.String(long[:1000])}, 10_000},
		{"contains", []ref.Val{long, types.String("y")}, 100_000},
		{"bytes", []ref.Val{types.Bytes(long)}, 100_000},
		{"int", []ref.Val{long}, 100_000},
	} {
		if cost := *(costs{}).CallCost(c.function, "", c.args, nil); cost < c.least {
			t.Errorf("%s: %d, want at least %d", c.function, cost, c.least)
		}
	}
	if cost := *(costs{}).CallCost("_+_", "", []ref.Val{list, types.NewStringList(types.DefaultTypeAdapter, []string{"x"})}, nil); cost > 2 {
		t.Errorf("joining one element to a list: %d; filter and map do that for each", cost)
	}
}

func TestCELCountsCostWhereItMayGrow(t *testing.T) {
	t.Parallel()
	groupOf := func(n int) func(*routing.Question) {
		return func(q *routing.Question) { q.Candidates = idle(n) }
	}
	long := `{"t": "` + strings.Repeat("x", 1<<20) + `"}`
	for _, c := range []struct {
		source string
		q      routing.Question
		small  bool
	}{
		{`consumers.filter(c, c.has_capacity && message.region in c.tags)`, asking(body, groupOf(10)), true},
		{`consumers.filter(c, consumers.all(d, c.current_in_flight <= d.current_in_flight))`, asking(body, groupOf(10)), true},
		{`consumers.filter(c, consumers.all(d, c.current_in_flight <= d.current_in_flight))`, asking(body, groupOf(1000)), false},
		{`consumers.filter(c, c.has_capacity)`, asking(long, groupOf(10)), false},
		{`consumers.filter(c, message.a + message.b == c.id)`, asking(body), false},
		{`consumers.filter(c, c.id in ["a", "b"] + ["c"])`, asking(body), false},
		{`consumers.filter(c, c.id in [` + strings.Repeat(`"a",`, 900) + `])`, asking(body), false},
		{`attributes.x == "y" ? "a" : "b"`, asking(body, func(q *routing.Question) { q.Message.Attributes["y"] = strings.Repeat("x", 1<<20) }), false},
		{`consumers.filter(c, "x" in c.tags)`, asking(body, func(q *routing.Question) { q.Candidates[0].Tags = make([]string, 1<<20) }), false},
	} {
		programs, err := compile(c.source)
		if err != nil {
			t.Fatal(err)
		}
		if small := programs.bound.small(c.q); small != c.small {
			t.Errorf("%.60s over %d consumers: small = %v, bound %+v", c.source, len(c.q.Candidates), small, programs.bound)
		}
		if c.small { // what is not counted is what would be allowed
			counted, details, err := programs.counted.ContextEval(t.Context(), newActivation(c.q))
			uncounted, _, err2 := programs.uncounted.ContextEval(t.Context(), newActivation(c.q))
			if err != nil || err2 != nil || counted.Equal(uncounted) != types.True || *details.ActualCost() > mayCost/10 {
				t.Errorf("%s: %v, %v, %v, %v", c.source, counted, err, uncounted, err2)
			}
		}
	}
}

func TestCELEndsWithItsContext(t *testing.T) {
	t.Parallel()
	f, err := Compile(`consumers.exists(a, consumers.exists(b, a.id == b.id + "x")) ? "a" : "c"`)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = f.Select(ctx, asking("{}", func(q *routing.Question) { q.Candidates = slices.Repeat(q.Candidates, 20) }))
	var evaluation *routing.EvaluationError
	if !errors.As(err, &evaluation) || evaluation.Failure != routing.TimedOut {
		t.Errorf("err = %v, want a timeout", err)
	}
}

func TestConcurrentCELQuestionsAreIndependent(t *testing.T) {
	t.Parallel()
	f, err := Compile(`consumers.filter(c, c.id == message.to)`)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			want := string(rune('a' + i%3))
			for range 200 {
				if got, err := f.Select(t.Context(), asking(`{"to": "`+want+`"}`)); err != nil || got != want {
					t.Fatalf("%q, %v, want %q", got, err, want)
				}
			}
		})
	}
}

func FuzzCEL(f *testing.F) {
	for _, source := range []string{
		`"a"`, `consumers.filter(c, c.has_capacity && message.region in c.tags)`, `message.x > 1.5 ? consumers[0] : null`,
		`attributes["k"].matches("^a+$") ? "a" : "b"`, `[consumers].map(l, l + l)`, `1 +`, `{`, "\x00", `@holds(1)`,
		`consumers.map(c, c.tags.size() > attempt, c)`, `timestamp("2026-01-01T00:00:00Z") > timestamp(0) ? "" : "a"`,
		`consumers.exists_one(c, c.weight == 3) ? consumers : []`, `dyn(message)`, `b"a" + bytes(message.tier) == b"" ? "a" : "b"`,
	} {
		f.Add(source, body)
	}
	f.Fuzz(func(t *testing.T, source, body string) {
		function, err := Compile(source)
		if err != nil {
			var at *SourceError
			if !errors.As(err, &at) {
				t.Fatalf("%q: %v (%T), want a SourceError", source, err, err)
			}
			return
		}
		q := asking(body)
		first, err := function.Select(t.Context(), q)
		var evaluation *routing.EvaluationError
		if err != nil && (!errors.As(err, &evaluation) || first != "") {
			t.Fatalf("%q: %q, %v", source, first, err)
		}
		if again, errAgain := function.Select(t.Context(), q); again != first || (err == nil) != (errAgain == nil) {
			t.Fatalf("%q: first %q, %v, then %q, %v", source, first, err, again, errAgain)
		}
	})
}
