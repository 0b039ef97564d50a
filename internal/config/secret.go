package config

import (
	"net/url"
	"slices"
	"strings"
)

// Secret is a header of every request whose value is kept in Secrets Manager.
type Secret struct {
	// Name of the secret, or its complete ARN.
	Name string `json:"name"`
	// Member is which member of the secret, a JSON object, is sent. Defaults to the secret as a whole.
	Member string `json:"member,omitempty"`
	// Header that carries it, in canonical form. Defaults to Authorization.
	Header string `json:"header"`
	// Scheme stands before the secret, with a space, unless it is NoScheme. Defaults to Bearer where Header is
	// Authorization, else to NoScheme.
	Scheme string `json:"scheme"`
}

// NoScheme is the scheme of a secret that is sent as it is.
const NoScheme = "none"

// Defaults of [Secret].
const (
	DefaultSecretHeader = "Authorization"
	DefaultSecretScheme = "Bearer"
)

// maxMember bounds the name of a member, in bytes.
const maxMember = 256

var secretTable = &Table{
	Title: "secret", Short: "name",
	Help: "A header of every request whose value is kept in Secrets Manager. `secret: NAME` is short for `secret: {name: NAME}`.",
	Example: `destinations:
  charge: {http: https://api.example.com/charges, deduplicates: 24h, secret: prod/charges-token}
  refund:
    http: https://api.example.com/refunds
    deduplicates: 24h
    secret: {name: prod/api-keys, member: refunds, header: X-Api-Key}
`,
	Keys: []Key{
		{Name: "header", Type: canonicalHeader, Default: DefaultSecretHeader, Example: "X-Api-Key", Help: "The header that carries the secret."},
		{Name: "member", Type: bounded("the name of a member", maxMember), Example: "refunds",
			Help: "The member of the secret, a JSON object, that is sent. Without it the secret is sent as a whole."},
		{Name: "name", Type: secretNameType, Required: true, Missing: "write the name or ARN of a secret in Secrets Manager", Example: "prod/api-keys",
			Help: "The name or complete ARN of the secret."},
		{Name: "scheme", Type: schemeType, Default: DefaultSecretScheme, Example: "Token",
			Help: "The word before the secret, or `none`. Defaults to Bearer where the header is Authorization, else to none.",
			Derive: func(beside map[string]any) any {
				if header, given := beside["header"].(string); given && header != DefaultSecretHeader {
					return NoScheme
				}
				return DefaultSecretScheme
			}},
	},
}

var secretType = Type{Form: Mapping, Want: "the name of a secret, or keys with values", Keys: secretTable, Masked: true, Define: "secret"}

// The checks never repeat a name: it may be the secret itself, by mistake.
var secretNameType = Type{
	Want: "the name of a secret", Masked: true, Schema: `{"pattern": "` + secretPattern + `"}`,
	Check: func(text string) string {
		if !secretName.MatchString(text) {
			return "this is not a secret of Secrets Manager; write its name (letters, digits and /_+=.@!-) or its complete ARN, never the secret itself"
		}
		return ""
	},
}

var schemeType = Type{
	Want: "a word", Masked: true, Define: headerType.Define, Schema: headerType.Schema,
	Check: func(text string) string {
		if !headerName.MatchString(text) {
			return "this cannot stand before a secret; write one word, such as Bearer, or none"
		}
		return ""
	},
}

// inherit gives a lookup the destination's secret if it asks the same origin (scheme, host and port) and has neither a
// secret of its own nor that header. What is meant for one host is never sent to another.
func (l *Lookup) inherit(h *HTTP) {
	if l == nil || l.Secret != nil || h.Secret == nil || origin(l.URL) == "" || origin(l.URL) != origin(h.URL) {
		return
	}
	if _, own := l.Headers[h.Secret.Header]; !own {
		l.Secret = h.Secret
	}
}

// origin is the scheme, host and port of a URL or of a template of one; "" if it cannot be read.
func origin(text string) string {
	u, err := url.Parse(placeholder.ReplaceAllString(text, "1"))
	if err != nil || u.Host == "" {
		return ""
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}

// secret checks that nothing else sets a secret's header: neither the fixed headers nor the taken ones.
func (c *checker) secret(path string, s *Secret, headers map[string]string, taken ...string) {
	if s == nil {
		return
	}
	if s.Scheme == "" {
		c.failf(path+".scheme", "missing; write one word, such as Bearer, or none")
	}
	if _, fixed := headers[s.Header]; fixed {
		c.failf(path+".header", "%s is in `headers` too; remove one of the two", s.Header)
	} else if slices.ContainsFunc(taken, func(name string) bool { return strings.EqualFold(name, s.Header) }) {
		c.failf(path+".header", "%s is in key_header or row_headers too; choose another header", s.Header)
	}
}
