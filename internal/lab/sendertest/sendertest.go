// Package sendertest is the suite that every sender passes, whatever its kind: it claims to know no more than it can, and it
// sends once. A kind's own features are tested beside it.
package sendertest

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/landfall-dev/landfall/internal/outbox"
)

// Behaviour is what a remote does with a request.
type Behaviour string

// The behaviours that a remote of any kind can be made to have.
const (
	// Accepts it and says so.
	Accepts Behaviour = "accepts"
	// Compresses: accepts it and says so in gzip, although it was not asked to.
	Compresses Behaviour = "accepts, and compresses its answer unasked"
	// Garbles: accepts it and says so in a way that cannot be read.
	Garbles Behaviour = "accepts, and answers what cannot be read"
	// Defers it: has not accepted it, and says that it may later.
	Defers Behaviour = "defers"
	// Refuses it for good.
	Refuses Behaviour = "refuses"
	// Fails in a way that does not tell whether it accepted it.
	Fails Behaviour = "fails"
	// Cuts the connection once it has it.
	Cuts Behaviour = "cuts"
	// Stalls once it has it, until the sender gives up.
	Stalls Behaviour = "stalls"
	// Absent: nothing listens.
	Absent Behaviour = "is absent"
)

// Destination is a sender and its remote.
type Destination struct {
	Sender outbox.Sender
	// Received gets a value, or is closed, when the remote has a request.
	Received <-chan struct{}
	// Arrived closes the remote and returns all payloads that reached it.
	Arrived func() []string
}

// Run runs the suite. make returns a new destination whose remote behaves as given; kind is the kind's name in codes.
func Run(t *testing.T, kind string, make func(*testing.T, Behaviour) Destination) {
	for _, tc := range []struct {
		behaviour Behaviour
		want      outbox.OutcomeKind
	}{
		{Accepts, outbox.KindCompleted}, {Compresses, outbox.KindCompleted}, {Garbles, outbox.KindUnknown}, {Defers, outbox.KindRetryable},
		{Refuses, outbox.KindPermanent}, {Fails, outbox.KindUnknown}, {Cuts, outbox.KindUnknown}, {Stalls, outbox.KindUnknown}, {Absent, outbox.KindRetryable},
	} {
		t.Run("a remote that "+string(tc.behaviour), func(t *testing.T) {
			t.Parallel()
			d := make(t, tc.behaviour)
			ctx, cancel := context.WithCancel(t.Context())
			if tc.behaviour == Stalls {
				go func() { <-d.Received; cancel() }()
			}
			defer cancel()
			row := rowNumber(1)
			out := d.Sender.Send(ctx, row)
			check(t, kind, out, tc.want)
			want := []string{string(row.Payload)}
			if tc.behaviour == Absent {
				want = nil
			}
			if out.Unsent != (want == nil) {
				t.Errorf("unsent is %v: %+v", out.Unsent, out)
			}
			if got := d.Arrived(); !slices.Equal(got, want) {
				t.Errorf("arrived: %q, want %q", got, want)
			}
		})
	}
	t.Run("nothing leaves when the time is up", func(t *testing.T) {
		t.Parallel()
		d := make(t, Accepts)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		out := d.Sender.Send(ctx, rowNumber(1))
		check(t, kind, out, outbox.KindRetryable)
		if !out.Unsent {
			t.Errorf("not marked as unsent: %+v", out)
		}
		if got := d.Arrived(); len(got) != 0 {
			t.Errorf("arrived: %q", got)
		}
	})
	t.Run("concurrent sends stay apart", func(t *testing.T) {
		t.Parallel()
		d := make(t, Accepts)
		var all sync.WaitGroup
		var want []string
		for i := range 16 {
			row := rowNumber(i)
			want = append(want, string(row.Payload))
			all.Go(func() { check(t, kind, d.Sender.Send(t.Context(), row), outbox.KindCompleted) })
		}
		all.Wait()
		got := d.Arrived()
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("arrived: %q, want %q", got, want)
		}
	})
}

func rowNumber(i int) outbox.Row {
	return outbox.Row{
		ID:      outbox.ID{Destination: "there", Key: fmt.Sprintf("key-%d", i)},
		Payload: fmt.Appendf(nil, `{"payload":%d}`, i),
	}
}

// check checks an outcome's form: a code is a stable word below the kind's own name, and contains nothing of the row.
func check(t *testing.T, kind string, out outbox.Outcome, want outbox.OutcomeKind) {
	t.Helper()
	if out.Kind != want {
		t.Errorf("%s %s, want %s", out.Kind, out.Code, want)
	}
	code := regexp.MustCompile(`^landfall\.` + kind + `\.[a-z][a-z0-9_]*$`)
	if out.Kind == outbox.KindCompleted && out.Code != "" || out.Kind != outbox.KindCompleted && !code.MatchString(out.Code) {
		t.Errorf("%s with code %q", out.Kind, out.Code)
	}
	if out.After < 0 || out.After > 0 && out.Kind != outbox.KindRetryable {
		t.Errorf("%s after %s", out.Kind, out.After)
	}
}
