package config

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/landfall-dev/landfall/internal/outbox"
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
	// Rules are tried in their order; the first that matches decides, and if none does the row stays unresolved.
	Rules []Rule `json:"rules,omitempty"`
	// Secret is one more header, its value kept in Secrets Manager. Defaults to the destination's if the lookup asks the
	// same scheme, host and port and does not set that header otherwise.
	Secret *Secret `json:"secret,omitempty"`
}

// Rule says what an answer of one status means, if what Pointer leads to in its body is Equals.
type Rule struct {
	// Status is 200 to 599.
	Status int `json:"status"`
	// Pointer (a JSON pointer) and Equals: both or neither.
	Pointer string `json:"pointer,omitempty"`
	Equals  string `json:"equals,omitempty"`
	// Then has no default.
	Then Answer `json:"then"`
}

// Answer is what a rule concludes: "completed", "failed", "not_found" or "unresolved".
type Answer outbox.AnswerKind

var answers = []outbox.AnswerKind{outbox.AnswerCompleted, outbox.AnswerFailed, outbox.AnswerNotFound, outbox.AnswerUnresolved}

// unsaid marks an answer that nobody wrote.
const unsaid Answer = -1

func parseAnswer(text string) (Answer, error) {
	for _, a := range answers {
		if text == a.String() {
			return Answer(a), nil
		}
	}
	return 0, fmt.Errorf("%s is no answer: allowed are completed, failed, not_found, unresolved", quote(text))
}

// MarshalText writes the word that a configuration uses.
func (a Answer) MarshalText() ([]byte, error) { return []byte(outbox.AnswerKind(a).String()), nil }

// UnmarshalText reads what a configuration may contain.
func (a *Answer) UnmarshalText(text []byte) error {
	v, err := parseAnswer(string(text))
	if err != nil {
		return err
	}
	*a = v
	return nil
}

// DefaultLookupMethod is the method of a lookup that names none.
const DefaultLookupMethod = "GET"

var lookupMethods = []string{"GET", "HEAD", "POST"}

func readLookup(to **Lookup) field {
	return func(d *document, path string, n ast.Node) {
		l := &Lookup{}
		*to = l
		d.mapping(path, n, map[string]field{
			"headers": headers(&l.Headers),
			"http":    text(&l.URL),
			"lambda":  text(&l.Lambda),
			"method":  text(&l.Method),
			"rules":   l.readRules,
			"secret":  readSecret(&l.Secret),
		})
		if l.Lambda == "" && d.keys[path+".lambda"] != nil {
			l.Lambda = unread
		}
		if l.Lambda == "" && l.Method == "" {
			l.Method = DefaultLookupMethod
		}
	}
}

func (l *Lookup) readRules(d *document, path string, n ast.Node) {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		d.failf(n, path, "%s, want a list of rules, such as [{status: 404, then: not_found}]", found(n))
		return
	}
	l.Rules = []Rule{}
	for i, n := range list.Values {
		r := Rule{Then: unsaid}
		path := path + "." + strconv.Itoa(i)
		d.keys[path] = beginning(n)
		d.mapping(path, n, map[string]field{
			"equals":  scalar("a text, a number, true or false", func(s string) (string, error) { return s, nil }, &r.Equals),
			"pointer": text(&r.Pointer),
			"status":  integer(&r.Status),
			"then": func(d *document, path string, n ast.Node) {
				r.Then = 0 // whatever it is, it is not missing
				scalar("completed, failed, not_found or unresolved", parseAnswer, &r.Then)(d, path, n)
			},
		})
		l.Rules = append(l.Rules, r)
	}
}

func (c *checker) lookup(path string, l Lookup) {
	if l.Lambda != "" {
		c.function(path+".lambda", l.Lambda)
		if l.URL != "" || l.Headers != nil || l.Method != "" || l.Rules != nil || l.Secret != nil {
			c.failf(path, "lambda takes no other key beside it: what else is needed the function knows")
		}
		return
	}
	if l.URL == "" {
		c.failf(path+".http", "is missing: a lookup needs a URL, or lambda: and a function")
	} else if why := badTemplate(l.URL); why != "" {
		c.failf(path+".http", "%s", why)
	}
	if !slices.Contains(lookupMethods, l.Method) {
		c.failf(path+".method", "%s is not possible: allowed are %s", quote(l.Method), strings.Join(lookupMethods, ", "))
	}
	c.headers(path+".headers", l.Headers, "")
	c.secret(path+".secret", l.Secret, l.Headers)
	if len(l.Rules) == 0 {
		c.failf(path+".rules", "at least one rule is needed: without any nothing is ever decided")
	}
	for i, r := range l.Rules {
		c.rule(path+".rules."+strconv.Itoa(i), r, l.Method)
	}
}

func (c *checker) rule(path string, r Rule, method string) {
	if r.Status < 200 || r.Status > 599 {
		c.failf(path+".status", "%d is no status of a final answer: write 200 to 599", r.Status)
	}
	switch {
	case (r.Pointer == "") != (r.Equals == ""):
		c.failf(path, "takes pointer and equals together, or neither")
	case r.Pointer != "" && !pointer.MatchString(r.Pointer):
		c.failf(path+".pointer", "%s is no JSON pointer: write /name/...", quote(r.Pointer))
	case r.Pointer != "" && method == "HEAD":
		c.failf(path+".pointer", "an answer to HEAD has no body to point into")
	}
	if r.Then == unsaid {
		c.failf(path+".then", "is missing: allowed are completed, failed, not_found, unresolved")
	}
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
		return "no such placeholder: allowed are {idempotency_key} and {remote_ref}"
	case one == text:
		return "without {idempotency_key} or {remote_ref} it asks the same for every row"
	}
	if why := badURL(one); why != "" {
		return why
	}
	u, err := url.Parse(one)
	v, otherErr := url.Parse(other)
	if err != nil || otherErr != nil || u.Scheme != v.Scheme || u.Host != v.Host {
		return "a placeholder cannot choose the host: put it into the path or the query"
	}
	encoded, err := url.Parse(placeholder.ReplaceAllString(text, "%2F"))
	if err != nil || strings.Count(encoded.EscapedPath()+encoded.RawQuery, "%2F") < len(placeholder.FindAllString(text, -1)) {
		return "a character that a URL cannot hold: percent-encode it" // else the whole path would be encoded anew
	}
	if climbs.MatchString(u.EscapedPath()) {
		return `"." and ".." cannot stand in the path: write the path that is meant`
	}
	return ""
}
