package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/desk"
	"github.com/landfall-dev/landfall/internal/lab/localaws/ledger"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// Summary is build/run.json.
type Summary struct {
	Seed    uint64  `json:"seed"`
	Seconds float64 `json:"seconds"`
	Outbox  Counts  `json:"outbox"`
	// Cost is null where the AWS does not count.
	Cost    *Cost    `json:"cost"`
	Routing *Routing `json:"routing"`

	// problems make the verdict bad.
	problems []string
}

// Counts are numbers of rows, unless they say otherwise.
type Counts struct {
	Rows      int `json:"rows"`
	Completed int `json:"completed"`
	Failed    int `json:"failed"`
	Unknown   int `json:"unknown"`
	// Open rows are due or dispatching at the end.
	Open int `json:"open"`
	// Retried rows have more than one claim; Attempts counts claims.
	Retried  int `json:"retried"`
	Attempts int `json:"attempts"`
	// TakenOver rows were claimed by a process that was killed, and taken from it by another.
	TakenOver int `json:"taken_over"`
	// Killed counts processes.
	Killed int `json:"killed"`
	// Reconciled rows were unknown until the remote was asked.
	Reconciled int `json:"reconciled"`
	// LeftAfter is how long rows with one attempt had waited when they were claimed, the median, in milliseconds.
	LeftAfter float64 `json:"left_after_median_ms"`
	// Effects is what the remote's own log says that it did; Duplicates are effects beyond one per row.
	Effects    int `json:"effects"`
	Duplicates int `json:"duplicates"`
	// Lost rows are completed without an effect, or not terminal and in no lane.
	Lost             int `json:"lost"`
	FailedWithEffect int `json:"failed_with_effect"`
}

// Cost is what the request ledger counted on the outbox table and its index, application and functions
// together, divided by the effects.
type Cost struct {
	WriteUnits float64 `json:"write_units_per_effect"`
	ReadUnits  float64 `json:"read_units_per_effect"`
	Calls      float64 `json:"calls_per_effect"`
}

// Err is nil if the run found no problem. The output lists all problems.
func (s *Summary) Err() error {
	if len(s.problems) == 0 {
		return nil
	}
	return fmt.Errorf("the run found %d problems; the first: %s", len(s.problems), s.problems[0])
}

// summarise compares the rows with the remote's log, prints what it finds and writes run.json.
func (d *demo) summarise(ctx context.Context, cost *Cost, routing *Routing) (*Summary, error) {
	s := &Summary{Seed: d.options.Seed, Cost: cost, Routing: routing, problems: routing.problems}
	each := map[string]*Counts{}
	for _, name := range destinations {
		each[name] = &Counts{}
	}
	var waits []time.Duration
	for _, e := range d.effects {
		row, err := d.store.Get(ctx, e.ID)
		if err != nil {
			return nil, fmt.Errorf("read the rows back: %w", err)
		}
		effects, lookups := d.logOf(e.name())
		for _, c := range []*Counts{each[e.Destination], &s.Outbox} {
			c.count(row, effects, lookups)
		}
		if row.AttemptCount == 1 {
			waits = append(waits, row.ClaimedAt.Sub(row.CreatedAt))
		}
		if problem := d.unexpected(e, row); problem != "" {
			s.problems = append(s.problems, problem)
		}
	}
	for _, id := range d.takenOver(ctx) {
		each[id.Destination].TakenOver++
		s.Outbox.TakenOver++
	}
	s.Outbox.Killed = len(d.killed)
	s.Outbox.LeftAfter, _ = spread(waits)
	if s.Cost != nil {
		s.Cost.perEffect(s.Outbox.Effects)
	}
	s.Seconds = math.Round(time.Since(d.begun).Seconds()*10) / 10
	s.judge()
	d.print(s, each)
	return s, s.write(d.summaryFile())
}

// logOf is what the remote's log says about a row.
func (d *demo) logOf(name string) (effects, lookups int) {
	d.remote.mu.Lock()
	defer d.remote.mu.Unlock()
	return d.remote.effects[name], d.remote.lookups[name]
}

func (c *Counts) count(row outbox.Row, effects, lookups int) {
	c.Rows++
	c.Attempts += row.AttemptCount
	c.Effects += effects
	c.Duplicates += max(0, effects-1)
	if row.AttemptCount > 1 {
		c.Retried++
	}
	switch row.Status {
	case outbox.StatusCompleted:
		c.Completed++
		if effects == 0 {
			c.Lost++
		}
	case outbox.StatusFailed:
		c.Failed++
		c.FailedWithEffect += min(effects, 1)
	case outbox.StatusOutcomeUnknown:
		c.Unknown++
	default:
		c.Open++
	}
	if lookups > 0 && row.Status.Terminal() {
		c.Reconciled++
	}
	if !row.Status.Terminal() && row.Lane == (outbox.Lane{}) {
		c.Lost++
	}
}

// unexpected says how a row's end differs from what its script allows, "" if it does not. If the script was disturbed
// (the sending process was killed, or this machine was so slow that it may have given up), an answer of the remote was
// lost and the row may have ended otherwise: then only the remote's log judges it.
func (d *demo) unexpected(e effect, row outbox.Row) string {
	d.remote.mu.Lock()
	defer d.remote.mu.Unlock()
	to := destinationTraits[e.Destination]
	script := d.remote.plan[e.name()]
	want := script.end(to)
	disturbed := d.remote.disturbed[e.name()] || row.AttemptCount > d.remote.requests[e.name()] || d.killedWith(row) ||
		row.Code == gaveUp && !slices.ContainsFunc(script, act.stalls)
	if row.Status == outbox.StatusOutcomeUnknown && to.canBeAsked {
		return fmt.Sprintf("row %s is outcome_unknown, although its remote can be asked", row.ID)
	}
	if row.Status == want || disturbed {
		return ""
	}
	return fmt.Sprintf("row %s is %s (%s); its script ends in %s", row.ID, row.Status, row.Code, want)
}

// killedWith reports whether a process was killed that had claimed the row.
func (d *demo) killedWith(row outbox.Row) bool {
	return slices.ContainsFunc(d.killed, func(k killed) bool { _, held := k.tokens[row.ID]; return held })
}

// takenOver are the rows that a killed process had claimed and another took over.
func (d *demo) takenOver(ctx context.Context) (ids []outbox.ID) {
	for _, k := range d.killed {
		for id, token := range k.tokens {
			if row, err := d.store.Get(ctx, id); err == nil && (row.Status != outbox.StatusDispatching || row.Token != token) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// must is a number that has to be zero, or has to be more.
type must struct {
	what string
	n    int
	zero bool
}

// broken says which numbers are not as they must be.
func broken(all []must) (problems []string) {
	for _, m := range all {
		if m.zero != (m.n == 0) {
			problems = append(problems, fmt.Sprintf("%s: %d", m.what, m.n))
		}
	}
	return problems
}

// judge adds to the problems what the counts say.
func (s *Summary) judge() {
	s.problems = append(s.problems, broken([]must{
		{"duplicates", s.Outbox.Duplicates, true}, {"lost", s.Outbox.Lost, true}, {"failed with effect", s.Outbox.FailedWithEffect, true},
		{"open", s.Outbox.Open, true}, {"retried", s.Outbox.Retried, false}, {"taken over", s.Outbox.TakenOver, false}, {"killed", s.Outbox.Killed, false},
		{"reconciled", s.Outbox.Reconciled, false},
	})...)
}

// cost sums up what the application and the functions did to the outbox table; nil where the AWS is not
// in this process.
func (d *demo) cost() *Cost {
	if d.desk.Ledger == nil {
		return nil
	}
	var c Cost
	for _, request := range d.desk.Ledger.Entries() {
		ours := request.Caller == application || strings.HasPrefix(request.Caller, desk.FunctionCaller(""))
		if !ours || !slices.ContainsFunc(request.Costs, func(c ledger.Cost) bool { return c.Table == d.desk.OutboxTable() }) {
			continue
		}
		c.Calls++
		for _, cost := range request.Costs {
			if cost.Table == d.desk.OutboxTable() {
				c.ReadUnits += cost.Read
				c.WriteUnits += cost.Write
			}
		}
	}
	return &c
}

func (c *Cost) perEffect(effects int) {
	for _, figure := range []*float64{&c.WriteUnits, &c.ReadUnits, &c.Calls} {
		*figure = math.Round(*figure/float64(max(effects, 1))*100) / 100
	}
}

func (d *demo) print(s *Summary, each map[string]*Counts) {
	table := tabwriter.NewWriter(d.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\ndestination\trows\tcompleted\tfailed\tunknown\tattempts\tretried\ttaken over\treconciled\teffects\tduplicates\tlost\t")
	for _, name := range append(slices.Clone(destinations), "all") {
		c := each[name]
		if name == "all" {
			c = &s.Outbox
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n", name, c.Rows, c.Completed, c.Failed, c.Unknown,
			c.Attempts, c.Retried, c.TakenOver, c.Reconciled, c.Effects, c.Duplicates, c.Lost)
	}
	_ = table.Flush()
	fmt.Fprintf(d.out, "\nfrom put to claim, rows with one attempt: median %.0f ms\n", s.Outbox.LeftAfter)
	fmt.Fprintln(d.out, "\nwhat the remote did with the requests that reached it:")
	for a, n := range d.remote.did {
		fmt.Fprintf(d.out, "  %5d  %s\n", n, act(a))
	}
	fmt.Fprintf(d.out, "  %5d  of these repeated an idempotency key that it recognised, and had no further effect\n", d.remote.repeated)
	if s.Outbox.Unknown > 0 {
		fmt.Fprintf(d.out, "\n%d rows are outcome_unknown and wait for a person: an attempt may have arrived, sending again could double the\n", s.Outbox.Unknown)
		fmt.Fprintln(d.out, "effect, and the remote cannot be asked. Landfall never guesses: landfall rows resolve records what a person found out.")
	}
	d.printRouting(s.Routing)
	d.verdict(d.out, s)
}

// spread is the median and the worst, in milliseconds; 0 where there is none.
func spread(all []time.Duration) (median, worst float64) {
	if len(all) == 0 {
		return 0, 0
	}
	slices.Sort(all)
	in := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	return in(all[len(all)/2]), in(all[len(all)-1])
}

func (d *demo) verdict(out io.Writer, s *Summary) {
	if s.Cost != nil {
		fmt.Fprintf(out, "\ncounted per effect: %.2f write units, %.2f read units, %.2f requests to DynamoDB\n", s.Cost.WriteUnits, s.Cost.ReadUnits, s.Cost.Calls)
	}
	fmt.Fprintf(out, "\nduplicates %d, lost %d, failed although it took effect %d, still open %d   (%.1f s)\n",
		s.Outbox.Duplicates, s.Outbox.Lost, s.Outbox.FailedWithEffect, s.Outbox.Open, s.Seconds)
	if len(s.problems) == 0 {
		fmt.Fprintf(out, "GOOD: %d processes were killed in mid-send; every row ended as it should, and every message reached exactly one courier.\n", s.Outbox.Killed)
		return
	}
	fmt.Fprintln(out, "BAD:")
	const most = 10
	for i, problem := range s.problems {
		if i == most {
			fmt.Fprintf(out, "  and %d more\n", len(s.problems)-most)
			break
		}
		fmt.Fprintln(out, " ", problem)
	}
}

func (s *Summary) write(path string) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("write the summary: %w", err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the summary: %w", err)
	}
	return nil
}
