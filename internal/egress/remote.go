package egress

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"

	"github.com/landfall-dev/landfall/internal/egress/secrets"
)

const userAgent = "Landfall (+https://github.com/landfall-dev/landfall)"

// RemoteOptions describe a [Remote].
type RemoteOptions struct {
	// AllowPrivate: see [Options]. Defaults to false.
	AllowPrivate bool
	// Headers go with every request, credentials among them.
	Headers map[string]string
	// RefHeader is the header of an answer that names the effect. Defaults to none.
	RefHeader string
	// RefPointer is the JSON pointer to that name in the body of an answer, instead of a header. Defaults to none.
	RefPointer string
	// Secret is one more header, which replaces one of the same name in Headers. Defaults to none.
	Secret *secrets.Header
}

// Remote is the far end of a sender or a lookup: what every request to it carries, and where its answers name the
// effect. Make one per destination with [NewRemote]; it may be used from several goroutines at once.
type Remote struct {
	o       RemoteOptions
	pointer Pointer
	client  *Client
}

// NewRemote returns a remote. Errors never repeat a header's value: it may be a credential.
func NewRemote(o RemoteOptions) (*Remote, error) {
	if o.RefHeader != "" && o.RefPointer != "" {
		return nil, errors.New("remote reference: want a header or a pointer, not both")
	}
	pointer, err := ParsePointer(o.RefPointer)
	if err != nil {
		return nil, fmt.Errorf("remote reference: %w", err)
	}
	for name, value := range o.Headers {
		switch {
		case !IsToken(name):
			return nil, fmt.Errorf("header %q: want a name of letters, digits and hyphens", name)
		case !IsHeaderValue(value):
			return nil, fmt.Errorf("header %q: the value contains control characters", name)
		}
	}
	return &Remote{o: o, pointer: pointer, client: New(Options{AllowPrivate: o.AllowPrivate})}, nil
}

// Request is one request to a [Remote].
type Request struct {
	Method string
	// URL is absolute, http or https.
	URL *url.URL
	// Defaults are headers that give way to those of the remote.
	Defaults http.Header
	// Headers replace those of the remote, but for its secret.
	Headers http.Header
	Body    []byte
}

// Do makes one exchange, as [Client.Do] does. Without its secret, a request is not sent. If the remote refuses the
// secret with 401 or 403, the secret is read again: see [Exchange.Stale]. Nothing is sent twice.
func (r *Remote) Do(ctx context.Context, req Request) Exchange {
	header := http.Header{"Accept-Encoding": {"identity"}, "User-Agent": {userAgent}}
	maps.Copy(header, req.Defaults)
	for name, value := range r.o.Headers {
		header.Set(name, value)
	}
	maps.Copy(header, req.Headers)
	use, trouble := r.o.Secret.Set(ctx, header)
	if trouble != "" {
		return Exchange{Trouble: Trouble(trouble)}
	}
	one := &http.Request{Method: req.Method, URL: req.URL, Header: header, ContentLength: int64(len(req.Body))}
	if len(req.Body) > 0 {
		one.Body = io.NopCloser(bytes.NewReader(req.Body))
	}
	x := r.client.Do(ctx, one)
	if x.Answer != nil && (x.Answer.Status == http.StatusUnauthorized || x.Answer.Status == http.StatusForbidden) {
		x.Stale = use.Stale(ctx)
	}
	return x
}

// Ref returns what an answer calls the effect, "" if it does not say so.
func (r *Remote) Ref(a *Answer) string {
	switch {
	case r.o.RefHeader != "":
		return a.Header.Get(r.o.RefHeader)
	case r.o.RefPointer != "":
		document, trouble := ParseDocument(a.Body)
		if trouble != "" {
			return ""
		}
		text, _ := document.Find(r.pointer)
		return text
	}
	return ""
}

var token = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// IsToken reports whether text can be a method or the name of a header (RFC 9110, section 5.6.2).
func IsToken(text string) bool { return token.MatchString(text) }

// IsHeaderValue reports whether text can be the value of a header (RFC 9110, section 5.5).
func IsHeaderValue(text string) bool {
	return !slices.ContainsFunc([]byte(text), func(b byte) bool { return b < ' ' && b != '\t' || b == 0x7f })
}
