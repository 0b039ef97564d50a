package stage

import (
	"fmt"
	"hash/fnv"
	"math"
	"time"
)

// Dice is a stream of random numbers. Every call to a port has a stream of its own, made from the seed
// and from what the call is: which process, which kind, which row, the how many-th call of its kind. So what goes wrong
// does not depend on the order in which goroutines of the same instant happen to run.
type Dice uint64

// Roll is the stream of what the labels name.
func Roll(seed uint64, labels ...any) *Dice {
	h := fnv.New64a()
	fmt.Fprint(h, seed)
	for _, label := range labels {
		fmt.Fprintf(h, "/%v", label)
	}
	d := Dice(h.Sum64())
	return &d
}

// Next is a step of SplitMix64.
func (d *Dice) Next() uint64 {
	*d += 0x9e3779b97f4a7c15
	z := uint64(*d)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Unit is in [0, 1).
func (d *Dice) Unit() float64 { return float64(d.Next()>>11) / (1 << 53) }

// Chance is true with a probability.
func (d *Dice) Chance(p float64) bool { return d.Unit() < p }

// Below is in [0, n).
func (d *Dice) Below(n int) int { return int(d.Next() % uint64(n)) }

// Between is a duration from lo to hi, both positive. Each order of magnitude is as likely as the others.
func (d *Dice) Between(lo, hi time.Duration) time.Duration {
	return time.Duration(float64(lo) * math.Exp(d.Unit()*math.Log(float64(hi)/float64(lo))))
}

// Seconds is such a duration in whole seconds.
func (d *Dice) Seconds(lo, hi time.Duration) time.Duration {
	return d.Between(lo, hi).Round(time.Second)
}

// Skew is by how much a clock is ahead that is wrong by up to most either way.
func (d *Dice) Skew(most time.Duration) time.Duration {
	if most == 0 {
		return 0
	}
	return time.Duration((2*d.Unit() - 1) * float64(most)).Truncate(time.Millisecond)
}

// Pick is one of several, each as likely as the others.
func Pick[T any](d *Dice, of ...T) T { return of[d.Below(len(of))] }
