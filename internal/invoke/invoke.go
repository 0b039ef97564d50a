// Package invoke calls functions of AWS Lambda synchronously, each call at most once. Whether to call a function again
// that may have run is the caller's decision. The package knows nothing of events and answers.
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

// MaxAnswerBytes bounds an answer. Lambda itself allows 6 MB
// (https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html).
const MaxAnswerBytes = 1 << 20

// AnswerTooLarge is the function error of a function that ran and answered more than MaxAnswerBytes.
const AnswerTooLarge = "Landfall.AnswerTooLarge"

// Invoker calls functions. Make one with [New]; it may be used from several goroutines at once.
type Invoker struct{ client *lambda.Client }

// New returns an Invoker for an account and region. It does not use the configuration's HTTP client and retries: only the
// context bounds the time of a call, and the SDK does not repeat a call.
func New(cfg aws.Config) *Invoker {
	return &Invoker{lambda.NewFromConfig(cfg, func(o *lambda.Options) {
		o.HTTPClient = boundedClient{awshttp.NewBuildableClient()}
		o.Retryer = aws.NopRetryer{}
	})}
}

// Invoke calls a function, by its name, name:alias or ARN, with an event, JSON of at most 6 MB, and waits for its answer
// until ctx ends. If the function failed, ran out of time or gave an answer that is too large, functionError says so; the
// answer is then the runtime's description, which may repeat the event. An error means that no answer came; package
// awscall tells whether the function demonstrably did not run. The error's text contains nothing of the event.
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

// boundedClient stops reading an answer at the bound.
type boundedClient struct{ client aws.HTTPClient }

// Do sends a copy of the body. The SDK closes its own body once an answer begins, while net/http may still be checking
// whether the body has ended; net/http would report that as an error and cut the answer.
func (b boundedClient) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		event, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, fmt.Errorf("read event: %w", err)
		}
		r = r.Clone(r.Context())
		r.Body, r.GetBody = io.NopCloser(bytes.NewReader(event)), nil
	}
	resp, err := b.client.Do(r)
	if err == nil {
		resp.Body = &boundedBody{body: resp.Body, left: MaxAnswerBytes}
	}
	return resp, err
}

type boundedBody struct {
	body io.ReadCloser
	left int64 // -1: beyond the bound
}

func (b *boundedBody) Close() error { return b.body.Close() }

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errTooLarge
	}
	n, err := b.body.Read(p[:min(int64(len(p)), b.left+1)])
	if b.left -= int64(n); b.left < 0 {
		return n - 1, errTooLarge
	}
	return n, err
}
