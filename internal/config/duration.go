package config

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/landfall-dev/landfall/internal/outbox"
)

// Duration is written as Go writes durations, and with days: "30s", "1h30m", "15d", "1d12h". A day has 24 hours.
type Duration time.Duration

const day = Duration(24 * time.Hour)

var wholeDays = regexp.MustCompile(`^([0-9]+)d(.*)$`)

// ParseDuration refuses what is negative, has no unit or overflows. hint is the unit to propose when there is none.
func ParseDuration(text, hint string) (Duration, error) {
	if text == "" {
		return 0, errors.New("empty; write a duration, such as 30s")
	}
	if strings.HasPrefix(text, "-") {
		return 0, fmt.Errorf("%s is negative; write a duration, such as 30s", Clip(text))
	}
	if _, err := strconv.ParseFloat(text, 64); err == nil && text != "0" {
		return 0, fmt.Errorf("%s has no unit; did you mean %s%s?", Clip(text), Clip(text), hint)
	}
	var days time.Duration
	rest := text
	if m := wholeDays.FindStringSubmatch(text); m != nil {
		n, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil || n > math.MaxInt64/int64(day) {
			return 0, fmt.Errorf("%s is too long", Clip(text))
		}
		days, rest = time.Duration(n)*time.Duration(day), m[2]
		if rest == "" {
			return Duration(days), nil
		}
	}
	// A sign after the days would be taken for part of the rest.
	d, err := time.ParseDuration(rest)
	if err != nil || strings.ContainsAny(rest, "+-") {
		return 0, fmt.Errorf("%s is not a duration; write days, h, m, s or ms, such as 30s, 1h30m or 7d", Clip(text))
	}
	if days > math.MaxInt64-d {
		return 0, fmt.Errorf("%s is too long", Clip(text))
	}
	return Duration(days + d), nil
}

// String is the shortest exact form; whole days are days from two on ("24h", but "2d").
func (d Duration) String() string {
	if d >= 2*day && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// MarshalText writes [Duration.String].
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what a configuration may contain.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := ParseDuration(string(text), "s")
	if err != nil {
		return err
	}
	*d = v
	return nil
}

// Window is for how long a remote deduplicates: "never", "always", or a duration of whole seconds.
type Window outbox.Window

// unset marks a window that is not written, because the zero value is an answer.
const unset Window = -2

func (w Window) isUnset() bool { return w == unset }

// ParseWindow reads what a configuration may contain.
func ParseWindow(text string) (Window, error) {
	switch text {
	case "never":
		return Window(outbox.Never), nil
	case "always":
		return Window(outbox.Always), nil
	}
	d, err := ParseDuration(text, "h")
	if err != nil {
		return 0, fmt.Errorf("%w (or never, or always)", err)
	}
	if d == 0 {
		return 0, fmt.Errorf("%s is not a duration here; write never", Clip(text))
	}
	return Window(d), nil
}

func (w Window) String() string {
	switch outbox.Window(w) {
	case outbox.Never:
		return "never"
	case outbox.Always:
		return "always"
	}
	return Duration(w).String()
}

// MarshalText writes [Window.String].
func (w Window) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// UnmarshalText reads what a configuration may contain.
func (w *Window) UnmarshalText(text []byte) error {
	v, err := ParseWindow(string(text))
	if err != nil {
		return err
	}
	*w = v
	return nil
}
