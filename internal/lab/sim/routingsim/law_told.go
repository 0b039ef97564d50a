package routingsim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/landfall-dev/landfall/internal/routing"
)

// told is what an invocation has been told: what its steps and its report must follow from.
type told struct {
	trouble   bool
	asking    map[routing.ID]*asking
	snapshots map[string]routing.Snapshot
	// receipts are as last told, tokens those of the attempts that it knows of.
	receipts map[routing.ID]routing.Receipt
	tokens   map[string]bool
	// wrote are the attempts and extensions that it wrote itself.
	wrote map[string]bool
	// candidates are those that routing functions were shown, and picks what they answered, by message and attempt.
	candidates, picks map[string][]string
	// answers are those to forwards, by token.
	answers map[string][]routing.AnswerKind
	held    map[string]time.Duration
	// late are the attempts that were past their deadline when it began.
	late []*attempt
	// given counts the messages that the batch gave a consumer; vague says that the number is uncertain.
	given map[lapse]int64
	vague bool
	// batch is what it was given.
	batch []routing.Incoming
	// forwards are counted by handle, reroutes by message; buried is what surely was, and deleted says of what was
	// to be deleted whether it surely was.
	forwards map[string]int
	buried   map[string]bool
	deleted  map[string]bool
	reroutes map[routing.ID]int
}

func newTold() told {
	return told{
		asking: map[routing.ID]*asking{}, snapshots: map[string]routing.Snapshot{}, receipts: map[routing.ID]routing.Receipt{},
		tokens: map[string]bool{}, wrote: map[string]bool{}, candidates: map[string][]string{}, picks: map[string][]string{},
		answers: map[string][]routing.AnswerKind{},
		held:    map[string]time.Duration{}, forwards: map[string]int{},
		buried: map[string]bool{}, deleted: map[string]bool{}, given: map[lapse]int64{}, reroutes: map[routing.ID]int{},
	}
}

// invoked notes what an invocation is given.
func (l *law) invoked(i *instance, batch []routing.Incoming) {
	i.process.told.batch = batch
	for _, in := range batch {
		r := l.record(routing.ID{Group: in.Group, Message: in.ID})
		if a := r.current(); a != nil && r.state == routing.Pending && !i.clock().Before(a.deadline) {
			i.process.told.late = append(i.process.told.late, a)
		}
	}
}

// twice reports whether an invocation has several messages of one id: what it knows of them may differ.
func (t *told) twice(id routing.ID) bool {
	n := 0
	for _, in := range t.batch {
		if in.ID == id.Message {
			n++
		}
	}
	return n > 1
}

// knows notes a receipt that an invocation has been told.
func (i *instance) knows(r routing.Receipt) {
	t := &i.process.told
	t.receipts[r.ID] = r
	t.tokens[r.Token] = true
	later(i.deadlines, lapse{r.Group, r.Consumer}, r.Deadline)
}

func (l *law) toldReceipt(i *instance, r routing.Receipt, err error) {
	if err != nil {
		i.process.told.trouble = true
		l.scan("an error of the receipts", err)
		return
	}
	i.knows(r)
}

func (l *law) toldWrite(i *instance, m routing.Move, r routing.Receipt, err error) {
	p := i.process
	var refused *routing.RefusedError
	switch {
	case errors.As(err, &refused):
		i.knows(refused.Receipt)
		if m.Kind == routing.Assign || m.Kind == routing.Reassign {
			p.told.given[lapse{m.Group, m.Consumer}]--
		}
	case err != nil:
		p.told.trouble = true
	default:
		i.knows(r)
		switch m.Kind {
		case routing.Assign, routing.Reassign, routing.Extend:
			p.told.wrote[m.Token] = true
		}
		if m.Kind == routing.Reassign {
			p.told.reroutes[m.ID]++
		}
	}
	l.scan("an error of the receipts", err)
}

// answered notes what an invocation hears about a forward.
func (l *law) answered(p *process, f routing.Forward, a routing.Answer) {
	l.stage.Events++
	l.stage.Note(p.actor.Number, "hears of the forward of %s to %s: %d %s", f.Message.ID, f.Consumer.ID, a.Kind, a.Text)
	p.told.answers[f.Envelope.Token] = append(p.told.answers[f.Envelope.Token], a.Kind)
}

// unanswered takes back the last answer, which was left out.
func (l *law) unanswered(p *process, f routing.Forward) {
	all := p.told.answers[f.Envelope.Token]
	p.told.answers[f.Envelope.Token] = append(all[:len(all)-1], routing.NoAnswer)
}

// scan looks for what must not be seen in what may be logged.
func (l *law) scan(what string, err error) {
	if err == nil {
		return
	}
	text := err.Error()
	leaks := strings.Contains(text, secret) || strings.Contains(text, handleMark)
	for _, r := range l.records {
		leaks = leaks || slices.ContainsFunc(r.attempts, func(a *attempt) bool { return strings.Contains(text, a.token) })
	}
	l.stage.Must(!leaks, "I12", "%s reveals it: %s", what, text)
}

// scanPrinted looks for it in what is printed.
func (l *law) scanPrinted(what string, values ...any) {
	for _, v := range values {
		text := fmt.Sprintf("%v %+v", v, v)
		l.stage.Must(!strings.Contains(text, secret), "I12", "%s reveals it: %s", what, text)
	}
}
