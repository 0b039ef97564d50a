package config

import (
	"fmt"
	"maps"
	"net/netip"
	"net/textproto"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	maxURL         = 8000
	maxHeaderValue = 8000
	maxHeaders     = 100
)

var methods = []string{"POST", "PUT", "PATCH", "DELETE"}

// reserved headers are written by HTTP itself, hop by hop, or by Landfall from the row.
var reserved = map[string]string{
	"Connection":          "it belongs to the connection",
	"Content-Length":      "it follows from the payload",
	"Content-Type":        "it comes from the row",
	"Expect":              "a send is one request and one answer",
	"Host":                "it comes from the URL",
	"Keep-Alive":          "it belongs to the connection",
	"Proxy-Authenticate":  "it belongs to the connection",
	"Proxy-Authorization": "it belongs to the connection",
	"Proxy-Connection":    "it belongs to the connection",
	"Te":                  "it belongs to the connection",
	"Traceparent":         "it comes from the row",
	"Trailer":             "it belongs to the connection",
	"Transfer-Encoding":   "it belongs to the connection",
	"Upgrade":             "it belongs to the connection",
}

func (c *checker) http(path string, h *HTTP) {
	if why := badURL(h.URL); why != "" {
		c.failf(path+".http", "%s", why)
	}
	if !slices.Contains(methods, h.Method) {
		c.failf(path+".method", "%s is not possible: allowed are %s", quote(h.Method), strings.Join(methods, ", "))
	}
	if why := badHeaderName(h.KeyHeader); why != "" {
		c.failf(path+".key_header", "%s", why)
	}
	c.headers(path+".headers", h.Headers, h.KeyHeader)
	c.rowHeaders(path+".row_headers", h)
	c.secret(path+".secret", h.Secret, h.Headers, append([]string{h.KeyHeader}, h.RowHeaders...)...)
	for _, status := range slices.Sorted(maps.Keys(h.Statuses)) {
		if status < 200 || status > 599 {
			c.failf(path+".statuses."+strconv.Itoa(status), "is no status of a final answer: write 200 to 599")
		}
	}
	if h.RemoteRef != nil {
		c.remoteRef(path+".remote_ref", *h.RemoteRef)
	}
}

// headers never puts a value into a message: it may be a credential.
func (c *checker) headers(path string, headers map[string]string, keyHeader string) {
	if len(headers) > maxHeaders {
		c.failf(path, "%d headers are too many: at most %d", len(headers), maxHeaders)
	}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		at := path + "." + plain(name)
		if why := badHeaderName(name); why != "" {
			c.failf(at, "%s", why)
		} else if canonical := textproto.CanonicalMIMEHeaderKey(name); canonical != name {
			c.failf(at, "write it %s", canonical)
		}
		if strings.EqualFold(name, keyHeader) {
			c.failf(at, "is the header of the idempotency key (key_header)")
		}
		if !validHeaderValue(headers[name]) {
			c.failf(at, "the value must be visible ASCII, spaces and tabs, with neither at its ends, and at most %d bytes", maxHeaderValue)
		}
	}
}

func (c *checker) rowHeaders(path string, h *HTTP) {
	if len(h.RowHeaders) > maxHeaders {
		c.failf(path, "%d headers are too many: at most %d", len(h.RowHeaders), maxHeaders)
	}
	for i, name := range h.RowHeaders {
		at := path + "." + strconv.Itoa(i)
		if why := badHeaderName(name); why != "" {
			c.failf(at, "%s", why)
		}
		if strings.EqualFold(name, h.KeyHeader) {
			c.failf(at, "%s is the header of the idempotency key (key_header)", name)
		}
		if _, fixed := h.Headers[name]; fixed {
			c.failf(at, "%s is one of the fixed headers: a row cannot bring it along as well", name)
		}
		if slices.Contains(h.RowHeaders[:i], name) {
			c.failf(at, "%s is there twice", name)
		}
	}
}

func (c *checker) remoteRef(path string, ref RemoteRef) {
	switch {
	case (ref.Header == "") == (ref.Pointer == ""):
		c.failf(path, "takes exactly one of header, pointer")
	case ref.Header != "":
		if !headerName.MatchString(ref.Header) {
			c.failf(path+".header", "%s is no name of a header", quote(ref.Header))
		}
	case !pointer.MatchString(ref.Pointer):
		c.failf(path+".pointer", `%s is no JSON pointer: write /name/..., with ~1 for / and ~0 for ~ inside a name`, quote(ref.Pointer))
	}
}

var (
	headerName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$") // RFC 9110, token
	pointer    = regexp.MustCompile(`^(/([^~/]|~[01])*)+$`)                // RFC 6901
	fixedURL   = regexp.MustCompile(`^[!-~]+$`)
)

func badHeaderName(name string) string {
	if !headerName.MatchString(name) {
		return quote(name) + " is no name of a header: letters, digits and hyphens, at most 100"
	}
	if why, found := reserved[textproto.CanonicalMIMEHeaderKey(name)]; found {
		return fmt.Sprintf("%s cannot be set: %s", name, why)
	}
	return ""
}

func validHeaderValue(v string) bool {
	if len(v) > maxHeaderValue || v != strings.Trim(v, " \t") {
		return false
	}
	for _, b := range []byte(v) {
		if (b < ' ' || b > '~') && b != '\t' {
			return false
		}
	}
	return true
}

// badURL says what is wrong with a destination's URL without repeating it: it may hold a credential.
func badURL(text string) string {
	const form = "write it as https://host/path"
	switch {
	case len(text) > maxURL:
		return fmt.Sprintf("the URL is too long: at most %d bytes", maxURL)
	case !fixedURL.MatchString(text):
		return "the URL may hold visible ASCII only: percent-encode the rest of the path, write the host in punycode"
	case strings.ContainsAny(text, "{}"):
		return "the URL is fixed, { } are not filled in: percent-encode them if they are meant"
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "is no URL: " + form
	case u.Scheme != "http" && u.Scheme != "https":
		return "the URL must begin with https:// or http://"
	case u.User != nil:
		return "the URL must hold neither user nor password"
	case u.Opaque != "" || u.Hostname() == "":
		return "the URL has no host: " + form
	case strings.Contains(u.Hostname(), ":") && !strings.HasPrefix(u.Host, "["):
		return "the URL's host must have an IPv6 address in brackets: https://[::1]/path"
	case strings.Contains(text, "#"):
		return "the URL must have no fragment (#...): it would never be sent"
	case !validPort(u):
		return "the URL's port must be 1 to 65535"
	}
	return ""
}

func validPort(u *url.URL) bool {
	if u.Port() == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	n, err := strconv.Atoi(u.Port())
	return err == nil && n >= 1 && n <= 65535
}

// leadsInside judges what can be judged without resolving a name; the guard at connecting judges the rest.
func leadsInside(text string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	ip = ip.Unmap()
	return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast() || ip.IsUnspecified()
}
