// Package lookuptest is the suite that every lookup passes, whatever its kind: what it may claim to have been told, and
// that whatever else a remote does decides nothing. What a kind does besides is tested beside it.
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
	// Failed: says that the effect did not and will not happen.
	Failed Behaviour = "says failed"
	// NotFound: says that it does not know the key.
	NotFound Behaviour = "says not found"
	// Open: says that it cannot tell yet.
	Open Behaviour = "cannot tell"
	// Breaks: answers with an error of its own.
	Breaks Behaviour = "breaks"
	// Babbles: answers nonsense.
	Babbles Behaviour = "babbles"
	// Floods: answers more than anybody wants to read.
	Floods Behaviour = "floods"
	// Cuts the connection once it was asked.
	Cuts Behaviour = "cuts"
	// Stalls once it was asked, until the lookup gives up.
	Stalls Behaviour = "stalls"
	// Absent: there is nobody.
	Absent Behaviour = "is absent"
)

// Remote is a lookup and whom it asks.
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
		{Completed, outbox.AnswerCompleted}, {Failed, outbox.AnswerFailed}, {NotFound, outbox.AnswerNotFound},
		{Open, outbox.AnswerUnresolved}, {Breaks, outbox.AnswerUnresolved}, {Babbles, outbox.AnswerUnresolved}, {Floods, outbox.AnswerUnresolved},
		{Cuts, outbox.AnswerUnresolved}, {Stalls, outbox.AnswerUnresolved}, {Absent, outbox.AnswerUnresolved},
	} {
		t.Run("a remote that "+string(c.behaviour)+" is not taken for another", func(t *testing.T) {
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
	t.Run("without time nothing is decided", func(t *testing.T) {
		t.Parallel()
		r := make(t, NotFound)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		check(t, kind, rowNumber(1), r.Lookup.Look(ctx, rowNumber(1)), outbox.AnswerUnresolved)
		r.Asked()
	})
	t.Run("lookups side by side do not mix", func(t *testing.T) {
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

// check holds an answer to its form: codes are stable words, below the kind's own name, that tell nothing of the row.
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
