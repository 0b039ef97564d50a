package devstack

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/landfall-dev/landfall/internal/awscall"
	"github.com/landfall-dev/landfall/internal/invoke"
)

// TestInvocationOverTheAPIGetsItsOwnAnswer asks through the SDK's client, as functions do.
func TestInvocationOverTheAPIGetsItsOwnAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t, Function{})
	server := httptest.NewServer(b.Stack)
	defer server.Close()
	sdk := aws.Config{Region: "eu-central-1", BaseEndpoint: aws.String(server.URL), Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")}
	i := invoke.New(sdk)
	for _, function := range []string{"fn", "fn:live", "fn:$LATEST", "arn:aws:lambda:eu-central-1:123456789012:function:fn"} {
		answer, functionError, err := i.Invoke(t.Context(), function, []byte(`{"text": "é"}`))
		var got reply
		if err != nil || functionError != "" || json.Unmarshal(answer, &got) != nil || got.Text != "é" {
			t.Errorf("%s: %s, %q, %v", function, answer, functionError, err)
		}
	}
	for do, want := range map[string]string{"error": "refused on purpose", "exit": "Runtime.ExitError"} {
		answer, functionError, err := i.Invoke(t.Context(), "fn", []byte(`{"do": "`+do+`"}`))
		if err != nil || functionError != Unhandled || !strings.Contains(string(answer), want) {
			t.Errorf("%s: %s, %q, %v", do, answer, functionError, err)
		}
	}
	for _, tc := range []struct{ function, event, want string }{
		{"another", `{}`, "ResourceNotFoundException"},
		{"fn", `{`, "InvalidRequestContentException"},
		{"fn", `"` + strings.Repeat("x", MaxRequest) + `"`, "RequestTooLargeException"},
	} {
		if _, _, err := i.Invoke(t.Context(), tc.function, []byte(tc.event)); awscall.Code(err) != tc.want || !awscall.Refused(err) {
			t.Errorf("%s %.10s: %v, want %s", tc.function, tc.event, err, tc.want)
		}
	}
	_, err := lambda.NewFromConfig(sdk).Invoke(t.Context(), &lambda.InvokeInput{FunctionName: aws.String("fn"), InvocationType: types.InvocationTypeEvent})
	if awscall.Code(err) != "InvalidParameterValueException" {
		t.Errorf("asynchronously: %v", err)
	}
	for _, target := range []string{"/", InvokePath + "fn", "/2015-03-31/functions"} {
		answer := httptest.NewRecorder()
		b.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, target, nil))
		if answer.Code != http.StatusNotFound {
			t.Errorf("%s: %d", target, answer.Code)
		}
	}
}

func TestThrottledInvocationsOverTheAPIAreNotRun(t *testing.T) {
	t.Parallel()
	b := setup(t, Function{Concurrency: 1})
	server := httptest.NewServer(b.Stack)
	defer server.Close()
	i := invoke.New(aws.Config{Region: "eu-central-1", BaseEndpoint: aws.String(server.URL), Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")})
	running, done := make(chan struct{}), make(chan struct{})
	gate := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(running); <-done }))
	defer gate.Close()
	first := make(chan error)
	go func() {
		_, _, err := i.Invoke(t.Context(), "fn", []byte(`{"url": "`+gate.URL+`"}`))
		first <- err
	}()
	<-running
	if _, _, err := i.Invoke(t.Context(), "fn", nil); awscall.Code(err) != "TooManyRequestsException" || !awscall.Refused(err) {
		t.Errorf("the second: %v", err)
	}
	close(done)
	if err := <-first; err != nil {
		t.Errorf("the first: %v", err)
	}
}
