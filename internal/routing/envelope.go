package routing

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// EnvelopeAttribute is the name of the one message attribute that forwarding adds.
const EnvelopeAttribute = "landfall"

// MaxEnvelopeBytes bounds an envelope as text.
const MaxEnvelopeBytes = 4 << 10

// Envelope is what a consumer needs to accept or decline the message that it travels with.
type Envelope struct {
	ID
	Attempt int
	// Token is the attempt's: who has it may accept.
	Token string
	// Deadline is until when the consumer has, to the millisecond.
	Deadline time.Time
	// Handle deletes the message from the ingress queue, or shows it again.
	Handle string
}

// envelopeText is the envelope as it is sent. Its names are public.
type envelopeText struct {
	Group     string `json:"group"`
	MessageID string `json:"message_id"`
	Attempt   int    `json:"attempt"`
	Token     string `json:"token"`
	Deadline  int64  `json:"deadline"` // epoch ms
	Handle    string `json:"ingress_handle"`
}

// Text is the envelope as the value of its attribute.
func (e Envelope) Text() string {
	text, err := json.Marshal(envelopeText{
		Group: e.Group, MessageID: e.Message, Attempt: e.Attempt, Token: e.Token, Deadline: e.Deadline.UnixMilli(), Handle: e.Handle,
	})
	if err != nil {
		panic(err) // texts and numbers alone
	}
	return string(text)
}

// ParseEnvelope reads an envelope. Members that it does not know are left for later versions. Errors name the
// member and not its value.
func ParseEnvelope(text string) (Envelope, error) {
	if len(text) > MaxEnvelopeBytes {
		return Envelope{}, fmt.Errorf("envelope: %d bytes, want at most %d", len(text), MaxEnvelopeBytes)
	}
	var t envelopeText
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return Envelope{}, fmt.Errorf("envelope: member %q is of the wrong type", wrong.Field)
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
	return Envelope{
		ID: ID{Group: t.Group, Message: t.MessageID}, Attempt: t.Attempt, Token: t.Token,
		Deadline: time.UnixMilli(t.Deadline), Handle: t.Handle,
	}, nil
}
