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
	"strings"
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
	// late is the work that is still to be done.
	late sync.WaitGroup

	mu       sync.Mutex
	requests map[string]int
	effects  map[string]int
	lookups  map[string]int
	// known are the keys that a deduplicating destination has seen work for.
	known map[string]bool
	// disturbed rows had a request that the plan meant to answer, but this machine was so slow that the
	// sender may have given up.
	disturbed map[string]bool
	did       [acts]int
	repeated  int
}

func newRemote(p plan, kill func(row string)) *remote {
	return &remote{
		plan: p, kill: kill, stop: make(chan struct{}), requests: map[string]int{}, effects: map[string]int{},
		lookups: map[string]int{}, known: map[string]bool{}, disturbed: map[string]bool{},
	}
}

// traits are what a destination of the remote does for its clients.
type traits struct{ deduplicates, canBeAsked bool }

var destinationTraits = map[string]traits{
	"charge": {true, true}, "payout": {false, true}, "mail": {}, "partner": {true, false},
}

// workLater is how late the remote may do the work; it is well below late_arrival after the claim's end.
const workLater = 4 * time.Second

// ServeHTTP is POST /<destination> and GET /<destination>/by-key?key=<key>.
func (r *remote) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	destination, asked := strings.CutSuffix(req.URL.Path[1:], "/by-key")
	key := req.URL.Query().Get("key")
	if asked {
		r.tell(w, rowName(destination, key))
		return
	}
	row := req.Header.Get(rowHeader)
	if _, err := io.Copy(io.Discard, req.Body); err != nil {
		return // cut in the middle: not a request
	}
	a := r.next(row)
	if destinationTraits[destination].deduplicates {
		key = rowName(destination, req.Header.Get("Idempotency-Key"))
	}
	repeated := false
	switch {
	case a == cutAndWorkLate:
		r.late.Add(1)
		time.AfterFunc(workLater, func() {
			defer r.late.Done()
			r.work(row, key)
		})
	case a.works():
		repeated = r.work(row, key)
	}
	r.answer(w, req, a, row, destination, repeated)
}

// tell says what became of a row, as the remote knows it.
func (r *remote) tell(w http.ResponseWriter, row string) {
	r.mu.Lock()
	r.lookups[row]++
	done := r.effects[row] > 0
	r.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if !done {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]string{"state": "done"})
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
	if a.stalls() {
		select {
		case <-req.Context().Done():
		case <-r.stop:
		}
	}
	status := facts[a].status
	if status == 0 {
		panic(http.ErrAbortHandler)
	}
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

// anyPort is an address of this machine with a port that is free.
const anyPort = "127.0.0.1:0"

func open(address string, handler http.Handler) (*server, error) {
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
