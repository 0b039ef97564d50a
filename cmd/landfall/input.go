package main

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// input is what a flag or an argument gives: the text itself, @FILE for the content of a file, or - for standard input.
// It returns at most one byte more than most, so that the caller sees what is too large.
func (a *app) input(what, given string, most int64) ([]byte, error) {
	from := a.stdin
	switch file, isFile := strings.CutPrefix(given, "@"); {
	case isFile:
		f, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", what, err)
		}
		defer f.Close()
		from = f
	case given != "-":
		return []byte(given), nil
	}
	content, err := io.ReadAll(io.LimitReader(from, most+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	return content, nil
}

// pairs reads the values of a flag that may be repeated, NAME=VALUE. Errors contain no value.
func pairs(flag string, args []string) (map[string]string, error) {
	all := map[string]string{}
	for i, arg := range args {
		name, value, found := strings.Cut(arg, "=")
		if !found || name == "" {
			return nil, fmt.Errorf("%s number %d: want NAME=VALUE", flag, i+1)
		}
		if _, twice := all[name]; twice {
			return nil, fmt.Errorf("%s %s is given twice", flag, printable(name))
		}
		all[name] = value
	}
	return all, nil
}
