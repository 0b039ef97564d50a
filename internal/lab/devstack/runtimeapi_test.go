package devstack

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// client speaks to a runtime API as a process would, or as it should not.
type client struct {
	t   *testing.T
	api *runtimeAPI
}

func newClient(t *testing.T) client {
	api, err := newRuntimeAPI()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.close)
	return client{t, api}
}

// do sends a request and returns the answer with its body read.
func (c client) do(method, path string, body io.Reader) (*http.Response, string) {
	c.t.Helper()
	req, err := http.NewRequest(method, "http://"+c.api.addr+path, body)
	if err != nil {
		c.t.Fatal(err)
	}
	return c.send(req)
}

func (c client) send(req *http.Request) (*http.Response, string) {
	c.t.Helper()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp, string(answer)
}

const invocationPath = "/2018-06-01/runtime/invocation/"

// take has the API hand out an invocation of that id.
func (c client) take(id string) *invocation {
	c.t.Helper()
	inv := &invocation{
		id: id, payload: []byte(`{"n":1}`), arn: "arn:of:it", trace: "Root=1",
		deadline: time.UnixMilli(1_790_000_000_123), done: make(chan struct{}),
	}
	go func() { c.api.next <- inv }()
	resp, body := c.do("GET", invocationPath+"next", nil)
	if resp.StatusCode != http.StatusOK || body != `{"n":1}` {
		c.t.Fatalf("next: %d %s", resp.StatusCode, body)
	}
	for name, want := range map[string]string{
		"Lambda-Runtime-Aws-Request-Id":       id,
		"Lambda-Runtime-Deadline-Ms":          "1790000000123",
		"Lambda-Runtime-Invoked-Function-Arn": "arn:of:it",
		"Lambda-Runtime-Trace-Id":             "Root=1",
		"Content-Type":                        "application/json",
	} {
		if got := resp.Header.Get(name); got != want {
			c.t.Errorf("%s: %q", name, got)
		}
	}
	if got := resp.Header.Values("Lambda-Runtime-Client-Context"); got != nil {
		c.t.Errorf("a client context came: %q", got)
	}
	return inv
}

func (c client) expect(method, path, body string, status int, answer string) {
	c.t.Helper()
	resp, got := c.do(method, path, strings.NewReader(body))
	if resp.StatusCode != status || !strings.Contains(got, answer) {
		c.t.Errorf("%s %s: %d %s, not %d %s", method, path, resp.StatusCode, got, status, answer)
	}
}

func TestAnswerIsTakenOnceAndOnlyForTheInvocationUnderWay(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.expect("POST", invocationPath+"id-1/response", `1`, 403, "InvalidStateTransition")
	inv := c.take("id-1")
	c.expect("GET", invocationPath+"next", "", 403, "InvalidStateTransition")
	c.expect("POST", invocationPath+"id-0/response", `0`, 400, "InvalidRequestID")
	c.expect("POST", invocationPath+"id-0/error", `{}`, 400, "InvalidRequestID")
	c.expect("HEAD", invocationPath+"next", "", 405, "")
	c.expect("POST", invocationPath+"next", "", 405, "")
	c.expect("GET", "/2018-06-01/runtime/other", "", 404, "")
	c.expect("GET", "/2015-03-31/runtime/invocation/next", "", 404, "")
	if _, answered := c.api.answerOf(inv); answered {
		t.Fatal("answered")
	}
	c.expect("POST", invocationPath+"id-1/response", `1`, 202, `{"status":"OK"}`)
	c.expect("POST", invocationPath+"id-1/response", `2`, 403, "InvalidStateTransition")
	c.expect("POST", invocationPath+"id-1/error", `{}`, 403, "InvalidStateTransition")
	select {
	case <-inv.done:
		t.Error("over before the process came back")
	default:
	}
	c.take("id-2")
	receive(t, inv.done)
	if result, answered := c.api.answerOf(inv); !answered || string(result.Payload) != `1` || result.FunctionError != "" {
		t.Errorf("result %+v", result)
	}
	c.expect("POST", invocationPath+"id-1/response", `3`, 400, "InvalidRequestID")
	c.expect("POST", "/2018-06-01/runtime/init/error", `{}`, 403, "InvalidStateTransition")
}

func TestSecondInitErrorIsRefused(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.expect("POST", "/2018-06-01/runtime/init/error", `{"errorType":"A"}`, 202, "OK")
	c.expect("POST", "/2018-06-01/runtime/init/error", `{"errorType":"B"}`, 403, "InvalidStateTransition")
	if body := receive(t, c.api.initError); string(body) != `{"errorType":"A"}` {
		t.Errorf("kept %s", body)
	}
}

func TestErrorWithHugeCauseIsAccepted(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	inv := c.take("id-1")
	req, err := http.NewRequest("POST", "http://"+c.api.addr+invocationPath+"id-1/error", strings.NewReader("not even JSON"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Lambda-Runtime-Function-Xray-Error-Cause", strings.Repeat("x", 1<<20-1))
	if resp, body := c.send(req); resp.StatusCode != http.StatusAccepted {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	result, _ := c.api.answerOf(inv)
	if string(result.Payload) != "not even JSON" || result.FunctionError != Unhandled || result.ErrorType() != "" {
		t.Errorf("result %+v", result)
	}
}

func TestResponseThatBreaksOffIsAFailure(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	inv := c.take("id-1")

	// Cut in the body: no answer at all.
	conn, err := net.Dial("tcp", c.api.addr)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "POST %sid-1/response HTTP/1.1\r\nHost: %s\r\nContent-Length: 100\r\n\r\npart of it", invocationPath, c.api.addr)
	conn.(*net.TCPConn).CloseWrite()
	if resp, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || resp.StatusCode != http.StatusBadRequest {
		t.Errorf("got %v, %v", resp, err)
	}
	conn.Close()
	if _, answered := c.api.answerOf(inv); answered {
		t.Error("half a response was taken for an answer")
	}

	// Ended by the runtime with an error in the trailer: that error is the answer.
	req, err := http.NewRequest("POST", "http://"+c.api.addr+invocationPath+"id-1/response", io.MultiReader(strings.NewReader("part of it")))
	if err != nil {
		t.Fatal(err)
	}
	const failure = `{"errorType":"ReadFailed","errorMessage":"on purpose"}`
	req.Trailer = http.Header{
		"Lambda-Runtime-Function-Error-Type": {"ReadFailed"},
		"Lambda-Runtime-Function-Error-Body": {base64.StdEncoding.EncodeToString([]byte(failure))},
	}
	if resp, body := c.send(req); resp.StatusCode != http.StatusAccepted {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if result, _ := c.api.answerOf(inv); string(result.Payload) != failure || result.FunctionError != Unhandled {
		t.Errorf("result %+v", result)
	}
}

func TestInvocationSurvivesAWaitingRequestThatIsCut(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	conn, err := net.Dial("tcp", c.api.addr)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "GET %snext HTTP/1.1\r\nHost: %s\r\n\r\n", invocationPath, c.api.addr)
	receive(t, c.api.ready)
	c.expect("GET", invocationPath+"next", "", 403, "InvalidStateTransition") // one waits
	conn.Close()
	for deadline := time.Now().Add(patience); ; {
		c.api.mu.Lock()
		polling := c.api.polling
		c.api.mu.Unlock()
		if !polling {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the request still waits")
		}
	}
	c.take("id-1")
}

func TestRuntimeAPIRefusesWebPages(t *testing.T) {
	t.Parallel()
	api, err := newRuntimeAPI()
	if err != nil {
		t.Fatal(err)
	}
	defer api.close()
	for header, value := range map[string]string{"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site", "Host": "evil.example"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+api.addr+"/2018-06-01/runtime/init/error", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		if r.Header.Set(header, value); header == "Host" {
			r.Host = value
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusForbidden || len(api.initError) > 0 {
			t.Errorf("%s: status %d", header, answer.StatusCode)
		}
	}
}
