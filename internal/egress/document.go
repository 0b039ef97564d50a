package egress

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf8"
)

// Why a body cannot be read as a [Document].
var (
	// ErrIncomplete: [Answer.Body] is nil.
	ErrIncomplete = errors.New("the body is incomplete")
	// ErrNotJSON: the body is not one JSON document in UTF-8, or is nested too deeply.
	ErrNotJSON = errors.New("the body is not one JSON document")
	// ErrAmbiguous: an object of the body has the same name twice. JSON readers disagree about which value counts, so
	// nothing in such a body is believed.
	ErrAmbiguous = errors.New("an object of the body has a name twice")
)

// Document is a body in JSON.
type Document struct {
	// Value is a map[string]any, a []any, a string, a json.Number, a bool or nil.
	Value any
}

// ParseDocument reads a body, behind a byte order mark or not. The error is one of those above.
func ParseDocument(body []byte) (Document, error) {
	if body == nil {
		return Document{}, ErrIncomplete
	}
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	switch {
	case !utf8.Valid(body) || !json.Valid(body):
		return Document{}, ErrNotJSON
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber() // a number may be a name: its 20 digits must stay 20 digits
	value, err := decodeValue(dec)
	switch {
	case errors.Is(err, ErrAmbiguous):
		return Document{}, ErrAmbiguous
	case err != nil:
		return Document{}, ErrNotJSON
	}
	return Document{value}, nil
}

func decodeValue(dec *json.Decoder) (any, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		return decodeObject(dec)
	case json.Delim('['):
		return decodeList(dec)
	}
	return token, nil
}

func decodeObject(dec *json.Decoder) (any, error) {
	object := map[string]any{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name, _ := token.(string)
		if _, twice := object[name]; twice {
			return nil, ErrAmbiguous
		}
		if object[name], err = decodeValue(dec); err != nil {
			return nil, err
		}
	}
	_, err := dec.Token()
	return object, err
}

func decodeList(dec *json.Decoder) (any, error) {
	list := []any{}
	for dec.More() {
		value, err := decodeValue(dec)
		if err != nil {
			return nil, err
		}
		list = append(list, value)
	}
	_, err := dec.Token()
	return list, err
}

// Find follows a pointer to text, a number (as it is written), true or false. Where nothing or null is, it finds "". fits
// is false if the pointer leads through or to a value of any other type: the document is not of the kind that the pointer
// was written for.
func (d Document) Find(pointer Pointer) (text string, fits bool) {
	value := d.Value
	for _, name := range pointer {
		switch v := value.(type) {
		case nil:
			return "", true
		case map[string]any:
			value = v[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || strconv.Itoa(i) != name {
				return "", false
			}
			if i >= len(v) {
				return "", true
			}
			value = v[i]
		default:
			return "", false
		}
	}
	switch v := value.(type) {
	case nil:
		return "", true
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}
