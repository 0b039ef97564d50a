package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/landfall-dev/landfall/internal/doctor"
)

// format is how a command answers.
type format string

const (
	table  format = "table"
	inJSON format = "json"
)

func (f *format) String() string { return string(*f) }
func (f *format) Type() string   { return "format" }

func (f *format) Set(s string) error {
	switch format(s) {
	case table, inJSON:
		*f = format(s)
		return nil
	}
	return errors.New("choose table or json")
}

// print answers with v as JSON, or with rows as a table.
func (a *app) print(v any, rows [][]string) error {
	if a.output == inJSON {
		return a.printJSON(v)
	}
	return a.printTable(rows)
}

// say answers with v as JSON, or with a line of text.
func (a *app) say(v any, format string, args ...any) error {
	if a.output == inJSON {
		return a.printJSON(v)
	}
	return a.write([]byte(printable(fmt.Sprintf(format, args...)) + "\n"))
}

// write writes an answer as it is.
func (a *app) write(content []byte) error {
	if _, err := a.stdout.Write(content); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

// printJSON writes one document, indented. What a terminal would obey is escaped: control characters, C1 ones too, and
// characters that change the direction of text.
func (a *app) printJSON(v any) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	var safe []byte
	for _, r := range text.String() {
		switch {
		case r == '\n' || unicode.IsPrint(r): // others stand only in strings
			safe = append(safe, string(r)...)
		default:
			for _, unit := range utf16.Encode([]rune{r}) {
				safe = fmt.Appendf(safe, `\u%04x`, unit)
			}
		}
	}
	return a.write(safe)
}

// printTable writes rows in columns. Cells may hold text of strangers: only printable characters reach the terminal.
func (a *app) printTable(rows [][]string) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = printable(cell)
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

// warn writes warnings to standard error, beside an answer. Errors that are nil are left out.
func (a *app) warn(problems ...error) {
	for _, err := range problems {
		if err == nil {
			continue
		}
		for line := range strings.SplitSeq(doctor.Plain(err), "\n") {
			fmt.Fprintln(a.stderr, "warning:", printable(line))
		}
	}
}

func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
}

// printableText is printable for several lines, which may have tabs.
func printableText(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		parts := strings.Split(line, "\t")
		for j := range parts {
			parts[j] = printable(parts[j])
		}
		lines[i] = strings.Join(parts, "\t")
	}
	return strings.Join(lines, "\n")
}

// instant is nil for a time that is absent.
func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	utc := t.UTC()
	return &utc
}

// stamp writes a time for a column; "-" if it is absent.
func stamp(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.Format("2006-01-02T15:04:05.000Z07:00")
}

// number writes a number for a column; "-" if it is unknown.
func number(n *int64) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatInt(*n, 10)
}

// changed writes for a column when something was changed, and by whom.
func changed(by string, at *time.Time) string {
	if at == nil {
		return "-"
	}
	return stamp(at) + " by " + by
}

// shorten cuts a text for a column.
func shorten(s string) string {
	const most = 60
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return s
}
