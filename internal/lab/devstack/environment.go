package devstack

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"time"
)

// environment is an execution environment: one process and the runtime API that it talks to.
type environment struct {
	pool *pool
	api  *runtimeAPI
	out  *lines

	// exited is closed when the process, its group and its output are gone; outcome says how.
	exited  chan struct{}
	outcome processEnd

	mu      sync.Mutex
	killed  bool
	process *os.Process // nil before the start and after the end
}

// processEnd says why a process ended.
type processEnd struct {
	errorType string
	message   string
}

// flushLimit bounds the wait for the last output of a process that is gone. Only a child that left
// the process group can hold its output open any longer.
const flushLimit = time.Second

// supervise starts the process and returns when nothing of it is left. It keeps its thread, because
// a process is killed when the thread that started it ends (see processAttributes).
func (e *environment) supervise(region string) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer e.api.close()

	reader, writer, err := os.Pipe()
	if err != nil {
		e.outcome = processEnd{"Runtime.InvalidEntrypoint", fmt.Sprintf("make a pipe for the output: %v", err)}
		return
	}
	defer reader.Close()
	cmd := exec.Command(e.pool.function.Path)
	cmd.Dir = filepath.Dir(e.pool.function.Path)
	cmd.Env = variables(e.pool.function, region, e.api.addr, time.Now())
	cmd.Stdout, cmd.Stderr = writer, writer // one log, in the order of the writes
	cmd.SysProcAttr = processAttributes()
	err = e.start(cmd)
	writer.Close()
	if err != nil {
		e.outcome = processEnd{"Runtime.InvalidEntrypoint", err.Error()}
		return
	}

	copied := make(chan struct{})
	go func() {
		defer close(copied)
		e.out.copy(e.pool.function.Name, reader)
	}()
	e.outcome = e.wait(cmd)
	reader.SetReadDeadline(time.Now().Add(flushLimit))
	<-copied
}

// start starts the process, unless it is to be killed already.
func (e *environment) start(cmd *exec.Cmd) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.killed {
		return os.ErrProcessDone
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	e.process = cmd.Process
	return nil
}

// wait returns when the process has ended, and ends what it has forked.
func (e *environment) wait(cmd *exec.Cmd) processEnd {
	err := cmd.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	killGroup(e.process.Pid) // the number is not given out again while a member of the group lives
	e.process = nil
	if err == nil {
		return processEnd{"Runtime.ExitError", "Runtime exited without providing a reason"}
	}
	return processEnd{"Runtime.ExitError", fmt.Sprintf("Runtime exited with error: %v", err)}
}

// kill ends the process and its children, at once and without a word to them, as Lambda does.
func (e *environment) kill() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.killed = true
	if e.process != nil {
		killGroup(e.process.Pid)
	}
}

// awaitReady returns when the process asks for work. If it never will, the process is gone and ok
// is false; the result says why.
func (e *environment) awaitReady(requestID string) (failure Result, ok bool) {
	timer := time.NewTimer(e.pool.initLimit)
	defer timer.Stop()
	select {
	case <-e.api.ready:
		return Result{}, true
	case body := <-e.api.initError:
		e.kill()
		<-e.exited
		return e.initFailure(requestID, body), false
	case <-timer.C:
		e.kill()
		<-e.exited
		return e.report(requestID, "Sandbox.Timedout", fmt.Sprintf("Init timed out after %.2f seconds", e.pool.initLimit.Seconds())), false
	case <-e.exited:
		select {
		case body := <-e.api.initError:
			return e.initFailure(requestID, body), false
		default:
		}
	}
	return e.exitFault(requestID), false
}

// initFailure shows what a process reported of its failed start, and returns it.
func (e *environment) initFailure(requestID string, body []byte) Result {
	var reported struct {
		ErrorType    string `json:"errorType"`
		ErrorMessage string `json:"errorMessage"`
	}
	if err := json.Unmarshal(body, &reported); err != nil {
		reported.ErrorType = "Runtime.Unknown" // a runtime may post any bytes
	}
	e.out.printf(e.pool.function.Name, "INIT_REPORT Status: error Error Type: %s Message: %s", reported.ErrorType, reported.ErrorMessage)
	return Result{RequestID: requestID, FunctionError: Unhandled, Payload: body}
}

// deliver hands the invocation to the process; false if the process ended, or stopped listening and
// was ended, before it took it.
func (e *environment) deliver(inv *invocation) bool {
	timer := time.NewTimer(e.pool.initLimit)
	defer timer.Stop()
	inv.deadline = time.Now().Add(e.pool.function.Timeout)
	select {
	case e.api.next <- inv:
		return true
	case <-timer.C:
		e.kill()
		<-e.exited
		return false
	case <-e.exited:
		return false
	}
}

// finish returns what becomes of a delivered invocation, once the process is free for the next one, or
// gone. An answer that was given stands, whatever the process does after it.
func (e *environment) finish(inv *invocation) Result {
	timer := time.NewTimer(time.Until(inv.deadline))
	defer timer.Stop()
	expired := false
	select {
	case <-inv.done:
	case <-e.exited:
	case <-timer.C:
		expired = true
		e.kill()
		<-e.exited
	}
	result, answered := e.api.answerOf(inv)
	switch {
	case answered:
		return result
	case expired:
		return e.report(inv.id, "Sandbox.Timedout", fmt.Sprintf("Task timed out after %.2f seconds", e.pool.function.Timeout.Seconds()))
	default:
		return e.exitFault(inv.id)
	}
}

// exitFault is the answer for an invocation whose process is gone.
func (e *environment) exitFault(requestID string) Result {
	return e.report(requestID, e.outcome.errorType, e.outcome.message)
}

// report writes Lambda's own error to the function's log and returns it as the answer.
func (e *environment) report(requestID, errorType, message string) Result {
	e.out.printf(e.pool.function.Name, "RequestId: %s Error: %s %s", requestID, message, errorType)
	return fault(requestID, errorType, "RequestId: %s Error: %s", requestID, message)
}
