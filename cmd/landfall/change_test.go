package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/landfall-dev/landfall/internal/outbox"
)

const ada = "arn:aws:sts::123456789012:assumed-role/Operator/ada"

func TestCallersARNStandsBesideTheName(t *testing.T) {
	t.Parallel()
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprintf(w, "<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>%s</Arn></GetCallerIdentityResult></GetCallerIdentityResponse>", ada)
	}))
	t.Cleanup(server.Close)
	sdk := aws.Config{
		Region: "eu-central-1", BaseEndpoint: &server.URL, RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""),
	}
	for _, c := range []struct {
		name, tables string // the endpoint of the tables
		status       int
		want, warned string
	}{
		{"AWS", "https://dynamodb.eu-central-1.amazonaws.com", 200, "ada " + ada, ""},
		{"no answer", "https://dynamodb.eu-central-1.amazonaws.com", 403, "ada", "only --by is recorded"},
		{"an AWS on this machine", "http://127.0.0.1:4566", 200, "ada", ""},
	} {
		status = c.status
		var stderr strings.Builder
		a, order := &app{stderr: &stderr}, &change{by: "ada"}
		a.sign(t.Context(), order, &tableClient{db: dynamodb.NewFromConfig(sdk, func(o *dynamodb.Options) { o.BaseEndpoint = &c.tables }), sdk: sdk})
		if order.by != c.want || (stderr.Len() > 0) != (c.warned != "") || !strings.Contains(stderr.String(), c.warned) {
			t.Errorf("%s: %q, warned %q; want %q, %q", c.name, order.by, stderr.String(), c.want, c.warned)
		}
	}
}

func TestNameGivesWayToTheARN(t *testing.T) {
	t.Parallel()
	long := "arn:aws:sts::123456789012:assumed-role/" + strings.Repeat("r", 64) + "/" + strings.Repeat("s", 20)
	for name, want := range map[string]string{
		"":                       ada,
		"ada":                    "ada " + ada,
		strings.Repeat("ä", 100): strings.Repeat("ä", (outbox.MaxByBytes-len(ada)-1)/2) + " " + ada,
	} {
		if got := beside(name, ada); got != want || len(got) > outbox.MaxByBytes {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	if got, want := beside("ada lovelace", long), "ada "+long; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	long += strings.Repeat("s", 44)
	if got := beside("ada", long); got != long[:outbox.MaxByBytes] {
		t.Errorf("%q", got)
	}
}
