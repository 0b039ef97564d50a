package stage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Note adds a line to the trace, if there is one. Mu is held.
func (s *Stage) Note(process int, format string, args ...any) {
	if s.trace != nil {
		s.trace.entries = append(s.trace.entries, entry{time.Since(s.Begun), process, fmt.Sprintf(format, args...)})
	}
}

// trace is what happened.
type trace struct {
	begun   time.Time
	entries []entry
}

type entry struct {
	at      time.Duration
	process int
	text    string
}

// lines puts the trace in order and gives the tokens, which are random, names of their own.
func (t *trace) lines() []string {
	if t == nil {
		return nil
	}
	slices.SortStableFunc(t.entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.process, b.process), cmp.Compare(withoutTokens(a.text), withoutTokens(b.text)))
	})
	names := map[string]string{}
	var lines []string
	for _, e := range t.entries {
		text := replaceTokens(e.text, func(token string) string {
			if names[token] == "" {
				names[token] = fmt.Sprintf("claim-%d", len(names)+1)
			}
			return names[token]
		})
		lines = append(lines, fmt.Sprintf("%16v  process %-3d  %s", e.at, e.process, text))
	}
	return lines
}

// A token is written between marks, so that it can be found again.
const mark = "\x00"

// Marked puts a token between marks.
func Marked(token string) string { return mark + token + mark }

func withoutTokens(text string) string { return replaceTokens(text, func(string) string { return "" }) }

func replaceTokens(text string, name func(string) string) string {
	parts := strings.Split(text, mark)
	for i := 1; i < len(parts); i += 2 {
		parts[i] = name(parts[i])
	}
	return strings.Join(parts, "")
}
