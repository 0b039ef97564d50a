package consumer

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// finish takes a copy to its end: accept it, work, in this order. It reports whether the copy is done with; otherwise
// it is to come back.
func (c *Consumer) finish(ctx context.Context, accepted *bin, msg types.Message, work Work) (done bool) {
	defer c.recoverWork(ctx, msg)
	if c.declined(ctx, msg) {
		return true
	}
	err := c.acceptInto(ctx, accepted, msg)
	switch {
	case err == nil || errors.Is(err, ErrNoEnvelope): // what the router did not forward is the consumer's own as it is
		return c.worked(ctx, msg, work)
	case errors.Is(err, ErrStale):
		c.cfg.Log.InfoContext(ctx, "a copy is dropped", "message", MessageID(msg), "error", err.Error())
		return true
	}
	c.cfg.Log.WarnContext(ctx, "a message is neither accepted nor worked", "message", MessageID(msg), "error", err.Error())
	return false
}

// finishInvoked is finish for what comes from no queue: work, accept, in this order.
func (c *Consumer) finishInvoked(ctx context.Context, accepted *bin, msg types.Message, work Work) (done bool) {
	defer c.recoverWork(ctx, msg)
	if c.declined(ctx, msg) {
		return true
	}
	if !c.worked(ctx, msg, work) {
		return false
	}
	if err := c.acceptInto(ctx, accepted, msg); err != nil && !errors.Is(err, ErrNoEnvelope) {
		c.cfg.Log.WarnContext(ctx, "a message was worked and then not accepted", "message", MessageID(msg), "error", err.Error())
		return errors.Is(err, ErrStale)
	}
	return true
}

// declined declines a message if the consumer is busy. What cannot be declined is left to acceptance, which says why.
func (c *Consumer) declined(ctx context.Context, msg types.Message) bool {
	return c.cfg.Busy(ctx, msg) && c.Decline(ctx, msg) == nil
}

func (c *Consumer) acceptInto(ctx context.Context, accepted *bin, msg types.Message) error {
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

// recoverWork ends a panic. The function that it is deferred in returns false then.
func (c *Consumer) recoverWork(ctx context.Context, msg types.Message) {
	p := recover()
	if p == nil {
		return
	}
	what := fmt.Sprintf("a %T", p) // the value may quote the message
	if err, ok := p.(runtime.Error); ok {
		what = err.Error()
	}
	c.cfg.Log.ErrorContext(ctx, "work panicked", "message", MessageID(msg), "panic", what, "stack", string(debug.Stack()))
}
