package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
)

const (
	// MaxHead bounds the heads of all answers to one request, interim ones included, in bytes.
	MaxHead = 64 << 10
	// MaxBody bounds the body of an answer that is kept, in bytes.
	MaxBody = 1 << 20
)

// Exchange is everything that is known of one request and its answer.
type Exchange struct {
	// Began says that a connection stood and the request was given to it. If false, the remote cannot have seen
	// any of it.
	Began bool
	// Written says that the request was given to the connection to its last byte.
	Written bool
	// Answer is nil unless a complete head of a final answer came.
	Answer *Answer
	// Trouble says why there is no Answer; "" if there is one.
	Trouble Trouble
	// Stale says that the remote refused the request's secret (401, 403), and that the secret has changed since or cannot
	// be read again. The refusal then says nothing about the next request.
	Stale bool
}

// Answer is a final answer, status 200 to 599.
type Answer struct {
	Status int
	Header http.Header
	// Body is the whole body without its Content-Encoding. It is nil if the body was cut, is longer than MaxBody, or has an
	// encoding that is broken or is not gzip.
	Body []byte
}

// exchange writes a request to a connection and reads the answer. raw is what conn runs over.
//
// Both go on at once: a remote may refuse before it has read everything, and close. Its answer is then there to be
// read although writing failed. A remote that says yes before it has read everything is given the rest, and its body
// is read to the end: it may be at work, and a connection that closes would stop it.
func exchange(ctx context.Context, raw, conn net.Conn, req *http.Request, wire []byte) Exchange {
	defer context.AfterFunc(ctx, func() { abort(raw) })()
	written := make(chan bool, 1)
	go func() {
		_, err := conn.Write(wire)
		written <- err == nil
	}()
	x := Exchange{Began: true}
	from := &source{conn: conn, left: MaxHead}
	resp, err := readHead(bufio.NewReader(from), req)
	if err != nil {
		x.Trouble = answerTrouble(over(ctx), from.ended)
		_ = raw.Close()
		x.Written = <-written
		return x
	}
	x.Answer = &Answer{Status: resp.StatusCode, Header: resp.Header, Body: readBody(resp.Body, from)}
	if resp.StatusCode/100 != 2 {
		_ = raw.Close() // it does not want the rest
	}
	x.Written = <-written
	return x
}

// abort closes a connection and discards the bytes that have not left yet, so that the network does not deliver the rest
// of a request after the attempt has ended.
func abort(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// errAnswer: the answer is not HTTP/1, or exceeds its bounds.
var errAnswer = errors.New("not an answer of HTTP/1")

// readHead reads heads up to the final one. Interim answers (1xx) say nothing about the outcome. A switch of protocols is
// an error: the request did not ask for one.
func readHead(in *bufio.Reader, req *http.Request) (*http.Response, error) {
	for {
		resp, err := http.ReadResponse(in, req)
		switch {
		case err != nil:
			return nil, fmt.Errorf("read head: %w", err)
		case resp.ProtoMajor != 1, resp.StatusCode == http.StatusSwitchingProtocols, resp.StatusCode < 100, resp.StatusCode > 599:
			return nil, errAnswer
		case resp.StatusCode >= 200:
			return resp, nil
		}
	}
}

// readBody returns the whole body or nil. It also bounds what the body costs on the wire beyond its length, as chunks do.
func readBody(body io.Reader, from *source) []byte {
	from.left = 2 * MaxBody
	content, err := io.ReadAll(io.LimitReader(body, MaxBody+1))
	if err != nil || len(content) > MaxBody {
		return nil
	}
	return content
}

// source reads a bounded number of bytes from a connection and remembers whether it ended.
type source struct {
	conn  io.Reader
	left  int64
	ended bool
}

func (s *source) Read(p []byte) (int, error) {
	if s.left <= 0 {
		return 0, errAnswer
	}
	n, err := s.conn.Read(p[:min(int64(len(p)), s.left)])
	s.left -= int64(n)
	s.ended = err != nil
	return n, err
}
