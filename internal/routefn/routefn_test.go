package routefn

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/landfall-dev/landfall/internal/routing"
)

func get(t testing.TB, kind Kind, argument string) routing.Function {
	t.Helper()
	f, err := new(Functions).Get(Spec{kind, argument})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// pick is the consumer that a function picks, "" for none.
func pick(t testing.TB, f routing.Function, q routing.Question) string {
	t.Helper()
	id, err := f.Select(t.Context(), q)
	if err != nil && !errors.Is(err, routing.ErrNoConsumerAvailable) || (err == nil) == (id == "") {
		t.Fatalf("%q, %v", id, err)
	}
	return id
}

// idle is a group of n idle consumers c00 ...
func idle(n int) []routing.Consumer {
	all := make([]routing.Consumer, n)
	for i := range all {
		all[i] = routing.Consumer{ID: fmt.Sprintf("c%02d", i), ConsumerState: routing.ConsumerState{MaxInFlight: 10}}
	}
	return all
}

func TestBuiltIns(t *testing.T) {
	t.Parallel()
	full := func(q *routing.Question) {
		for i := range q.Candidates {
			q.Candidates[i].MaxInFlight = 0
		}
	}
	none := func(q *routing.Question) { q.Candidates = nil }
	for _, c := range []struct {
		name     string
		kind     Kind
		argument string
		q        routing.Question
		want     string
	}{
		{"first: never a full one", FirstWithCapacity, "", asking(body), "b"},
		{"least loaded: never a full one, what waits counts", LeastLoaded, "", asking(body), "c"},
		{"least loaded: no load that wraps", LeastLoaded, "", asking(body, func(q *routing.Question) {
			c := &q.Candidates[0]
			c.CurrentInFlight, c.BufferDepth, c.MaxInFlight = math.MaxInt64-1, math.MaxInt64, routing.Unlimited
		}), "c"},
		{"affinity: never one without the tag while others are there", Affinity, "region", asking(body), "b"},
		{"affinity: not stuck on a full one", Affinity, "region", asking(body, func(q *routing.Question) { q.Candidates[1].MaxInFlight = 1 }), "c"},
		{"affinity: a tag that no consumer has is ignored", Affinity, "tier", asking(body), "c"},
		{"affinity: not stuck on a missing field", Affinity, "missing", asking(body), "c"},
		{"affinity: null is not a tag", Affinity, "note", asking(body), "c"},
		{"rendezvous: never a full one", Rendezvous, "region", asking(body, func(q *routing.Question) { q.Candidates[2].MaxInFlight = 0 }), "b"},
	} {
		if got := pick(t, get(t, c.kind, c.argument), c.q); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	for kind, argument := range map[Kind]string{FirstWithCapacity: "", LeastLoaded: "", Rendezvous: "region", Weighted: "", Affinity: "region"} {
		f := get(t, kind, argument)
		for name, change := range map[string]func(*routing.Question){"full": full, "none": none} {
			if got := pick(t, f, asking(body, change)); got != "" {
				t.Errorf("%s, %s: picked %q", kind, name, got)
			}
		}
		extreme := asking(body, func(q *routing.Question) {
			c := &q.Candidates[0]
			c.CurrentInFlight, c.BufferDepth, c.MaxInFlight, c.Weight = -1<<63, 1<<63-1, 1<<63-1, 1<<62
		})
		if first, again := pick(t, f, extreme), pick(t, f, extreme); first == "" || first != again {
			t.Errorf("%s: %q, then %q", kind, first, again)
		}
	}
}

func TestRendezvousMovesFewValues(t *testing.T) {
	t.Parallel()
	f := get(t, Rendezvous, "customer")
	ask := func(i int, candidates []routing.Consumer) routing.Question {
		return routing.Question{
			Message:    routing.Message{ID: fmt.Sprint("m", i), Fields: routing.ParseFields(fmt.Appendf(nil, `{"customer": %d}`, i))},
			Candidates: candidates, Attempt: 1,
		}
	}
	all := idle(10)
	const values = 5000
	given := map[string]int{}
	for i := range values {
		q := ask(i, all)
		first := pick(t, f, q)
		given[first]++
		other := ask(i, all)
		other.Message.ID, other.Attempt = "another message", 7
		if again := pick(t, f, other); again != first {
			t.Fatalf("the same value went to %s and %s", first, again)
		}
		var left []routing.Consumer // the retry: another one, the next rank (R1)
		for _, c := range all {
			if c.ID != first {
				left = append(left, c)
			}
		}
		second := pick(t, f, ask(i, left))
		for _, gone := range left {
			if gone.ID == second {
				continue
			}
			var without []routing.Consumer
			for _, c := range all {
				if c.ID != gone.ID {
					without = append(without, c)
				}
			}
			if moved := pick(t, f, ask(i, without)); moved != first {
				t.Fatalf("%s left, and a value moved from %s to %s", gone.ID, first, moved)
			}
			break
		}
	}
	for id, n := range given {
		if n < values/10*8/10 || n > values/10*12/10 {
			t.Errorf("%s was given %d of %d values", id, n, values)
		}
	}
	missing := map[string]bool{}
	for i := range 100 {
		q := ask(i, all)
		q.Message.Fields = nil
		missing[pick(t, f, q)] = true
	}
	if len(missing) < 8 {
		t.Errorf("messages without the field went to %d of 10 consumers", len(missing))
	}
	one, same := ask(0, all), ask(0, all)
	one.Message.Fields = routing.ParseFields([]byte(`{"customer": 7}`))
	same.Message.Fields = routing.ParseFields([]byte(`{"customer": 7.0}`))
	if a, b := pick(t, f, one), pick(t, f, same); a != b {
		t.Errorf("7 went to %s, 7.0 to %s", a, b)
	}
}

func TestPicksAreStableAcrossVersions(t *testing.T) {
	t.Parallel()
	for kind, want := range map[Kind]string{
		Rendezvous: "c06 c08 c03 c09", Weighted: "c04 c00 c00 c04", LeastLoaded: "c06 c08 c03 c09",
	} {
		argument := ""
		if kind == Rendezvous {
			argument = "customer"
		}
		f, got := get(t, kind, argument), ""
		for i := range 4 {
			got += " " + pick(t, f, routing.Question{
				Message: routing.Message{ID: fmt.Sprint("m", i)}, Candidates: idle(10), Attempt: 1,
			})
		}
		if got[1:] != want {
			t.Errorf("%s: %s, want %s", kind, got[1:], want)
		}
	}
}

func TestWeightedFollowsTheWeights(t *testing.T) {
	t.Parallel()
	f := get(t, Weighted, "")
	all := idle(3)
	all[0].Weight, all[1].Weight, all[2].Weight = 1, 3, 0 // 0 counts as 1
	given, moved := map[string]int{}, 0
	const messages = 10000
	for i := range messages {
		q := routing.Question{Message: routing.Message{ID: fmt.Sprint("m", i)}, Candidates: all, Attempt: 1}
		first := pick(t, f, q)
		if again := pick(t, f, q); again != first {
			t.Fatalf("the same question was answered %s and %s", first, again)
		}
		given[first]++
		if q.Attempt = 2; pick(t, f, q) != first {
			moved++
		}
	}
	for id, share := range map[string]int{"c00": 20, "c01": 60, "c02": 20} {
		if percent := given[id] * 100 / messages; percent < share-2 || percent > share+2 {
			t.Errorf("%s was given %d %%, want %d", id, percent, share)
		}
	}
	if moved < messages/4 {
		t.Errorf("the next attempt was another draw for %d of %d", moved, messages)
	}
}

func TestIdleGroupSharesMessages(t *testing.T) {
	t.Parallel()
	f := get(t, LeastLoaded, "")
	given := map[string]int{}
	for i := range 1000 {
		given[pick(t, f, routing.Question{Message: routing.Message{ID: fmt.Sprint("m", i)}, Candidates: idle(10), Attempt: 1})]++
	}
	for id, n := range given {
		if n > 200 {
			t.Errorf("%s was given %d of 1000", id, n)
		}
	}
}

func TestSpecs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec Spec
		err  string
	}{
		{Spec{LeastLoaded, ""}, ""}, {Spec{Rendezvous, "customer-id"}, ""}, {Spec{Lambda, "arn:aws:lambda:eu-west-1:123456789012:function:f"}, ""},
		{Spec{LeastLoaded, "x"}, "takes no argument"},
		{Spec{Rendezvous, ""}, "name of a field"},
		{Spec{Affinity, strings.Repeat("x", MaxFieldBytes+1)}, "name of a field"},
		{Spec{Affinity, "\xff"}, "name of a field"},
		{Spec{Lambda, ""}, "name or ARN"}, {Spec{Lambda, "a b"}, "name or ARN"},
		{Spec{"random", ""}, "affinity, cel, first_with_capacity, lambda, least_loaded, rendezvous, weighted"},
		{Spec{}, "unknown"},
	} {
		err := c.spec.Validate()
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%+v: %v, want %q", c.spec, err, c.err)
		}
	}
	if _, err := new(Functions).Get(Spec{Lambda, "f"}); err == nil {
		t.Error("a Lambda function without a client is accepted, want an error")
	}
}

func TestFunctionsHaveDistinctHashes(t *testing.T) {
	t.Parallel()
	source := `consumers.filter(c, c.has_capacity)`
	sum := sha256.Sum256([]byte(source))
	if got := get(t, CEL, source).Hash(); got != hex.EncodeToString(sum[:]) {
		t.Errorf("hash = %s, want the SHA-256 of the source", got)
	}
	seen := map[string]Spec{}
	for _, s := range []Spec{
		{FirstWithCapacity, ""}, {LeastLoaded, ""}, {Weighted, ""}, {Rendezvous, "a"}, {Rendezvous, "b"}, {Affinity, "a"}, {Lambda, "a"},
	} {
		if other, there := seen[s.Hash()]; there {
			t.Errorf("%+v and %+v have the same hash", s, other)
		}
		seen[s.Hash()] = s
	}
	var f Functions
	if _, err := f.Get(Spec{CEL, "least_loaded"}); err == nil {
		t.Error("the name of a built-in is accepted as an expression")
	}
	if _, err := f.Get(Spec{LeastLoaded, ""}); err != nil {
		t.Errorf("a built-in is taken for an expression of the same text: %v", err)
	}
}

func TestFunctionIsCompiledOnce(t *testing.T) {
	t.Parallel()
	var functions Functions
	source := func(i int) Spec { return Spec{CEL, fmt.Sprintf(`"c%02d"`, i)} }
	held, err := functions.Get(source(0))
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if again, err := functions.Get(source(0)); err != nil || again != held {
				t.Errorf("compiled again: %v", err)
			}
		})
	}
	all.Wait()
	fill := func(from, to int) {
		for i := from; i < to; i++ {
			if _, err := functions.Get(source(i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	fill(1, MaxCompiled)
	if again, _ := functions.Get(source(0)); again != held {
		t.Error("compiled again though there was room")
	}
	fill(MaxCompiled, MaxCompiled+10)
	if again, _ := functions.Get(source(0)); again != held {
		t.Error("the one that was asked for last went before others")
	}
	fill(MaxCompiled+10, 2*MaxCompiled+10)
	if len(functions.kept) != MaxCompiled {
		t.Errorf("%d functions are kept, want %d", len(functions.kept), MaxCompiled)
	}
	if again, _ := functions.Get(source(0)); again == held {
		t.Error("the one that was not asked for for longest is still kept")
	}
	if got := pick(t, held, asking(body)); got != "c00" {
		t.Errorf("the function that was replaced answers %q", got)
	}
}

// invoker is a Lambda function made of what it does.
type invoker func(ctx context.Context, name string, payload []byte) ([]byte, string, error)

func (i invoker) Invoke(ctx context.Context, name string, payload []byte) ([]byte, string, error) {
	return i(ctx, name, payload)
}

func TestLambda(t *testing.T) {
	t.Parallel()
	answers := func(text string) invoker {
		return func(context.Context, string, []byte) ([]byte, string, error) { return []byte(text), "", nil }
	}
	for _, c := range []struct {
		name    string
		invoke  invoker
		want    string
		failure routing.EvaluationFailure
	}{
		{"picks", answers(`{"consumer": "b"}`), "b", ""},
		{"picks, and says more", answers(`{"consumer": "b", "why": {"x": 1}}`), "b", ""},
		{"no consumer", answers(`{"consumer": null}`), "", ""},
		{"no consumer, as text", answers(`{"consumer": ""}`), "", ""},
		{"no consumer", answers(`{}`), "", routing.Crashed},
		{"null", answers(`null`), "", routing.Crashed},
		{"a list", answers(`["b"]`), "", routing.Crashed},
		{"a number", answers(`{"consumer": 1}`), "", routing.Crashed},
		{"no JSON", answers(`b`), "", routing.Crashed},
		{"nothing", answers(``), "", routing.Crashed},
		{"too much", answers(`{"consumer": "b", "x": "` + strings.Repeat("x", MaxAnswerBytes) + `"}`), "", routing.Crashed},
		{"fails", func(context.Context, string, []byte) ([]byte, string, error) {
			return []byte(`"secret"`), "Unhandled", nil
		}, "", routing.Crashed},
		{"throttled", func(context.Context, string, []byte) ([]byte, string, error) {
			return nil, "", errors.New("TooManyRequestsException")
		}, "", routing.NotStarted},
		{"hangs", func(ctx context.Context, _ string, _ []byte) ([]byte, string, error) {
			<-ctx.Done()
			return nil, "", ctx.Err()
		}, "", routing.TimedOut},
		{"its client gives up", func(context.Context, string, []byte) ([]byte, string, error) {
			return nil, "", fmt.Errorf("send: %w", context.DeadlineExceeded)
		}, "", routing.TimedOut},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				functions := Functions{Invoke: c.invoke}
				f, err := functions.Get(Spec{Lambda, "router"})
				if err != nil {
					t.Fatal(err)
				}
				begun := time.Now()
				s := routing.Snapshot{Group: routing.NewGroup("couriers", asking(body).Candidates...), Function: f}
				d := s.Choose(t.Context(), routing.Choice{Message: asking(body).Message})
				if took := time.Since(begun); took > routing.EvaluationTimeout {
					t.Errorf("took %v", took)
				}
				var evaluation *routing.EvaluationError
				switch {
				case c.failure != "":
					if !errors.As(d.Err, &evaluation) || evaluation.Failure != c.failure || evaluation.Function != f.Hash() {
						t.Errorf("%+v, want %s", d.Err, c.failure)
					}
				case c.want == "":
					if !errors.Is(d.Err, routing.ErrNoConsumerAvailable) {
						t.Errorf("%v, want no consumer", d.Err)
					}
				case d.Err != nil || d.Consumer != c.want:
					t.Errorf("%q, %v, want %q", d.Consumer, d.Err, c.want)
				}
			})
		})
	}
}

func TestLambdaIsAskedOnceInThePublicForm(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	var got map[string]any
	functions := Functions{Invoke: invoker(func(_ context.Context, name string, payload []byte) ([]byte, string, error) {
		asked.Add(1)
		if name != "router" {
			t.Errorf("called %q", name)
		}
		if err := json.Unmarshal(payload, &got); err != nil {
			t.Error(err)
		}
		return []byte(`{"consumer": "b"}`), "", nil
	})}
	f, err := functions.Get(Spec{Lambda, "router"})
	if err != nil {
		t.Fatal(err)
	}
	pick(t, f, asking(`{"tier": "gold", "n": 3, "f": 1.5, "yes": true, "note": null}`))
	if asked.Load() != 1 {
		t.Errorf("called %d times", asked.Load())
	}
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"attempt":1,"consumers":[` +
		`{"available_capacity":0,"buffer_depth":0,"current_in_flight":5,"has_capacity":false,"id":"a","max_in_flight":5,"tags":["eu","cold"],"weight":3},` +
		`{"available_capacity":1,"buffer_depth":4,"current_in_flight":9,"has_capacity":true,"id":"b","max_in_flight":10,"tags":["eu"],"weight":1},` +
		`{"available_capacity":null,"buffer_depth":0,"current_in_flight":1,"has_capacity":true,"id":"c","max_in_flight":null,"tags":["us"],"weight":1}],` +
		`"message":{"attributes":{"kind":"parcel"},"fields":{"f":1.5,"n":3,"note":null,"tier":"gold","yes":true},"id":"m1"}}`
	if string(text) != want {
		t.Errorf("asked\n%s, want\n%s", text, want)
	}
}

func BenchmarkSelect(b *testing.B) {
	all := idle(10)
	for i := range all {
		all[i].Tags, all[i].CurrentInFlight = []string{"eu"}, int64(i)
	}
	q := routing.Question{
		Message:    routing.Message{ID: "4bf92f3577b34da6a3ce929d0e0e4736", Fields: routing.ParseFields([]byte(body))},
		Candidates: all, Attempt: 1,
	}
	for _, c := range []struct {
		name string
		spec Spec
	}{
		{"first_with_capacity", Spec{FirstWithCapacity, ""}},
		{"least_loaded", Spec{LeastLoaded, ""}},
		{"rendezvous", Spec{Rendezvous, "customer-id"}},
		{"weighted", Spec{Weighted, ""}},
		{"affinity", Spec{Affinity, "region"}},
		{"cel/filter", Spec{CEL, `consumers.filter(c, c.has_capacity && message.region in c.tags)`}},
		{"cel/ternary", Spec{CEL, `message.tier == "gold" && message.weight > 10.5 ? consumers[3] : consumers[0]`}},
	} {
		b.Run(c.name, func(b *testing.B) {
			f, ctx := get(b, c.spec.Kind, c.spec.Argument), b.Context()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f.Select(ctx, q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
