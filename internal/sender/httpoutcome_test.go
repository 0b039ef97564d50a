package sender

import (
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landfall-dev/landfall/internal/egress"
	"github.com/landfall-dev/landfall/internal/outbox"
)

func TestStatusMeansNothingElse(t *testing.T) {
	t.Parallel()
	special := map[int]outbox.OutcomeKind{
		303: outbox.KindUnknown, 408: outbox.KindRetryable, 425: outbox.KindRetryable, 429: outbox.KindRetryable,
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

func TestRetryAfterIsNeverNegativeOrGarbage(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	const longest = math.MaxInt64 / int64(time.Second) * int64(time.Second)
	for value, want := range map[string]time.Duration{
		"": 0, "0": 0, "7": 7 * time.Second, "007": 7 * time.Second, "3600": time.Hour, "86400": 24 * time.Hour,
		"9223372036": time.Duration(longest), "9223372037": time.Duration(longest), "9223372036854775807": time.Duration(longest),
		"9223372036854775808": time.Duration(longest), "99999999999999999999999999": time.Duration(longest),
		"-1": 0, "+5": 0, "1.5": 0, "1e3": 0, "0x10": 0, "1 2": 0, "7s": 0, "soon": 0, "١٢": 0, "NaN": 0, "7, 8": 0,
		"Sun, 29 Nov 2026 12:01:30 GMT":  90 * time.Second,
		"Sunday, 29-Nov-26 12:01:30 GMT": 90 * time.Second,
		"Sun Nov 29 12:01:30 2026":       90 * time.Second,
		"Sun, 29 Nov 2026 11:59:59 GMT":  0,
		"Sun, 29 Nov 1926 12:00:00 GMT":  0,
		"Fri, 31 Dec 9999 23:59:59 GMT":  math.MaxInt64,
		"Sun, 99 Nov 2026 12:01:30 GMT":  0,
		"2026-11-29T12:01:30Z":           0,
	} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("%q: %s, want %s", value, got, want)
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, value := range []string{"", "7", "-1", "99999999999999999999", "Sun, 29 Nov 2026 12:01:30 GMT", "Sun Nov 29 12:01:30 2026", "soon"} {
		f.Add(value, int64(1_796_000_000))
	}
	f.Fuzz(func(t *testing.T, value string, now int64) {
		if got := retryAfter(value, time.Unix(now, 0)); got < 0 {
			t.Errorf("%q: %s", value, got)
		}
	})
}
