package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/landfall-dev/landfall/internal/outbox"
)

// Bounds of values. Where the number is not ours, its source stands beside it.
const (
	minDuration = Duration(time.Millisecond)
	// maxSendTimeout leaves room for claiming and settling before Lambda ends a function at 15 minutes
	// (https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html).
	maxSendTimeout = Duration(10 * time.Minute)
	maxHeadStart   = Duration(time.Minute) // a sweep later, the fast path has had its chance
	maxLateArrival = 30 * day
	maxBackoff     = 7 * day
	maxFactor      = 100
	minRetention   = Duration(time.Second) // the table's TTL counts seconds
	maxRetention   = 3650 * day
	maxWindow      = 3650 * day
	maxAttempts    = 1000
	// maxConcurrency is what Lambda's 1,024 file descriptors allow for at one connection per send (same page).
	maxConcurrency = 1000
	maxShards      = 1000 // each costs a query per sweep
	// maxParallelism is 20 rules of five targets, out of an event bus's 100 to 300 rules
	// (https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-quota.html).
	maxParallelism = 100
)

// checker collects what is wrong with values. It knows paths, not places: the reader of YAML adds those.
type checker struct{ problems []Problem }

func (c *checker) failf(path, format string, args ...any) {
	c.problems = append(c.problems, Problem{Path: path, Message: fmt.Sprintf(format, args...)})
}

// Check looks for what this package cannot see, in a configuration in which some values may be wrong. Of a problem it
// says Path and Message.
type Check func(*Config) []Problem

// check reports everything that is wrong with the values of a configuration.
func (cfg *Config) check(more ...Check) []Problem {
	var c checker
	c.count("concurrency", int64(cfg.Concurrency), maxConcurrency)
	c.count("parallelism", int64(cfg.Parallelism), maxParallelism)
	if !(cfg.LogSuccesses >= 0 && cfg.LogSuccesses <= 1) {
		c.failf("log_successes", "%v is no share: write a number from 0 to 1", cfg.LogSuccesses)
	}
	if len(cfg.Destinations)+len(cfg.Groups) == 0 {
		c.failf("destinations", "at least one destination is needed, or a group")
	}
	for _, name := range cfg.Names() {
		c.destination("destinations."+plain(name), name, cfg.Destinations[name], cfg)
	}
	for _, name := range cfg.GroupNames() {
		c.group("groups."+plain(name), name, cfg.Groups[name], cfg)
	}
	for _, check := range more {
		c.problems = append(c.problems, check(cfg)...)
	}
	return c.problems
}

func (c *checker) destination(path, name string, d Destination, cfg *Config) {
	c.name(path, name, "a destination")
	c.settings(path, d.Settings)
	c.window(path+".deduplicates", d.Deduplicates)
	if d.Lookup != nil {
		c.lookup(path+".lookup", *d.Lookup)
	}
	c.target(path, d, cfg)
}

func (c *checker) settings(path string, s Settings) {
	c.count(path+".attempts", int64(s.Attempts), maxAttempts)
	c.count(path+".concurrency", int64(s.Concurrency), maxConcurrency)
	c.count(path+".shards", int64(s.Shards), maxShards)
	c.between(path+".head_start", s.HeadStart, 0, maxHeadStart)
	if s.SendTimeout > maxSendTimeout {
		c.failf(path+".send_timeout", "%v is too long: at most %v, because Lambda ends a function after 15m, and the send must be settled by then",
			s.SendTimeout, maxSendTimeout)
	} else {
		c.between(path+".send_timeout", s.SendTimeout, minDuration, maxSendTimeout)
	}
	c.between(path+".late_arrival", s.LateArrival, minDuration, maxLateArrival)
	c.between(path+".retention", s.Retention, minRetention, maxRetention)
	c.backoff(path+".backoff", s.Backoff)
}

func (c *checker) backoff(path string, b Backoff) {
	if !(b.Factor >= 1 && b.Factor <= maxFactor) {
		c.failf(path+".factor", "%v: write a number from 1 to %d", b.Factor, maxFactor)
	}
	c.between(path+".first", b.First, minDuration, maxBackoff)
	if b.Max < b.First {
		c.failf(path+".max", "%v is less than the first wait, %v", b.Max, b.First)
	} else {
		c.between(path+".max", b.Max, minDuration, maxBackoff)
	}
}

func (c *checker) window(path string, w Window) {
	switch {
	case w == unset:
		c.failf(path, "is missing: for how long does this destination recognise a repeated idempotency key? Write never, always, or how long, such as 24h")
	case w == Window(outbox.Never) || w == Window(outbox.Always):
	case w < 0 || w > Window(maxWindow):
		c.failf(path, "%v: at most %v, or always", Duration(w), maxWindow)
	case time.Duration(w)%time.Second != 0:
		c.failf(path, "%v: whole seconds only, because a row remembers it in seconds", w)
	}
}

func (c *checker) between(path string, d, least, most Duration) {
	switch {
	case d < least:
		c.failf(path, "%v is too short: at least %v", d, least)
	case d > most:
		c.failf(path, "%v is too long: at most %v", d, most)
	}
}

func (c *checker) count(path string, n int64, most int) {
	switch {
	case n < 1:
		c.failf(path, "%d is too small: at least 1", n)
	case n > int64(most):
		c.failf(path, "%d is too large: at most %d", n, most)
	}
}

// plain is a key as part of a path: as it is if it could be one of ours or a header's name, else quoted.
func plain(key string) string {
	for _, r := range key {
		if r <= ' ' || r > '~' || r == '"' || r == '.' {
			return strconv.Quote(clip(key))
		}
	}
	if key == "" || len(key) > 100 {
		return strconv.Quote(clip(key))
	}
	return key
}

// Warnings are about destinations and groups that are valid but will not do what their owner seems to expect.
func (cfg *Config) Warnings() []string {
	var warnings []string
	for _, name := range cfg.Names() {
		d := cfg.Destinations[name]
		p := d.Policy()
		least := Duration(p.SendTimeout + outbox.ClaimMargin + p.LateArrival + outbox.SkewMargin)
		if d.Deduplicates > 0 && Duration(d.Deduplicates) <= least {
			warnings = append(warnings, fmt.Sprintf(
				"destinations.%s: deduplicates %v has the effect of never: a repetition is safe only while send_timeout + %v + late_arrival + %v = %v fit into it",
				name, d.Deduplicates, Duration(outbox.ClaimMargin), Duration(outbox.SkewMargin), least))
		}
		if !d.AllowPrivate && d.Lookup != nil && leadsInside(placeholder.ReplaceAllString(d.Lookup.URL, "1")) {
			warnings = append(warnings, fmt.Sprintf(
				"destinations.%s: the lookup's URL leads to a private address, so every lookup will be refused: set allow_private: true", name))
		}
		if d.HTTP != nil && !d.AllowPrivate && d.Secret != nil && strings.HasPrefix(origin(d.URL), "http:") {
			warnings = append(warnings, fmt.Sprintf("destinations.%s: the secret will travel unencrypted: write https", name))
		}
		if w := d.fifoWarning(name); w != "" {
			warnings = append(warnings, w)
		}
		if d.HTTP != nil && !d.AllowPrivate && leadsInside(d.URL) {
			warnings = append(warnings, fmt.Sprintf(
				"destinations.%s: the URL leads to a private address, so every send will be refused: set allow_private: true", name))
		}
	}
	return append(warnings, cfg.groupWarnings()...)
}

// finite keeps infinities and not-a-number out of where JSON could not write them.
func finite(f float64) bool { return !math.IsInf(f, 0) && !math.IsNaN(f) }
