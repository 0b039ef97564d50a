package outbox

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// traceparent is the form of version 00 (https://www.w3.org/TR/trace-context/#traceparent-header). What later versions
// may append is not passed on.
var traceparent = regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// Traceparent returns text if it is a W3C traceparent, else "". Foreign writers may have put anything in its place,
// which must reach neither a header nor a log.
func Traceparent(text string) string {
	if !traceparent.MatchString(text) {
		return ""
	}
	return text
}

// KeepableRef returns a remote's name of an effect as a row can keep it: UTF-8 without control characters, at most
// [MaxRefBytes]. It returns "" for any other text: half a name would name something else.
func KeepableRef(text string) string {
	if len(text) > MaxRefBytes || !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
		return ""
	}
	return text
}
