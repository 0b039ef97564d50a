package egress

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Pointer is a JSON pointer (RFC 6901): where in the body of an answer a value is. The zero value points to the whole
// document.
type Pointer []string

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// ParsePointer reads a pointer such as "/data/0/id".
func ParsePointer(text string) (Pointer, error) {
	if text == "" {
		return Pointer{}, nil
	}
	if text[0] != '/' {
		return nil, fmt.Errorf("JSON pointer %q: want / in front of each name", text)
	}
	names := strings.Split(text[1:], "/")
	for i, name := range names {
		if strings.Contains(strings.NewReplacer("~0", "", "~1", "").Replace(name), "~") {
			return nil, fmt.Errorf("JSON pointer %q: want ~0 for ~ and ~1 for / inside a name", text)
		}
		names[i] = unescape.Replace(name)
	}
	return names, nil
}

// Find returns the text, the number (as it is written) or "true" or "false" that p points to. It finds nothing if
// something else is there, or if the body is not one JSON document in UTF-8.
func (p Pointer) Find(body []byte) (string, bool) {
	value, ok := decode(body)
	for _, name := range p {
		switch v := value.(type) {
		case map[string]any:
			value = v[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(v) || strconv.Itoa(i) != name {
				return "", false
			}
			value = v[i]
		default:
			return "", false
		}
	}
	switch v := value.(type) {
	case string:
		return v, ok
	case json.Number:
		return v.String(), ok
	case bool:
		return strconv.FormatBool(v), ok
	}
	return "", false
}

func decode(body []byte) (value any, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber() // a number is a name here: 20 digits of it stay 20 digits
	if !utf8.Valid(body) || dec.Decode(&value) != nil {
		return nil, false
	}
	_, err := dec.Token()
	return value, err == io.EOF
}
