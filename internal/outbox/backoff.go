package outbox

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"strconv"
	"time"
)

// Backoff is the wait between attempts: First x Factor^(attempt-1), at most Max, then jittered by
// up to a tenth either way.
type Backoff struct {
	// First is the wait after the first attempt. Defaults to 1 second.
	First time.Duration
	// Factor is at least 1. Defaults to 4.
	Factor float64
	// Max bounds the wait before jitter. Defaults to 60 seconds.
	Max time.Duration
}

// Defaults of [Backoff].
const (
	DefaultBackoffFirst  = time.Second
	DefaultBackoffFactor = 4
	DefaultBackoffMax    = time.Minute
)

// WithDefaults replaces zero fields by their defaults.
func (b Backoff) WithDefaults() Backoff {
	orDefault(&b.First, DefaultBackoffFirst)
	orDefault(&b.Factor, DefaultBackoffFactor)
	orDefault(&b.Max, DefaultBackoffMax)
	return b
}

// Wait is the wait after the given number of attempts, before jitter. It saturates at Max for every
// number, however large, and treats numbers below 1 as 1.
func (b Backoff) Wait(attempts int) time.Duration {
	wait := float64(b.First) * math.Pow(b.Factor, float64(max(attempts, 1)-1))
	if !(wait < float64(b.Max)) { // also when it is infinite or not a number
		return b.Max
	}
	return time.Duration(wait)
}

// jitter spreads a wait by up to a tenth either way. It is drawn from the row and the number of its
// attempts, so that deciding stays a pure function and rows that met the same trouble still do not come
// back together.
func jitter(wait time.Duration, id ID, attempts int) time.Duration {
	sum := sha256.Sum256(strconv.AppendInt([]byte(id.PK()+"#"), int64(attempts), 10))
	unit := float64(binary.BigEndian.Uint64(sum[:])>>11) / (1 << 53) // in [0, 1)
	return wait + time.Duration(float64(wait)*0.2*(unit-0.5))
}
