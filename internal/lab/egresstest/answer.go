package egresstest

import (
	"bytes"
	"compress/gzip"
	"strings"
)

// Gzip compresses a body.
func Gzip(body string) string {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write([]byte(body)) // a buffer takes everything
	_ = w.Close()
	return out.String()
}

// FinalStatus returns the status of the first complete head in raw that is not an interim one, read as leniently as
// net/http does, or "" if there is none. Tests compare it with what a client made of the answer.
func FinalStatus(raw string) string {
	status := ""
	for {
		line, rest, complete := strings.Cut(raw, "\n")
		raw = rest
		fields := strings.Fields(line)
		switch {
		case !complete || status == "" && len(fields) < 2:
			return ""
		case status == "":
			status = fields[1]
		case len(fields) == 0 && !strings.HasPrefix(status, "1"):
			return status
		case len(fields) == 0:
			status = ""
		}
	}
}
