package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/landfall-dev/landfall/internal/lab/localaws"
	"github.com/landfall-dev/landfall/internal/lab/loopback"
	"github.com/landfall-dev/landfall/internal/outboxdb"
)

const described = `<DescribeStacksResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/">
  <DescribeStacksResult><Stacks><member><StackName>landfall-prod</StackName><Outputs>
    <member><OutputKey>Other</OutputKey><OutputValue>x</OutputValue></member>
    <member><OutputKey>LandfallOutboxTable</OutputKey><OutputValue>landfall-prod-Outbox-1</OutputValue></member>
  </Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`

// TestRowsAreReadFromTheStacksTable serves CloudFormation and DynamoDB at one endpoint.
func TestRowsAreReadFromTheStacksTable(t *testing.T) {
	t.Parallel()
	tables, err := loopback.Listen("127.0.0.1:0", localaws.New(localaws.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tables.Close() })
	client := dynamodb.New(dynamodb.Options{
		Region: "eu-central-1", BaseEndpoint: aws.String(tables.URL), Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
	if _, err := client.CreateTable(t.Context(), outboxdb.Table("landfall-prod-Outbox-1")); err != nil {
		t.Fatal(err)
	}
	address, err := url.Parse(tables.URL)
	if err != nil {
		t.Fatal(err)
	}
	toTables := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(address) }}
	endpoint := serve(t, func(w http.ResponseWriter, r *http.Request, form url.Values) {
		switch {
		case r.Header.Get("X-Amz-Target") != "":
			toTables.ServeHTTP(w, r) // the signature, too, which localaws does not check
		case form.Get("Action") != "DescribeStacks" || form.Get("StackName") != "landfall-prod" || form.Get("Version") != "2010-05-15":
			t.Errorf("asked for %v", form)
		case !strings.Contains(r.Header.Get("Authorization"), "/eu-central-1/cloudformation/aws4_request"):
			t.Errorf("signed as %q", r.Header.Get("Authorization"))
		default:
			io.WriteString(w, described)
		}
	})
	args := []string{"--stack", "landfall-prod", "--endpoint-url", endpoint, "--config", write(t, "landfall.yaml", goodConfig)}
	for _, command := range [][]string{
		{"enqueue", "mail", "--key", "k", "--data", "{}"}, {"rows", "get", "mail", "k"}, {"rows", "list", "mail"}, {"rows", "audit"},
	} {
		if got := execute(t, "", append(command, args...)...); got.code != 0 {
			t.Errorf("%v: %d %s", command, got.code, got.stderr)
		}
	}
}

func TestWrongStackIsRefused(t *testing.T) {
	t.Parallel()
	const missing = `<ErrorResponse><Error><Type>Sender</Type><Code>ValidationError</Code><Message>Stack with id x does not exist</Message></Error></ErrorResponse>`
	for name, c := range map[string]struct {
		stack, answer string
		status, code  int
		want          string
	}{
		"missing":      {"x", missing, 400, 1, "describe stack x: ValidationError: Stack with id x does not exist"},
		"another's":    {"x", strings.Replace(described, "LandfallOutboxTable", "Table", 1), 200, 1, "stack x has no output LandfallOutboxTable"},
		"no stack":     {"x", "<DescribeStacksResponse/>", 200, 1, "want one stack of that name, found 0"},
		"no XML":       {"x", "hello", 200, 1, "the answer is not CloudFormation's (status 200)"},
		"a bad name":   {"a b", described, 200, 2, `--stack "a b": want a stack's name or ARN`},
		"wrong rights": {"x", "<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>", 403, 1, "AccessDenied"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			endpoint := serve(t, func(w http.ResponseWriter, _ *http.Request, _ url.Values) {
				w.WriteHeader(c.status)
				io.WriteString(w, c.answer)
			})
			got := execute(t, "", "rows", "list", "--stack", c.stack, "--endpoint-url", endpoint, "--config", write(t, "landfall.yaml", goodConfig))
			if got.code != c.code || !strings.Contains(got.stderr, c.want) {
				t.Errorf("exit code %d: %s; want %d, %s", got.code, got.stderr, c.code, c.want)
			}
		})
	}
}

func serve(t *testing.T, answer func(http.ResponseWriter, *http.Request, url.Values)) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var form url.Values
		if r.Header.Get("Content-Type") == "application/x-www-form-urlencoded" {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			if form, err = url.ParseQuery(string(body)); err != nil {
				t.Error(err)
			}
		}
		answer(w, r, form)
	}))
	t.Cleanup(server.Close)
	return server.URL
}
