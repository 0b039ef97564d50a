package lookup

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/landfall-dev/landfall/internal/outbox"
)

// The placeholders of a [Template].
const (
	KeyPlaceholder = "{idempotency_key}"
	RefPlaceholder = "{remote_ref}"
)

// Template is the URL of a lookup, with placeholders for the parts that differ from row to row.
type Template string

var braces = regexp.MustCompile(`\{[^{}]*\}?|\}`)

// ParseTemplate checks a template: an absolute http or https URL without user, password and fragment, with one or more
// placeholders in its path or query and no other braces. Errors do not repeat it: it may hold credentials.
func ParseTemplate(text string) (Template, error) {
	found := braces.FindAllString(text, -1)
	for _, name := range found {
		if name != KeyPlaceholder && name != RefPlaceholder {
			return "", fmt.Errorf("unknown placeholder: use %s or %s", KeyPlaceholder, RefPlaceholder)
		}
	}
	if len(found) == 0 {
		return "", fmt.Errorf("no placeholder: write %s or %s where the row's own part belongs", KeyPlaceholder, RefPlaceholder)
	}
	filled, err := url.Parse(braces.ReplaceAllString(text, "1"))
	if err != nil || filled.Scheme != "http" && filled.Scheme != "https" || filled.Hostname() == "" || filled.User != nil {
		return "", errors.New("want https://host/path, without user and password")
	}
	if filled.Fragment != "" || strings.Contains(text, "#") {
		return "", errors.New("remove the fragment (#...): it is never sent")
	}
	if other, err := url.Parse(braces.ReplaceAllString(text, "2")); err != nil || other.Host != filled.Host {
		return "", errors.New("a placeholder must not choose the host: move it to the path or the query")
	}
	if encoded, err := url.Parse(braces.ReplaceAllString(text, "%2F")); err != nil ||
		strings.Count(encoded.EscapedPath()+encoded.RawQuery, "%2F") < len(found) { // else the whole path is encoded anew
		return "", errors.New("it contains a character that is not allowed in a URL: percent-encode it")
	}
	if climbs(filled) {
		return "", errors.New(`the path contains "." or "..": write the path without them`)
	}
	return Template(text), nil
}

// Fill returns the URL for a row, or a code that says why the row has none. Everything but letters, digits and -._~ is
// percent-encoded, so that the key or reference stays one part of the path or the query.
func (t Template) Fill(row outbox.Row) (*url.URL, string) {
	if row.RemoteRef == "" && strings.Contains(string(t), RefPlaceholder) {
		return nil, CodeRefMissing
	}
	filled := strings.NewReplacer(KeyPlaceholder, escape(row.Key), RefPlaceholder, escape(row.RemoteRef)).Replace(string(t))
	u, err := url.Parse(filled)
	if err != nil || climbs(u) {
		return nil, CodePathUnsafe
	}
	return u, ""
}

// doubtful reports whether the key or reference brings characters into the path whose encoded form servers refuse with
// "not found" by default (/ and \ by Apache httpd, AllowEncodedSlashes; % and + by IIS, allowDoubleEscaping) or gateways
// decode on the way (API Gateway, for one). Neither happens to a query.
func (t Template) doubtful(row outbox.Row) bool {
	const odd = `/\%+`
	path, _, _ := strings.Cut(string(t), "?")
	return strings.Contains(path, KeyPlaceholder) && strings.ContainsAny(row.Key, odd) ||
		strings.Contains(path, RefPlaceholder) && strings.ContainsAny(row.RemoteRef, odd)
}

// climbs reports whether a path has a part that servers resolve as a step to another path, even if they decode first.
func climbs(u *url.URL) bool {
	for part := range strings.FieldsFuncSeq(u.Path, func(r rune) bool { return r == '/' || r == '\\' }) {
		if part == "." || part == ".." {
			return true
		}
	}
	return false
}

// escape percent-encodes all but the unreserved characters (RFC 3986, section 2.3).
func escape(text string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for _, c := range []byte(text) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("-._~", c) >= 0:
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}
