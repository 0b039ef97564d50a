package routing

import (
	"math"
	"slices"
	"strings"
	"time"
)

// Unlimited is the MaxInFlight of a consumer without a limit.
const Unlimited = math.MaxInt64

// Bounds of consumers, in the configuration and in the control table.
const (
	MaxWeight   = 1000
	MaxTags     = 32
	MaxTagBytes = 128
)

// Consumer is a member of a group.
type Consumer struct {
	ID string
	// Target is where its messages go, in the words of the [Forwarder].
	Target string
	// Weight is its part of the messages under a weighted routing function. Less than 1 counts as 1.
	Weight int
	// Draining consumers finish what they have and are not picked any more.
	Draining bool
	// LeaseUntil is when the consumer stops being a member unless it renews its lease; zero: never.
	LeaseUntil time.Time
	ConsumerState
}

// SameTarget reports whether two targets are, or may be, the same queue or function: a name matches an ARN that ends in it.
func SameTarget(a, b string) bool {
	kindA, nameA, arnA := splitTarget(a)
	kindB, nameB, arnB := splitTarget(b)
	return a == b || arnA != arnB && kindA == kindB && nameA == nameB
}

func splitTarget(target string) (kind, name string, arn bool) {
	kind, name, _ = strings.Cut(target, ":")
	if parts := strings.SplitN(name, ":", 6); len(parts) == 6 && parts[0] == "arn" { // partition, service, region, account
		return kind, strings.TrimPrefix(parts[5], "function:"), true
	}
	return kind, name, false
}

// ConsumerState is the load of a consumer when a snapshot was read.
type ConsumerState struct {
	// CurrentInFlight is how many messages it was given and has not finished, begun or not.
	CurrentInFlight int64
	// MaxInFlight bounds CurrentInFlight; 0: it takes nothing.
	MaxInFlight int64
	// BufferDepth is how many of them wait before it.
	BufferDepth int64
	// Tags are the values that affinity and expressions can match.
	Tags []string
}

// Load is how busy a consumer's queue is. Its counts are approximate and lag behind.
type Load struct {
	// InFlight counts the messages that were received and not deleted, Waiting those that can be received.
	InFlight, Waiting int64
}

// Given counts the messages that the consumer has and has not finished. Those that wait count: no other consumer gets
// them, and a consumer that reads nothing would never be full.
func (l Load) Given() int64 { return l.InFlight + l.Waiting }

// AvailableCapacity is how many more messages it may take; never below 0.
func (s ConsumerState) AvailableCapacity() int64 {
	return max(0, s.MaxInFlight-max(0, s.CurrentInFlight))
}

// HasCapacity reports whether it may take one more message.
func (s ConsumerState) HasCapacity() bool { return s.AvailableCapacity() > 0 }

// HasAffinity reports whether the consumer has the tag.
func (s ConsumerState) HasAffinity(tag string) bool { return slices.Contains(s.Tags, tag) }

// plus is the state with n more messages in flight.
func (s ConsumerState) plus(n int64) ConsumerState {
	s.CurrentInFlight = max(0, s.CurrentInFlight)
	if s.CurrentInFlight > math.MaxInt64-n {
		n = math.MaxInt64 - s.CurrentInFlight
	}
	s.CurrentInFlight += n
	return s
}

// Membership says whether a consumer belongs to its group.
type Membership int

const (
	// NoMember: it is not in the group, or its lease is over.
	NoMember Membership = iota
	// DrainingMember: it may finish and be forwarded what it was picked for, and is picked for nothing more.
	DrainingMember
	// LiveMember: it may be picked.
	LiveMember
)

func (c Consumer) membership(now time.Time) Membership {
	switch {
	case !c.LeaseUntil.IsZero() && !now.Before(c.LeaseUntil):
		return NoMember
	case c.Draining:
		return DrainingMember
	}
	return LiveMember
}
