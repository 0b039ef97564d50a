package config

import (
	"net/textproto"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
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

var (
	// secretName is what Secrets Manager takes for a name
	// (https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_CreateSecret.html; those that other services
	// made have a !), or an ARN of one, which ends in six characters of the service's own.
	secretName = regexp.MustCompile(`^([A-Za-z0-9/_+=.@!-]{1,512}|arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:[A-Za-z0-9/_+=.@!-]{1,512}-[A-Za-z0-9]{6})$`)
	// functionName is a name, with or without a version or an alias, or an ARN
	// (https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html).
	functionName = regexp.MustCompile(`^(arn:aws[a-z-]*:lambda:[a-z0-9-]+:[0-9]{12}:function:)?[A-Za-z0-9_-]{1,64}(:(\$LATEST|[A-Za-z0-9_-]{1,128}))?$`)
)

// readSecret never shows what stands there: it may be the secret itself, by mistake.
func readSecret(to **Secret) field {
	return func(d *document, path string, n ast.Node) {
		s := &Secret{}
		*to = s
		d.maskValues(n)
		if isScalar(n) {
			text(&s.Name)(d, path, n)
			s.Name = orUnread(s.Name)
		} else {
			d.mapping(path, n, map[string]field{
				"header": text(&s.Header),
				"member": text(&s.Member),
				"name":   text(&s.Name),
				"scheme": text(&s.Scheme),
			})
		}
		s.fill()
	}
}

// unread stands for a name that is there but could not be read, which is reported already.
const unread = "unread"

func orUnread(name string) string {
	if name == "" {
		return unread
	}
	return name
}

func (s *Secret) fill() {
	if s.Header == "" {
		s.Header = DefaultSecretHeader
	}
	s.Header = textproto.CanonicalMIMEHeaderKey(s.Header)
	switch {
	case s.Scheme != "":
	case s.Header == DefaultSecretHeader:
		s.Scheme = DefaultSecretScheme
	default:
		s.Scheme = NoScheme
	}
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

// origin is whom a URL, or a template of one, leads to; "" if nobody can tell.
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

// secret checks a secret and that nothing else sets its header: neither the fixed headers nor the taken ones. It never
// puts the name into a message: it may be the secret itself, by mistake.
func (c *checker) secret(path string, s *Secret, headers map[string]string, taken ...string) {
	if s == nil {
		return
	}
	switch {
	case s.Name == "":
		c.failf(path+".name", "is missing: the name or the ARN of a secret in Secrets Manager")
	case !secretName.MatchString(s.Name):
		c.failf(path+".name", "is neither a name nor a complete ARN of Secrets Manager: write letters, digits and /_+=.@!- (never the secret itself)")
	}
	if len(s.Member) > maxMember {
		c.failf(path+".member", "is too long: at most %d bytes", maxMember)
	}
	at := path + ".header"
	_, fixed := headers[s.Header]
	switch why := badHeaderName(s.Header); {
	case why != "":
		c.failf(at, "%s", why)
	case s.Header != textproto.CanonicalMIMEHeaderKey(s.Header):
		c.failf(at, "write it %s", textproto.CanonicalMIMEHeaderKey(s.Header))
	case fixed:
		c.failf(at, "%s is one of the fixed headers (headers): it can have one value only", s.Header)
	case slices.ContainsFunc(taken, func(name string) bool { return strings.EqualFold(name, s.Header) }):
		c.failf(at, "%s belongs to the row (key_header, row_headers): it can have one value only", s.Header)
	}
	if !headerName.MatchString(s.Scheme) {
		c.failf(path+".scheme", "is no word that can stand before a secret: write one such as Bearer, or none")
	}
}

// function checks the name of a function of AWS Lambda.
func (c *checker) function(path, name string) {
	if !functionName.MatchString(name) {
		c.failf(path, "%s is neither a name nor an ARN of a function: write letters, digits, _ and -, at most 64, then :alias if one is meant", quote(name))
	}
}
