package devstack

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
)

// maxLine is the longest line that is passed on whole; a longer one comes in pieces of this size.
// It is what one CloudWatch Logs event held for long, and it bounds the memory per process.
const maxLine = 256 << 10

// lines is where everything that functions print ends up: whole lines, each with its function's
// name in front, one Write per line.
type lines struct {
	mu sync.Mutex
	w  io.Writer
}

// copy passes on what r yields until it ends, and returns when the last line is written.
func (l *lines) copy(function string, r io.Reader) {
	in := bufio.NewReaderSize(r, maxLine)
	for {
		line, err := in.ReadSlice('\n')
		if len(line) > 0 {
			l.write(function, bytes.TrimSuffix(line, []byte("\n")))
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// printf adds a line of the host's own, as Lambda adds platform lines to a function's log.
func (l *lines) printf(function, format string, args ...any) {
	l.write(function, fmt.Appendf(nil, format, args...))
}

// write ignores errors: a function goes on when its log cannot be written.
func (l *lines) write(function string, line []byte) {
	full := make([]byte, 0, len(function)+len(line)+4)
	full = fmt.Appendf(full, "[%s] ", function)
	full = append(append(full, line...), '\n')
	l.mu.Lock()
	defer l.mu.Unlock()
	l.w.Write(full)
}
