package lookup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/landfall-dev/landfall/internal/egress"
	"github.com/landfall-dev/landfall/internal/egress/secrets"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// DefaultMethod of a lookup over HTTP.
const DefaultMethod = "GET"

// The codes of kind http, all of undecided answers. Besides these there are "landfall.lookup.http.status_<status>", for
// 200 to 599, when no rule matched or the secret was stale, and "landfall.lookup.http.<word>" for each word of
// [egress.Trouble], when there was no answer or a rule could not be held against it.
const (
	// CodeRefMissing: the URL needs the remote's reference, and the row has none. Nothing was asked.
	CodeRefMissing = "landfall.lookup.http.ref_missing"
	// CodePathUnsafe: with the row's key or reference the URL would lead to another path ("..", "."). Nothing was asked.
	CodePathUnsafe = "landfall.lookup.http.path_unsafe"
	// CodeEarlyAnswer: the remote answered before it had the whole request.
	CodeEarlyAnswer = "landfall.lookup.http.early_answer"
	// CodeCached: a cache answered "not found". The effect may have happened since the cache asked.
	CodeCached = "landfall.lookup.http.cached"
	// CodePathDoubtful: the answer is "not found", and the row's key or reference brought a slash, a backslash, a percent
	// or a plus sign into the path. Servers answer so about such a path without looking, or look elsewhere.
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
	// RefHeader and RefPointer: see [egress.RemoteOptions].
	RefHeader, RefPointer string
	// Rules say what an answer means. The first that matches decides; if none does, nothing is decided. At least one is
	// required.
	Rules []egress.Rule[outbox.AnswerKind]
	// Secret is one more header, which replaces one of the same name in Headers. Defaults to none.
	Secret *secrets.Header
	// URL is a template: see [ParseTemplate]. Required.
	URL string
}

// HTTP asks a URL. Make one with [NewHTTP]; it may be used from several goroutines at once.
type HTTP struct {
	method   string
	template Template
	rules    egress.Rules[outbox.AnswerKind]
	remote   *egress.Remote
}

// NewHTTP returns a lookup. Errors never repeat the URL or a header's value: they may hold credentials.
func NewHTTP(o HTTPOptions) (*HTTP, error) {
	method := cmp.Or(o.Method, DefaultMethod)
	if !slices.Contains([]string{"GET", "HEAD", "POST"}, method) {
		return nil, fmt.Errorf("method %q: want GET, HEAD or POST", method)
	}
	template, err := ParseTemplate(o.URL)
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	if err := o.check(method); err != nil {
		return nil, err
	}
	rules, err := egress.CompileRules(o.Rules)
	if err != nil {
		return nil, err
	}
	remote, err := egress.NewRemote(egress.RemoteOptions{
		AllowPrivate: o.AllowPrivate, Headers: o.Headers, RefHeader: o.RefHeader, RefPointer: o.RefPointer, Secret: o.Secret,
	})
	if err != nil {
		return nil, fmt.Errorf("lookup of kind http: %w", err)
	}
	return &HTTP{method: method, template: template, rules: rules, remote: remote}, nil
}

func (o HTTPOptions) check(method string) error {
	if len(o.Rules) == 0 {
		return errors.New("rules: want at least one; without a rule, no answer decides anything")
	}
	for i, r := range o.Rules {
		switch {
		case r.NeedsBody() && method == "HEAD":
			return fmt.Errorf("rule %d: an answer to HEAD has no body; use GET", i+1)
		case r.Then < outbox.AnswerUnresolved || r.Then > outbox.AnswerNotFound:
			return fmt.Errorf("rule %d: then: want completed, failed, not_found or unresolved", i+1)
		}
	}
	return nil
}

// Look makes one request and reports what the rules make of its answer. Nothing is decided
//
//   - without a complete head of a final answer,
//   - by the refusal (401, 403) of a secret that has changed since,
//   - by "not found" from a cache: the request asks caches not to answer, and an Age (RFC 9111, section 5.1) tells of one
//     that does,
//   - by "not found" at a doubtful path: see [CodePathDoubtful].
//
// Redirects are not followed; a rule may name their status.
func (h *HTTP) Look(ctx context.Context, row outbox.Row) outbox.Answer {
	target, code := h.template.Fill(row)
	if code != "" {
		return outbox.Answer{Code: code}
	}
	req := egress.Request{Method: h.method, URL: target, Headers: http.Header{}}
	req.Defaults = http.Header{"Accept": {"application/json"}, "Cache-Control": {"no-cache"}}
	if trace := outbox.Traceparent(row.Trace); trace != "" {
		req.Headers.Set("Traceparent", trace)
	}
	x := h.remote.Do(ctx, req)
	switch {
	case x.Answer == nil:
		return outbox.Answer{Code: codePrefix + string(x.Trouble)}
	case !x.Written:
		return outbox.Answer{Code: CodeEarlyAnswer}
	case x.Stale:
		return outbox.Answer{Code: statusCode(x.Answer.Status)}
	}
	a := h.judge(x.Answer)
	switch age := x.Answer.Header.Get("Age"); {
	case a.Kind == outbox.AnswerNotFound && h.template.doubtful(row):
		return outbox.Answer{Code: CodePathDoubtful}
	case a.Kind == outbox.AnswerNotFound && age != "" && age != "0":
		return outbox.Answer{Code: CodeCached}
	case a.Kind == outbox.AnswerCompleted:
		a.Ref = outbox.KeepableRef(h.remote.Ref(x.Answer))
	}
	return a
}

// judge applies the first rule that matches.
func (h *HTTP) judge(a *egress.Answer) outbox.Answer {
	kind, number, trouble := h.rules.Match(a)
	switch {
	case trouble != "":
		return outbox.Answer{Code: codePrefix + string(trouble)}
	case number == 0:
		return outbox.Answer{Code: statusCode(a.Status)}
	case kind == outbox.AnswerUnresolved:
		return outbox.Answer{Code: CodeRule}
	}
	return outbox.Answer{Kind: kind}
}

func statusCode(status int) string { return codePrefix + "status_" + strconv.Itoa(status) }
