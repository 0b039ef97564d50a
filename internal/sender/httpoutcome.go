package sender

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/landfall-dev/landfall/internal/egress"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// The codes of kind http. Besides these there are "landfall.http.status_<status>", for 200 to 599, when a final answer
// decided, and "landfall.http.<word>" for each word of [egress.Trouble], when there was no answer.
const (
	// CodeKeyInvalid: the idempotency key is not visible ASCII, so no header can carry it. Nothing was sent.
	CodeKeyInvalid = "landfall.http.key_invalid"
	// CodeHeaderInvalid: a header or the content type of the row contains control characters, or the row has one header
	// twice in different spelling. Nothing was sent.
	CodeHeaderInvalid = "landfall.http.header_invalid"
	// CodePayloadTooLarge: the payload is longer than the destination accepts. Nothing was sent.
	CodePayloadTooLarge = "landfall.http.payload_too_large"
	// CodeEarlyAnswer: the remote answered 2xx, but did not take the whole request.
	CodeEarlyAnswer = "landfall.http.early_answer"

	codePrefix = "landfall.http."
)

// outcome says what an exchange that ended now means.
func (h *HTTP) outcome(x egress.Exchange, now time.Time) outbox.Outcome {
	if x.Answer == nil {
		return unanswered(x)
	}
	ref := outbox.KeepableRef(h.remote.Ref(x.Answer))
	code := codePrefix + "status_" + strconv.Itoa(x.Answer.Status)
	wait := retryAfter(x.Answer.Header.Get("Retry-After"), now)
	switch h.kind(x.Answer.Status, x.Stale, wait) {
	case outbox.KindCompleted:
		if !x.Written {
			return outbox.Unknown(ref, CodeEarlyAnswer)
		}
		return outbox.Completed(ref)
	case outbox.KindRetryable:
		return outbox.Retryable(code, wait)
	case outbox.KindPermanent:
		return outbox.Permanent(code)
	default:
		out := outbox.Unknown(ref, code)
		out.After = wait
		return out
	}
}

// unanswered says what an exchange without an answer means. An address that the guard refuses is permanent, although the
// name may lead elsewhere tomorrow: a policy refused it, and the row should show that now, under this code, instead of an
// exhausted budget later.
func unanswered(x egress.Exchange) outbox.Outcome {
	code := codePrefix + string(x.Trouble)
	switch {
	case x.Began:
		return outbox.Unknown("", code)
	case x.Trouble == egress.AddressRefused, x.Trouble == egress.Unsendable:
		return unsent(outbox.Permanent(code))
	default:
		return unsent(outbox.Retryable(code, 0))
	}
}

// statusCanceled is what gateways of gRPC answer when a call was cancelled while the server worked on it
// (https://github.com/googleapis/googleapis/blob/master/google/rpc/code.proto).
const statusCanceled = 499

// kind is what a final answer means that asks to wait for so long.
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
	refused := status == http.StatusUnauthorized || status == http.StatusForbidden // the secret, which no waiting corrects
	switch {
	case status < 300:
		return outbox.KindCompleted
	case status >= 400 && status < 500 && wait > 0 && !refused: // RFC 9110, section 15.5.14, says so of 413
		return outbox.KindRetryable
	case status < 500:
		return outbox.KindPermanent
	default:
		return outbox.KindUnknown
	}
}

// retryAfter is how long an answer asks to wait (RFC 9110, section 10.2.3): seconds or a date. It is 0 if the value
// cannot be understood or has passed. The domain bounds it.
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
