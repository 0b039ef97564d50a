package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
)

// asCommand makes the test's own binary the command line, for tests that need a process of its own.
const asCommand = "LANDFALL_TEST_AS_COMMAND"

// TestDevDeliversAndLeavesNothingBehind follows the README: start it, export what it prints, put a row, see it
// land, end it with Ctrl-C, or by closing the terminal.
func TestDevDeliversAndLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	for _, end := range []os.Signal{os.Interrupt, syscall.SIGHUP} {
		t.Run(end.String(), func(t *testing.T) {
			t.Parallel()
			caught := make(chan os.Signal, 1) // so that no child inherits it as ignored, should nohup have started the tests
			signal.Notify(caught, syscall.SIGHUP)
			defer signal.Stop(caught)
			devUntil(t, end)
		})
	}
}

func devUntil(t *testing.T, end os.Signal) {
	arrived := make(chan string, 10)
	remote := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		arrived <- r.Header.Get("Idempotency-Key") + " " + string(body)
	}))
	t.Cleanup(remote.Close)
	config := write(t, "landfall.yaml", fmt.Sprintf(`log_successes: 1
destinations:
  charge: {http: %q, allow_private: true, deduplicates: never}
`, remote.URL))

	temporary := t.TempDir()
	dev := exec.CommandContext(t.Context(), os.Args[0], "dev", "--port", "0", "--every", "100ms", "--config", config)
	dev.Env = append(os.Environ(), asCommand+"=1", "TMPDIR="+temporary)
	stdout, stderr := lines(t, dev.StdoutPipe), lines(t, dev.StderrPipe)
	if err := dev.Start(); err != nil {
		t.Fatal(err)
	}
	exported := map[string]string{}
	for range 9 {
		variable, isExport := strings.CutPrefix(<-stdout, "export ")
		name, value, _ := strings.Cut(variable, "=")
		if exported[name] = value; !isExport || value == "" {
			t.Fatalf("%q is nothing to export", variable)
		}
	}
	endpoint := exported["AWS_ENDPOINT_URL"]
	address, local := strings.CutPrefix(endpoint, "http://127.0.0.1:")
	if !local || exported["LANDFALL_OUTBOX_TABLE"] == "" || exported["AWS_REGION"] == "" || exported["AWS_ACCESS_KEY_ID"] == "" {
		t.Fatalf("exports %v", exported)
	}

	got := execute(t, "", "enqueue", "charge", "--key", "order-42", "--data", "{}", "--config", config, "--endpoint-url", endpoint)
	if got.code != exitOK {
		t.Fatalf("enqueue: %+v", got)
	}
	if request := <-arrived; request != "order-42 {}" {
		t.Errorf("the remote was sent %q", request)
	}
	for line := range stderr { // the function's word that the row is settled
		if strings.Contains(line, "charge/") && strings.Contains(line, "completed") {
			break
		}
	}
	if err := dev.Process.Signal(end); err != nil {
		t.Fatal(err)
	}
	for range stderr { // until it is closed
	}
	if err := dev.Wait(); err != nil {
		t.Errorf("ended by %v: %v", end, err)
	}
	if connection, err := net.Dial("tcp", "127.0.0.1:"+address); err == nil {
		connection.Close()
		t.Error("the port is still open")
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if len(arrived) > 0 {
		t.Errorf("the remote was sent more: %s", <-arrived)
	}
}

// lines are those of a pipe, until it is closed.
func lines(t *testing.T, pipe func() (io.ReadCloser, error)) <-chan string {
	t.Helper()
	reader, err := pipe()
	if err != nil {
		t.Fatal(err)
	}
	all := make(chan string, 1000)
	go func() {
		defer close(all)
		for s := bufio.NewScanner(reader); s.Scan(); {
			all <- s.Text()
		}
	}()
	return all
}
