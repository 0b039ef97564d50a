package egress

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf8"
)

// Document is a body in JSON.
type Document struct {
	// Value is a map[string]any, a []any, a string, a json.Number, a bool or nil.
	Value any
}

// ParseDocument reads a body, behind a byte order mark or not. The trouble is "", [BodyIncomplete],
// [BodyInvalid] or [BodyAmbiguous].
func ParseDocument(body []byte) (Document, Trouble) {
	if body == nil {
		return Document{}, BodyIncomplete
	}
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	if !utf8.Valid(body) || !json.Valid(body) {
		return Document{}, BodyInvalid
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber() // a number may be a name: its 20 digits must stay 20 digits
	value, err := decodeValue(dec)
	switch {
	case errors.Is(err, errAmbiguous):
		return Document{}, BodyAmbiguous
	case err != nil:
		return Document{}, BodyInvalid
	}
	return Document{value}, ""
}

var errAmbiguous = errors.New("an object has a name twice")

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
			return nil, errAmbiguous
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
	value, fits := d.at(pointer)
	if !fits || value == nil {
		return "", fits
	}
	return scalar(value)
}

// at follows a pointer to a value of any type; nil where nothing or null is. fits is false if the pointer leads through a
// value that is neither an object nor a list, or names what a list cannot have.
func (d Document) at(pointer Pointer) (value any, fits bool) {
	value = d.Value
	for _, name := range pointer {
		switch v := value.(type) {
		case nil:
			return nil, true
		case map[string]any:
			value = v[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || strconv.Itoa(i) != name {
				return nil, false
			}
			if i >= len(v) {
				return nil, true
			}
			value = v[i]
		default:
			return nil, false
		}
	}
	return value, true
}

// scalar is the text of text, a number, true or false.
func scalar(value any) (text string, ok bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}
