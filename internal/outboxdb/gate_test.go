package outboxdb_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
)

// said is a table of controls.
type said struct {
	all   []outbox.Control
	err   error
	reads int
}

func (s *said) Read(context.Context) ([]outbox.Control, error) {
	s.reads++
	return s.all, s.err
}

func names(destinations []outbox.Destination) (all string) {
	for _, d := range destinations {
		all += d.Name
	}
	return all
}

func TestControlsAreReadAgainAfterFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := &said{}
		g := &outboxdb.Gate{Reader: table, Logger: slog.New(slog.DiscardHandler)}
		all := []outbox.Destination{{Name: "a"}, {Name: "b"}}
		allowed := func(want string, reads int) {
			t.Helper()
			got, err := g.Apply(t.Context(), all)
			if err != nil || names(got) != want || table.reads != reads {
				t.Errorf("%s, %v, %d reads; want %s, %d", names(got), err, table.reads, want, reads)
			}
		}
		allowed("ab", 1)
		table.all = []outbox.Control{{Destination: "a", Paused: true}}
		time.Sleep(outboxdb.ControlsFor - 1)
		allowed("ab", 1)
		time.Sleep(time.Nanosecond)
		allowed("b", 2)
		allowed("b", 2)

		// Controls that cannot be read are not guessed, and are read again at the next call.
		table.err = errors.New("no such table")
		time.Sleep(outboxdb.ControlsFor)
		for range 2 {
			if got, err := g.Apply(t.Context(), all); !errors.Is(err, table.err) || got != nil {
				t.Errorf("%s, %v", names(got), err)
			}
		}
		table.err, table.all = nil, nil
		allowed("ab", 5)
	})
}

func TestControlLowersOnlyTheConcurrencyOfItsOwnDestination(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	g := &outboxdb.Gate{Logger: slog.New(slog.NewTextHandler(&log, nil)), Reader: &said{all: []outbox.Control{
		{Destination: "gone-secret", Paused: true}, {Destination: "high", MaxConcurrency: 100}, {Destination: "low", MaxConcurrency: 2},
		{Destination: "odd", Paused: true, Unreadable: errors.New("of type S")}, {Destination: "usual", MaxConcurrency: 100},
	}}}
	before := []outbox.Destination{
		{Name: "free", Policy: outbox.Policy{Concurrency: 9}}, {Name: "high", Policy: outbox.Policy{Concurrency: 7}},
		{Name: "low", Policy: outbox.Policy{Concurrency: 7}}, {Name: "odd"}, {Name: "usual"},
	}
	got, err := g.Apply(t.Context(), before)
	want := map[string]int{"free": 9, "high": 7, "low": 2, "usual": outbox.DefaultConcurrency}
	if err != nil || len(got) != len(want) {
		t.Fatalf("%s, %v", names(got), err)
	}
	for _, d := range got {
		if d.Policy.Concurrency != want[d.Name] {
			t.Errorf("%s: %d, want %d", d.Name, d.Policy.Concurrency, want[d.Name])
		}
	}
	if before[2].Policy.Concurrency != 7 {
		t.Error("the configuration's own was changed: no later run would have it back")
	}
	for _, line := range []string{"level=ERROR msg=\"the destination counts as paused\" destination=odd", "level=WARN msg=\"a control has no effect"} {
		if !strings.Contains(log.String(), line) {
			t.Errorf("%q is not in\n%s", line, &log)
		}
	}
	if strings.Contains(log.String(), "gone-secret") {
		t.Errorf("the name of a destination that is not configured is in\n%s", &log)
	}
}
