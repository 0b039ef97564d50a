package sender

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/landfall-dev/landfall/internal/egress"
	"github.com/landfall-dev/landfall/internal/egress/secrets"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// Defaults of [HTTPOptions], and of a row without a content type.
const (
	DefaultMethod      = "POST"
	DefaultKeyHeader   = "Idempotency-Key"
	DefaultContentType = "application/json"
)

// HTTPOptions describe a destination of kind http.
type HTTPOptions struct {
	// AllowPrivate: see [egress.Options]. Defaults to false.
	AllowPrivate bool
	// Answers say what an answer means, before Statuses. The first rule that matches decides. Defaults to none.
	Answers []egress.Rule[outbox.OutcomeKind]
	// Deduplicates says that the remote recognises a repeated key. Its 409 may then speak of the first request with that
	// key, and is unknown instead of permanent. Defaults to false.
	Deduplicates bool
	// Headers go with every request, credentials among them.
	Headers map[string]string
	// KeyHeader carries the idempotency key. Defaults to DefaultKeyHeader.
	KeyHeader string
	// MaxPayload is the longest payload that the remote accepts, in bytes. Defaults to 0: no bound.
	MaxPayload int
	// Method defaults to DefaultMethod.
	Method string
	// RefHeader and RefPointer: see [egress.RemoteOptions].
	RefHeader, RefPointer string
	// RowHeaders are the headers that a row may bring along; a row with another one is not sent. Defaults to none.
	RowHeaders []string
	// Secret is one more header, which replaces one of the same name in Headers. Defaults to none.
	Secret *secrets.Header
	// Statuses, 200 to 599, that mean something else here than [HTTP.Send] says.
	Statuses map[int]outbox.OutcomeKind
	// URL is absolute, http or https, without user and password. Required.
	URL string
}

// HTTP sends rows to one URL. Make one with [NewHTTP]; it may be used from several goroutines at once.
type HTTP struct {
	o      HTTPOptions
	url    *url.URL
	rules  egress.Rules[outbox.OutcomeKind]
	remote *egress.Remote
}

// NewHTTP returns a sender. Errors never repeat the URL or a header's value: they may hold credentials.
func NewHTTP(o HTTPOptions) (*HTTP, error) {
	o.Method = cmp.Or(o.Method, DefaultMethod)
	o.KeyHeader = cmp.Or(o.KeyHeader, DefaultKeyHeader)
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return nil, errors.New("url: want https://host/path, without user and password")
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	rules, err := egress.CompileRules(o.Answers)
	if err != nil {
		return nil, fmt.Errorf("answers: %w", err)
	}
	remote, err := egress.NewRemote(egress.RemoteOptions{
		AllowPrivate: o.AllowPrivate, Headers: o.Headers, RefHeader: o.RefHeader, RefPointer: o.RefPointer, Secret: o.Secret,
	})
	if err != nil {
		return nil, fmt.Errorf("destination of kind http: %w", err)
	}
	return &HTTP{o: o, url: u, rules: rules, remote: remote}, nil
}

func (o HTTPOptions) check() error {
	if !egress.IsToken(o.Method) {
		return fmt.Errorf("method %q: want a name such as POST", o.Method)
	}
	for _, name := range append([]string{o.KeyHeader}, o.RowHeaders...) {
		if !egress.IsToken(name) {
			return fmt.Errorf("header %q: want a name of letters, digits and hyphens", name)
		}
	}
	for status := range o.Statuses {
		if status < 200 || status > 599 {
			return fmt.Errorf("status %d: want the status of a final answer, 200 to 599", status)
		}
	}
	return nil
}

// Send makes one request and reports what its answer means. As long as no connection stood, nothing can have arrived.
// After that, only a complete head of a final answer decides:
//
//	2xx                             completed, if the request was written to its end
//	408                             unknown if the request was written to its end, else retryable
//	425 429                         retryable
//	409                             unknown if the remote deduplicates, else permanent
//	303 499                         unknown: after the work, or in the middle of it
//	500 502 503 504, other 5xx      unknown: the effect may have happened before the failure
//	401 403                         retryable if the secret has changed since or cannot be read again, or if the
//	                                answer says when to come back; else permanent
//	other 4xx with a Retry-After    retryable, even if the Retry-After cannot be read
//	other 3xx, other 4xx, 501 505   permanent
//
// A rule of Answers goes first, then Statuses. A 2xx that came before the request was written to its end is unknown whatever a
// rule says. So is a 2xx whose body a rule needs and cannot read; of another status the table decides then.
//
// A retry waits for as long as the answer asks: its Retry-After or, of a 403 or 429, the reset of its rate limit. Redirects
// are not followed, whatever the answer says. The codes are listed beside [CodeKeyInvalid].
func (h *HTTP) Send(ctx context.Context, row outbox.Row) outbox.Outcome {
	req, code := h.request(row)
	switch code {
	case "":
		return h.outcome(h.remote.Do(ctx, req), time.Now())
	case outbox.CodeHeaderNotAllowed: // the configuration that allows it may be on its way
		return unsent(outbox.Retryable(code, 0))
	}
	return unsent(outbox.Permanent(code))
}

// unsent marks the outcome of an attempt of which nothing left.
func unsent(o outbox.Outcome) outbox.Outcome {
	o.Unsent = true
	return o
}

// request makes a request of a row, or says by a code why no request can carry the row.
func (h *HTTP) request(row outbox.Row) (req egress.Request, code string) {
	switch {
	case !visible(row.Key):
		return req, CodeKeyInvalid
	case h.o.MaxPayload > 0 && len(row.Payload) > h.o.MaxPayload:
		return req, CodePayloadTooLarge
	}
	contentType := cmp.Or(row.ContentType, DefaultContentType)
	defaults, code := h.rowHeaders(row)
	if code == "" && !egress.IsHeaderValue(contentType) {
		code = CodeHeaderInvalid
	}
	if code != "" {
		return req, code
	}
	headers := http.Header{"Content-Type": {contentType}}
	headers.Set(h.o.KeyHeader, row.Key)
	if trace := outbox.Traceparent(row.Trace); trace != "" {
		headers.Set("Traceparent", trace)
	}
	return egress.Request{Method: h.o.Method, URL: h.url, Defaults: defaults, Headers: headers, Body: row.Payload}, ""
}

// rowHeaders are the row's own headers, or by a code why one of them cannot be sent, or may not.
func (h *HTTP) rowHeaders(row outbox.Row) (_ http.Header, code string) {
	header := http.Header{}
	for name, value := range row.Headers {
		if !slices.ContainsFunc(h.o.RowHeaders, func(allowed string) bool { return strings.EqualFold(allowed, name) }) {
			return nil, outbox.CodeHeaderNotAllowed // without it, the effect would be another one
		}
		if !egress.IsHeaderValue(value) || header.Values(name) != nil { // twice, in different spelling
			code = CodeHeaderInvalid
		}
		header.Set(name, value)
	}
	return header, code
}

// visible reports whether a key can travel in a header as it is.
func visible(key string) bool {
	return key != "" && !strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' })
}
