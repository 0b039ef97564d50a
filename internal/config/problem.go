package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Problem is one thing that is wrong in a configuration.
type Problem struct {
	// Line and Column count from 1, in lines and characters. Both are 0 where the place is not known.
	Line, Column int
	// Path is the key, such as destinations.charge.send_timeout; empty for the file as a whole.
	Path string
	// Message says what is wrong and what would be right.
	Message string

	// Excerpt is the line, with what may be secret made unreadable; "" if there is none to show.
	Excerpt string
}

// Error is everything that is wrong in one file. Values of headers, and what a URL may hide (user, password, query),
// are in no part of it.
type Error struct {
	// File is the name that the file was read under.
	File string
	// Problems is in the order of the file, without repetitions, never empty.
	Problems []Problem
}

// shown bounds how many problems [Error.Error] spells out.
const shown = 20

// Error has a paragraph per problem: place, what is wrong, the line, and a caret under the place.
func (e *Error) Error() string {
	var b strings.Builder
	for i, p := range e.Problems {
		if i == shown {
			fmt.Fprintf(&b, "\n%s: %d more problems", e.File, len(e.Problems)-shown)
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		p.render(&b, e.File)
	}
	return b.String()
}

// NewError has problems in the order of the file, without repetitions.
func NewError(file string, problems []Problem) *Error {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message),
		)
	})
	return &Error{File: file, Problems: slices.Compact(problems)}
}

func (p Problem) render(b *strings.Builder, file string) {
	b.WriteString(file)
	if p.Line > 0 {
		fmt.Fprintf(b, ":%d:%d", p.Line, p.Column)
	}
	b.WriteString(": ")
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Message)
	if p.Excerpt == "" {
		return
	}
	line, column := window(p.Excerpt, p.Column)
	number := strconv.Itoa(p.Line)
	fmt.Fprintf(b, "\n  %s | %s\n  %s | %s^", number, line, strings.Repeat(" ", len(number)), strings.Repeat(" ", column-1))
}

// window cuts a long line to what stands around its column, and makes sure that it is safe to print.
func window(line string, column int) (string, int) {
	const before, length = 80, 120
	runes := []rune(line)
	for i, r := range runes {
		if r == '\t' {
			runes[i] = ' '
		} else if !unicode.IsPrint(r) {
			runes[i] = '?'
		}
	}
	column = min(max(column, 1), len(runes)+1)
	start := 0
	if len(runes) > length {
		start = max(0, column-1-before)
	}
	end := min(len(runes), start+length)
	return string(runes[start:end]), column - start
}

// Clip makes a text from a configuration short and printable, so that it can stand in a message.
func Clip(text string) string {
	const most = 60
	runes := []rune(text)
	cut := len(runes) > most
	if cut {
		runes = runes[:most]
	}
	for i, r := range runes {
		if !unicode.IsPrint(r) {
			runes[i] = '?'
		}
	}
	if cut {
		return string(runes) + "..."
	}
	return string(runes)
}

// Quote is [Clip] in quotes.
func Quote(text string) string { return `"` + Clip(text) + `"` }

// Nearest is the word that text was probably meant to be, or "": a slip or two away, or with the same beginning.
func Nearest(text string, words []string) string {
	text = strings.ToLower(text)
	best, at := "", 3
	for _, w := range words {
		if d := distance(text, w); d < at && 2*d <= len(w) {
			best, at = w, d
		}
	}
	if best != "" || len(text) < 4 {
		return best
	}
	for _, w := range words {
		if strings.HasPrefix(w, text[:4]) {
			return w
		}
	}
	return ""
}

// distance is how many letters must be put in, left out or replaced to get from a to b; texts much longer than a
// key are far from everything.
func distance(a, b string) int {
	if len(a) > 64 {
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
