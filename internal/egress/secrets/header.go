package secrets

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
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
	// Member names the member to use of a secret that is a JSON object. Defaults to the whole secret.
	Member string
	Reader *Reader
}

// Use is a secret as one request carries it. A nil Use belongs to a request without a secret.
type Use struct {
	header *Header
	value  string
	reads  int // that had begun when the request was made
}

// Set puts the secret into the header of a request. If trouble is not "", there is no secret to put there, and the
// request must not be sent.
func (h *Header) Set(ctx context.Context, header http.Header) (use *Use, trouble Trouble) {
	if h == nil {
		return nil, ""
	}
	value, trouble := h.value(ctx)
	if trouble != "" {
		return nil, trouble
	}
	header.Set(h.Name, value)
	return &Use{header: h, value: value, reads: h.Reader.begun(h.Secret)}, ""
}

// Stale reports whether the secret has changed since it was put into the request, or cannot be read again. It is for a
// remote's refusal of the secret: a stale secret's refusal says nothing about the next request.
func (u *Use) Stale(ctx context.Context) bool {
	return u != nil && u.header.changed(ctx, u.value, u.reads)
}

// value is the header's value.
func (h *Header) value(ctx context.Context) (string, Trouble) {
	text, trouble := h.Reader.text(ctx, h.Secret)
	value, ok := h.of(text)
	if trouble == "" && !ok { // it may have been corrected since
		text, trouble = h.Reader.again(ctx, h.Secret)
		value, ok = h.of(text)
	}
	if trouble == "" && !ok {
		trouble = Invalid
	}
	return value, trouble
}

// changed reports whether the secret differs from the one that was refused, or cannot be read. Only a read that began
// after the request was made can prove that it is the same, so the first reads, as many as given, do not count. Reads
// that another request began do.
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
	// A header cannot carry any other text unchanged: spaces at its ends are cut off, and controls end it.
	if text == "" || len(text) > maxValue || strings.TrimSpace(text) != text ||
		strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r > '~' }) {
		return "", false
	}
	if h.Scheme != "" {
		text = h.Scheme + " " + text
	}
	return text, true
}
