package stagedb

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"github.com/landfall-dev/landfall/internal/schema"
)

// Message is a request as the service gets it.
type Message struct {
	// Operation is its name, PK the primary key that it is about, Lane that of a query.
	Operation string
	PK        string
	Lane      string
	header    http.Header
	body      []byte
}

func readMessage(r *http.Request, body []byte) (Message, error) {
	type value struct{ S string }
	var in struct {
		Key, Item map[string]json.RawMessage
		Values    map[string]json.RawMessage `json:"ExpressionAttributeValues"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Message{}, fmt.Errorf("read a request of the SDK: %w", err)
	}
	text := func(raw json.RawMessage) string {
		var v value
		_ = json.Unmarshal(raw, &v) // a value of another type yields ""
		return v.S
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	m := Message{Operation: operation, header: maps.Clone(r.Header), body: body}
	m.PK = text(in.Key[schema.PK]) + text(in.Item[schema.PK])
	m.Lane = text(in.Values[":lane"])
	return m, nil
}
