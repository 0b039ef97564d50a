package observe

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
)

func TestLineHasLambdasForm(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	logger := NewLogger(&out, "dispatch", "")
	ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "req-1"})
	logger.With("part", 2).InfoContext(ctx, "swept", slog.Group("more", slog.String("time", "inner")))
	logger.Debug("not wanted")
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	if _, err := time.Parse(time.RFC3339Nano, line["timestamp"].(string)); err != nil {
		t.Error(err)
	}
	delete(line, "timestamp")
	got, err := json.Marshal(line)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"function":"dispatch","level":"INFO","message":"swept","more":{"time":"inner"},"part":2,"requestId":"req-1"}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestLineOutsideAnInvocationHasNoRequestID(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	NewLogger(&out, "dispatch", "").Warn("starting")
	if bytes.Contains(out.Bytes(), []byte("requestId")) {
		t.Errorf("got %s", out.Bytes())
	}
}

func TestLevelIsTheOneThatLambdaSays(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]slog.Level{
		"TRACE": slog.LevelDebug, "DEBUG": slog.LevelDebug, "INFO": slog.LevelInfo, "WARN": slog.LevelWarn,
		"ERROR": slog.LevelError, "FATAL": slog.LevelError, "": slog.LevelInfo, "LOUD": slog.LevelInfo,
	} {
		logger := NewLogger(&bytes.Buffer{}, "f", name)
		if !logger.Enabled(t.Context(), want) || logger.Enabled(t.Context(), want-1) {
			t.Errorf("%q is not %v", name, want)
		}
	}
}
