package expr

import "strings"

type kind byte

const (
	end    kind = iota
	word        // a bare attribute name, a function or a keyword
	name        // #placeholder
	value       // :placeholder
	number      // a list index
	symbol      // an operator or a bracket
)

type token struct {
	kind       kind
	text       string
	start, end int
}

func wordByte(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// wordEnd is where the word ends that begins at a position; it may be empty.
func wordEnd(src string, at int) int {
	for at < len(src) && wordByte(src[at]) {
		at++
	}
	return at
}

// tokens splits an expression; the last token is end. bad is the first text that can begin no token.
func tokens(src string) (list []token, bad token) {
	for i := 0; i < len(src); {
		t := token{kind: symbol, start: i, end: i + 1}
		switch c := src[i]; {
		case strings.IndexByte(" \t\r\n\f", c) >= 0:
			i++
			continue
		case c == '#' || c == ':':
			t.kind = map[byte]kind{'#': name, ':': value}[c]
			if t.end = wordEnd(src, i+1); t.end == i+1 {
				t.kind = end
			}
		case wordByte(c):
			t.kind, t.end = word, wordEnd(src, i)
			if c >= '0' && c <= '9' {
				t.kind = number
			}
			if t.kind == number && strings.Trim(src[i:t.end], "0123456789") != "" {
				t.kind = end
			}
		case strings.HasPrefix(src[i:], "<>"), strings.HasPrefix(src[i:], "<="), strings.HasPrefix(src[i:], ">="):
			t.end = i + 2
		case strings.IndexByte("=<>+-,.()[]", c) < 0:
			for t.kind = end; t.end < len(src) && src[t.end]&0xc0 == 0x80; t.end++ { // the rest of a UTF-8 sequence
			}
		}
		i, t.text = t.end, src[t.start:t.end]
		if t.kind == end {
			return list, t
		}
		list = append(list, t)
	}
	return append(list, token{end, "<EOF>", len(src), len(src)}), token{}
}
