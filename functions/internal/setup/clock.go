package setup

import (
	"time"

	"github.com/landfall-dev/landfall/internal/clock"
	"github.com/landfall-dev/landfall/internal/observe"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// Clock is the process's clock as DynamoDB's answers show it. observer hears that it is off.
func (f *Function) Clock(observer *observe.Observer) outbox.Clock {
	return watchedClock{&f.clock, observer}
}

type watchedClock struct {
	watch    *clock.Watch
	observer *observe.Observer
}

// Trusted implements [outbox.Clock].
func (c watchedClock) Trusted(now time.Time) error {
	err := c.watch.Trusted(now)
	if err != nil {
		c.observer.ClockOff(err)
	}
	return err
}
