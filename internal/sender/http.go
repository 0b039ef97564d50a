package sender

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
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

	userAgent = "Landfall (+https://github.com/landfall-dev/landfall)"
)

// HTTPOptions describe a destination of kind http.
type HTTPOptions struct {
	// AllowPrivate: see [egress.Options]. Defaults to false.
	AllowPrivate bool
	// Deduplicates says that the remote recognises a repeated key. Then 409 may speak of the first request with it,
	// and is unknown instead of permanent. Defaults to false.
	Deduplicates bool
	// Headers go with every request, credentials among them.
	Headers map[string]string
	// KeyHeader carries the idempotency key. Defaults to DefaultKeyHeader.
	KeyHeader string
	// MaxPayload is the longest payload that the remote takes, in bytes. Defaults to 0: no bound.
	MaxPayload int
	// Method defaults to DefaultMethod.
	Method string
	// RefHeader is the header of an answer that says what the remote calls the effect. Defaults to none.
	RefHeader string
	// RefPointer says where it is in the body instead, as a JSON pointer. Defaults to none.
	RefPointer string
	// RootCAs are whom to trust. Defaults to the roots of the system.
	RootCAs *x509.CertPool
	// RowHeaders are the headers that a row may bring along; its others are not sent. Defaults to none.
	RowHeaders []string
	// Secret is one more header, above Headers. Defaults to none.
	Secret *secrets.Header
	// Statuses, 200 to 599, that mean something else here than [HTTP.Send] says.
	Statuses map[int]outbox.OutcomeKind
	// URL is absolute, http or https, without user and password. Required.
	URL string
}

// HTTP sends rows to one URL. Make one with [NewHTTP]; it may be used from several goroutines at once.
type HTTP struct {
	o       HTTPOptions
	url     *url.URL
	pointer egress.Pointer
	client  *egress.Client
}

// NewHTTP returns a sender. Errors never repeat the URL or a header's value: they may hold credentials.
func NewHTTP(o HTTPOptions) (*HTTP, error) {
	o.Method = cmp.Or(o.Method, DefaultMethod)
	o.KeyHeader = cmp.Or(o.KeyHeader, DefaultKeyHeader)
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return nil, errors.New("url: want https://host/path, without user and password")
	}
	pointer, err := egress.ParsePointer(o.RefPointer)
	if err != nil {
		return nil, fmt.Errorf("remote reference: %w", err)
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	client := egress.New(egress.Options{AllowPrivate: o.AllowPrivate, RootCAs: o.RootCAs})
	return &HTTP{o: o, url: u, pointer: pointer, client: client}, nil
}

func (o HTTPOptions) check() error {
	if !token.MatchString(o.Method) {
		return fmt.Errorf("method %q: want a name such as POST", o.Method)
	}
	names := append([]string{o.KeyHeader}, o.RowHeaders...)
	for name, value := range o.Headers {
		names = append(names, name)
		if !validValue(value) {
			return fmt.Errorf("header %q: the value has control characters", name)
		}
	}
	for _, name := range names {
		if !token.MatchString(name) {
			return fmt.Errorf("header %q: want letters, digits and hyphens", name)
		}
	}
	if o.RefHeader != "" && o.RefPointer != "" {
		return errors.New("remote reference: want a header or a pointer, not both")
	}
	for status := range o.Statuses {
		if status < 200 || status > 599 {
			return fmt.Errorf("status %d: no final answer has it, want 200 to 599", status)
		}
	}
	return nil
}

// Send makes one request and reports what its answer means. It knows that nothing arrived as long as no connection
// stood; from then on only a complete head of a final answer tells:
//
//	2xx                             completed, if the request was written to its end
//	408 425 429                     retryable
//	409                             unknown if the remote deduplicates, else permanent
//	303 499                         unknown: after the work, or in the middle of it
//	500 502 503 504, other 5xx      unknown: the effect may have happened before what went wrong
//	other 4xx with a Retry-After    retryable, but for 401 and 403
//	other 3xx, other 4xx, 501 505   permanent
//	401 403                         retryable if the secret has changed since, or cannot be read again
//
// What is sent again is not sent before the Retry-After of the answer is over. Redirects are not followed, whatever
// they say. The codes are listed beside [CodeKeyInvalid].
func (h *HTTP) Send(ctx context.Context, row outbox.Row) outbox.Outcome {
	req, code := h.request(row)
	if code != "" {
		return outbox.Permanent(code)
	}
	x, stale, trouble := h.o.Secret.Do(ctx, h.client, req)
	if trouble != "" {
		return outbox.Retryable(codePrefix+string(trouble), 0)
	}
	return h.outcome(x, stale, time.Now())
}

// request is what a row becomes, or the code of why it can become none.
func (h *HTTP) request(row outbox.Row) (req *http.Request, code string) {
	switch {
	case !visible(row.Key):
		return nil, CodeKeyInvalid
	case h.o.MaxPayload > 0 && len(row.Payload) > h.o.MaxPayload:
		return nil, CodePayloadTooLarge
	}
	header, ok := h.header(row)
	if !ok {
		return nil, CodeHeaderInvalid
	}
	req = &http.Request{Method: h.o.Method, URL: h.url, Header: header, ContentLength: int64(len(row.Payload))}
	if len(row.Payload) > 0 {
		req.Body = io.NopCloser(bytes.NewReader(row.Payload))
	}
	return req, ""
}

// header is the row's own headers below the destination's, below those that Landfall vouches for.
func (h *HTTP) header(row outbox.Row) (_ http.Header, ok bool) {
	header := http.Header{}
	for name, value := range row.Headers {
		if !slices.ContainsFunc(h.o.RowHeaders, func(allowed string) bool { return strings.EqualFold(allowed, name) }) {
			continue
		}
		if !validValue(value) || header.Values(name) != nil { // twice, in different spelling
			return nil, false
		}
		header.Set(name, value)
	}
	for name, value := range h.o.Headers {
		header.Set(name, value)
	}
	contentType := cmp.Or(row.ContentType, DefaultContentType)
	header.Set("Content-Type", contentType)
	header.Set(h.o.KeyHeader, row.Key)
	if traceparent.MatchString(row.Trace) {
		header.Set("Traceparent", row.Trace)
	}
	if header.Values("User-Agent") == nil {
		header.Set("User-Agent", userAgent)
	}
	return header, validValue(contentType)
}

var (
	token       = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")                       // RFC 9110, section 5.6.2
	traceparent = regexp.MustCompile("^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$") // W3C Trace Context
)

// visible reports whether a key can travel in a header as it is.
func visible(key string) bool {
	return key != "" && !strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' })
}

// validValue reports whether a value can stand in a header (RFC 9110, section 5.5).
func validValue(value string) bool {
	return !slices.ContainsFunc([]byte(value), func(b byte) bool { return b < ' ' && b != '\t' || b == 0x7f })
}
