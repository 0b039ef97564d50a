package devstack

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience bounds what a test waits for; nothing waits this long unless it is broken.
const patience = time.Minute

// binary builds the function of testdata/fn once.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "devstack")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "bootstrap")
	cmd := exec.Command("go", "build", "-tags=lambda.norpc", "-o", path, "./testdata/fn")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	if addr := os.Getenv("DEVSTACK_PARENT_OF"); addr != "" {
		beParent(addr)
	}
	code := m.Run()
	if path, err := binary(); err == nil {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// journal is an Output that tests can read.
type journal struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *journal) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(p)
}

func (l *journal) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Split(strings.TrimSuffix(l.String(), "\n"), "\n")
}

type bundle struct {
	*Stack
	t   *testing.T
	log *journal
}

// setup starts a stack with the function of testdata/fn, called fn.
func setup(t *testing.T, f Function) *bundle {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	f.Name, f.Path = "fn", path
	if f.Timeout == 0 {
		f.Timeout = patience
	}
	out := &journal{}
	s, err := Start(Config{Functions: []Function{f}, Output: out, Region: "eu-central-1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		now, cancel := context.WithCancel(context.Background())
		cancel()
		s.Stop(now)
	})
	return &bundle{Stack: s, t: t, log: out}
}

type event struct {
	Do   string `json:"do,omitempty"`
	URL  string `json:"url,omitempty"`
	Addr string `json:"addr,omitempty"`
	Size int    `json:"size,omitempty"`
	Text string `json:"text,omitempty"`
}

// reply is what a well-behaved invocation answers.
type reply struct {
	PID       int      `json:"pid"`
	Text      string   `json:"text"`
	RequestID string   `json:"request_id"`
	ARN       string   `json:"arn"`
	Trace     string   `json:"trace"`
	LeftMS    int64    `json:"left_ms"`
	Env       []string `json:"env"`
	Dir       string   `json:"dir"`
}

// invoke runs an invocation that must reach the function.
func (b *bundle) invoke(e event) Result {
	b.t.Helper()
	payload, err := json.Marshal(e)
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	result, err := b.Invoke(ctx, "fn", payload)
	if err != nil {
		b.t.Fatal(err)
	}
	return result
}

// ask runs an invocation that must succeed.
func (b *bundle) ask(e event) reply {
	b.t.Helper()
	result := b.invoke(e)
	var r reply
	if err := json.Unmarshal(result.Payload, &r); err != nil || result.FunctionError != "" {
		b.t.Fatalf("got %s %q, %v", result.FunctionError, result.Payload, err)
	}
	if r.RequestID != result.RequestID {
		b.t.Errorf("function saw request %s, caller %s", r.RequestID, result.RequestID)
	}
	return r
}

// gate is a server at which functions wait until they are let through.
type gate struct {
	*httptest.Server
	arrived chan struct{}
	open    chan struct{}
	opened  sync.Once
}

func newGate(t *testing.T) *gate {
	g := &gate{arrived: make(chan struct{}, 100), open: make(chan struct{})}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.arrived <- struct{}{}
		select {
		case <-g.open:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() {
		g.letThrough()
		g.Close()
	})
	return g
}

func (g *gate) letThrough() { g.opened.Do(func() { close(g.open) }) }

// await returns once n functions have arrived.
func (g *gate) await(t *testing.T, n int) {
	t.Helper()
	for range n {
		receive(t, g.arrived)
	}
}

// receive waits for an event that must come.
func receive[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}
