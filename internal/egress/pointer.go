package egress

import (
	"fmt"
	"strings"
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
		return nil, fmt.Errorf("JSON pointer %q: write / before each name, as in /data/0/id", text)
	}
	names := strings.Split(text[1:], "/")
	for i, name := range names {
		if strings.Contains(strings.NewReplacer("~0", "", "~1", "").Replace(name), "~") {
			return nil, fmt.Errorf("JSON pointer %q: inside a name, write ~0 for ~ and ~1 for /", text)
		}
		names[i] = unescape.Replace(name)
	}
	return names, nil
}
