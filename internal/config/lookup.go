package config

import (
	"net/url"
	"regexp"
	"strings"
)

// Lookup is how to ask the remote what became of a row whose outcome is not known: over http, or through a function,
// which has Lambda and nothing else. What holds for the destination's addresses (AllowPrivate) holds for the lookup's.
type Lookup struct {
	// Lambda is the name or the ARN of a function; "" if the lookup is one over http.
	Lambda string `json:"lambda,omitempty"`
	// URL is absolute, http or https, with {idempotency_key} or {remote_ref} in its path or query.
	URL string `json:"http,omitempty"`
	// Headers go with every request. Names are in canonical form.
	Headers map[string]string `json:"headers,omitempty"`
	// Method is GET, HEAD or POST. Defaults to GET.
	Method string `json:"method,omitempty"`
	// Rules are tried in their order; the first that matches decides, and if none does the row stays unresolved. Then is
	// completed, failed, not_found or unresolved.
	Rules []Rule `json:"rules,omitempty"`
	// Secret is one more header, its value kept in Secrets Manager. Defaults to the destination's if the lookup asks the
	// same scheme, host and port and does not set that header otherwise.
	Secret *Secret `json:"secret,omitempty"`
}

// DefaultLookupMethod is the method of a lookup that names none.
const DefaultLookupMethod = "GET"

var lookupTable = &Table{
	Title: "lookup",
	Help:  "How to ask the remote what became of a row whose outcome is not known. Without a lookup such rows wait for a person. The answer names the effect where `remote_ref` of the destination says so.",
	Example: `destinations:
  partner:
    http: https://partner.example.com/orders
    deduplicates: 24h
    lookup:
      http: https://partner.example.com/orders/by-key?key={idempotency_key}
      rules:
        - {status: 200, pointer: /status, equals: succeeded, then: completed}
        - {status: 404, then: not_found}
  ledger:
    http: https://ledger.example.com/entries
    deduplicates: never
    lookup: {lambda: ledger-lookup}
`,
	Schema: `{"oneOf": [{"required": ["http", "rules"]}, {"required": ["lambda"], "maxProperties": 1}],
		"if": {"properties": {"method": {"const": "HEAD"}}, "required": ["method"]},
		"then": {"properties": {"rules": {"items": {"properties": {"pointer": false, "contains": false}}}}}}`,
	Keys: []Key{
		{Name: "headers", Type: headersType, Example: "{X-Tenant: acme}", Help: "Headers of every request."},
		{Name: "http", Type: templateType, Example: "https://partner.example.com/orders/{remote_ref}",
			Help: "The URL to ask, with {idempotency_key} or {remote_ref} in its path or query."},
		{Name: "lambda", Type: functionType, Example: "ledger-lookup", Help: "A function that answers instead. It is the lookup's only key."},
		{Name: "method", Type: oneOf("GET", "HEAD", "POST"), Default: DefaultLookupMethod, Example: "HEAD", Help: "The method of every request.",
			Derive: func(beside map[string]any) any {
				if beside["lambda"] != nil {
					return nil
				}
				return DefaultLookupMethod
			}},
		{Name: "rules", Type: rulesType(lookupRules, 1, "[{status: 404, then: not_found}]"),
			Example: "[{status: 404, then: not_found}]", Help: "What the answer means: the first rule that matches decides. If none does, the row stays unresolved."},
		{Name: "secret", Type: secretType, Example: "prod/partner-token",
			Help: "As in the destination. Defaults to the destination's secret where the lookup asks the same scheme, host and port."},
	},
}

var templateType = Type{
	Want: "a URL with {idempotency_key} or {remote_ref}", Check: badTemplate,
	Schema: `{"maxLength": 16000,
		"pattern": "^[hH][tT][tT][pP][sS]?://[!\"$-.0-9;->A-z|~][!\"$-.0->A-z|~]*[/?]([!\"$-z|~]|\\{(idempotency_key|remote_ref)\\})*\\{(idempotency_key|remote_ref)\\}([!\"$-z|~]|\\{(idempotency_key|remote_ref)\\})*$"}`,
}

func (c *checker) lookup(path string, l Lookup) {
	if l.Lambda != "" {
		if l.URL != "" || l.Headers != nil || l.Method != "" || l.Rules != nil || l.Secret != nil {
			c.failf(path, "lambda must be the only key: the function knows everything else; remove the others")
		}
		return
	}
	if l.URL == "" {
		c.failf(path+".http", "missing; a lookup needs http (a URL) or lambda (a function)")
	}
	if l.Method == "" {
		c.failf(path+".method", "missing; write GET, HEAD or POST")
	}
	c.secret(path+".secret", l.Secret, l.Headers)
	if l.Rules == nil {
		c.failf(path+".rules", "missing; add at least one rule, such as {status: 404, then: not_found}")
	}
	c.rules(path+".rules", l.Rules, l.Method)
}

var (
	placeholder = regexp.MustCompile(`\{idempotency_key\}|\{remote_ref\}`)
	climbs      = regexp.MustCompile(`(?i)(^|[/\\]|%2f|%5c)(\.|%2e){1,2}([/\\?]|%2f|%5c|$)`)
)

// badTemplate says what is wrong with a lookup's URL without repeating it: it may hold a credential. What it lets
// through is what lookups accept.
func badTemplate(text string) string {
	one, other := placeholder.ReplaceAllString(text, "1"), placeholder.ReplaceAllString(text, "2")
	switch {
	case strings.ContainsAny(one, "{}"):
		return "unknown placeholder; write {idempotency_key} or {remote_ref}"
	case one == text:
		return "the URL has no placeholder; put {idempotency_key} or {remote_ref} into it"
	}
	if why := badURL(one); why != "" {
		return why
	}
	u, err := url.Parse(one)
	v, otherErr := url.Parse(other)
	if err != nil || otherErr != nil || u.Scheme != v.Scheme || u.Host != v.Host {
		return "a placeholder cannot choose the host; put it into the path or the query"
	}
	encoded, err := url.Parse(placeholder.ReplaceAllString(text, "%2F"))
	if err != nil || strings.Count(encoded.EscapedPath()+encoded.RawQuery, "%2F") < len(placeholder.FindAllString(text, -1)) {
		return "the URL contains a character that it cannot hold; percent-encode it" // else the whole path would be encoded anew
	}
	if climbs.MatchString(u.EscapedPath()) {
		return `"." and ".." cannot stand in the path; write the path in full`
	}
	return ""
}
