package outbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/landfall-dev/landfall/internal/bounded"
)

// What the dispatcher and the reconciler have in common: both walk a part of all lanes within one
// invocation, call something that may hang, and write down what they learnt.

func checkPart(part, of int) error {
	if of < 0 || part < 0 || part >= max(of, 1) {
		return fmt.Errorf("part %d of %d: want 0 <= part < of", part, of)
	}
	return nil
}

// inPart reports whether a destination's shard belongs to part of of; of 0 means that there is one
// part. Destinations start at different parts, so that many with one shard each are spread, too.
func inPart(destination string, shard, part, of int) bool {
	if of <= 1 {
		return true
	}
	return (int(crc32.ChecksumIEEE([]byte(destination))%uint32(of))+shard)%of == part
}

// shardsFrom yields the shards of a destination, each time beginning with the next one: a lane whose
// backlog takes all of a run's time must not keep the lanes behind it from ever being walked.
func shardsFrom(now time.Time, shards int) iter.Seq[int] {
	return func(yield func(int) bool) {
		first := int(now.Unix()/60) % shards
		for i := range shards {
			if !yield((first + i) % shards) {
				return
			}
		}
	}
}

// readClock reads now, or the real clock if that is nil, to the millisecond.
func readClock(now func() time.Time) time.Time {
	if now == nil {
		now = time.Now
	}
	return now().Truncate(time.Millisecond)
}

// remaining is how much of the invocation is left.
func remaining(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return time.Until(deadline)
	}
	return math.MaxInt64
}

// settler is a store as far as [settleFor] needs it.
type settler interface {
	Settle(ctx context.Context, s Settlement) error
}

// settleFor writes a settlement, again and again for so long if the store does not answer. It does not
// end with the invocation's context: a fact that is known is worth writing down.
func settleFor(ctx context.Context, store settler, s Settlement, patience time.Duration) error {
	const firstWait, longestWait = 50 * time.Millisecond, 2 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	for wait := firstWait; ; wait = min(2*wait, longestWait) {
		err := store.Settle(ctx, s)
		if err == nil || errors.Is(err, ErrConflict) {
			return err
		}
		if !bounded.Pause(ctx, wait) {
			return err
		}
	}
}

func sortIDs(ids []ID) {
	slices.SortFunc(ids, func(a, b ID) int { return cmp.Compare(a.PK(), b.PK()) })
}

// joinFew joins errors of which there may be as many as rows.
func joinFew(errs []error) error {
	const few = 3
	if n := len(errs) - few; n > 0 {
		errs = append(errs[:few:few], fmt.Errorf("and %d more", n))
	}
	return errors.Join(errs...)
}
