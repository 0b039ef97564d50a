package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestCommandUnderNohupOutlivesItsTerminal(t *testing.T) {
	t.Parallel()
	asked, answer := make(chan bool), make(chan bool)
	remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked <- true
		<-answer
		http.Error(w, "", http.StatusNotFound)
	}))
	t.Cleanup(remote.Close)
	cmd := exec.CommandContext(t.Context(), "nohup", os.Args[0], "rows", "get", "charge", "k", "--endpoint-url", remote.URL)
	cmd.Env = append(os.Environ(), asCommand+"=1", "AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local")
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-asked
	if status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid)); err == nil { // on Linux: it cannot be too late to tell
		_, after, _ := strings.Cut(string(status), "SigIgn:\t")
		mask, _, _ := strings.Cut(after, "\n")
		if ignored, err := strconv.ParseUint(mask, 16, 64); err != nil || ignored&(1<<(syscall.SIGHUP-1)) == 0 {
			t.Errorf("it ignores %q (%v), and SIGHUP is not among it", mask, err)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Error(err)
	}
	close(answer)
	if err := cmd.Wait(); err == nil || !strings.Contains(said.String(), "404") {
		t.Errorf("%v: %s", err, said.String())
	}
}
