package awscall

import (
	"context"
	"net/http/httptrace"
	"sync/atomic"

	"github.com/aws/smithy-go/middleware"
)

// Watch follows one call that the SDK sends once, and tells whether any of it can have left. The error alone does not: a
// call that times out before it has a connection ends with the same error as one that got no answer. The zero value is
// ready; use it for one call.
type Watch struct{ handed, asked, got atomic.Bool }

// Context returns the context to make the call with.
func (w *Watch) Context(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { w.asked.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { w.got.Store(true) },
	})
}

// Option belongs into the APIOptions of the call.
func (w *Watch) Option(stack *middleware.Stack) error {
	return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("landfall.Watch",
		func(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (middleware.DeserializeOutput, middleware.Metadata, error) {
			w.handed.Store(true)
			return next.HandleDeserialize(ctx, in)
		}), middleware.After)
}

// NothingLeft reports whether the call demonstrably ended before any of it left: the SDK never gave it to the HTTP client,
// or the client never got a connection. A client that is not based on net/http reports no connections; whatever it was
// given may have left.
func (w *Watch) NothingLeft() bool { return !w.handed.Load() || w.asked.Load() && !w.got.Load() }
