package demo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path"
	"sync"
	"time"
)

// rowHeader attributes a request to a row, whatever becomes of its idempotency key.
const rowHeader = "X-Demo-Row"

// remote is the system outside: an HTTP server that follows a plan and keeps its own log.
type remote struct {
	plan plan
	// kill ends the process that sent the row's request, and returns when it is dead.
	kill func(row string)
	stop chan struct{}

	mu       sync.Mutex
	requests map[string]int
	effects  map[string]int
	// known are the keys that a deduplicating destination has seen work for.
	known map[string]bool
	// disturbed rows had a request that the plan meant to answer, but this machine was too slow: the
	// sender had given up, or may have.
	disturbed map[string]bool
	did       [acts]int
	repeated  int
}

func newRemote(p plan, kill func(row string)) *remote {
	return &remote{
		plan: p, kill: kill, stop: make(chan struct{}), requests: map[string]int{}, effects: map[string]int{},
		known: map[string]bool{}, disturbed: map[string]bool{},
	}
}

// deduplicating says which of the remote's destinations recognise a repeated key.
var deduplicating = map[string]bool{"charge": true, "mail": false, "partner": true}

// ServeHTTP is /<destination>.
func (r *remote) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	destination, row := path.Base(req.URL.Path), req.Header.Get(rowHeader)
	if _, err := io.Copy(io.Discard, req.Body); err != nil {
		return // cut in the middle: not a request
	}
	a := r.next(row)
	key := ""
	if deduplicating[destination] {
		key = rowName(destination, req.Header.Get("Idempotency-Key"))
	}
	repeated := a.works() && r.work(row, key)
	r.answer(w, req, a, row, destination, repeated)
}

// next is the act that the plan has for this request of the row.
func (r *remote) next(row string) act {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.requests[row]
	r.requests[row]++
	a := accept
	if s := r.plan[row]; n < len(s) {
		a = s[n]
	}
	r.did[a]++
	return a
}

// work has the effect, unless the key, if there is one, is known.
func (r *remote) work(row, key string) (repeated bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if key != "" && r.known[key] {
		r.repeated++
		return true
	}
	r.known[key] = true
	r.effects[row]++
	return false
}

func (r *remote) answer(w http.ResponseWriter, req *http.Request, a act, row, destination string, repeated bool) {
	if a.kills() {
		r.kill(row)
	}
	switch {
	case a.stalls():
		select {
		case <-req.Context().Done():
		case <-r.stop:
		}
		panic(http.ErrAbortHandler)
	case a.kills() || a == cutBeforeWork || a == cutAfterWork:
		panic(http.ErrAbortHandler)
	}
	status := map[act]int{
		accept: http.StatusCreated, askToWait: http.StatusTooManyRequests, refuse: http.StatusTooEarly,
		unavailable: http.StatusServiceUnavailable, failAfterWork: http.StatusInternalServerError, reject: http.StatusUnprocessableEntity,
	}[a]
	if a == askToWait {
		w.Header().Set("Retry-After", "1")
	}
	if repeated && destination == "partner" {
		status = http.StatusConflict // "I have that already", as some remotes put it
	}
	slow := time.Since(req.Context().Value(connected{}).(time.Time)) > sendTimeout/2
	if slow || req.Context().Err() != nil {
		r.mu.Lock()
		r.disturbed[row] = true
		r.mu.Unlock()
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	sum := sha256.Sum256([]byte(row))
	_ = json.NewEncoder(w).Encode(map[string]any{"id": hex.EncodeToString(sum[:6]), "repeated": repeated})
}

// connected is the key of a connection's beginning in the context of its requests.
type connected struct{}

// server is the remote on one loopback port.
type server struct {
	address string
	http    *http.Server
	ended   chan error
}

// open listens on a port of 127.0.0.1, any if address is "".
func open(address string, handler http.Handler) (*server, error) {
	if address == "" {
		address = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp4", address)
	if err != nil {
		return nil, fmt.Errorf("start the remote: %w", err)
	}
	s := &server{l.Addr().String(), &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second,
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			return context.WithValue(ctx, connected{}, time.Now())
		},
	}, make(chan error, 1)}
	go func() { s.ended <- s.http.Serve(l) }()
	return s, nil
}

func (s *server) close() error {
	err := s.http.Close()
	if ended := <-s.ended; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}
