// Command fn is a Lambda function that behaves well or badly, as its event or, for its start, its
// environment asks it to.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
)

type event struct {
	Do   string `json:"do"`
	URL  string `json:"url"`  // called before anything else is done; the answer is waited for
	Addr string `json:"addr"` // dialled by a forked child, which then holds the connection
	Size int    `json:"size"`
	Text string `json:"text"`

	Records []events.SQSMessage `json:"Records"` // of a queue, each an event
}

type answer struct {
	PID       int      `json:"pid"`
	Text      string   `json:"text"`
	RequestID string   `json:"request_id"`
	ARN       string   `json:"arn"`
	Trace     string   `json:"trace"`
	LeftMS    int64    `json:"left_ms"`
	Env       []string `json:"env,omitempty"`
	Dir       string   `json:"dir"`
}

func main() {
	if len(os.Args) > 1 {
		child(os.Args[1])
	}
	switch os.Getenv("INIT") {
	case "exit":
		fmt.Println("cannot start: no configuration")
		os.Exit(3)
	case "hang":
		hang()
	case "report":
		body := strings.NewReader(`{"errorType":"Config.Missing","errorMessage":"no configuration"}`)
		http.Post("http://"+os.Getenv("AWS_LAMBDA_RUNTIME_API")+"/2018-06-01/runtime/init/error", "application/json", body)
		os.Exit(1)
	case "poll-and-exit":
		conn, err := net.Dial("tcp", os.Getenv("AWS_LAMBDA_RUNTIME_API"))
		if err == nil {
			fmt.Fprint(conn, "GET /2018-06-01/runtime/invocation/next HTTP/1.1\r\nHost: runtime\r\n\r\n")
		}
		os.Exit(4)
	case "poll-and-hang":
		conn, err := net.Dial("tcp", os.Getenv("AWS_LAMBDA_RUNTIME_API"))
		if err == nil {
			fmt.Fprint(conn, "GET /2018-06-01/runtime/invocation/next HTTP/1.1\r\nHost: runtime\r\n\r\n")
			conn.Close()
		}
		hang()
	}
	lambda.Start(handle)
}

// handleBatch handles events of a queue. The first time that it gets one, it may also be told to fail.
func handleBatch(ctx context.Context, records []events.SQSMessage) (any, error) {
	var r events.SQSEventResponse
	for _, m := range records {
		var e event
		if err := json.Unmarshal([]byte(m.Body), &e); err != nil {
			return nil, err
		}
		if m.Attributes["ApproximateReceiveCount"] != "1" {
			e.Do = ""
		}
		if e.Do == "fail" {
			r.BatchItemFailures = append(r.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
			continue
		}
		if _, err := handle(ctx, e); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func handle(ctx context.Context, e event) (any, error) {
	if e.Records != nil {
		return handleBatch(ctx, e.Records)
	}
	if e.URL != "" {
		if err := call(e.URL); err != nil {
			return nil, err
		}
	}
	switch e.Do {
	case "", "env":
		return reply(ctx, e), nil
	case "panic":
		panic("on purpose")
	case "error":
		return nil, errors.New("refused on purpose")
	case "exit":
		os.Exit(7)
	case "exit-0":
		os.Exit(0)
	case "hang":
		hang()
	case "large":
		return strings.Repeat("x", e.Size-2), nil // two quotes around it
	case "print":
		fmt.Println(strings.Repeat("a", e.Size))
		fmt.Fprintln(os.Stderr, "after it")
		fmt.Print("no newline at the end")
		return nil, nil
	case "fork", "fork-away":
		cmd := exec.Command(os.Args[0], e.Addr)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: e.Do == "fork-away"} // leaves the process group
		cmd.Stdout = os.Stdout                                              // holds the log open
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		return reply(ctx, e), nil
	}
	return nil, fmt.Errorf("cannot %q", e.Do)
}

func reply(ctx context.Context, e event) answer {
	lc, _ := lambdacontext.FromContext(ctx)
	deadline, _ := ctx.Deadline()
	dir, _ := os.Getwd()
	a := answer{
		PID: os.Getpid(), Text: e.Text, RequestID: lc.AwsRequestID, ARN: lc.InvokedFunctionArn,
		Trace: os.Getenv("_X_AMZN_TRACE_ID"), LeftMS: time.Until(deadline).Milliseconds(), Dir: dir,
	}
	if e.Do == "env" {
		a.Env = os.Environ()
	}
	return a
}

func call(url string) error {
	resp, err := http.Get(url)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// hang does not end by itself, nor by asking.
func hang() {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
	for {
		time.Sleep(time.Hour)
	}
}

// child holds a connection for as long as it lives, and lives until the other end lets go of it.
func child(addr string) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		os.Exit(1)
	}
	fmt.Fprintln(conn, os.Getpid())
	io.Copy(io.Discard, conn)
	os.Exit(0)
}
