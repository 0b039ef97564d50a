package awscall_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/landfall-dev/landfall/internal/awscall"
)

// send sends a message to an endpoint and returns the error.
func send(ctx context.Context, endpoint string) error {
	client := sqs.NewFromConfig(aws.Config{
		Region: "us-east-1", BaseEndpoint: &endpoint, Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	}, func(o *sqs.Options) { o.Retryer = aws.NopRetryer{} })
	_, err := client.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: aws.String(endpoint + "/q"), MessageBody: aws.String("secret")})
	return err
}

// TestOnlyACallWithoutEffectIsRefused uses real sockets.
func TestOnlyACallWithoutEffectIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status  int
		code    string
		refused bool
		want    string
	}{
		"no such queue":      {400, "QueueDoesNotExist", true, "QueueDoesNotExist"},
		"no right":           {403, "AccessDeniedException", true, "AccessDeniedException"},
		"throttled":          {403, "RequestThrottled", true, "RequestThrottled"},
		"throttled by 5xx":   {503, "SlowDown", true, "SlowDown"},
		"failure":            {500, "InternalFailure", false, "InternalFailure"},
		"not there":          {503, "ServiceUnavailable", false, "ServiceUnavailable"},
		"no code of AWS's":   {400, "the body was: secret", true, awscall.UnknownError},
		"nonsense, but well": {200, "", false, ""},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			fmt.Fprintf(w, `{"__type": %q, "message": "you sent secret"`, "com.amazonaws.sqs#"+c.code)
			if c.status != 200 {
				fmt.Fprint(w, "}")
			}
		}))
		err := send(t.Context(), server.URL)
		server.Close()
		code := awscall.Code(err)
		if err == nil || awscall.Refused(err) != c.refused || c.want != "" && code != c.want || strings.Contains(code, "secret") {
			t.Errorf("%s: refused %v, code %q: %v", name, awscall.Refused(err), code, err)
		}
	}
}

func TestTroubleOfTheConnectionHasItsCode(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + l.Addr().String()
	l.Close()
	silent, asked := make(chan struct{}), make(chan struct{})
	remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/cut") {
			panic(http.ErrAbortHandler)
		}
		close(asked)
		<-silent
	}))
	defer remote.Close()
	defer close(silent)
	for name, c := range map[string]struct {
		url     string
		refused bool
		want    string
	}{
		"nothing listens":  {closed, true, awscall.NotConnected},
		"it is cut":        {remote.URL + "/cut", false, awscall.Cut},
		"it takes forever": {remote.URL, false, awscall.NoAnswer},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		if c.want == awscall.NoAnswer {
			go func() { <-asked; cancel() }() // its time is over
		}
		err := send(ctx, c.url)
		cancel()
		if err == nil || awscall.Refused(err) != c.refused || awscall.Code(err) != c.want {
			t.Errorf("%s: refused %v, code %q: %v", name, awscall.Refused(err), awscall.Code(err), err)
		}
	}
}
