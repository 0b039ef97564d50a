package invoke_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/landfall-dev/landfall/internal/awscall"
	"github.com/landfall-dev/landfall/internal/invoke"
	"github.com/landfall-dev/landfall/internal/lab/egresstest"
	"github.com/landfall-dev/landfall/internal/routefn"
)

var _ routefn.Invoker = (*invoke.Invoker)(nil)

func invoker(url string) *invoke.Invoker {
	return invoke.New(aws.Config{
		Region: "eu-west-1", BaseEndpoint: aws.String(url),
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
}

func ok(headers, body string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n%s\r\n%s", len(body), headers, body)
}

func refusal(status int, code string) string {
	body := `{"Type": "User", "message": "no"}`
	return fmt.Sprintf("HTTP/1.1 %d No\r\nX-Amzn-Errortype: %s\r\nContent-Length: %d\r\n\r\n%s", status, code, len(body), body)
}

func TestCallIsMadeOnceAndItsAnswerReportedExactly(t *testing.T) {
	t.Parallel()
	const crash = `{"errorType": "TypeError", "errorMessage": "oh"}`
	full := strings.Repeat("x", invoke.MaxAnswerBytes)
	for _, tc := range []struct {
		name          string
		script        func(*egresstest.Conn)
		answer        string
		functionError string
		code          string // of the error
		refused       bool   // demonstrably it did not run
	}{
		{name: "answer", script: says(ok("", `{"outcome": "completed"}`)), answer: `{"outcome": "completed"}`},
		{name: "no content", script: says(ok("", "")), answer: ""},
		{name: "longest answer", script: says(ok("", full)), answer: full},
		{name: "answer too large", script: says(ok("", full+"x")), functionError: invoke.AnswerTooLarge},
		{name: "answer without end", script: func(c *egresstest.Conn) {
			c.Read()
			c.Say("HTTP/1.1 200 OK\r\n\r\n")
			for c.Say(full) {
			}
		}, functionError: invoke.AnswerTooLarge},
		{name: "crash", script: says(ok("X-Amz-Function-Error: Unhandled\r\n", crash)), answer: crash, functionError: "Unhandled"},
		{name: "error that it handled", script: says(ok("X-Amz-Function-Error: Handled\r\n", crash)), answer: crash, functionError: "Handled"},
		{name: "no such function", script: says(refusal(404, "ResourceNotFoundException")), code: "ResourceNotFoundException", refused: true},
		{name: "forbidden", script: says(refusal(403, "AccessDeniedException")), code: "AccessDeniedException", refused: true},
		{name: "throttled", script: says(refusal(429, "TooManyRequestsException")), code: "TooManyRequestsException", refused: true},
		{name: "broken service", script: says(refusal(500, "ServiceException")), code: "ServiceException"},
		{name: "cut before the answer", script: says(""), code: awscall.Cut},
		{name: "cut in the answer", script: says("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"), code: awscall.UnknownError},
		{name: "reset", script: func(c *egresstest.Conn) { c.Read(); c.Reset() }, code: awscall.Cut},
		{name: "stall", script: func(c *egresstest.Conn) { c.Read(); c.GiveUp(); c.Drain() }, code: awscall.NoAnswer},
		{name: "stall in the answer", script: func(c *egresstest.Conn) {
			c.Read()
			c.Say("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
			c.GiveUpSoon()
			c.Drain()
		}, code: awscall.NoAnswer},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			remote := egresstest.Serve(t, tc.script)
			answer, functionError, err := invoker(remote.URL).Invoke(remote.Context(), "ask", []byte(`{"key": "secret"}`))
			remote.Close(t)
			if string(answer) != tc.answer || functionError != tc.functionError {
				t.Errorf("answered %.40q, function error %q", answer, functionError)
			}
			if (err != nil) != (tc.code != "") {
				t.Fatalf("error %v", err)
			}
			if err != nil && (awscall.Code(err) != tc.code || awscall.Refused(err) != tc.refused || strings.Contains(err.Error(), "secret")) {
				t.Errorf("%s, did not run: %v: %v", awscall.Code(err), awscall.Refused(err), err)
			}
			if remote.Connections() != 1 || remote.Requests() != 1 {
				t.Errorf("%d connections, %d requests", remote.Connections(), remote.Requests())
			}
		})
	}
}

func says(answer string) func(*egresstest.Conn) {
	return func(c *egresstest.Conn) { c.Read(); c.Say(answer) }
}

func TestCallWithoutAConnectionIsRefused(t *testing.T) {
	t.Parallel()
	remote := egresstest.Serve(t, says(""))
	remote.Close(t)
	if _, _, err := invoker(remote.URL).Invoke(t.Context(), "ask", nil); awscall.Code(err) != awscall.NotConnected || !awscall.Refused(err) {
		t.Errorf("%v", err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := invoker(remote.URL).Invoke(over, "ask", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestRequestIsTheOneOfTheAPI holds path, kind of invocation and event to the service's API.
func TestRequestIsTheOneOfTheAPI(t *testing.T) {
	t.Parallel()
	event := []byte(`{"a": "é"}`)
	for function, path := range map[string]string{
		"ask":      "/2015-03-31/functions/ask/invocations",
		"ask:live": "/2015-03-31/functions/ask%3Alive/invocations",
		"arn:aws:lambda:eu-west-1:123456789012:function:ask": "/2015-03-31/functions/arn%3Aaws%3Alambda%3Aeu-west-1%3A123456789012%3Afunction%3Aask/invocations",
	} {
		remote := egresstest.Serve(t, func(c *egresstest.Conn) {
			req := c.ReadHead()
			body, _ := io.ReadAll(req.Body)
			kind := req.Header.Get("X-Amz-Invocation-Type")
			if req.Method != http.MethodPost || req.RequestURI != path || kind != "" && kind != "RequestResponse" || !bytes.Equal(body, event) {
				t.Errorf("%s %s %q %s", req.Method, req.RequestURI, kind, body)
			}
			c.Say(ok("", "{}"))
		})
		if _, _, err := invoker(remote.URL).Invoke(t.Context(), function, event); err != nil {
			t.Error(err)
		}
		remote.Close(t)
	}
}

func TestConcurrentCallsStayApart(t *testing.T) {
	t.Parallel()
	remote := egresstest.Serve(t, func(c *egresstest.Conn) {
		body, _ := io.ReadAll(c.ReadHead().Body)
		c.Say(ok("Connection: close\r\n", string(body)))
	})
	i := invoker(remote.URL)
	var all sync.WaitGroup
	for n := range 16 {
		all.Go(func() {
			if answer, _, err := i.Invoke(t.Context(), "echo", fmt.Append(nil, n)); err != nil || string(answer) != fmt.Sprint(n) {
				t.Errorf("%d: %s, %v", n, answer, err)
			}
		})
	}
	all.Wait()
}
