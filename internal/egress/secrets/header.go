package secrets

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/landfall-dev/landfall/internal/egress"
)

// maxValue bounds the value of a header, in bytes.
const maxValue = 8000

// Header is a header of requests whose value is a secret. A nil Header adds nothing to requests.
type Header struct {
	// Name of the header.
	Name string
	// Scheme stands before the secret, with a space. Defaults to nothing.
	Scheme string
	// Secret is a name or an ARN.
	Secret string
	// Member is which member of the secret, a JSON object, is meant. Defaults to the secret as a whole.
	Member string
	Reader *Reader
}

// Do makes one exchange, with the secret in the request's header. trouble is not "" if there is no secret: then nothing
// was sent.
//
// A remote that refuses with 401 or 403 has the secret read again. stale says that it has changed since it was put into
// this request, or that nobody knows, so that the refusal says nothing about the next request; what was refused is not
// sent again here.
func (h *Header) Do(ctx context.Context, client *egress.Client, req *http.Request) (x egress.Exchange, stale bool, trouble Trouble) {
	if h == nil {
		return client.Do(ctx, req), false, ""
	}
	value, trouble := h.value(ctx)
	if trouble != "" {
		return egress.Exchange{}, false, trouble
	}
	reads := h.Reader.begun(h.Secret)
	req.Header.Set(h.Name, value)
	x = client.Do(ctx, req)
	if x.Answer != nil && (x.Answer.Status == http.StatusUnauthorized || x.Answer.Status == http.StatusForbidden) {
		stale = h.changed(ctx, value, reads)
	}
	return x, stale, ""
}

// value is what stands in the header.
func (h *Header) value(ctx context.Context) (string, Trouble) {
	text, trouble := h.Reader.text(ctx, h.Secret)
	value, ok := h.of(text)
	if trouble == "" && !ok { // perhaps somebody has mended it
		text, trouble = h.Reader.again(ctx, h.Secret)
		value, ok = h.of(text)
	}
	if trouble == "" && !ok {
		trouble = Invalid
	}
	return value, trouble
}

// changed reports whether the secret is not what was refused, as far as anybody knows. Only a read that began after the
// request was made can tell that it is the same: those had begun that are given, any other counts, whoever made it.
func (h *Header) changed(ctx context.Context, refused string, reads int) bool {
	text, trouble := h.Reader.after(ctx, h.Secret, reads)
	value, ok := h.of(text)
	return trouble != "" || !ok || value != refused
}

// of makes the header's value of a secret.
func (h *Header) of(text string) (value string, ok bool) {
	if h.Member != "" {
		var members map[string]any
		if json.Unmarshal([]byte(text), &members) != nil {
			return "", false
		}
		text, _ = members[h.Member].(string)
	}
	// A header cannot carry the rest as it is: spaces at its ends are cut off, controls end it.
	if text == "" || len(text) > maxValue || strings.TrimSpace(text) != text ||
		strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r > '~' }) {
		return "", false
	}
	if h.Scheme != "" {
		text = h.Scheme + " " + text
	}
	return text, true
}
