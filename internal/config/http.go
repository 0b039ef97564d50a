package config

import (
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// HTTP is what a destination of kind http has besides.
type HTTP struct {
	// Answers say what an answer means, before Statuses: the first rule that matches decides. Then is one of the words of
	// Statuses. Defaults to none.
	Answers []Rule `json:"answers,omitempty"`
	// URL is absolute, http or https, fixed.
	URL string `json:"http"`
	// Headers go with every request. Names are in canonical form.
	Headers map[string]string `json:"headers,omitempty"`
	// KeyHeader carries the idempotency key. Defaults to Idempotency-Key.
	KeyHeader string `json:"key_header"`
	// Method is POST, PUT, PATCH or DELETE. Defaults to POST.
	Method string `json:"method"`
	// RemoteRef says where an answer names the effect; nil: it does not.
	RemoteRef *RemoteRef `json:"remote_ref,omitempty"`
	// RowHeaders are the headers that a row may bring along, in canonical form. Defaults to none.
	RowHeaders []string `json:"row_headers,omitempty"`
	// Secret is one more header, its value kept in Secrets Manager; nil: there is none.
	Secret *Secret `json:"secret,omitempty"`
	// Statuses, 200 to 599, whose meaning is not the one that is usual in HTTP: completed, retryable, permanent or unknown.
	Statuses map[int]string `json:"statuses,omitempty"`
}

// RemoteRef is one of: a header of the answer, or a JSON pointer (RFC 6901) into its body.
type RemoteRef struct {
	Header  string `json:"header,omitempty"`
	Pointer string `json:"pointer,omitempty"`
}

var kindHTTP = &Kind{
	Name: "http", Address: "a URL", Keys: httpTable,
}

var httpTable = &Table{
	Title: "Destinations of kind http",
	Help:  "A row is one HTTP request. What a status means follows HTTP: 2xx is completed, 408, 429 and 503 can be retried, other 4xx are permanent; after anything else the outcome is unknown. `answers` and `statuses` say where this remote differs.",
	Example: `destinations:
  charge:
    http: https://api.example.com/charges
    deduplicates: 24h
    secret: prod/charges-token
    headers: {X-Tenant: acme}
    row_headers: [X-Trace-Id]
    statuses: {409: completed}
    answers:
      - {status: 2xx, pointer: /ok, equals: false, then: permanent}
      - {status: 422, header: {name: Transient-Error, equals: true}, then: retryable}
    remote_ref: {pointer: /charge/id}
`,
	Keys: []Key{
		{Name: "answers", Type: rulesType(outcomeRules, 0, "[{status: 2xx, pointer: /ok, equals: false, then: permanent}]"),
			Example: "[{status: 2xx, pointer: /ok, equals: false, then: permanent}]",
			Help:    "What answers mean that their status alone does not tell: the first rule that matches decides. If none does, `statuses` and then HTTP decide."},
		{Name: "headers", Type: headersType, Example: "{X-Tenant: acme}", Help: "Headers of every request. Everyone who reads this file can read them; use `secret` for a credential."},
		{Name: "http", Type: urlType, Required: true, Example: "https://api.example.com/charges", Help: "The URL that every row is sent to."},
		{Name: "key_header", Type: ownHeader, Default: DefaultKeyHeader, Example: "X-Request-Id", Help: "The header that carries the idempotency key."},
		{Name: "method", Type: oneOf("POST", "PUT", "PATCH", "DELETE"), Default: DefaultMethod, Example: "PUT", Help: "The method of every request."},
		{Name: "remote_ref", Type: mapping(remoteRefTable), Example: "{pointer: /charge/id}",
			Help: "Where an answer says what the remote calls the effect. Landfall stores it with the row."},
		{Name: "row_headers", Type: Type{Form: List, Want: "a list of names, such as [X-Tenant]", Max: maxHeaders, Of: &canonicalHeader},
			Example: "[X-Trace-Id]", Help: "Headers that a row may bring along."},
		{Name: "secret", Type: secretType, Example: "prod/charges-token",
			Help: "One more header of every request, whose value is kept in Secrets Manager: the name or ARN of a secret, or the keys below."},
		{Name: "statuses", Type: statusesType, Example: "{409: completed, 500: retryable}",
			Help: "What a status of the answer means, where that differs from HTTP."},
	},
}

var remoteRefTable = &Table{
	Title: "remote_ref", Help: "Exactly one of these keys.", OneKey: true,
	Keys: []Key{
		{Name: "header", Type: headerType, Example: "Location", Help: "A header of the answer."},
		{Name: "pointer", Type: pointerType, Example: "/charge/id", Help: "A JSON pointer into the body of the answer."},
	},
}

var outcomeType = oneOf("completed", "retryable", "permanent", "unknown")

var statusesType = Type{
	Form: Map, Want: "statuses and what they mean, such as {409: completed}", Of: &outcomeType,
	Names: &Type{
		Want: "a status", Schema: `{"pattern": "^[2-5][0-9][0-9]$"}`,
		Check: func(text string) string {
			if badStatus(text) {
				return Clip(text) + " is not a status of a final answer; write a number from 200 to 599"
			}
			return ""
		},
	},
}

// Kind is http.
func (h *HTTP) Kind() *Kind { return kindHTTP }

// String is the URL without its query, where services are given tokens; "" if it cannot be read.
func (h *HTTP) String() string {
	u, err := url.Parse(h.URL)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host + u.EscapedPath()
}

// Names has the secret, if there is one.
func (h *HTTP) Names() map[string]string {
	if h.Secret == nil {
		return nil
	}
	return map[string]string{"secret": h.Secret.Name}
}

func (h *HTTP) finish(d *Destination) { d.Lookup.inherit(h) }

func (h *HTTP) check(c *checker, path string, d Destination, _ *Config) {
	if h.Secret != nil && public(h.URL, d.AllowPrivate) {
		c.failf(path+".secret", unencrypted)
	} else if l := d.Lookup; l != nil && l.Secret != nil && public(l.URL, d.AllowPrivate) {
		c.failf(path+".lookup.secret", unencrypted)
	}
	c.notKeyHeader(path, h)
	for i, name := range h.RowHeaders {
		if _, fixed := h.Headers[name]; fixed {
			c.failf(path+".row_headers."+strconv.Itoa(i), "%s is in `headers` too; remove one of the two", name)
		}
	}
	c.rules(path+".answers", h.Answers, "")
	c.idleStatuses(path, h)
	c.secret(path+".secret", h.Secret, h.Headers, append([]string{h.KeyHeader}, h.RowHeaders...)...)
	if ref := h.RemoteRef; ref != nil && (ref.Header == "") == (ref.Pointer == "") {
		c.failf(path+".remote_ref", "write exactly one of header, pointer")
	}
}

// notKeyHeader keeps the header of the idempotency key from being set a second time.
func (c *checker) notKeyHeader(path string, h *HTTP) {
	const wrong = "%s carries the idempotency key (key_header); remove it here"
	for name := range h.Headers {
		if strings.EqualFold(name, h.KeyHeader) {
			c.failf(path+".headers."+Plain(name), wrong, name)
		}
	}
	for i, name := range h.RowHeaders {
		if strings.EqualFold(name, h.KeyHeader) {
			c.failf(path+".row_headers."+strconv.Itoa(i), wrong, name)
		}
	}
}

func (h *HTTP) warn(d Destination) (warnings []string) {
	warnings = append(warnings, likelyCredentials("headers", h.Headers)...)
	if !d.AllowPrivate && leadsInside(h.URL) {
		warnings = append(warnings, "the URL leads to a private address, so every send will be refused; set allow_private: true")
	}
	return warnings
}

var urlType = Type{
	Want: "a URL", Define: "url", Check: badURL,
	Schema: fmt.Sprintf(`{"description": "An absolute URL without user, password and fragment.", "maxLength": %d,
		"pattern": "^[hH][tT][tT][pP][sS]?://[!\"$-.0-9;->A-z|~][!\"$-.0->A-z|~]*([/?][!\"$-z|~]*)?$"}`, maxURL),
}

var fixedURL = regexp.MustCompile(`^[!-~]+$`)

// badURL says what is wrong with a destination's URL without repeating it: it may hold a credential.
func badURL(text string) string {
	const form = "write it as https://host/path"
	switch {
	case len(text) > maxURL:
		return fmt.Sprintf("the URL is too long; the maximum is %d bytes", maxURL)
	case !fixedURL.MatchString(text):
		return "the URL may contain only visible ASCII; percent-encode the path, write the host in punycode"
	case strings.ContainsAny(text, "{}"):
		return "the URL has no placeholders; percent-encode { and }"
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "invalid URL; " + form
	case u.Scheme != "http" && u.Scheme != "https":
		return "the URL must begin with https:// or http://"
	case u.User != nil:
		return "the URL must not contain a user or a password; use secret"
	case u.Opaque != "" || u.Hostname() == "":
		return "the URL has no host; " + form
	case strings.Contains(u.Hostname(), ":") && !strings.HasPrefix(u.Host, "["):
		return "write the IPv6 address in brackets: https://[::1]/path"
	case strings.Contains(text, "#"):
		return "the URL must not have a fragment (#...); it would never be sent"
	case unreachable(u.Hostname()):
		return "the URL leads to an address of metadata or of no host, which Landfall never calls; write another host"
	case !validPort(u):
		return "invalid port; write 1 to 65535"
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

// unencrypted is about a secret, whose URL is public: see [public].
const unencrypted = "the secret would travel unencrypted; write https in the URL"

// public says that a URL, or a template of one, leads over http to an address that is not private, as far as that is known
// without resolving names: with allowPrivate a name may be private.
func public(text string, allowPrivate bool) bool {
	text = placeholder.ReplaceAllString(text, "1")
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" || leadsInside(text) {
		return false
	}
	_, err = netip.ParseAddr(u.Hostname())
	return !allowPrivate || err == nil
}

// leadsInside judges an address without resolving names; the guard at connecting judges the rest.
func leadsInside(text string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host == "localhost" || strings.HasSuffix(host, ".localhost")
	}
	ip = ip.Unmap()
	return ip.IsLoopback() || ip.IsPrivate() || sharedV4.Contains(ip)
}

var (
	sharedV4 = netip.MustParsePrefix("100.64.0.0/10") // RFC 6598, which VPCs use as well
	awsLocal = netip.MustParsePrefix("fd00:ec2::/32") // EC2's metadata, resolver and clock for IPv6
)

// unreachable says that a host is an address that the guard refuses always: no remote is there, but credentials may be.
func unreachable(host string) bool {
	ip, err := netip.ParseAddr(host)
	ip = ip.Unmap()
	return err == nil && (ip.IsLinkLocalUnicast() || ip.IsUnspecified() || ip.IsMulticast() || awsLocal.Contains(ip))
}
