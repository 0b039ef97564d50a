package routefn

import (
	"context"
	"math"

	"github.com/landfall-dev/landfall/internal/routing"
)

// builtin is a function of this package. It needs no time to speak of and does not fail.
type builtin struct {
	hash  string
	field string
	pick  func(q routing.Question, field string) string
}

func (b *builtin) Hash() string { return b.hash }

func (b *builtin) Select(_ context.Context, q routing.Question) (string, error) {
	if id := b.pick(q, b.field); id != "" {
		return id, nil
	}
	return "", routing.ErrNoConsumerAvailable
}

// picks are the built-in functions. Each returns "" if all candidates are full.
var picks = map[Kind]func(q routing.Question, field string) string{
	FirstWithCapacity: pickFirst,
	LeastLoaded: func(q routing.Question, _ string) string {
		return pickLeastLoaded(q, func(*routing.Consumer) bool { return true })
	},
	Rendezvous: pickRendezvous,
	Weighted:   pickWeighted,
	Affinity:   pickAffinity,
}

func pickFirst(q routing.Question, _ string) string {
	for i := range q.Candidates {
		if c := &q.Candidates[i]; c.HasCapacity() {
			return c.ID
		}
	}
	return ""
}

// pickLeastLoaded breaks ties by a hash of message and consumer, so that an idle group is not given
// everything on its first member.
func pickLeastLoaded(q routing.Question, eligible func(*routing.Consumer) bool) (id string) {
	var least int64
	key := hash(q.Message.ID)
	for i := range q.Candidates {
		c := &q.Candidates[i]
		if !c.HasCapacity() || !eligible(c) {
			continue
		}
		load := loadOf(c)
		if id == "" || load < least || load == least && score(key, c.ID) > score(key, id) {
			id, least = c.ID, load
		}
	}
	return id
}

func loadOf(c *routing.Consumer) int64 {
	current, depth := max(0, c.CurrentInFlight), max(0, c.BufferDepth)
	if current > math.MaxInt64-depth {
		return math.MaxInt64
	}
	return current + depth
}

// pickRendezvous is highest random weight: of those that are left and have capacity, the one that ranks
// highest for the value. Messages without the field, or with null, are spread by their id.
func pickRendezvous(q routing.Question, field string) (id string) {
	value := q.Message.ID
	if v, ok := q.Message.Fields.Get(field); ok && v.Kind != routing.NullValue {
		value = v.String()
	}
	key := hash(value)
	var highest uint64
	for i := range q.Candidates {
		c := &q.Candidates[i]
		if !c.HasCapacity() {
			continue
		}
		if r := score(key, c.ID); id == "" || r > highest {
			id, highest = c.ID, r
		}
	}
	return id
}

// maxWeight bounds a weight, so that the sum of any number of them stays in range.
const maxWeight = 1_000_000

func weightOf(c *routing.Consumer) uint64 { return uint64(min(max(1, c.Weight), maxWeight)) }

func pickWeighted(q routing.Question, _ string) string {
	var total uint64
	for i := range q.Candidates {
		if c := &q.Candidates[i]; c.HasCapacity() {
			total += weightOf(c)
		}
	}
	if total == 0 {
		return ""
	}
	point := mix(hash(q.Message.ID)^mix(uint64(q.Attempt))) % total
	for i := range q.Candidates {
		c := &q.Candidates[i]
		if !c.HasCapacity() {
			continue
		}
		if w := weightOf(c); point < w {
			return c.ID
		} else {
			point -= w
		}
	}
	return ""
}

// pickAffinity prefers those that have the field's value for a tag, and does not insist.
func pickAffinity(q routing.Question, field string) string {
	if v, ok := q.Message.Fields.Get(field); ok && v.Kind != routing.NullValue {
		tag := v.String()
		if id := pickLeastLoaded(q, func(c *routing.Consumer) bool { return c.HasAffinity(tag) }); id != "" {
			return id
		}
	}
	return pickLeastLoaded(q, func(*routing.Consumer) bool { return true })
}

// score ranks a consumer for the hash of a key. It depends on nothing else, so that a consumer's rank does not
// change when others come and go.
func score(key uint64, consumer string) uint64 { return mix(key ^ mix(hash(consumer))) }

// hash is FNV-1a, 64 bits. It and mix are part of what a function is: other numbers would move keys between
// consumers on a deployment.
func hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// mix spreads every bit of x over all bits (the finalizer of SplitMix64).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
