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

// tokens splits an expression; the last token is end. bad is the first text that can begin no token.
func tokens(src string) (list []token, bad token) {
	for i := 0; i < len(src); {
		start := i
		c := src[i]
		k := symbol
		switch {
		case strings.IndexByte(" \t\r\n\f", c) >= 0:
			i++
			continue
		case c == '#' || c == ':':
			k = name
			if c == ':' {
				k = value
			}
			i++
			for i < len(src) && wordByte(src[i]) {
				i++
			}
			if i == start+1 {
				return list, token{end, src[start:i], start, i}
			}
		case wordByte(c):
			k = word
			if c >= '0' && c <= '9' {
				k = number
			}
			for i < len(src) && wordByte(src[i]) {
				i++
			}
			if k == number && strings.Trim(src[start:i], "0123456789") != "" {
				return list, token{end, src[start:i], start, i}
			}
		case strings.HasPrefix(src[i:], "<>"), strings.HasPrefix(src[i:], "<="), strings.HasPrefix(src[i:], ">="):
			i += 2
		case strings.IndexByte("=<>+-,.()[]", c) >= 0:
			i++
		default:
			for i++; i < len(src) && src[i]&0xc0 == 0x80; i++ { // the rest of a UTF-8 sequence
			}
			return list, token{end, src[start:i], start, i}
		}
		list = append(list, token{k, src[start:i], start, i})
	}
	return append(list, token{end, "<EOF>", len(src), len(src)}), token{}
}
