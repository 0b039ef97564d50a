package awscall

import (
	"context"
	"net/http/httptrace"
	"sync/atomic"

	"github.com/aws/smithy-go/middleware"
)

// Watch follows one call that the SDK makes once, to know whether anything of it can have left. An error alone does not
// tell: a call whose time is over before there is a connection ends as one that nobody answered. The zero value is ready;
// it is for one call.
type Watch struct{ handed, asked, got atomic.Bool }

// Context is what the call is made under.
func (w *Watch) Context(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { w.asked.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { w.got.Store(true) },
	})
}

// Option is for the APIOptions of the call.
func (w *Watch) Option(stack *middleware.Stack) error {
	return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("landfall.Watch",
		func(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (middleware.DeserializeOutput, middleware.Metadata, error) {
			w.handed.Store(true)
			return next.HandleDeserialize(ctx, in)
		}), middleware.After)
}

// NothingLeft reports whether the call demonstrably ended before anything of it left: it was not even handed to the
// HTTP client, or that was waiting for a connection to the end. A client that net/http knows nothing of is taken to have
// sent what it was handed.
func (w *Watch) NothingLeft() bool { return !w.handed.Load() || w.asked.Load() && !w.got.Load() }
