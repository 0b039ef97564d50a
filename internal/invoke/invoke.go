// Package invoke calls functions of AWS Lambda synchronously, each call at most once: whether a function that may have
// run is called again is for the caller to decide. It knows nothing of what is asked or answered.
package invoke

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
)

// MaxAnswerBytes bounds what is read of an answer. Lambda itself allows for 6 MB
// (https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html).
const MaxAnswerBytes = 1 << 20

// AnswerTooLarge is the function error of a function that ran and answered more than MaxAnswerBytes.
const AnswerTooLarge = "Landfall.AnswerTooLarge"

// Invoker calls functions. Make one with [New]; it may be used from several goroutines at once.
type Invoker struct{ client *lambda.Client }

// New returns an Invoker for an account and region. Of the configuration's HTTP client and retries nothing is kept:
// the time that a call takes is its context's alone, and the SDK does not repeat.
func New(cfg aws.Config) *Invoker {
	return &Invoker{lambda.NewFromConfig(cfg, func(o *lambda.Options) {
		o.HTTPClient = bounded{awshttp.NewBuildableClient()}
		o.Retryer = aws.NopRetryer{}
	})}
}

// Invoke calls a function, by its name, name:alias or ARN, with an event, JSON of at most 6 MB, and waits for its answer
// until ctx ends. functionError is not "" if the function failed, ran out of its time or answered too much; the answer is
// then the runtime's description, which may repeat the event. An error says that no answer came; package awscall tells
// whether the function demonstrably did not run. Its text holds nothing of the event.
func (i *Invoker) Invoke(ctx context.Context, function string, event []byte) (answer []byte, functionError string, err error) {
	out, err := i.client.Invoke(ctx, &lambda.InvokeInput{FunctionName: &function, Payload: event})
	switch {
	case errors.Is(err, errTooLarge):
		return nil, AnswerTooLarge, nil
	case err != nil:
		return nil, "", fmt.Errorf("invoke %s: %w", function, err)
	}
	return out.Payload, aws.ToString(out.FunctionError), nil
}

var errTooLarge = errors.New("the answer is too large")

// bounded stops reading answers at the bound.
type bounded struct{ aws.HTTPClient }

// Do sends a body of its own: the SDK closes its body once an answer begins, while net/http may still be looking whether
// it has ended, and would take that for an error and cut the answer.
func (b bounded) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		event, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, fmt.Errorf("read event: %w", err)
		}
		r = r.Clone(r.Context())
		r.Body, r.GetBody = io.NopCloser(bytes.NewReader(event)), nil
	}
	resp, err := b.HTTPClient.Do(r)
	if err == nil {
		resp.Body = &body{ReadCloser: resp.Body, left: MaxAnswerBytes}
	}
	return resp, err
}

type body struct {
	io.ReadCloser
	left int64 // -1: beyond the bound
}

func (b *body) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errTooLarge
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left+1)])
	if b.left -= int64(n); b.left < 0 {
		return n - 1, errTooLarge
	}
	return n, err
}
