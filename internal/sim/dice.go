package sim

import (
	"fmt"
	"hash/fnv"
	"math"
	"time"
)

// dice is a stream of random numbers. Every call to a port has a stream of its own, made from the seed
// and from what the call is: which process, which kind, which row, the how manieth. So what goes wrong
// does not depend on the order in which goroutines of the same instant happen to run.
type dice uint64

// roll is the stream of what the labels name.
func roll(seed uint64, labels ...any) *dice {
	h := fnv.New64a()
	fmt.Fprint(h, seed)
	for _, label := range labels {
		fmt.Fprintf(h, "/%v", label)
	}
	d := dice(h.Sum64())
	return &d
}

// next is a step of SplitMix64.
func (d *dice) next() uint64 {
	*d += 0x9e3779b97f4a7c15
	z := uint64(*d)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// unit is in [0, 1).
func (d *dice) unit() float64 { return float64(d.next()>>11) / (1 << 53) }

func (d *dice) chance(p float64) bool { return d.unit() < p }

// below is in [0, n).
func (d *dice) below(n int) int { return int(d.next() % uint64(n)) }

// between is a duration from lo to hi, both positive. Each order of magnitude is as likely as the others.
func (d *dice) between(lo, hi time.Duration) time.Duration {
	return time.Duration(float64(lo) * math.Exp(d.unit()*math.Log(float64(hi)/float64(lo))))
}

// seconds is such a duration in whole seconds.
func (d *dice) seconds(lo, hi time.Duration) time.Duration {
	return d.between(lo, hi).Round(time.Second)
}

func pick[T any](d *dice, of ...T) T { return of[d.below(len(of))] }
