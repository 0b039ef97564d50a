package routing

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/landfall-dev/landfall/internal/schema"
)

// EnvelopeAttribute is the name of the one message attribute that forwarding adds.
const EnvelopeAttribute = "landfall"

// MaxEnvelopeBytes bounds an envelope as text.
const MaxEnvelopeBytes = 4 << 10

// MaxMessageIDBytes bounds the id of a message in an envelope.
const MaxMessageIDBytes = 128

// Envelope is what a consumer needs to accept or decline the message that it travels with.
type Envelope struct {
	ID
	// Attempt counts the consumers that the message was given to, from 1.
	Attempt int
	// Token names the attempt. A consumer needs it to accept.
	Token string
	// Deadline is the end of the consumer's time to accept, to the millisecond.
	Deadline time.Time
	// Handle is the message's receipt handle in the ingress queue: it deletes the message there, or makes it visible.
	Handle string
}

// envelopeText is the envelope as it is sent. Its member names are public.
type envelopeText struct {
	Group     string `json:"group"`
	MessageID string `json:"message_id"`
	Attempt   int    `json:"attempt"`
	Token     string `json:"token"`
	Deadline  int64  `json:"deadline"` // epoch ms
	Handle    string `json:"ingress_handle"`
}

// Text returns the envelope as the value of its attribute.
func (e Envelope) Text() string {
	text, err := json.Marshal(envelopeText{
		Group: e.Group, MessageID: e.Message, Attempt: e.Attempt, Token: e.Token, Deadline: e.Deadline.UnixMilli(), Handle: e.Handle,
	})
	if err != nil {
		panic(err) // it holds strings and numbers only
	}
	return string(text)
}

// ParseEnvelope reads an envelope. It ignores members that it does not know: later versions may add some. Errors name
// the member and never quote its value.
func ParseEnvelope(text string) (Envelope, error) {
	if len(text) > MaxEnvelopeBytes {
		return Envelope{}, fmt.Errorf("envelope: %d bytes, want at most %d", len(text), MaxEnvelopeBytes)
	}
	var t envelopeText
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return Envelope{}, fmt.Errorf("envelope: member %q has the wrong type", wrong.Field)
		}
		return Envelope{}, errors.New("envelope: not a JSON object")
	}
	for _, member := range []struct {
		name  string
		there bool
	}{
		{"group", t.Group != ""}, {"message_id", t.MessageID != ""}, {"attempt", t.Attempt > 0},
		{"token", t.Token != ""}, {"deadline", t.Deadline > 0}, {"ingress_handle", t.Handle != ""},
	} {
		if !member.there {
			return Envelope{}, fmt.Errorf("envelope: %s is missing", member.name)
		}
	}
	switch {
	case !schema.IsName(t.Group):
		return Envelope{}, fmt.Errorf("envelope: group does not have the form %s", schema.NamePattern)
	case len(t.MessageID) > MaxMessageIDBytes || strings.ContainsFunc(t.MessageID, func(r rune) bool { return r <= ' ' || r > '~' }):
		return Envelope{}, fmt.Errorf("envelope: message_id is not 1 to %d visible ASCII characters", MaxMessageIDBytes)
	}
	return Envelope{
		ID: ID{Group: t.Group, Message: t.MessageID}, Attempt: t.Attempt, Token: t.Token,
		Deadline: time.UnixMilli(t.Deadline), Handle: t.Handle,
	}, nil
}
