package routesqs

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/landfall-dev/landfall/internal/routing"
)

// DeadLetters implements [routing.DeadLetters] for messages whose Source is a [Source]. It is safe for concurrent use.
type DeadLetters struct {
	Client SendClient
	// URL finds a queue by its name.
	URL func(ctx context.Context, name string) (string, error)
	// Queue is the name of a group's dead-letter queue.
	Queue func(group string) string
}

var _ routing.DeadLetters = (*DeadLetters)(nil)

// Letter is what a dead letter says of its end, in the attribute that an envelope would be in. Its names are public.
// A message that comes into an ingress queue with one was given up before and is a new message.
type Letter struct {
	Group     string `json:"group"`
	MessageID string `json:"message_id"`
	// Reason is one of [routing.Reason], or receipt_invalid.
	Reason string `json:"reason"`
	// EndedAt is when the message was given up, in epoch milliseconds.
	EndedAt int64 `json:"ended_at"`
	// Consumer had the message last; "" if no consumer had it.
	Consumer string `json:"consumer,omitempty"`
	Attempt  int    `json:"attempt"`
	// Tried are the attempts before, oldest first. Omitted counts the older ones that had no room.
	Tried   []Tried `json:"tried"`
	Omitted int     `json:"omitted,omitempty"`
}

// Tried is an attempt that is over; times are epoch milliseconds.
type Tried struct {
	Consumer   string `json:"consumer"`
	End        string `json:"end"`
	AssignedAt int64  `json:"assigned_at"`
	Deadline   int64  `json:"deadline"`
	EndedAt    int64  `json:"ended_at"`
}

// Bury implements [routing.DeadLetters]: body and attributes as they were, and the [Letter], unless the message is oversize.
// Requests may be repeated, by the SDK, too.
func (d *DeadLetters) Bury(ctx context.Context, letters []routing.DeadLetter) []error {
	b := batch{client: d.Client, url: d.URL}
	for _, l := range letters {
		text := ""
		if l.Receipt.Reason != routing.ReasonOversize {
			text = letter(l.Receipt)
		}
		b.entries = append(b.entries, source(l.Message).with(text))
		b.queues = append(b.queues, d.Queue(l.Message.Group))
	}
	errs := make([]error, len(letters))
	for i, answer := range b.send(ctx) {
		if answer.Kind != routing.Taken {
			errs[i] = errors.New(answer.Text)
		}
	}
	return errs
}

// letterRoom is what is left for a letter of the room that an ingress message leaves.
const letterRoom = routing.MaxEnvelopeBytes - len(routing.EnvelopeAttribute) - len("String")

// letter is the letter as text, of at most letterRoom bytes.
func letter(r routing.Receipt) string {
	l := Letter{
		Group: r.Group, MessageID: r.Message, Reason: string(r.Reason), EndedAt: r.EndedAt.UnixMilli(),
		Consumer: r.Consumer, Attempt: r.Attempt, Tried: []Tried{},
	}
	for _, past := range r.History {
		l.Tried = append(l.Tried, Tried{
			Consumer: past.Consumer, End: string(past.End), AssignedAt: past.AssignedAt.UnixMilli(),
			Deadline: past.Deadline.UnixMilli(), EndedAt: past.EndedAt.UnixMilli(),
		})
	}
	for {
		text, err := json.Marshal(l)
		if err != nil {
			panic(err) // it holds strings and numbers only
		}
		if len(text) <= letterRoom || len(l.Tried) == 0 {
			return string(text)
		}
		l.Tried, l.Omitted = l.Tried[1:], l.Omitted+1
	}
}

// parseLetter reads a letter. An envelope is not a letter.
func parseLetter(text string) (l Letter, err error) {
	if err := json.Unmarshal([]byte(text), &l); err != nil || l.MessageID == "" || l.Reason == "" || l.EndedAt <= 0 {
		return Letter{}, errors.New("not a letter")
	}
	return l, nil
}
