package sender

import (
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// later is how an answer asks to wait.
type later struct {
	// asked says that the answer asks to wait at all: a Retry-After that cannot be read does, too.
	asked bool
	// dated says that the answer says for how long, or until when.
	dated bool
	// wait is the time from now, not negative. The domain bounds it.
	wait time.Duration
}

// laterOf reads Retry-After (RFC 9110, section 10.2.3) or, of a refusal that may be a rate limit's, the time at which the
// limit is reset.
func laterOf(status int, header http.Header, now time.Time) later {
	value := header.Get("Retry-After")
	asked := strings.TrimSpace(value) != ""
	if wait, ok := waitOf(value, now); ok {
		return later{asked: true, dated: true, wait: wait}
	}
	if status == http.StatusForbidden || status == http.StatusTooManyRequests {
		if wait, ok := resetOf(header, now); ok {
			return later{asked: true, dated: true, wait: wait}
		}
	}
	return later{asked: asked}
}

// rateLimits begin the names of the headers that remotes describe their rate limits with: the third is that of
// https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/05/.
var rateLimits = []string{"X-Ratelimit", "X-Rate-Limit", "Ratelimit"}

// resetOf is the time until a rate limit is reset. Many remotes send these headers with every answer: as long as requests
// remain, the limit is not what the refusal is about.
func resetOf(header http.Header, now time.Time) (wait time.Duration, ok bool) {
	for _, name := range rateLimits {
		remaining := strings.TrimSpace(header.Get(name + "-Remaining"))
		if remaining != "" && strings.Trim(remaining, "0.") != "" {
			continue
		}
		reset := header.Get(name + "-Reset")
		if seconds, ok := secondsOf(reset); ok && seconds >= year2001 {
			if seconds >= 1000*year2001 {
				return max(0, time.UnixMilli(seconds).Sub(now)), true
			}
			return max(0, time.Unix(seconds, 0).Sub(now)), true
		}
		if wait, ok := waitOf(reset, now); ok {
			return wait, true
		}
	}
	return 0, false
}

// year2001, in seconds since 1970, tells a reset that is a time, in seconds or milliseconds, from one that is a wait.
const year2001 = 1e9

// waitOf reads a number of seconds, rounded up, or a date. ok is false if value is neither.
func waitOf(value string, now time.Time) (wait time.Duration, ok bool) {
	if seconds, ok := secondsOf(value); ok {
		return time.Duration(min(seconds, math.MaxInt64/int64(time.Second))) * time.Second, true
	}
	at, ok := dateOf(value)
	if !ok {
		return 0, false
	}
	return max(0, at.Sub(now)), true
}

// number is a number of seconds. Only integers are allowed, but remotes send fractions.
var number = regexp.MustCompile(`^([0-9]+)(?:\.([0-9]*))?$`)

// secondsOf reads a number, rounded up; one that is too large is the largest.
func secondsOf(value string) (seconds int64, ok bool) {
	m := number.FindStringSubmatch(strings.TrimSpace(value))
	if m == nil {
		return 0, false
	}
	seconds, err := strconv.ParseInt(m[1], 10, 64)
	switch {
	case err != nil: // more digits than a number has
		return math.MaxInt64, true
	case strings.Trim(m[2], "0") != "" && seconds < math.MaxInt64:
		seconds++
	}
	return seconds, true
}

// dates are the forms of dates that remotes send, after "GMT" and the like were made "+0000": the three of RFC 9110
// (section 5.6.7), those of e-mail, cookies, the Unix command and JavaScript, and ISO 8601. A date without a zone is UTC.
var dates = []string{
	"Mon, 2 Jan 2006 15:04:05 -0700",
	"Mon, 2 Jan 2006 15:04:05 -07:00",
	"2 Jan 2006 15:04:05 -0700",
	"Monday, 02-Jan-06 15:04:05 -0700",
	"Mon, 02-Jan-2006 15:04:05 -0700",
	time.ANSIC,
	"Mon Jan _2 15:04:05 -0700 2006",
	"Mon Jan 2 2006 15:04:05 -0700",
	time.RFC3339,
	"2006-01-02T15:04Z07:00",
	"2006-01-02T15:04:05-0700",
	"2006-01-02T15:04:05",
	"20060102T150405Z0700",
	"2006-01-02 15:04:05 -0700",
	"2006-01-02 15:04:05Z07:00",
	time.DateTime,
}

var (
	// utc matches the names of UTC. The names of other zones mean different zones to different readers.
	utc = regexp.MustCompile(` (?:GMT|UTC|UT|Z)(?:\+0000)?( |$)`)
	// zoneName matches the name that JavaScript puts behind a date.
	zoneName = regexp.MustCompile(` \([A-Z ]+\)$`)
)

func dateOf(value string) (at time.Time, ok bool) {
	value = zoneName.ReplaceAllString(strings.ToUpper(strings.TrimSpace(value)), "")
	value = utc.ReplaceAllString(value, " +0000$1")
	for _, form := range dates {
		if at, err := time.Parse(form, value); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}
