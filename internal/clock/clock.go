// Package clock watches a process's own clock by the answers that it gets from a service. Landfall's fences compare times
// that different processes wrote, and hold only while two clocks differ by less than 5 s (docs/architecture.md). Nothing
// in a process can tell that its own clock is wrong; the `Date` header of an answer can.
//
// # What an answer proves
//
// A request begins at t0 and its answer's head arrives at t1, both by the own clock. In between, the service wrote `Date`:
// its own time in whole seconds, cut. Let S0, S and S1 be the service's time at t0, when it wrote, and at t1:
//
//	S0 <= S <= S1  and  Date <= S < Date + 1 s
//
// The own clock is ahead of the service by its offset (negative: it is behind). At the two ends of the exchange that is
//
//	t0 - S0 >= t0 - S > t0 - Date - 1 s
//	t1 - S1 <= t1 - S <= t1 - Date
//
// So the offset is within [t0 - Date - 1 s, t1 - Date]. The interval is a second wider than the exchange was long, so a
// slow answer, or one for which the process was frozen, proves little and never too much. The left bound speaks of the
// clock as it was at t0, the right one of the clock at t1: each holds even if the clock was set in between.
//
// The right bound goes on holding: the service's time never falls below a Date that it once wrote. A clock that reads less
// than the last Date is behind, without another answer.
//
// # What follows
//
// An interval that lies wholly outside of ±[Bound] proves that the clock is off. Two clocks that are both within the bound
// differ by less than 5 s. A clock that is off by less than the bound is never suspected. One that is off by more than
// Bound + 1 s + the duration of an exchange is noticed by that exchange; between the two, it depends on the fraction of the
// second at which an answer is written, so that several answers notice what one does not.
package clock

import (
	"fmt"
	"math"
	"net/http"
	"sync"
	"time"
)

const (
	// Bound is by how much the own clock may differ from the service's, either way: half of the 5 s by which two clocks
	// may differ.
	Bound = 2500 * time.Millisecond
	// Remember is for how long an answer counts that proves that the clock is off.
	Remember = time.Minute
)

// Watch knows what the answers of the last minute prove about the own clock. The zero value is ready, and proves nothing;
// it is safe for concurrent use. It needs no more memory for more answers: only the last proof counts.
//
// All times are wall-clock times. The monotonic clock stands still while Lambda freezes a process.
type Watch struct {
	// Now is the own clock, of which [Watch.Option] takes the times. Defaults to time.Now.
	Now func() time.Time

	mu    sync.Mutex
	heard time.Time // the Date of the last answer; zero: there was none
	at    time.Time // when the last proof arrived, by the own clock; zero: there was none
	proof interval  // what it proved
}

// interval contains the offset of the own clock: positive if it is ahead.
type interval struct{ from, to time.Duration }

func (i interval) outside() bool { return i.from > Bound || i.to < -Bound }

// Heard takes notice of an answer: its request began at t0 and its head arrived at t1, both by the own clock. date is its
// Date header; one that is missing or cannot be read proves nothing.
func (w *Watch) Heard(t0, t1 time.Time, date string) {
	wrote, err := http.ParseTime(date)
	if err != nil {
		return
	}
	t0, t1 = t0.Round(0), t1.Round(0) // the wall clock alone
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard = wrote
	if i := (interval{t0.Sub(wrote) - time.Second, t1.Sub(wrote)}); i.outside() {
		w.proof, w.at = i, t1.Truncate(time.Millisecond) // as readings are cut that are compared with it
	}
}

// Trusted returns nil unless the own clock, which reads now, has been proven to be off: then an [*OffError]. Without an
// answer in the last minute there is no verdict, and the clock is trusted.
func (w *Watch) Trusted(now time.Time) error {
	now = now.Round(0)
	w.mu.Lock()
	defer w.mu.Unlock()
	if behind := now.Sub(w.heard); !w.heard.IsZero() && behind < -Bound {
		return &OffError{From: math.MinInt64, To: behind}
	}
	// A negative age: the clock was set back since, and the proof spoke of the clock as it was.
	if age := now.Sub(w.at); !w.at.IsZero() && 0 <= age && age <= Remember {
		return &OffError{From: w.proof.from, To: w.proof.to}
	}
	return nil
}

// Code is the code of an [OffError] in logs.
const Code = "landfall.clock.off"

// OffError says that the own clock is off, and that the process therefore claims and asks nothing.
type OffError struct {
	// From and To bound the offset of the own clock from the service's: positive if it is ahead. From is the least
	// Duration if only To is known.
	From, To time.Duration
}

func (e *OffError) Error() string {
	return fmt.Sprintf("%s: this process's clock is %s the clock of DynamoDB, and at most %v are allowed: nothing is claimed, asked "+
		"or given up until it is right again; restart the process, or set the clock of its machine by NTP", Code, e.by(), Bound)
}

func (e *OffError) by() string {
	switch {
	case e.From > Bound && e.To >= e.From:
		return fmt.Sprintf("%.1f to %.1f s ahead of", e.From.Seconds(), e.To.Seconds())
	case e.From > Bound: // it was set back during the exchange
		return fmt.Sprintf("at least %.1f s ahead of", e.From.Seconds())
	case e.From == math.MinInt64 || e.From > e.To:
		return fmt.Sprintf("at least %.1f s behind", -e.To.Seconds())
	}
	return fmt.Sprintf("%.1f to %.1f s behind", -e.To.Seconds(), -e.From.Seconds())
}
