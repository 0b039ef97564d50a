package lookup

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/landfall-dev/landfall/internal/egress"
	"github.com/landfall-dev/landfall/internal/egress/secrets"
	"github.com/landfall-dev/landfall/internal/outbox"
)

const (
	// DefaultMethod of a lookup over HTTP.
	DefaultMethod = "GET"
	// MaxRefBytes bounds what is kept of the remote's name of an effect. A longer one is dropped: half a name is none.
	MaxRefBytes = 512

	userAgent = "Landfall (+https://github.com/landfall-dev/landfall)"
)

// The codes of kind http, all of undecided answers. Besides these there is "landfall.lookup.http.status_<status>", for
// 200 to 599, when no rule matched or the secret was stale, and "landfall.lookup.http.<word>" for each word of
// [egress.Trouble], when there was no answer, and of [secrets.Trouble], when there was no secret to ask with.
const (
	// CodeRefMissing: the URL needs the remote's reference, and the row has none. Nothing was asked.
	CodeRefMissing = "landfall.lookup.http.ref_missing"
	// CodePathUnsafe: with the row's key or reference the URL would lead to another path ("..", "."). Nothing was asked.
	CodePathUnsafe = "landfall.lookup.http.path_unsafe"
	// CodeEarlyAnswer: the remote answered before it had the whole request.
	CodeEarlyAnswer = "landfall.lookup.http.early_answer"
	// CodeBodyIncomplete: a rule is about the body, which was cut or is longer than [egress.MaxBody].
	CodeBodyIncomplete = "landfall.lookup.http.body_incomplete"
	// CodeBodyInvalid: a rule is about the body, which is not one JSON document in UTF-8.
	CodeBodyInvalid = "landfall.lookup.http.body_invalid"
	// CodeBodyAmbiguous: a rule is about the body, in which an object has a name twice.
	CodeBodyAmbiguous = "landfall.lookup.http.body_ambiguous"
	// CodeValueInvalid: a rule's pointer leads through or to something of another type than it takes for granted.
	CodeValueInvalid = "landfall.lookup.http.value_invalid"
	// CodeCached: a cache answered that there is no such thing. There was none when it asked, perhaps too early.
	CodeCached = "landfall.lookup.http.cached"
	// CodePathDoubtful: there is no such thing at a path that the row's key or reference brought a slash, a backslash, a
	// percent or a plus sign into. Servers say so of such a path without looking, or look elsewhere.
	CodePathDoubtful = "landfall.lookup.http.path_doubtful"
	// CodeRule: a rule says that this answer decides nothing.
	CodeRule = "landfall.lookup.http.unresolved"

	codePrefix = "landfall.lookup.http."
)

// HTTPOptions describe a lookup over HTTP.
type HTTPOptions struct {
	// AllowPrivate: see [egress.Options]. Defaults to false.
	AllowPrivate bool
	// Headers go with every request, credentials among them.
	Headers map[string]string
	// Method is GET, HEAD or POST, without a body. Defaults to DefaultMethod.
	Method string
	// RefHeader is the header of an answer that says what the remote calls the effect. Defaults to none.
	RefHeader string
	// RefPointer says where it is in the body instead, as a JSON pointer. Defaults to none.
	RefPointer string
	// RootCAs are whom to trust. Defaults to the roots of the system.
	RootCAs *x509.CertPool
	// Rules say what an answer means: the first that matches decides, and if none does, nothing is decided. Required.
	Rules []Rule
	// Secret is one more header, above Headers. Defaults to none.
	Secret *secrets.Header
	// URL is a template: see [ParseTemplate]. Required.
	URL string
}

// HTTP asks a URL. Make one with [NewHTTP]; it may be used from several goroutines at once.
type HTTP struct {
	o        HTTPOptions
	template Template
	rules    []rule
	ref      egress.Pointer
	client   *egress.Client
}

// NewHTTP returns a lookup. Errors never repeat the URL or a header's value: they may hold credentials.
func NewHTTP(o HTTPOptions) (*HTTP, error) {
	o.Method = cmp.Or(o.Method, DefaultMethod)
	if !slices.Contains([]string{"GET", "HEAD", "POST"}, o.Method) {
		return nil, fmt.Errorf("method %q: want GET, HEAD or POST", o.Method)
	}
	template, err := ParseTemplate(o.URL)
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	rules, err := compile(o.Rules, o.Method)
	if err != nil {
		return nil, err
	}
	if o.RefHeader != "" && o.RefPointer != "" {
		return nil, errors.New("remote reference: want a header or a pointer, not both")
	}
	ref, err := egress.ParsePointer(o.RefPointer)
	if err != nil {
		return nil, fmt.Errorf("remote reference: %w", err)
	}
	for name, value := range o.Headers {
		if !token.MatchString(name) || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return nil, fmt.Errorf("header %q: want a name of letters, digits and hyphens, and a value without control characters", name)
		}
	}
	client := egress.New(egress.Options{AllowPrivate: o.AllowPrivate, RootCAs: o.RootCAs})
	return &HTTP{o: o, template: template, rules: rules, ref: ref, client: client}, nil
}

var (
	token       = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")                       // RFC 9110, section 5.6.2
	traceparent = regexp.MustCompile("^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$") // W3C Trace Context
)

// Look makes one request and reports what the rules make of its answer. Without a complete head of a final answer
// nothing is decided, nor by the refusal (401, 403) of a secret that has changed since, nor is it by a cache that there is
// no such thing: the question asks caches not to answer, and an Age (RFC 9111, section 5.1) tells of one that does. Nor is it
// by "no such thing" at a doubtful path: see [CodePathDoubtful]. Redirects are not followed; a rule may name their status.
func (h *HTTP) Look(ctx context.Context, row outbox.Row) outbox.Answer {
	target, code := h.template.Fill(row)
	if code != "" {
		return outbox.Answer{Code: code}
	}
	x, stale, trouble := h.o.Secret.Do(ctx, h.client, &http.Request{Method: h.o.Method, URL: target, Header: h.header(row)})
	switch {
	case trouble != "":
		return outbox.Answer{Code: codePrefix + string(trouble)}
	case x.Answer == nil:
		return outbox.Answer{Code: codePrefix + string(x.Trouble)}
	case !x.Written:
		return outbox.Answer{Code: CodeEarlyAnswer}
	case stale:
		return outbox.Answer{Code: statusCode(x.Answer.Status)}
	}
	a := judge(h.rules, x.Answer)
	switch age := x.Answer.Header.Get("Age"); {
	case a.Kind == outbox.AnswerNotFound && h.template.doubtful(row):
		return outbox.Answer{Code: CodePathDoubtful}
	case a.Kind == outbox.AnswerNotFound && age != "" && age != "0":
		return outbox.Answer{Code: CodeCached}
	case a.Kind == outbox.AnswerCompleted:
		a.Ref = h.refOf(x.Answer)
	}
	return a
}

func (h *HTTP) header(row outbox.Row) http.Header {
	header := http.Header{"Accept": {"application/json"}, "Cache-Control": {"no-cache"}, "User-Agent": {userAgent}}
	for name, value := range h.o.Headers {
		header.Set(name, value)
	}
	if traceparent.MatchString(row.Trace) {
		header.Set("Traceparent", row.Trace)
	}
	return header
}

// refOf is what the answer calls the effect, or "" if it does not say so in a form that can be kept.
func (h *HTTP) refOf(a *egress.Answer) string {
	var ref string
	switch {
	case h.o.RefHeader != "":
		ref = a.Header.Get(h.o.RefHeader)
	case h.o.RefPointer != "":
		ref, _ = h.ref.Find(a.Body)
	}
	return keepable(ref)
}

// keepable is a reference, or "" if it cannot be kept as it is.
func keepable(ref string) string {
	if len(ref) > MaxRefBytes || !utf8.ValidString(ref) || strings.ContainsFunc(ref, unicode.IsControl) {
		return ""
	}
	return ref
}

func statusCode(status int) string { return codePrefix + "status_" + strconv.Itoa(status) }
