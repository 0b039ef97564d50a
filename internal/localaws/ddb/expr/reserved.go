package expr

import (
	_ "embed" // the words are a file
	"strings"
)

// Reserved reports whether an attribute name is one that expressions may only use through a placeholder.
func Reserved(name string) bool { return reserved[strings.ToUpper(name)] }

//go:embed reserved.txt
var reservedWords string

// reserved lists https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ReservedWords.html
var reserved = func() map[string]bool {
	words := map[string]bool{}
	for _, w := range strings.Fields(reservedWords) {
		words[w] = true
	}
	return words
}()
