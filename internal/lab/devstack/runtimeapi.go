package devstack

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/loopback"
)

// runtimeAPI is the Lambda runtime API, version 2018-06-01, of one process. Each process has its
// own, as each execution environment has: what an earlier process left behind cannot answer for a
// later one.
type runtimeAPI struct {
	addr   string
	server *http.Server

	ready     chan struct{}    // closed by the first request for an invocation
	readyOnce sync.Once        //
	initError chan []byte      // what the process said of its failed start; room for one
	next      chan *invocation // to the request that waits for an invocation

	mu      sync.Mutex
	polling bool        // a request waits for an invocation
	current *invocation // handed out, and the process has not come back for the next one
}

func newRuntimeAPI() (*runtimeAPI, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the runtime API: %w", err)
	}
	a := &runtimeAPI{
		addr:      listener.Addr().String(),
		ready:     make(chan struct{}),
		initError: make(chan []byte, 1),
		next:      make(chan *invocation),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", a.serveNext)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/response", a.serveResponse)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/error", a.serveError)
	mux.HandleFunc("POST /2018-06-01/runtime/init/error", a.serveInitError)
	a.server = &http.Server{
		Handler:           loopback.Guard(mux), // but for slow bodies: a function may stream its answer
		ReadHeaderTimeout: 10 * time.Second,
	}
	go a.server.Serve(listener) // ends with close
	return a, nil
}

// close ends every connection; a request that waits for an invocation returns.
func (a *runtimeAPI) close() { a.server.Close() }

// serveNext answers with the next invocation, however long that takes. Asking for it says that the
// one before is over.
func (a *runtimeAPI) serveNext(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet { // the mux lets HEAD through, which would swallow an invocation
		refuse(w, http.StatusMethodNotAllowed, "InvalidMethod", "use GET")
		return
	}
	a.mu.Lock()
	if a.polling || a.current != nil && !a.current.answered {
		a.mu.Unlock()
		refuse(w, http.StatusForbidden, "InvalidStateTransition", "an invocation is already asked for, or under way")
		return
	}
	a.polling = true
	if a.current != nil {
		close(a.current.done)
		a.current = nil
	}
	a.mu.Unlock()
	a.readyOnce.Do(func() { close(a.ready) })

	select {
	case inv := <-a.next:
		a.mu.Lock()
		a.polling, a.current = false, inv
		a.mu.Unlock()
		handOver(w, inv)
	case <-r.Context().Done():
		a.mu.Lock()
		a.polling = false
		a.mu.Unlock()
	}
}

// handOver cannot fail for the invocation: if the process is gone, its exit ends it.
func handOver(w http.ResponseWriter, inv *invocation) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Lambda-Runtime-Aws-Request-Id", inv.id)
	h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(inv.deadline.UnixMilli(), 10))
	h.Set("Lambda-Runtime-Invoked-Function-Arn", inv.arn)
	h.Set("Lambda-Runtime-Trace-Id", inv.trace)
	h.Set("Content-Length", strconv.Itoa(len(inv.payload)))
	w.Write(inv.payload)
}

func (a *runtimeAPI) serveResponse(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	body, whole, err := readBounded(r.Body, MaxResponse)
	switch {
	case err != nil:
		// No answer: the process tries again, or exits.
		refuse(w, http.StatusBadRequest, "TruncatedHTTPRequest", "the response ended early")
	case !whole:
		const message = "Response payload size exceeded maximum allowed payload size (%d bytes)."
		if a.answer(w, id, fault(id, "Function.ResponseSizeTooLarge", message, MaxResponse)) {
			refuse(w, http.StatusRequestEntityTooLarge, "RequestEntityTooLarge", fmt.Sprintf("more than %d bytes", MaxResponse))
		}
	case r.Trailer.Get("Lambda-Runtime-Function-Error-Type") != "":
		// The function failed while its response was being sent.
		if a.answer(w, id, trailerFault(id, r.Trailer)) {
			accept(w)
		}
	default:
		if a.answer(w, id, Result{RequestID: id, Payload: body}) {
			accept(w)
		}
	}
}

// trailerFault reads the error that follows a response that broke off.
func trailerFault(id string, trailer http.Header) Result {
	body, err := base64.StdEncoding.DecodeString(trailer.Get("Lambda-Runtime-Function-Error-Body"))
	if err != nil || len(body) == 0 {
		return fault(id, trailer.Get("Lambda-Runtime-Function-Error-Type"), "RequestId: %s Error: the response broke off", id)
	}
	return Result{RequestID: id, FunctionError: Unhandled, Payload: body}
}

func (a *runtimeAPI) serveError(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	body, _, err := readBounded(r.Body, MaxResponse)
	if err != nil {
		refuse(w, http.StatusBadRequest, "TruncatedHTTPRequest", "the error ended early")
		return
	}
	if a.answer(w, id, Result{RequestID: id, FunctionError: Unhandled, Payload: body}) {
		accept(w)
	}
}

// serveInitError takes what a process says of its failed start; it is expected to exit then.
func (a *runtimeAPI) serveInitError(w http.ResponseWriter, r *http.Request) {
	body, _, err := readBounded(r.Body, MaxResponse)
	if err != nil {
		refuse(w, http.StatusBadRequest, "TruncatedHTTPRequest", "the error ended early")
		return
	}
	select {
	case <-a.ready:
		refuse(w, http.StatusForbidden, "InvalidStateTransition", "the function is initialised already")
		return
	default:
	}
	select {
	case a.initError <- body:
		accept(w)
	default:
		refuse(w, http.StatusForbidden, "InvalidStateTransition", "an error was reported already")
	}
}

// answer records the result of the current invocation, once. If it cannot, it says so to the
// process and returns false.
func (a *runtimeAPI) answer(w http.ResponseWriter, id string, result Result) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.current == nil || a.current.answered:
		refuse(w, http.StatusForbidden, "InvalidStateTransition", "no invocation waits for an answer")
		return false
	case a.current.id != id:
		refuse(w, http.StatusBadRequest, "InvalidRequestID", "that is not the invocation under way")
		return false
	}
	a.current.answered, a.current.result = true, result
	return true
}

// answerOf returns what the process has answered so far.
func (a *runtimeAPI) answerOf(inv *invocation) (Result, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return inv.result, inv.answered
}

// readBounded reads at most limit bytes; whole is false if there were more. These are read too, so
// that the process gets to see the answer, but not kept.
func readBounded(r io.Reader, limit int64) (body []byte, whole bool, err error) {
	body, err = io.ReadAll(io.LimitReader(r, limit))
	if err != nil {
		return nil, false, fmt.Errorf("read body: %w", err)
	}
	rest, err := io.Copy(io.Discard, r)
	if err != nil {
		return nil, false, fmt.Errorf("read body: %w", err)
	}
	return body, rest == 0, nil
}

func accept(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	io.WriteString(w, `{"status":"OK"}`)
}

func refuse(w http.ResponseWriter, status int, errorType, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]string{"errorType": errorType, "errorMessage": message})
}
