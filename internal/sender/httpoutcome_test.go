package sender

import (
	"math"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landfall-dev/landfall/internal/egress"
	"github.com/landfall-dev/landfall/internal/outbox"
)

func TestStatusHasItsMeaning(t *testing.T) {
	t.Parallel()
	special := map[int]outbox.OutcomeKind{
		303: outbox.KindUnknown, 408: outbox.KindUnknown, 425: outbox.KindRetryable, 429: outbox.KindRetryable,
		499: outbox.KindUnknown,
		501: outbox.KindPermanent, 505: outbox.KindPermanent,
	}
	class := map[int]outbox.OutcomeKind{2: outbox.KindCompleted, 3: outbox.KindPermanent, 4: outbox.KindPermanent, 5: outbox.KindUnknown}
	for status := 200; status <= 599; status++ {
		for _, deduplicates := range []bool{false, true} {
			want, ok := special[status]
			if !ok {
				want = class[status/100]
			}
			if status == 409 && deduplicates {
				want = outbox.KindUnknown
			}
			h, err := NewHTTP(HTTPOptions{URL: "https://remote.test", Deduplicates: deduplicates})
			if err != nil {
				t.Fatal(err)
			}
			x := egress.Exchange{Began: true, Written: true, Answer: &egress.Answer{Status: status}}
			code := "landfall.http.status_" + strconv.Itoa(status)
			if want == outbox.KindCompleted {
				code = ""
			}
			if diff := cmp.Diff(outbox.Outcome{Kind: want, Code: code}, h.outcome(x, time.Now())); diff != "" {
				t.Errorf("%d (-want +got):\n%s", status, diff)
			}
			h.o.Statuses = map[int]outbox.OutcomeKind{status: outbox.KindRetryable}
			if got := h.outcome(x, time.Now()); got.Kind != outbox.KindRetryable {
				t.Errorf("%d, overridden: %v", status, got.Kind)
			}
		}
	}
}

// A gateway answers 408 to a whole request whose work took too long. To half a request it is a timeout of the reading.
func TestRequestTimeoutIsRetryableOnlyBeforeTheRequestsEnd(t *testing.T) {
	t.Parallel()
	h, err := NewHTTP(HTTPOptions{URL: "https://remote.test"})
	if err != nil {
		t.Fatal(err)
	}
	const code = "landfall.http.status_408"
	for written, want := range map[bool]outbox.Outcome{true: outbox.Unknown("", code), false: outbox.Retryable(code, 0)} {
		x := egress.Exchange{Began: true, Written: written, Answer: &egress.Answer{Status: 408}}
		if diff := cmp.Diff(want, h.outcome(x, time.Now())); diff != "" {
			t.Errorf("written to its end: %v (-want +got):\n%s", written, diff)
		}
	}
}

func TestRefusalThatAsksToWaitIsRetryable(t *testing.T) {
	t.Parallel()
	h, err := NewHTTP(HTTPOptions{URL: "https://remote.test"})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	inAMinute := strconv.FormatInt(now.Unix()+60, 10)
	for _, tc := range []struct {
		name   string
		status int
		header http.Header
		want   outbox.OutcomeKind
		after  time.Duration
	}{
		{"locked, with a fraction", 423, http.Header{"Retry-After": {"2.0"}}, outbox.KindRetryable, 2 * time.Second},
		{"unreadable", 413, http.Header{"Retry-After": {"soon"}}, outbox.KindRetryable, 0},
		{"negative", 423, http.Header{"Retry-After": {"-5"}}, outbox.KindRetryable, 0},
		{"now", 423, http.Header{"Retry-After": {"0"}}, outbox.KindRetryable, 0},
		{"empty", 423, http.Header{"Retry-After": {""}}, outbox.KindPermanent, 0},
		{"forbidden until then", 403, http.Header{"Retry-After": {"30"}}, outbox.KindRetryable, 30 * time.Second},
		{"unauthorized until then", 401, http.Header{"Retry-After": {"Sun, 29 Nov 2026 12:00:30 UTC"}}, outbox.KindRetryable, 30 * time.Second},
		{"forbidden, without a time that can be read", 403, http.Header{"Retry-After": {"soon"}}, outbox.KindPermanent, 0},
		{"forbidden", 403, nil, outbox.KindPermanent, 0},
		{"rate limit, as epoch", 403, http.Header{"X-Ratelimit-Reset": {inAMinute}}, outbox.KindRetryable, time.Minute},
		{"rate limit, as epoch in milliseconds", 403, http.Header{"X-Ratelimit-Reset": {inAMinute + "000"}}, outbox.KindRetryable, time.Minute},
		{"rate limit, as epoch with a fraction", 429, http.Header{"X-Ratelimit-Reset": {inAMinute + ".25"}}, outbox.KindRetryable, 61 * time.Second},
		{"rate limit, in seconds", 429, http.Header{"Ratelimit-Reset": {"60"}}, outbox.KindRetryable, time.Minute},
		{"rate limit, exhausted", 403, http.Header{"X-Ratelimit-Reset": {inAMinute}, "X-Ratelimit-Remaining": {"0"}}, outbox.KindRetryable, time.Minute},
		{"rate limit, not exhausted", 403, http.Header{"X-Ratelimit-Reset": {inAMinute}, "X-Ratelimit-Remaining": {"4999"}}, outbox.KindPermanent, 0},
		{"rate limit, in the past", 403, http.Header{"X-Ratelimit-Reset": {"1700000000"}}, outbox.KindRetryable, 0},
		{"rate limit, unreadable", 403, http.Header{"X-Ratelimit-Reset": {"soon"}}, outbox.KindPermanent, 0},
		{"rate limit of another refusal", 422, http.Header{"X-Ratelimit-Reset": {inAMinute}}, outbox.KindPermanent, 0},
		{"Retry-After goes first", 429, http.Header{"Retry-After": {"7"}, "X-Ratelimit-Reset": {inAMinute}}, outbox.KindRetryable, 7 * time.Second},
		{"Retry-After that cannot be read gives way", 429, http.Header{"Retry-After": {"soon"}, "X-Ratelimit-Reset": {inAMinute}}, outbox.KindRetryable, time.Minute},
		{"moved", 307, http.Header{"Retry-After": {"30"}}, outbox.KindPermanent, 0},
		{"not implemented", 501, http.Header{"Retry-After": {"30"}}, outbox.KindPermanent, 0},
	} {
		x := egress.Exchange{Began: true, Written: true, Answer: &egress.Answer{Status: tc.status, Header: tc.header}}
		if got := h.outcome(x, now); got.Kind != tc.want || got.After != tc.after {
			t.Errorf("%s: %s after %s, want %s after %s", tc.name, got.Kind, got.After, tc.want, tc.after)
		}
	}
}

func TestRetryAfterIsReadInEveryFormThatRemotesSend(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	const longest = math.MaxInt64 / int64(time.Second) * int64(time.Second)
	const unreadable = time.Duration(-1)
	for value, want := range map[string]time.Duration{
		"0": 0, "7": 7 * time.Second, "007": 7 * time.Second, "3600": time.Hour, "86400": 24 * time.Hour, " 7 ": 7 * time.Second,
		"30.0": 30 * time.Second, "2.0": 2 * time.Second, "1.5": 2 * time.Second, "0.001": time.Second, "30.": 30 * time.Second,
		"9223372036": time.Duration(longest), "9223372037": time.Duration(longest), "9223372036854775807": time.Duration(longest),
		"9223372036854775808": time.Duration(longest), "99999999999999999999999999": time.Duration(longest), "9223372036.5": time.Duration(longest),
		"": unreadable, "-1": unreadable, "+5": unreadable, "1e3": unreadable, "0x10": unreadable, "1 2": unreadable, "7s": unreadable,
		"soon": unreadable, "١٢": unreadable, "NaN": unreadable, "7, 8": unreadable, ".": unreadable, "1.2.3": unreadable,
		"Sun, 29 Nov 2026 12:01:30 GMT":                                  90 * time.Second,
		"Sun, 29 Nov 2026 12:01:30 UTC":                                  90 * time.Second,
		"Sun, 29 Nov 2026 12:01:30 +0000":                                90 * time.Second,
		"Sun, 29 Nov 2026 13:01:30 +0100":                                90 * time.Second,
		"Sun, 29 Nov 2026 12:01:30 Z":                                    90 * time.Second,
		"Sun, 29 Nov 2026 12:01:30 +00:00":                               90 * time.Second,
		"sun, 29 nov 2026 12:01:30 gmt":                                  90 * time.Second,
		"Sun, 29 Nov 2026 12:01:30 -0000":                                90 * time.Second,
		"2026-11-29t12:01:30z":                                           90 * time.Second,
		"2026-11-29T12:02Z":                                              2 * time.Minute,
		"20261129T120130Z":                                               90 * time.Second,
		"Sun Nov 29 2026 12:01:30 GMT+0000 (Coordinated Universal Time)": 90 * time.Second,
		"Sun, 29 Nov 2026 12:01:30 EST":                                  unreadable,
		"29 Nov 2026 12:01:30 GMT":                                       90 * time.Second,
		"Sunday, 29-Nov-26 12:01:30 GMT":                                 90 * time.Second,
		"Sunday, 29-Nov-26 12:01:30 UTC":                                 90 * time.Second,
		"Sun, 29-Nov-2026 12:01:30 GMT":                                  90 * time.Second,
		"Sun Nov 29 12:01:30 2026":                                       90 * time.Second,
		"Sun Nov 29 12:01:30 UTC 2026":                                   90 * time.Second,
		"2026-11-29T12:01:30Z":                                           90 * time.Second,
		"2026-11-29T12:01:29.5Z":                                         89500 * time.Millisecond,
		"2026-11-29T13:01:30+01:00":                                      90 * time.Second,
		"2026-11-29T13:01:30+0100":                                       90 * time.Second,
		"2026-11-29T12:01:30":                                            90 * time.Second,
		"2026-11-29 12:01:30 UTC":                                        90 * time.Second,
		"2026-11-29 12:01:30":                                            90 * time.Second,
		"Sun, 29 Nov 2026 11:59:59 GMT":                                  0,
		"Sun, 29 Nov 1926 12:00:00 GMT":                                  0,
		"Fri, 31 Dec 9999 23:59:59 GMT":                                  math.MaxInt64,
		"Sun, 99 Nov 2026 12:01:30 GMT":                                  unreadable,
		"Sun, 29 Nov 2026 12:01:30 Frankfurt":                            unreadable,
	} {
		got, ok := waitOf(value, now)
		if !ok {
			got = unreadable
		}
		if got != want {
			t.Errorf("%q: %s, want %s", value, got, want)
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, value := range []string{"", "7", "-1", "99999999999999999999", "Sun, 29 Nov 2026 12:01:30 GMT", "Sun Nov 29 12:01:30 2026", "soon", "30.0", "2026-11-29T12:01:30Z", "Sun, 29 Nov 2026 12:01:30 UTC"} {
		f.Add(value, int64(1_796_000_000))
	}
	f.Fuzz(func(t *testing.T, value string, now int64) {
		if got, ok := waitOf(value, time.Unix(now, 0)); got < 0 || !ok && got != 0 {
			t.Errorf("%q: %s, %v", value, got, ok)
		}
	})
}
