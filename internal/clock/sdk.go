package clock

import (
	"context"
	"time"

	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Option feeds the watch with the answers of an SDK client: it belongs into the client's APIOptions. It stands inside of
// the SDK's retries, next to the HTTP client, so that each attempt is noted with its own times.
func (w *Watch) Option(stack *middleware.Stack) error {
	return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("landfall.Clock",
		func(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (middleware.DeserializeOutput, middleware.Metadata, error) {
			now := w.Now
			if now == nil {
				now = time.Now
			}
			t0 := now()
			out, metadata, err := next.HandleDeserialize(ctx, in)
			if answer, ok := out.RawResponse.(*smithyhttp.Response); ok && answer != nil && answer.Response != nil {
				w.Heard(t0, now(), answer.Header.Get("Date"))
			}
			return out, metadata, err
		}), middleware.After)
}
