package routing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// The stages of a round after the writes. Each is one call of a port for all messages that need it.

// hold hides the messages that wait, and makes those visible that are given back.
func (b *batch) hold(flows []*flow) {
	holding := pick(flows, func(f *flow) bool { return f.step.Hold > 0 || f.handled.GivenBack })
	if len(holding) == 0 {
		return
	}
	holds := make([]Hold, len(holding))
	for i, f := range holding {
		holds[i] = Hold{Message: f.incoming, For: f.step.Hold}
		f.handled.Held = f.step.Hold
	}
	errs := b.router.Ingress.Hold(b.ctx, holds)
	for i, f := range holding {
		if err := errorOf(errs, i); err != nil { // it comes back by itself, if no other invocation has it
			f.handled.Err = fmt.Errorf("hold: %w", err)
		}
	}
}

// forward hands the attempts under way to their consumers; the answers are the messages' next events.
func (b *batch) forward(flows []*flow) {
	forwarding := pick(flows, func(f *flow) bool { return f.step.Forward })
	if len(forwarding) == 0 {
		return
	}
	forwards := make([]Forward, len(forwarding))
	for i, f := range forwarding {
		consumer, _ := f.group.snapshot.Consumer(f.receipt.Consumer)
		forwards[i] = Forward{Message: f.incoming, Consumer: consumer, Envelope: Envelope{
			ID: f.receipt.ID, Attempt: f.receipt.Attempt, Token: f.receipt.Token, Deadline: f.receipt.Deadline, Handle: f.incoming.Handle,
		}}
	}
	timeout := min(cmp.Or(b.router.ForwardTimeout, DefaultForwardTimeout), max(b.remaining()-closing, time.Second))
	ctx, cancel := context.WithTimeout(b.ctx, timeout)
	defer cancel()
	answers := b.router.Forwarder.Forward(ctx, forwards)
	for i, f := range forwarding {
		var a Answer
		if i < len(answers) {
			a = answers[i]
		}
		f.handled.Forwards++
		f.answered(a)
	}
}

func (f *flow) answered(a Answer) {
	f.done = false
	f.event = Event{Kind: map[AnswerKind]EventKind{
		NoAnswer: ForwardUnknown, Taken: Delivered, NotTaken: ForwardRefused, NotSent: ForwardNotSent, Failed: ForwardErrored,
	}[a.Kind]}
	if a.Kind != Taken {
		f.handled.Err = &ForwardError{Consumer: f.receipt.Consumer, Text: cmp.Or(a.Text, "no answer")}
	}
}

// bury dead-letters the messages that were given up; only what lies there is deleted.
func (b *batch) bury(flows []*flow) {
	burying := pick(flows, func(f *flow) bool { return f.step.Bury })
	if len(burying) == 0 {
		return
	}
	letters := make([]DeadLetter, len(burying))
	for i, f := range burying {
		letters[i] = DeadLetter{Message: f.incoming, Receipt: f.receipt}
	}
	errs := b.router.DeadLetters.Bury(b.ctx, letters)
	var failed []*flow
	for i, f := range burying {
		if err := errorOf(errs, i); err != nil {
			f.fail(fmt.Errorf("dead-letter: %w", err), b.router.now())
			failed = append(failed, f)
		}
	}
	b.hold(failed)
}

// delete deletes what has come to its end.
func (b *batch) delete(flows []*flow) {
	deleting := pick(flows, func(f *flow) bool { return f.step.Delete })
	if len(deleting) == 0 {
		return
	}
	messages := make([]Incoming, len(deleting))
	for i, f := range deleting {
		messages[i] = f.incoming
	}
	errs := b.router.Ingress.Delete(b.ctx, messages)
	for i, f := range deleting {
		if err := errorOf(errs, i); err != nil { // it comes back, and comes to the same end
			f.handled.Err = fmt.Errorf("delete: %w", err)
			continue
		}
		f.handled.Kept, f.handled.Held = false, 0
	}
}

// errorOf returns the error for a message. A message that the port left out has no answer.
func errorOf(errs []error, i int) error {
	if i < len(errs) {
		return errs[i]
	}
	return errors.New("no answer")
}

func pick(flows []*flow, needs func(*flow) bool) (picked []*flow) {
	for _, f := range flows {
		if needs(f) {
			picked = append(picked, f)
		}
	}
	return picked
}
