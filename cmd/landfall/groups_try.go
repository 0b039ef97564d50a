package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/landfall-dev/landfall/internal/invoke"
	"github.com/landfall-dev/landfall/internal/routefn"
	"github.com/landfall-dev/landfall/internal/routing"
)

// trial is a message that a routing function is tried on.
type trial struct {
	message, id, consumers string
	attributes, tried      []string
	attempt                int
}

func (a *app) groupsTestCommand() *cobra.Command {
	var t trial
	cmd := &cobra.Command{
		Use:   "test GROUP [KIND [ARGUMENT]] --message BODY",
		Short: "Show whom a routing function would pick for a message, who is no candidate, and why",
		Long: `Show whom a routing function would pick for a message, who is no candidate, and why. Nothing is sent or changed.

The function is today's, or that of KIND and ARGUMENT, as for set-route. The consumers are those of the group with what
is in their queues now, or a list as a routing function of kind lambda is asked with. BODY, ARGUMENT and the list are the
text itself, @FILE for the content of a file, or - for standard input. A function of kind lambda is really called.
Exit code 1: nobody is picked, with the reason.`,
		Args: cobra.RangeArgs(1, 3),
		RunE: a.do(func(ctx context.Context, args []string) error { return a.groupsTest(ctx, args, t) }),
	}
	flags := cmd.Flags()
	flags.StringVar(&t.message, "message", "", "the message's body, @FILE or - (required)")
	flags.StringVar(&t.id, "message-id", "", "the message's id, which breaks ties (default: the body's SHA-256)")
	flags.StringArrayVar(&t.attributes, "attribute", nil, "NAME=VALUE that travels beside the body; may be repeated")
	flags.StringVar(&t.consumers, "consumers", "", "consumers as a JSON list, @FILE or - (default: the group's, as they are)")
	flags.IntVar(&t.attempt, "attempt", 0, "how many consumers the message is given to with this one (default: one more than --tried)")
	flags.StringSliceVar(&t.tried, "tried", nil, "consumers that it moved on from, oldest first, with commas between them")
	_ = cmd.MarkFlagRequired("message") // it fails only for a flag that is not defined
	return cmd
}

func (a *app) groupsTest(ctx context.Context, args []string, t trial) error {
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
	a.warn(now.Problems...)
	route := now.route()
	if len(args) > 1 {
		if route, err = a.route(args[1:]); err != nil {
			return err
		}
	}
	snapshot := routing.Snapshot{Policy: now.file.Policy()}
	functions := &routefn.Functions{Invoke: invoke.New(g.at.sdk)}
	if snapshot.Function, err = functions.Get(route.spec()); err != nil {
		return fmt.Errorf("group %s: nobody is picked, for there is no such routing function: %w", now.name, err)
	}
	if t.consumers != "" {
		all, err := a.consumers(t.consumers)
		if err != nil {
			return badInput(err)
		}
		now.look(all)
	} else if err := g.fill(ctx, now.consumers); err != nil {
		a.warn(err)
	}
	snapshot.Group = routing.NewGroup(now.name, now.consumers...)
	return a.explainDecision(decisionOf(now.name, route, snapshot.Choose(ctx, choice)))
}

// readFor reads the control table only if the answer depends on it.
func (g *groups) readFor(ctx context.Context, args []string, t trial) (*groupNow, error) {
	if len(args) == 1 || t.consumers == "" {
		return g.read(ctx, args[0])
	}
	file, err := groupOf(g.cfg, args[0])
	return &groupNow{name: args[0], file: file}, err
}

// choice is a message on its way, without a receipt in any table.
func (a *app) choice(t trial) (routing.Choice, error) {
	body, err := a.input("--message", t.message, routing.MaxIncomingBytes)
	if err != nil {
		return routing.Choice{}, err
	}
	if len(body) > routing.MaxIncomingBytes {
		return routing.Choice{}, fmt.Errorf("--message: more than %d bytes", routing.MaxIncomingBytes)
	}
	attributes, err := pairs("--attribute", t.attributes)
	if err != nil {
		return routing.Choice{}, err
	}
	least := len(t.tried) + 1
	attempt := cmp.Or(t.attempt, least)
	if attempt < least {
		return routing.Choice{}, fmt.Errorf("--attempt %d: want %d or more, after %d that were tried", attempt, least, least-1)
	}
	sum := sha256.Sum256(body)
	c := routing.Choice{Now: time.Now(), Message: routing.Message{
		ID: cmp.Or(t.id, hex.EncodeToString(sum[:])), Fields: routing.ParseFields(body), Attributes: attributes,
	}}
	c.Receipt.Attempt = attempt - 1
	if n := len(t.tried); n > 0 { // the last one has it still
		c.Receipt.State, c.Receipt.Consumer = routing.Declined, t.tried[n-1]
		for _, id := range t.tried[:n-1] {
			c.Receipt.History = append(c.Receipt.History, routing.Past{Consumer: id, End: routing.EndDeclined})
		}
	}
	return c, nil
}

// decisionView explains a decision. Message content is in it only as far as the function names it.
type decisionView struct {
	Group      string              `json:"group"`
	Route      routeView           `json:"route"`
	Attempt    int                 `json:"attempt"`
	Candidates []routefn.Candidate `json:"candidates"`
	Excluded   []excludedView      `json:"excluded"`
	Consumer   string              `json:"consumer,omitempty"` // absent: nobody
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

// problemOf says for a person why nobody was picked.
func problemOf(d routing.Decision) string {
	var evaluation *routing.EvaluationError
	var unknown *routing.UnknownConsumerSelectedError
	switch {
	case d.Err == nil:
		return ""
	case len(d.Question.Candidates) == 0:
		return "there is no candidate"
	case errors.Is(d.Err, routing.ErrNoConsumerAvailable):
		return "the function picks nobody of the candidates for now"
	case errors.As(d.Err, &unknown):
		return fmt.Sprintf("the function picks %.80q, which is no candidate", unknown.ID)
	case errors.As(d.Err, &evaluation) && evaluation.Cause != nil:
		return fmt.Sprintf("the function %s: %v", evaluation.Failure, evaluation.Cause)
	}
	return d.Err.Error()
}

func (a *app) explainDecision(v decisionView) error {
	no := errors.New("group " + v.Group + ": nobody is picked: " + printable(v.Problem))
	if v.Problem == "" {
		no = nil
	}
	if a.output == inJSON {
		return errors.Join(a.printJSON(v), no)
	}
	rows := [][]string{{"CONSUMER", "", "IN FLIGHT", "WAITING", "AT MOST", "WEIGHT", "TAGS"}}
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
		rows = append(rows, []string{e.Consumer, "no candidate: " + e.Why})
	}
	fmt.Fprintf(a.stdout, "group %s, attempt %d, route of the %s: %s\n\n", v.Group, v.Attempt, v.Route.From, printable(v.Route.String()))
	return errors.Join(a.printTable(rows), no)
}
