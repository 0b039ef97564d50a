package sender

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/landfall-dev/landfall/internal/egress"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// The codes of kind http. Besides these there is "landfall.http.status_<status>", for 200 to 599, when a final answer
// decided, and "landfall.http.<word>" for each word of [egress.Trouble], when there was none, and of [secrets.Trouble],
// when there was no secret to send.
const (
	// CodeKeyInvalid: the idempotency key is not visible ASCII, so no header can carry it. Nothing was sent.
	CodeKeyInvalid = "landfall.http.key_invalid"
	// CodeHeaderInvalid: a header or the content type of the row has control characters, or a header is there twice
	// in different spelling. Nothing was sent.
	CodeHeaderInvalid = "landfall.http.header_invalid"
	// CodePayloadTooLarge: the payload is longer than the destination takes. Nothing was sent.
	CodePayloadTooLarge = "landfall.http.payload_too_large"
	// CodeEarlyAnswer: the remote said yes, but did not take the whole request.
	CodeEarlyAnswer = "landfall.http.early_answer"

	codePrefix = "landfall.http."
)

// MaxRefBytes bounds what is kept of the remote's name of an effect. A longer one is dropped: half a name is none.
const MaxRefBytes = 512

// outcome is what an exchange that ended now means. stale: the secret in it is not, or may not be, today's.
func (h *HTTP) outcome(x egress.Exchange, stale bool, now time.Time) outbox.Outcome {
	if x.Answer == nil {
		return unanswered(x)
	}
	code := codePrefix + "status_" + strconv.Itoa(x.Answer.Status)
	wait := retryAfter(x.Answer.Header.Get("Retry-After"), now)
	switch h.kind(x.Answer.Status, stale, wait) {
	case outbox.KindCompleted:
		if !x.Written {
			return outbox.Unknown(h.ref(x.Answer), CodeEarlyAnswer)
		}
		return outbox.Completed(h.ref(x.Answer))
	case outbox.KindRetryable:
		return outbox.Retryable(code, wait)
	case outbox.KindPermanent:
		return outbox.Permanent(code)
	default:
		out := outbox.Unknown(h.ref(x.Answer), code)
		out.After = wait
		return out
	}
}

// unanswered is what an exchange without answer means. An address that the guard refuses is permanent although the
// name may lead elsewhere tomorrow: a policy said no, which somebody should see now and under this code, not as a
// budget that ran out.
func unanswered(x egress.Exchange) outbox.Outcome {
	code := codePrefix + string(x.Trouble)
	switch {
	case x.Began:
		return outbox.Unknown("", code)
	case x.Trouble == egress.AddressRefused, x.Trouble == egress.Unsendable:
		return outbox.Permanent(code)
	default:
		return outbox.Retryable(code, 0)
	}
}

// statusCanceled is what gateways of gRPC answer when a call was cancelled while somebody worked on it
// (https://github.com/googleapis/googleapis/blob/master/google/rpc/code.proto).
const statusCanceled = 499

// kind is what a final answer means here that asks to wait for so long.
func (h *HTTP) kind(status int, stale bool, wait time.Duration) outbox.OutcomeKind {
	if kind, ok := h.o.Statuses[status]; ok {
		return kind
	}
	if stale {
		return outbox.KindRetryable
	}
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return outbox.KindRetryable
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return outbox.KindPermanent
	case http.StatusSeeOther, statusCanceled:
		return outbox.KindUnknown
	case http.StatusConflict:
		if h.o.Deduplicates {
			return outbox.KindUnknown
		}
	}
	refusal := status == http.StatusUnauthorized || status == http.StatusForbidden // of a secret, which waiting does not mend
	switch {
	case status < 300:
		return outbox.KindCompleted
	case status >= 400 && status < 500 && wait > 0 && !refusal: // RFC 9110, section 15.5.14, says so of 413
		return outbox.KindRetryable
	case status < 500:
		return outbox.KindPermanent
	default:
		return outbox.KindUnknown
	}
}

// ref is what the answer calls the effect, or "" if it does not say so in a form that can be kept.
func (h *HTTP) ref(a *egress.Answer) string {
	var ref string
	switch {
	case h.o.RefHeader != "":
		ref = a.Header.Get(h.o.RefHeader)
	case h.o.RefPointer != "":
		ref, _ = h.pointer.Find(a.Body)
	}
	return keepable(ref)
}

// keepable is a remote's name of an effect, or "" if it cannot be kept.
func keepable(ref string) string {
	if len(ref) > MaxRefBytes || !utf8.ValidString(ref) || strings.ContainsFunc(ref, unicode.IsControl) {
		return ""
	}
	return ref
}

// retryAfter is how long an answer asks to wait (RFC 9110, section 10.2.3): seconds or a date, 0 if it asks for
// nothing that can be understood or that lies ahead. Whoever waits sets the bound.
func retryAfter(value string, now time.Time) time.Duration {
	const longest = math.MaxInt64 / int64(time.Second)
	if value != "" && strings.Trim(value, "0123456789") == "" {
		seconds, err := strconv.ParseInt(value, 10, 64)
		if err != nil || seconds > longest { // more digits than a number has
			seconds = longest
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return max(0, at.Sub(now))
}
