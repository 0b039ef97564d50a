package outbox

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestLongerStallOutlastsAShorterOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s Stalls
		s.note("charge", DefaultSendTimeout, DefaultSendTimeout)
		s.note("charge", slowFrom, DefaultSendTimeout) // it began later, and ended later
		time.Sleep(hungFor - time.Nanosecond)
		if !s.stands("charge") {
			t.Error("forgotten")
		}
		time.Sleep(time.Nanosecond)
		if s.stands("charge") {
			t.Error("not forgotten")
		}
	})
}

// A clock that stands still while the process is frozen would make a quarter of an hour of days with little to do.
func TestStallIsTimedByTheWallClock(t *testing.T) {
	t.Parallel()
	var s Stalls
	s.note("charge", slowFrom, DefaultSendTimeout)
	if until := s.until["charge"]; until != until.Round(0) { // which takes the other clock's reading away
		t.Errorf("left until %v", until)
	}
}
