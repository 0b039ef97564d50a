package demo

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/landfall-dev/landfall/internal/outbox"
)

func TestScriptsEndAsTheProtocolSays(t *testing.T) {
	t.Parallel()
	const completed, failed, unknown = outbox.StatusCompleted, outbox.StatusFailed, outbox.StatusOutcomeUnknown
	for _, c := range []struct {
		script                        script
		charge, payout, mail, partner outbox.Status
	}{
		{nil, completed, completed, completed, completed},
		{script{askToWait, refuse}, completed, completed, completed, completed},
		{script{reject}, failed, failed, failed, failed},
		{script{askToWait, reject}, failed, failed, failed, failed},
		{script{unavailable}, completed, completed, unknown, completed},
		{script{failAfterWork}, completed, completed, unknown, completed},
		{script{stallBeforeWork}, completed, completed, unknown, completed},
		{script{stallAfterWork}, completed, completed, unknown, completed},
		{script{cutBeforeWork}, completed, completed, unknown, completed},
		{script{cutAfterWork}, completed, completed, unknown, completed},
		{script{cutAndWorkLate}, completed, completed, unknown, completed},
		{script{killBeforeWork}, completed, completed, unknown, completed},
		{script{killAfterWork}, completed, completed, unknown, completed},
		{script{cutBeforeWork, reject}, completed, failed, unknown, unknown},
		{script{cutAfterWork, reject}, completed, completed, unknown, unknown},
		{script{refuse, cutAfterWork}, completed, completed, unknown, completed},
	} {
		for destination, want := range map[string]outbox.Status{"charge": c.charge, "payout": c.payout, "mail": c.mail, "partner": c.partner} {
			if got := c.script.end(destinationTraits[destination]); got != want {
				t.Errorf("%v at %s: %s, want %s", c.script, destination, got, want)
			}
		}
	}
}

func TestEveryPlanKillsSendersBeforeAndAfterTheWork(t *testing.T) {
	t.Parallel()
	var rows []string
	for _, destination := range destinations {
		for i := range 20 {
			rows = append(rows, rowName(destination, string(rune('a'+i))))
		}
	}
	for seed := range uint64(200) {
		p := newPlan(seed, rows)
		if !reflect.DeepEqual(p, newPlan(seed, rows)) {
			t.Fatalf("seed %d draws two plans", seed)
		}
		kills := map[string]int{}
		for row, s := range p {
			if len(s) > 0 && s[0].kills() {
				destination, _, _ := strings.Cut(row, "/")
				kills[destination+" "+s[0].String()]++
			}
		}
		if len(kills) != 6 {
			t.Fatalf("seed %d kills %v, want before and after the work, at charge, payout and mail", seed, kills)
		}
	}
}

// TestRowsAreMadeFromPayloadsAndSeed makes ten rows of two files: each row has a key of its own.
func TestRowsAreMadeFromPayloadsAndSeed(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, name := range []string{"a b.json", "c.json"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	prepared := func(seed uint64) *demo {
		d := &demo{options: Options{Payloads: folder, Rows: 10, Seed: seed}, out: io.Discard, byName: map[string]outbox.ID{}}
		if err := d.prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		return d
	}
	d := prepared(3)
	var rows []string
	for _, e := range d.effects {
		rows = append(rows, e.name()+" "+string(e.payload.Body))
	}
	if want := []string{
		"charge/a%20b.json a b.json", "payout/a%20b.json a b.json", "mail/a%20b.json a b.json", "partner/a%20b.json a b.json",
		"charge/c.json c.json", "payout/c.json c.json", "mail/c.json c.json", "partner/c.json c.json",
		"charge/a%20b.json;2 a b.json", "payout/a%20b.json;2 a b.json",
	}; !slices.Equal(rows, want) {
		t.Errorf("rows %q, want %q", rows, want)
	}
	if !reflect.DeepEqual(d.remote.plan, prepared(3).remote.plan) || reflect.DeepEqual(d.remote.plan, prepared(4).remote.plan) {
		t.Error("the plan is not that of the seed")
	}
}

// TestVerdictNamesEachProblem breaks what the verdict is about, one thing at a time.
func TestVerdictNamesEachProblem(t *testing.T) {
	t.Parallel()
	lane := outbox.Lane{Kind: outbox.DueLane, Destination: "mail"}
	good := func(c *Counts) { c.Retried, c.TakenOver, c.Killed, c.Reconciled = 1, 1, 1, 1 }
	for name, c := range map[string]struct {
		row     outbox.Row
		effects int
		with    func(*Counts)
		problem string
	}{
		"good":                       {outbox.Row{Status: outbox.StatusCompleted}, 1, good, ""},
		"unknown, it happened":       {outbox.Row{Status: outbox.StatusOutcomeUnknown, Lane: lane}, 1, good, ""},
		"unknown, it did not":        {outbox.Row{Status: outbox.StatusOutcomeUnknown, Lane: lane}, 0, good, ""},
		"failed":                     {outbox.Row{Status: outbox.StatusFailed, Lane: lane}, 0, good, ""},
		"twice":                      {outbox.Row{Status: outbox.StatusCompleted}, 2, good, "duplicates: 1"},
		"unknown, it happened twice": {outbox.Row{Status: outbox.StatusOutcomeUnknown, Lane: lane}, 2, good, "duplicates: 1"},
		"completed without effect":   {outbox.Row{Status: outbox.StatusCompleted}, 0, good, "lost: 1"},
		"unknown in no lane":         {outbox.Row{Status: outbox.StatusOutcomeUnknown}, 0, good, "lost: 1"},
		"failed with effect":         {outbox.Row{Status: outbox.StatusFailed, Lane: lane}, 1, good, "failed with effect: 1"},
		"open":                       {outbox.Row{Status: outbox.StatusPending, Lane: lane}, 0, good, "open: 1"},
		"in flight":                  {outbox.Row{Status: outbox.StatusDispatching, Lane: lane}, 0, good, "open: 1"},
		"nothing killed":             {outbox.Row{Status: outbox.StatusCompleted}, 1, func(c *Counts) { good(c); c.Killed = 0 }, "killed: 0"},
		"nothing retried":            {outbox.Row{Status: outbox.StatusCompleted}, 1, func(c *Counts) { good(c); c.Retried = 0 }, "retried: 0"},
		"nothing taken over":         {outbox.Row{Status: outbox.StatusCompleted}, 1, func(c *Counts) { good(c); c.TakenOver = 0 }, "taken over: 0"},
		"nothing reconciled":         {outbox.Row{Status: outbox.StatusCompleted}, 1, func(c *Counts) { good(c); c.Reconciled = 0 }, "reconciled: 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s Summary
			s.Outbox.count(c.row, c.effects, 0)
			c.with(&s.Outbox)
			s.judge()
			if got := strings.Join(s.problems, "; "); got != c.problem {
				t.Errorf("problems: %q, want %q", got, c.problem)
			}
		})
	}
}

func TestEndAgainstTheScriptIsAProblem(t *testing.T) {
	t.Parallel()
	e := effect{ID: outbox.ID{Destination: "mail", Key: "k"}}
	d := &demo{remote: newRemote(plan{"mail/k": {reject}}, nil)}
	d.remote.requests["mail/k"] = 1
	row := outbox.Row{ID: e.ID, Status: outbox.StatusFailed, AttemptCount: 1}
	if problem := d.unexpected(e, row); problem != "" {
		t.Errorf("as scripted: %s", problem)
	}
	row.Status = outbox.StatusOutcomeUnknown
	if problem := d.unexpected(e, row); problem == "" || strings.Contains(problem, "mail/k") {
		t.Errorf("a rejected row that is unknown: %q, want a problem that does not tell the key", problem)
	}
	row.AttemptCount = 2 // one claim never reached the remote: its sender is dead
	if problem := d.unexpected(e, row); problem != "" {
		t.Errorf("disturbed: %s", problem)
	}
	row.AttemptCount, row.Code = 1, gaveUp // the machine is slow: the answer was not heard
	if problem := d.unexpected(e, row); problem != "" {
		t.Errorf("an answer that was not heard: %s", problem)
	}
	d.remote.plan["mail/k"] = script{reject, stallBeforeWork} // a script that tells senders to give up says how it ends
	if problem := d.unexpected(e, row); problem == "" {
		t.Error("no problem with a row whose script was followed, and ended otherwise")
	}
}

// TestRunJSONKeepsItsForm, because other programs read it.
func TestRunJSONKeepsItsForm(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "run.json")
	s := Summary{
		Seed: 1, Seconds: 2.5, Cost: &Cost{WriteUnits: 3, ReadUnits: 4, Calls: 5},
		Outbox: Counts{
			Rows: 1, Completed: 2, Failed: 3, Unknown: 4, Open: 5, Retried: 6, Attempts: 7, TakenOver: 8, Killed: 9, Reconciled: 10,
			LeftAfter: 10.5, Effects: 11, Duplicates: 12, Lost: 13, FailedWithEffect: 14,
		},
		Routing: &Routing{
			Messages: 1, Accepted: 2, FirstTry: 3, Rerouted: 4, Declined: 5, TooLate: 6, DeadLettered: 7, AcceptedTwice: 8, Lost: 9,
			Open: 10, RerouteMedian: 11, RerouteWorst: 12, By: map[string]int{"steady": 13},
		},
	}
	if err := s.write(file); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"seed":1,"seconds":2.5,"outbox":{"rows":1,"completed":2,"failed":3,"unknown":4,"open":5,"retried":6,"attempts":7,` +
		`"taken_over":8,"killed":9,"reconciled":10,"left_after_median_ms":10.5,"effects":11,"duplicates":12,"lost":13,"failed_with_effect":14},` +
		`"cost":{"write_units_per_effect":3,"read_units_per_effect":4,"calls_per_effect":5},"routing":{"messages":1,"accepted":2,"first_try":3,"rerouted":4,"declined":5,"too_late":6,` +
		`"dead_lettered":7,"accepted_twice":8,"lost":9,"open":10,"reroute_median_ms":11,"reroute_worst_ms":12,"by":{"steady":13}}}`
	var compact bytes.Buffer
	if err := json.Compact(&compact, got); err != nil || compact.String() != want {
		t.Errorf("run.json is %s, %v\nwant %s", &compact, err, want)
	}
}
