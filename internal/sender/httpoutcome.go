package sender

import (
	"net/http"
	"strconv"
	"time"

	"github.com/landfall-dev/landfall/internal/egress"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// The codes of kind http. Besides these there are "landfall.http.status_<status>", for 200 to 599, when the status of a final
// answer decided, "landfall.http.answer_rule_<number>", when a rule of [HTTPOptions] did (counted from 1), and
// "landfall.http.<word>" for each word of [egress.Trouble], when there was no answer or a rule could not be held against it.
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
	later := laterOf(x.Answer.Status, x.Answer.Header, now)
	kind, code := h.verdict(x, later)
	if !x.Written && (kind == outbox.KindCompleted || x.Answer.Status/100 == 2) {
		return outbox.Unknown(ref, CodeEarlyAnswer)
	}
	switch kind {
	case outbox.KindCompleted:
		return outbox.Completed(ref)
	case outbox.KindRetryable:
		return outbox.Retryable(code, later.wait)
	case outbox.KindPermanent:
		return outbox.Permanent(code)
	default:
		out := outbox.Unknown(ref, code)
		out.After = later.wait
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

// verdict says what a final answer means, and by what: a rule, the configured meaning of its status, or the usual one.
func (h *HTTP) verdict(x egress.Exchange, later later) (_ outbox.OutcomeKind, code string) {
	status := x.Answer.Status
	code = codePrefix + "status_" + strconv.Itoa(status)
	kind, rule, trouble := h.rules.Match(x.Answer)
	switch {
	case trouble != "" && status/100 == 2:
		return outbox.KindUnknown, codePrefix + string(trouble)
	case trouble != "":
		return h.usual(x, later), code
	case rule > 0:
		return kind, codePrefix + "answer_rule_" + strconv.Itoa(rule)
	}
	if kind, ok := h.o.Statuses[status]; ok {
		return kind, code
	}
	return h.usual(x, later), code
}

// usual is what a final answer means in HTTP.
func (h *HTTP) usual(x egress.Exchange, later later) outbox.OutcomeKind {
	status := x.Answer.Status
	if x.Stale {
		return outbox.KindRetryable
	}
	switch status {
	case http.StatusRequestTimeout:
		if x.Written { // the work may have outlasted the limit of a gateway or function host
			return outbox.KindUnknown
		}
		return outbox.KindRetryable
	case http.StatusTooEarly, http.StatusTooManyRequests:
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
	switch {
	case status < 300:
		return outbox.KindCompleted
	case status >= 400 && status < 500 && asksToRetry(status, later):
		return outbox.KindRetryable
	case status < 500:
		return outbox.KindPermanent
	default:
		return outbox.KindUnknown
	}
}

// asksToRetry reports whether a refusal is one for now. RFC 9110 (section 15.5.14) says so of 413. Waiting mends no
// credential, so of 401 and 403 only a time that can be read counts.
func asksToRetry(status int, later later) bool {
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		return later.dated
	}
	return later.asked
}
