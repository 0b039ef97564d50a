package observe

import (
	"context"
	"io"
	"log/slog"

	"github.com/aws/aws-lambda-go/lambdacontext"
)

// requestID is the key of the request id in Lambda's own lines.
const requestID = "requestId"

// NewLogger returns a logger that writes lines in Lambda's JSON format: one object each, with timestamp, level and
// message (https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-logformat.html). Every line has the
// function's name, and a line that is logged with the invocation's context has its request id. logLevel is the value of
// AWS_LAMBDA_LOG_LEVEL; an unknown level means INFO.
func NewLogger(w io.Writer, function, logLevel string) *slog.Logger {
	options := &slog.HandlerOptions{Level: parseLevel(logLevel), ReplaceAttr: lambdaNames}
	return slog.New(invocationHandler{slog.NewJSONHandler(w, options)}).With("function", function)
}

// parseLevel also knows the two levels that slog does not have.
func parseLevel(name string) slog.Level {
	switch name {
	case "TRACE":
		return slog.LevelDebug
	case "FATAL":
		return slog.LevelError
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(name)); err != nil {
		return slog.LevelInfo
	}
	return level
}

func lambdaNames(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 {
		switch a.Key {
		case slog.TimeKey:
			a.Key = "timestamp"
		case slog.MessageKey:
			a.Key = "message"
		}
	}
	return a
}

// invocationHandler adds the request id that a context carries, and leaves the rest to the next handler.
type invocationHandler struct{ next slog.Handler }

func (h invocationHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

func (h invocationHandler) Handle(ctx context.Context, r slog.Record) error {
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		r = r.Clone()
		r.AddAttrs(slog.String(requestID, lc.AwsRequestID))
	}
	return h.next.Handle(ctx, r)
}

func (h invocationHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return invocationHandler{h.next.WithAttrs(attrs)}
}

func (h invocationHandler) WithGroup(name string) slog.Handler {
	return invocationHandler{h.next.WithGroup(name)}
}
