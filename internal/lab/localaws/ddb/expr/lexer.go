package expr

import (
	_ "embed" // reserved words are a file
	"regexp"
	"slices"
	"strings"
)

//go:embed reserved.txt
var reservedWords string

// reserved lists, in order, the names that expressions may only use through a placeholder.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ReservedWords.html
var reserved = strings.Fields(reservedWords)

// Reserved reports whether an attribute name is a reserved word.
func Reserved(name string) bool {
	_, found := slices.BinarySearch(reserved, strings.ToUpper(name))
	return found
}

type kind byte

const (
	end     kind = iota
	name         // #placeholder
	value        // :placeholder
	number       // a list index
	word         // a bare attribute name, a function or a keyword
	symbol       // an operator or a bracket
	illegal      // what can begin no token
)

// lexemes are the forms of tokens, behind white space, one group for each kind but end.
var lexemes = regexp.MustCompile(
	`[ \t\r\n\f]*(?:(#\w+)|(:\w+)|([0-9]+\b)|([A-Za-z_]\w*)|(<>|<=|>=|[=<>+\-,.()[\]])|([0-9]\w*|[^ \t\r\n\f]))`)

type token struct {
	kind       kind
	text       string
	start, end int
}

// tokens splits an expression; the last token is end. bad is the number of the first illegal one, 0 or more, which only
// the end follows; -1 if there is none.
func tokens(src string) (list []token, bad int) {
	for _, m := range lexemes.FindAllStringSubmatchIndex(src, -1) {
		k := 1
		for m[2*k] < 0 {
			k++
		}
		from, to := m[2*k], m[2*k+1]
		list = append(list, token{kind(k), src[from:to], from, to})
		if kind(k) == illegal {
			return append(list, token{end: min(len(src), to+1)}), len(list) - 1
		}
	}
	return append(list, token{end, "<EOF>", len(src), len(src)}), -1
}
