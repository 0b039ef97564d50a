package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/landfall-dev/landfall/internal/invoke"
	"github.com/landfall-dev/landfall/internal/routefn"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/schema"
)

// trial is a message that a routing function is tested with.
type trial struct {
	message, id, consumers string
	attributes, tried      []string
	attempt                int
}

func (a *app) groupsTestCommand() *cobra.Command {
	t := &trial{}
	cmd := a.command("test GROUP [KIND [ARGUMENT]] --message BODY", "Show which consumer a routing function picks, and why",
		`Nothing is sent or changed, but a function of the kind lambda is really called.

The routing function is the group's, or that of KIND and ARGUMENT, as for
set-route. The consumers are the group's with the load of their queues, or those
of --consumers, in the form that a routing function of the kind lambda gets.
BODY, ARGUMENT and the list are the text itself, @FILE for the content of a
file, or - for standard input. Exit code 1: no consumer is picked, with the
reason.`,
		takes(1, 3), func(ctx context.Context, args []string) error { return a.groupsTest(ctx, args, t) })
	flags := cmd.Flags()
	flags.StringVar(&t.message, "message", "", "the message's body, @FILE or - (required)")
	flags.StringVar(&t.id, "message-id", "", "the message's ID, which breaks ties (default: the body's SHA-256)")
	flags.StringArrayVar(&t.attributes, "attribute", nil, "NAME=VALUE, an attribute of the message; may be repeated")
	flags.StringVar(&t.consumers, "consumers", "", "consumers as a JSON list, @FILE or - (default: the group's)")
	flags.IntVar(&t.attempt, "attempt", 0, "number of this attempt (default: one more than --tried)")
	flags.StringSliceVar(&t.tried, "tried", nil, "consumers that had the message before, oldest first, with commas between them")
	require(cmd, "message")
	return cmd
}

func (a *app) groupsTest(ctx context.Context, args []string, t *trial) error {
	choice, err := a.choice(t)
	if err != nil {
		return badInput(err)
	}
	g, err := a.groups(ctx)
	if err != nil {
		return err
	}
	now, err := g.readFor(ctx, args, t)
	if err != nil {
		return err
	}
	a.warn(now.overrides.Problems...)
	route := now.route()
	if len(args) > 1 {
		if route, err = a.route(args[1:]); err != nil {
			return err
		}
	}
	snapshot := routing.Snapshot{Policy: now.file.Policy()}
	functions := &routefn.Functions{Invoke: invoke.New(g.at.sdk)}
	if snapshot.Function, err = functions.Get(route.spec()); err != nil {
		return fmt.Errorf("group %s: no consumer is picked: %w", now.name, err)
	}
	if t.consumers != "" {
		all, err := a.consumers(t.consumers)
		if err != nil {
			return badInput(err)
		}
		now.set(all)
	} else {
		a.warn(g.fill(ctx, now.consumers)...)
	}
	snapshot.Group = routing.NewGroup(now.name, now.consumers...)
	return a.explainDecision(decisionOf(now.name, route, snapshot.Choose(ctx, choice)))
}

// readFor reads the control table only if the answer depends on it.
func (g *groups) readFor(ctx context.Context, args []string, t *trial) (*groupNow, error) {
	if len(args) == 1 || t.consumers == "" {
		return g.read(ctx, args[0])
	}
	file, err := groupOf(g.cfg, args[0])
	return &groupNow{name: args[0], file: file}, err
}

// choice is a message on its way, without a receipt in a table.
func (a *app) choice(t *trial) (routing.Choice, error) {
	body, err := a.input("--message", t.message, routing.MaxIncomingBytes)
	if err != nil {
		return routing.Choice{}, err
	}
	if len(body) > routing.MaxIncomingBytes {
		return routing.Choice{}, fmt.Errorf("--message: the body exceeds %d bytes", routing.MaxIncomingBytes)
	}
	attributes, err := pairs("--attribute", t.attributes)
	if err != nil {
		return routing.Choice{}, err
	}
	least := len(t.tried) + 1
	attempt := cmp.Or(t.attempt, least)
	if attempt < least {
		return routing.Choice{}, fmt.Errorf("--attempt %d: want %d or more, since --tried names %d", attempt, least, least-1)
	}
	sum := sha256.Sum256(body)
	c := routing.Choice{Now: time.Now(), Message: routing.Message{
		ID: cmp.Or(t.id, hex.EncodeToString(sum[:])), Fields: routing.ParseFields(body), Attributes: attributes,
	}}
	c.Receipt.Attempt = attempt - 1
	if n := len(t.tried); n > 0 { // the last one still has it
		c.Receipt.State, c.Receipt.Consumer = routing.Declined, t.tried[n-1]
		for _, id := range t.tried[:n-1] {
			c.Receipt.History = append(c.Receipt.History, routing.Past{Consumer: id, End: routing.EndDeclined})
		}
	}
	return c, nil
}

// decisionView explains a decision. It has message content only where the function named it.
type decisionView struct {
	Group      string              `json:"group"`
	Route      routeView           `json:"route"`
	Attempt    int                 `json:"attempt"`
	Candidates []routefn.Candidate `json:"candidates"`
	Excluded   []excludedView      `json:"excluded"`
	Consumer   string              `json:"consumer,omitempty"` // absent: none
	Problem    string              `json:"problem,omitempty"`
}

type excludedView struct {
	Consumer string `json:"consumer"`
	Why      string `json:"why"`
}

func decisionOf(group string, route routeView, d routing.Decision) decisionView {
	v := decisionView{
		Group: group, Route: route, Attempt: d.Question.Attempt, Candidates: []routefn.Candidate{}, Excluded: []excludedView{}, Consumer: d.Consumer,
	}
	for _, c := range d.Question.Candidates {
		v.Candidates = append(v.Candidates, routefn.CandidateOf(c))
	}
	for _, e := range d.Excluded {
		v.Excluded = append(v.Excluded, excludedView{e.Consumer, string(e.Why)})
	}
	v.Problem = problemOf(d)
	return v
}

// problemOf says why no consumer was picked; "" if one was.
func problemOf(d routing.Decision) string {
	var evaluation *routing.EvaluationError
	var unknown *routing.UnknownConsumerSelectedError
	switch {
	case d.Err == nil:
		return ""
	case len(d.Question.Candidates) == 0:
		return "no consumer is a candidate"
	case errors.Is(d.Err, routing.ErrNoConsumerAvailable):
		return "the function picks none of the candidates now"
	case errors.As(d.Err, &unknown):
		return fmt.Sprintf("the function picks %.80q, which is not a candidate", unknown.ID)
	case errors.As(d.Err, &evaluation) && evaluation.Cause != nil:
		return fmt.Sprintf("the function %s: %v", evaluation.Failure, evaluation.Cause)
	}
	return d.Err.Error()
}

func (a *app) explainDecision(v decisionView) error {
	no := fmt.Errorf("group %s: no consumer is picked: %s", v.Group, v.Problem)
	if v.Problem == "" {
		no = nil
	}
	if a.output == inJSON {
		return errors.Join(a.printJSON(v), no)
	}
	rows := [][]string{{"CONSUMER", "VERDICT", "IN FLIGHT", "BUFFER DEPTH", "MAX IN FLIGHT", "WEIGHT", "TAGS"}}
	for _, c := range v.Candidates {
		verdict := "candidate"
		switch {
		case c.ID == v.Consumer:
			verdict = "picked"
		case !c.HasCapacity:
			verdict = "candidate, full"
		}
		rows = append(rows, []string{
			c.ID, verdict, number(&c.CurrentInFlight), number(&c.BufferDepth), number(c.MaxInFlight), fmt.Sprint(c.Weight), strings.Join(c.Tags, ","),
		})
	}
	for _, e := range v.Excluded {
		rows = append(rows, []string{e.Consumer, "not a candidate: " + e.Why})
	}
	fmt.Fprintf(a.stdout, "group %s, attempt %d, route of the %s: %s\n\n", v.Group, v.Attempt, v.Route.From, printable(v.Route.String()))
	return errors.Join(a.printTable(rows), no)
}

// consumers reads a list of consumers in the form that a routing function of the kind lambda gets. Fields that follow
// from others (available_capacity, has_capacity) are ignored.
func (a *app) consumers(given string) ([]routing.Consumer, error) {
	const most = 1 << 20
	text, err := a.input("--consumers", given, most)
	if err != nil {
		return nil, err
	}
	var views []routefn.Candidate
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&views); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			err = fmt.Errorf("not a JSON %s at byte %d", wrong.Value, wrong.Offset)
		}
		return nil, fmt.Errorf(`--consumers: want a JSON list such as [{"id": "north", "current_in_flight": 3, "max_in_flight": 50}]: %w`, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) || len(text) > most {
		return nil, fmt.Errorf("--consumers: want one JSON list of at most %d bytes, with nothing after it", most)
	}
	var all []routing.Consumer
	for i, v := range views {
		if v.ID == "" {
			return nil, fmt.Errorf("--consumers: consumer number %d has no id", i+1)
		}
		c := routing.Consumer{ID: v.ID, Weight: v.Weight, ConsumerState: routing.ConsumerState{
			CurrentInFlight: v.CurrentInFlight, MaxInFlight: routing.Unlimited, BufferDepth: v.BufferDepth, Tags: v.Tags,
		}}
		if v.MaxInFlight != nil {
			c.MaxInFlight = *v.MaxInFlight
		}
		all = append(all, c)
	}
	return all, nil
}

// fill reads the load of consumers, as the router does: a queue that cannot be read counts as idle.
func (g *groups) fill(ctx context.Context, all []routing.Consumer) (problems []error) {
	for i := range all {
		queue, isQueue := strings.CutPrefix(all[i].Target, schema.TargetSQS+":")
		if !isQueue {
			continue
		}
		waiting, inFlight, err := g.queue(ctx, queue)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		all[i].BufferDepth, all[i].CurrentInFlight = *waiting, *waiting+*inFlight
	}
	return problems
}
