package consumer

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// finish accepts a copy, then works it. It reports whether the copy is done; otherwise it must come back.
func (c *Consumer) finish(ctx context.Context, accepted *deletions, msg types.Message, work Work) (done bool) {
	defer c.recoverWork(ctx, msg)
	if c.declined(ctx, msg) {
		return true
	}
	err := c.acceptInto(ctx, accepted, msg)
	switch {
	case err == nil || errors.Is(err, ErrNoEnvelope): // a message that the router did not forward needs no acceptance
		return c.worked(ctx, msg, work)
	case errors.Is(err, ErrStale):
		c.cfg.Log.InfoContext(ctx, "dropped a copy of a message that has moved on", "message", MessageID(msg), "error", err.Error())
		return true
	}
	c.cfg.Log.WarnContext(ctx, "message not accepted and not worked; it comes back", "message", MessageID(msg), "error", err.Error())
	return false
}

// finishInvoked is finish for a message without a queue: it works the message, then accepts it.
func (c *Consumer) finishInvoked(ctx context.Context, accepted *deletions, msg types.Message, work Work) (done bool) {
	defer c.recoverWork(ctx, msg)
	if c.declined(ctx, msg) {
		return true
	}
	if !c.worked(ctx, msg, work) {
		return false
	}
	if err := c.acceptInto(ctx, accepted, msg); err != nil && !errors.Is(err, ErrNoEnvelope) {
		c.cfg.Log.WarnContext(ctx, "message worked, but its acceptance was refused or failed", "message", MessageID(msg), "error", err.Error())
		return errors.Is(err, ErrStale)
	}
	return true
}

// declined declines a message if the consumer is busy. A message that cannot be declined goes on to be accepted, which
// reports the reason.
func (c *Consumer) declined(ctx context.Context, msg types.Message) bool {
	return c.cfg.Busy(ctx, msg) && c.Decline(ctx, msg) == nil
}

func (c *Consumer) acceptInto(ctx context.Context, accepted *deletions, msg types.Message) error {
	e, err := c.accept(ctx, msg)
	if err != nil {
		return err
	}
	if url, found := c.ingressOf(ctx, e); found {
		accepted.add(url, e.Handle)
	}
	return nil
}

func (c *Consumer) worked(ctx context.Context, msg types.Message, work Work) bool {
	if err := work(ctx, msg); err != nil {
		c.cfg.Log.ErrorContext(ctx, "work failed", "message", MessageID(msg), "error", err.Error())
		return false
	}
	return true
}

// recoverWork recovers from a panic of the work. The function that defers it returns false then.
func (c *Consumer) recoverWork(ctx context.Context, msg types.Message) {
	p := recover()
	if p == nil {
		return
	}
	what := fmt.Sprintf("a %T", p) // its value may quote the message
	if err, ok := p.(runtime.Error); ok {
		what = err.Error()
	}
	c.cfg.Log.ErrorContext(ctx, "work panicked", "message", MessageID(msg), "panic", what, "stack", string(debug.Stack()))
}
