package config

import (
	"time"

	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/routing"
)

// Timeouts are those of the functions that a deployment has, by name: as long as one may claim, ask or choose, what
// is in flight then, and some seconds to start and to answer.
func (c *Config) Timeouts() map[string]time.Duration {
	const slack = 10 * time.Second
	var longest time.Duration
	for _, d := range c.Destinations {
		longest = max(longest, time.Duration(d.SendTimeout))
	}
	timeouts := map[string]time.Duration{
		"dispatch":  outbox.SweepFor + longest + outbox.ClaimMargin + slack,
		"reconcile": outbox.SweepFor + outbox.LookupTimeout + outbox.ClaimMargin + slack,
		"stream":    outbox.FastPathFor + longest + outbox.ClaimMargin + slack,
	}
	if len(c.Groups) > 0 {
		timeouts["route"] = routing.DefaultReserve + routing.DefaultForwardTimeout + slack
	}
	return timeouts
}
