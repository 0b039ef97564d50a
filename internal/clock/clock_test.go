package clock_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/landfall-dev/landfall/internal/clock"
	"github.com/landfall-dev/landfall/internal/lab/localaws"
	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
)

// noon is the service's time in the tables; times in them count from it, by whichever clock.
var noon = time.Date(2030, 5, 6, 12, 0, 0, 0, time.UTC)

const ms = time.Millisecond

// answer is one exchange: t0 and t1 by the own clock, the Date as the service wrote it.
type answer struct {
	t0, t1 time.Duration
	date   string
}

// at is a Date so many seconds after noon.
func at(seconds int) string {
	return noon.Add(time.Duration(seconds) * time.Second).Format(http.TimeFormat)
}

func after(d time.Duration) time.Time { return noon.Add(d) }

func TestClockIsTrustedUnlessAnAnswerProvesThatItIsOff(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answers []answer
		now     time.Duration
		off     string // "" if it is trusted, else a part of the error
	}{
		"no answer yet":                         {nil, 0, ""},
		"right":                                 {[]answer{{0, 10 * ms, at(0)}}, 20 * ms, ""},
		"right, Date cut by almost a second":    {[]answer{{999 * ms, 1100 * ms, at(0)}}, 1100 * ms, ""},
		"2.5 s ahead, Date just written":        {[]answer{{2500 * ms, 2510 * ms, at(0)}}, 2510 * ms, ""},
		"2.5 s ahead, Date cut by almost 1 s":   {[]answer{{3499 * ms, 3510 * ms, at(0)}}, 3510 * ms, ""},
		"the left bound at +2.5 s":              {[]answer{{3500 * ms, 3510 * ms, at(0)}}, 3510 * ms, ""},
		"the left bound beyond +2.5 s":          {[]answer{{3501 * ms, 3510 * ms, at(0)}}, 3510 * ms, "2.5 to 3.5 s ahead of"},
		"the right bound at -2.5 s":             {[]answer{{-2510 * ms, -2500 * ms, at(0)}}, -2500 * ms, ""},
		"the right bound beyond -2.5 s":         {[]answer{{-2510 * ms, -2501 * ms, at(0)}}, -2501 * ms, "at least 2.5 s behind"},
		"an interval straddles +2.5 s":          {[]answer{{3 * time.Second, 4 * time.Second, at(0)}}, 4 * time.Second, ""},
		"an interval straddles -2.5 s":          {[]answer{{-3 * time.Second, -2400 * ms, at(0)}}, -2400 * ms, ""},
		"4 s ahead":                             {[]answer{{4 * time.Second, 4020 * ms, at(0)}}, 4020 * ms, "3.0 to 4.0 s ahead of"},
		"4 s behind":                            {[]answer{{-4 * time.Second, -3980 * ms, at(0)}}, -3980 * ms, "4.0 s behind"},
		"16 days ahead":                         {[]answer{{16 * 24 * time.Hour, 16*24*time.Hour + 20*ms, at(0)}}, 16*24*time.Hour + 20*ms, "ahead of"},
		"16 days behind":                        {[]answer{{-16 * 24 * time.Hour, -16*24*time.Hour + 20*ms, at(0)}}, -16*24*time.Hour + 20*ms, "behind"},
		"4 s ahead, a slow answer":              {[]answer{{3 * time.Second, 14 * time.Second, at(0)}}, 14 * time.Second, ""},
		"4 s behind, a slow answer":             {[]answer{{-4 * time.Second, 6 * time.Second, at(1)}}, 6 * time.Second, ""},
		"1 h ahead, a slow answer":              {[]answer{{time.Hour, time.Hour + 10*time.Second, at(5)}}, time.Hour + 10*time.Second, "ahead of"},
		"frozen in mid-exchange for an hour":    {[]answer{{0, time.Hour, at(0)}}, time.Hour, ""},
		"no Date":                               {[]answer{{time.Hour, time.Hour, ""}}, time.Hour, ""},
		"a Date that cannot be read":            {[]answer{{time.Hour, time.Hour, "yesterday"}}, time.Hour, ""},
		"a Date in seconds":                     {[]answer{{time.Hour, time.Hour, "1904299200"}}, time.Hour, ""},
		"a leap second's own Date":              {[]answer{{time.Hour, time.Hour, "Tue, 31 Dec 2030 23:59:60 GMT"}}, time.Hour, ""},
		"a leap second that the service counts": {[]answer{{1500 * ms, 1510 * ms, at(0)}, {2000 * ms, 2010 * ms, at(1)}}, 2010 * ms, ""},
		"a leap second that the clock counts":   {[]answer{{-990 * ms, -980 * ms, at(0)}}, -980 * ms, ""},
		"one answer of many":                    {[]answer{{0, 10 * ms, at(0)}, {9 * time.Second, 9010 * ms, at(1)}, {2 * time.Second, 2010 * ms, at(2)}}, 9010 * ms, "ahead of"},
		"proven a minute ago":                   {[]answer{{time.Hour, time.Hour, at(0)}}, time.Hour + time.Minute, "ahead of"},
		"proven more than a minute ago":         {[]answer{{time.Hour, time.Hour, at(0)}}, time.Hour + time.Minute + ms, ""},
		"proven in this very millisecond":       {[]answer{{time.Hour, time.Hour + 700*time.Microsecond, at(0)}}, time.Hour, "ahead of"},
		"frozen for a day since it was proven":  {[]answer{{time.Hour, time.Hour, at(0)}}, 25 * time.Hour, ""},
		"frozen for a day since it was right":   {[]answer{{0, 10 * ms, at(0)}}, 24 * time.Hour, ""},
		"set right since, backwards":            {[]answer{{time.Hour, time.Hour, at(0)}}, 100 * ms, ""},
		"set right since, forwards":             {[]answer{{-time.Hour, -time.Hour, at(0)}}, 100 * ms, ""},
		"set back an hour since it was right":   {[]answer{{0, 10 * ms, at(0)}}, -time.Hour, "at least 3600.0 s behind"},
		"set back 2.5 s since it was right":     {[]answer{{0, 10 * ms, at(0)}}, -2500 * ms, ""},
		"set back, and answered since":          {[]answer{{0, 10 * ms, at(0)}, {-time.Hour, -time.Hour, at(1)}}, -time.Hour, "behind"},
		"set back an hour in mid-exchange":      {[]answer{{0, -time.Hour, at(0)}}, -time.Hour, "at least 3600.0 s behind"},
		"set right in mid-exchange, backwards":  {[]answer{{time.Hour, 10 * ms, at(0)}}, 20 * ms, "at least 3599.0 s ahead of"},
		"set forward an hour in mid-exchange":   {[]answer{{0, time.Hour, at(0)}}, time.Hour, ""},
		"one host's Date is an hour ahead":      {[]answer{{0, 10 * ms, at(3600)}, {20 * ms, 30 * ms, at(0)}}, 30 * ms, "behind"},
		"one host's Date was an hour ahead":     {[]answer{{0, 10 * ms, at(3600)}, {20 * ms, 30 * ms, at(0)}}, 2 * time.Minute, ""},
	} {
		var w clock.Watch
		for _, a := range c.answers {
			w.Heard(after(a.t0), after(a.t1), a.date)
		}
		err := w.Trusted(after(c.now).Truncate(ms))
		var off *clock.OffError
		switch {
		case c.off == "" && err != nil:
			t.Errorf("%s: not trusted: %v", name, err)
		case c.off != "" && (!errors.As(err, &off) || !strings.Contains(err.Error(), c.off)):
			t.Errorf("%s: %v, want %q", name, err, c.off)
		}
	}
}

// TestEveryOffsetBeyondTheBoundIsProvenAndNoOther plays exchanges of every length at every fraction of a second, against clocks that are off by
// known amounts: what is within the bound is never suspected, what is beyond the bound, a second and the exchange always is.
func TestEveryOffsetBeyondTheBoundIsProvenAndNoOther(t *testing.T) {
	t.Parallel()
	for offset := -6 * time.Second; offset <= 6*time.Second; offset += 50 * ms {
		for written := time.Duration(0); written < time.Second; written += 90 * ms {
			for _, before := range []time.Duration{0, 5 * ms, 700 * ms} {
				for _, afterwards := range []time.Duration{0, 5 * ms, 700 * ms} {
					var w clock.Watch
					t1 := after(written + afterwards + offset)
					w.Heard(after(written-before+offset), t1, noon.Format(http.TimeFormat))
					off := w.Trusted(t1) != nil
					switch magnitude := offset.Abs(); {
					case off && magnitude <= 2500*ms:
						t.Fatalf("off by %v and suspected: written at %v, %v before, %v after", offset, written, before, afterwards)
					case !off && magnitude > 3500*ms+before+afterwards:
						t.Fatalf("off by %v and trusted: written at %v, %v before, %v after", offset, written, before, afterwards)
					}
				}
			}
		}
	}
}

func TestWatchMayBeUsedAtTheSameTime(t *testing.T) {
	t.Parallel()
	var w clock.Watch
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 100 {
				w.Heard(after(time.Hour), after(time.Hour), at(i))
				_ = w.Trusted(after(time.Hour))
			}
		})
	}
	all.Wait()
	if w.Trusted(after(time.Hour)) == nil {
		t.Error("an hour ahead and trusted")
	}
}

func TestAskingAllocatesNothingWhileTheClockIsRight(t *testing.T) {
	var w clock.Watch
	w.Heard(noon, noon, at(0))
	if n := testing.AllocsPerRun(100, func() { _ = w.Trusted(noon) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestEachAttemptOfTheSDKIsNotedWithItsOwnTimes has the service refuse the first attempt of a request and answer the second:
// between them the SDK waits, which must not make the interval of either wider.
func TestEachAttemptOfTheSDKIsNotedWithItsOwnTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []time.Time
		account := localaws.New(localaws.Options{Faults: func(faults.Request) (fault faults.Fault) {
			if seen = append(seen, time.Now()); len(seen) == 1 {
				fault.Error = faults.Throttle
			}
			return fault
		}})
		var asked []time.Time // when the watch read the clock
		w := clock.Watch{Now: func() time.Time {
			asked = append(asked, time.Now())
			return time.Now().Add(4 * time.Second)
		}}
		client := dynamodb.NewFromConfig(account.Config("test"), func(o *dynamodb.Options) { o.APIOptions = append(o.APIOptions, w.Option) })
		if _, err := client.ListTables(t.Context(), &dynamodb.ListTablesInput{Limit: aws.Int32(1)}); err != nil {
			t.Fatal(err)
		}
		want := []time.Time{seen[0], seen[0], seen[1], seen[1]}
		if !slices.EqualFunc(asked, want, time.Time.Equal) || !seen[1].After(seen[0]) {
			t.Errorf("the clock was read at %v, want %v", asked, want)
		}
		if w.Trusted(time.Now().Add(4*time.Second)) == nil {
			t.Error("4 s ahead and trusted")
		}
		if err := w.Trusted(time.Now().Add(4*time.Second + clock.Remember + ms)); err != nil {
			t.Errorf("a minute later: %v", err)
		}
	})
}

func TestARequestThatIsNotAnsweredProvesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		account := localaws.New(localaws.Options{Faults: func(faults.Request) faults.Fault { return faults.Fault{LoseAnswer: true} }})
		w := clock.Watch{Now: func() time.Time { return time.Now().Add(time.Hour) }}
		client := dynamodb.NewFromConfig(account.Config("test"), func(o *dynamodb.Options) { o.APIOptions = append(o.APIOptions, w.Option) })
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if _, err := client.ListTables(ctx, &dynamodb.ListTablesInput{}); err == nil {
			t.Error("answered")
		}
		if err := w.Trusted(time.Now().Add(time.Hour)); err != nil {
			t.Error(err)
		}
	})
}
