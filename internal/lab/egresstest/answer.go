package egresstest

import "strings"

// FinalStatus is the status of the first complete head in raw that is not an interim one, read as leniently as
// net/http does, or "" when there is none. It is for tests that hold what was made of an answer to the answer.
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
