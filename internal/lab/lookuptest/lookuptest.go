// Package lookuptest is the suite that every lookup passes, whatever its kind: it reports what the remote said, and
// everything else that a remote does decides nothing. A kind's own features are tested beside it.
package lookuptest

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/landfall-dev/landfall/internal/outbox"
)

// Behaviour is what a remote does when it is asked about a row.
type Behaviour string

// The behaviours that a remote of any kind can be made to have.
const (
	// Completed: says that the effect happened, and that it is called "ref of <key>".
	Completed Behaviour = "says completed"
	// Marks: says the same as Completed, behind a byte order mark.
	Marks Behaviour = "says completed behind a byte order mark"
	// Failed: says that the effect did not and will not happen.
	Failed Behaviour = "says failed"
	// NotFound: says that it does not know the key.
	NotFound Behaviour = "says not found"
	// Open: says that it cannot tell yet.
	Open Behaviour = "cannot tell"
	// Breaks: answers with an error of its own.
	Breaks Behaviour = "breaks"
	// Babbles: its answer makes no sense.
	Babbles Behaviour = "babbles"
	// Contradicts itself: says completed, and under the same name failed.
	Contradicts Behaviour = "contradicts itself"
	// Floods: its answer is too large to read.
	Floods Behaviour = "floods"
	// Cuts the connection once it is asked.
	Cuts Behaviour = "cuts"
	// Stalls once it is asked, until the lookup gives up.
	Stalls Behaviour = "stalls"
	// Absent: nothing listens.
	Absent Behaviour = "is absent"
)

// Remote is a lookup and the remote that it asks.
type Remote struct {
	Lookup outbox.Lookup
	// Received gets a value when the remote was asked.
	Received <-chan struct{}
	// Asked closes the remote and returns the keys that it was asked about.
	Asked func() []string
}

// Run runs the suite. make returns a lookup whose remote behaves as given; kind is the kind's name in codes.
func Run(t *testing.T, kind string, make func(*testing.T, Behaviour) Remote) {
	for _, c := range []struct {
		behaviour Behaviour
		want      outbox.AnswerKind
	}{
		{Completed, outbox.AnswerCompleted}, {Marks, outbox.AnswerCompleted}, {Failed, outbox.AnswerFailed}, {NotFound, outbox.AnswerNotFound},
		{Open, outbox.AnswerUnresolved}, {Breaks, outbox.AnswerUnresolved}, {Babbles, outbox.AnswerUnresolved}, {Floods, outbox.AnswerUnresolved}, {Contradicts, outbox.AnswerUnresolved},
		{Cuts, outbox.AnswerUnresolved}, {Stalls, outbox.AnswerUnresolved}, {Absent, outbox.AnswerUnresolved},
	} {
		t.Run("a remote that "+string(c.behaviour), func(t *testing.T) {
			t.Parallel()
			r := make(t, c.behaviour)
			ctx, cancel := context.WithCancel(t.Context())
			if c.behaviour == Stalls {
				go func() { <-r.Received; cancel() }()
			}
			defer cancel()
			row := rowNumber(1)
			check(t, kind, row, r.Lookup.Look(ctx, row), c.want)
			want := []string{row.Key}
			if c.behaviour == Absent {
				want = nil
			}
			if got := r.Asked(); !slices.Equal(got, want) {
				t.Errorf("asked about %q, want %q", got, want)
			}
		})
	}
	t.Run("nothing is decided when the time is up", func(t *testing.T) {
		t.Parallel()
		r := make(t, NotFound)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		check(t, kind, rowNumber(1), r.Lookup.Look(ctx, rowNumber(1)), outbox.AnswerUnresolved)
		r.Asked()
	})
	t.Run("concurrent lookups stay apart", func(t *testing.T) {
		t.Parallel()
		r := make(t, Completed)
		var all sync.WaitGroup
		var want []string
		for i := range 16 {
			row := rowNumber(i)
			want = append(want, row.Key)
			all.Go(func() { check(t, kind, row, r.Lookup.Look(t.Context(), row), outbox.AnswerCompleted) })
		}
		all.Wait()
		got := r.Asked()
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("asked about %q, want %q", got, want)
		}
	})
}

func rowNumber(i int) outbox.Row {
	return outbox.Row{
		ID:     outbox.ID{Destination: "there", Key: fmt.Sprintf("key %d/é&?#", i)},
		Status: outbox.StatusOutcomeUnknown, Payload: []byte("secret payload"),
	}
}

// check checks an answer's form: a code is a stable word below the kind's own name, and contains nothing of the row.
func check(t *testing.T, kind string, row outbox.Row, a outbox.Answer, want outbox.AnswerKind) {
	t.Helper()
	if a.Kind != want {
		t.Errorf("%s %s, want %s", a.Kind, a.Code, want)
	}
	if code := regexp.MustCompile(`^landfall\.lookup\.` + kind + `\.[a-z][a-z0-9_]*$`); a.Kind == outbox.AnswerUnresolved && !code.MatchString(a.Code) {
		t.Errorf("%s with code %q", a.Kind, a.Code)
	}
	if ref := "ref of " + row.Key; a.Kind == outbox.AnswerCompleted && a.Ref != ref {
		t.Errorf("the remote's reference is %q, want %q", a.Ref, ref)
	}
}
