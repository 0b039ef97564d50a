package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

const goodConfig = `destinations:
  charge: {http: "https://api.example.com/charges?token=hunter2", deduplicates: 24h, row_headers: [X-Tenant], shards: 2}
  mail: {http: https://mail.example.com, deduplicates: never, send_timeout: 2m}
  old: {http: https://old.example.com, deduplicates: never, retired: true}
`

// TestMain gives the SDK what it needs, so that it looks nowhere else.
func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_REGION": "eu-central-1",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_EC2_METADATA_DISABLED": "true",
	} {
		os.Setenv(name, value)
	}
	for _, name := range []string{"AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB", "LANDFALL_OUTBOX_TABLE", "LANDFALL_CONTROL_TABLE", "LANDFALL_QUEUE_PREFIX", "LANDFALL_RECEIPTS_TABLE"} {
		os.Unsetenv(name)
	}
	os.Exit(m.Run())
}

type result struct {
	code           int
	stdout, stderr string
}

// execute runs a command line; the text of stdin is what it reads.
func execute(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), args, strings.NewReader(stdin), &stdout, &stderr)
	return result{code, stdout.String(), stderr.String()}
}

func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A script must not take a mistyped command line, a no and a yes for one another.
func TestExitCodesAreNotMixedUp(t *testing.T) {
	t.Parallel()
	good := write(t, "landfall.yaml", goodConfig)
	bad := write(t, "landfall.yaml", "destinations: {a: {http: https://x}}\n")
	tests := []struct {
		args   []string
		code   int
		stdout string
		stderr string
	}{
		{[]string{"validate", good}, 0, "is valid", ""},
		{[]string{"--config", good, "validate"}, 0, "is valid", ""},
		{[]string{"validate", bad}, 1, "", "destinations.a.deduplicates: missing"},
		{[]string{"validate", good + ".missing"}, 2, "", "no such file or directory: name it with --config; landfall init"},
		{[]string{"validate", filepath.Dir(good)}, 2, "", "read configuration"},
		{[]string{"validate", good, bad}, 2, "", "accepts at most 1 arg"},
		{[]string{"validate", "--output", "xml"}, 2, "", "allowed are table, json"},
		{[]string{"validate", "--colour"}, 2, "", "unknown flag: --colour"},
		{[]string{"version"}, 0, "landfall ", ""},
		{[]string{"version", "--output=json"}, 0, `"revision"`, ""},
		{[]string{"version", "x"}, 2, "", "unknown command"},
		{[]string{"--help"}, 0, "Usage:", ""},
		{[]string{"validate", "--help"}, 0, "validate [FILE]", ""},
		{nil, 2, "", "a command is missing"},
		{[]string{"valdate"}, 2, "", `unknown command "valdate"`},
		{[]string{"rows"}, 2, "", "a command is missing: audit, cancel, get, list, resolve, retry"},
		{[]string{"rows", "drop"}, 2, "", `unknown command "drop"`},
		{[]string{"rows", "get"}, 2, "", "accepts between 1 and 2 arg"},
		{[]string{"rows", "get", "not-a-name"}, 2, "", "a row's name is"},
		{[]string{"rows", "get", "Charge", "key"}, 2, "", "destination"},
		{[]string{"rows", "resolve", "charge", "k", "--reason", "r"}, 2, "", `required flag(s) "as" not set`},
		{[]string{"rows", "resolve", "charge", "k", "--as", "failed"}, 2, "", `required flag(s) "reason" not set`},
		{[]string{"rows", "resolve", "charge", "k", "--as", "retry", "--reason", "r"}, 2, "", "allowed are completed, failed, resend"},
		{[]string{"rows", "retry"}, 2, "", "accepts between 1 and 2 arg"},
		{[]string{"rows", "cancel", "not-a-name", "--config", good}, 2, "", "a row's name is"},
		{[]string{"rows", "list", "nobody", "--config", good}, 2, "", `"nobody" is no destination`},
		{[]string{"rows", "list", "--lane", "fast", "--config", good}, 2, "", "allowed are due, unknown, failed"},
		{[]string{"rows", "list", "--status", "completed", "--config", good}, 2, "", "completed rows are in no lane"},
		{[]string{"rows", "list", "--status", "failed", "--lane", "due", "--config", good}, 2, "", "no row of lane due is failed"},
		{[]string{"rows", "list", "--older-than", "-1h", "--config", good}, 2, "", "--older-than: want"},
		{[]string{"rows", "list", "mail", "--destination", "mail", "--config", good}, 2, "", "named twice"},
		{[]string{"rows", "list", "--limit", "0", "--config", good}, 2, "", "--limit: at least 1"},
		{[]string{"rows", "list", "--endpoint-url", "localhost:4570", "--config", good}, 2, "", "--endpoint-url: want http://host:port"},
		{[]string{"rows", "list", "--config", bad}, 2, "", "deduplicates: missing"},
		{[]string{"groups"}, 2, "", "a command is missing: describe, list, reset-route, set-route, test"},
		{[]string{"groups", "list", "--config", bad}, 2, "", "deduplicates: missing"},
		{[]string{"groups", "describe", "couriers", "--config", good}, 2, "", "it has none"},
		{[]string{"consumers"}, 2, "", "a command is missing: add, drain, list, remove"},
		{[]string{"destinations"}, 2, "", "a command is missing: limit, list, pause, resume, unlimit"},
		{[]string{"doctor", "x"}, 2, "", `unknown command "x"`},
		{[]string{"doctor", "--endpoint-url", "localhost:1", "--config", good}, 1, "stack: --endpoint-url: want http", "1 bad"},
		{[]string{"bench"}, 2, "", "not Landfall's source tree"},
		{[]string{"demo"}, 2, "", "not Landfall's source tree"},
		{[]string{"demo", "--rows", "0"}, 2, "", "--rows 0: want 1 or more"},
		{[]string{"demo", "--seed", "-1"}, 2, "", "--seed"},
		{[]string{"demo", "--payloads", good + ".missing"}, 2, "", "--payloads: read the payloads"},
		{[]string{"demo", "--payloads", t.TempDir()}, 2, "", "--payloads: read the payloads: no file below"},
		{[]string{"enqueue", "charge", "--key", "k"}, 2, "", `required flag(s) "data" not set`},
		{[]string{"enqueue", "--key", "k", "--data", "d"}, 2, "", "accepts 1 arg"},
		{[]string{"enqueue", "charge", "--key", "k", "--data", "@" + good + ".missing", "--config", good}, 2, "", "read --data"},
		{[]string{"enqueue", "charge", "--key", "k", "--data", "d", "--header", "a", "--config", good}, 2, "", "is not NAME=VALUE"},
		{[]string{"enqueue", "charge", "--key", "k", "--data", "d", "--header", "a=b", "--header", "a=c", "--config", good}, 2, "", "is there twice"},
		{[]string{"enqueue", "charge", "--key", "k", "--data", "d", "--config", bad}, 2, "", "deduplicates: missing"},
		{[]string{"enqueue", "old", "--key", "k", "--data", "d", "--config", good}, 2, "", "retired"},
		{[]string{"enqueue", "nobody", "--key", "k", "--data", "d", "--config", good}, 2, "", "not in the configuration"},
		{[]string{"enqueue", "charge", "--key", "", "--data", "d", "--config", good}, 2, "", "Key"},
		{[]string{"enqueue", "charge", "--key", "k", "--data", "d", "--header", "X-Other=b", "--config", good}, 2, "", "does not allow"},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			t.Parallel()
			got := execute(t, "", tt.args...)
			if got.code != tt.code {
				t.Errorf("exit code %d, want %d", got.code, tt.code)
			}
			if !strings.Contains(got.stdout, tt.stdout) || (tt.stdout == "" && got.stdout != "") {
				t.Errorf("stdout = %q, want in it %q", got.stdout, tt.stdout)
			}
			if !strings.Contains(got.stderr, tt.stderr) || (tt.stderr == "" && got.stderr != "") {
				t.Errorf("stderr = %q, want in it %q", got.stderr, tt.stderr)
			}
		})
	}
}

// Whoever gets no answer must be told what to do, and nothing that only the SDK's makers understand.
func TestNoAnswerIsNotAMystery(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(nil)
	gone.Close()
	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	config := write(t, "landfall.yaml", goodConfig)
	for _, command := range [][]string{
		{"rows", "list"}, {"rows", "get", "charge", "k"}, {"rows", "audit"}, {"destinations", "list"},
		{"enqueue", "charge", "--key", "k", "--data", "d"}, {"rows", "retry", "charge", "k", "--by", "me"},
	} {
		for _, tt := range []struct{ endpoint, key, want string }{
			{gone.URL, "local", "DynamoDB cannot be reached: see --endpoint-url, "},
			{gone.URL, "", "no AWS credentials: log in, "},
			{other.URL, "local", "404"},
		} {
			// In a process, because the SDK's own words go to its standard error.
			cmd := exec.CommandContext(t.Context(), os.Args[0], append(command, "--config", config, "--endpoint-url", tt.endpoint)...)
			cmd.Env = append(os.Environ(), asCommand+"=1", "AWS_ACCESS_KEY_ID="+tt.key, "AWS_SECRET_ACCESS_KEY="+tt.key)
			said, err := cmd.CombinedOutput()
			if text := string(said); cmd.ProcessState.ExitCode() != exitNo || !strings.Contains(text, tt.want) || strings.Contains(text, "SDK ") {
				t.Errorf("%v at %s: %v: %s; want %q", command, tt.endpoint, err, text, tt.want)
			}
		}
	}
}

func TestNobodyIsWaitedForForEver(t *testing.T) {
	t.Parallel()
	at, err := (&app{}).account(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if client, ok := at.sdk.HTTPClient.(*awshttp.BuildableClient); !ok || client.GetTimeout() <= 0 {
		t.Errorf("requests have no end: %T", at.sdk.HTTPClient)
	}
}

func TestAnInterruptionIsNotTakenForAFailure(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	code := run(ctx, []string{"rows", "get", "charge", "k", "--endpoint-url", "http://127.0.0.1:1"}, strings.NewReader(""), &stdout, &stderr)
	if code != exitNo || !strings.HasPrefix(stderr.String(), "interrupted: ") {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
}

// The demonstration writes to whatever answers at the endpoint, so it must not be one that only looks local.
func TestDemoTouchesNoEndpointElsewhere(t *testing.T) {
	t.Parallel()
	for _, endpoint := range []string{
		"https://dynamodb.eu-central-1.amazonaws.com", "http://127.0.0.1.example.com", "http://127.0.0.1@example.com",
		"http://localhost@example.com:80", "http://localhost.example.com", "http://example.com/127.0.0.1",
		"http://example.com#@127.0.0.1", "http://[::ffff:10.0.0.1]", "http://0.0.0.0:4566", "http://[::]:4566",
		"http://10.0.0.1", "http://2130706433", "http://127.1", "http://0x7f000001", "http://127.0.0.1\\@example.com",
		"//127.0.0.1", "127.0.0.1:4566", "localhost", "ftp://127.0.0.1", "http:127.0.0.1", "http://",
	} {
		if got := execute(t, "", "demo", "--endpoint-url", endpoint); got.code != exitUsage || got.stdout != "" || !strings.Contains(got.stderr, "endpoint") {
			t.Errorf("%s: %+v, want exit code 2", endpoint, got)
		}
	}
	demo := exec.CommandContext(t.Context(), os.Args[0], "demo") // a process, whose environment names one
	demo.Env = append(os.Environ(), asCommand+"=1", "AWS_ENDPOINT_URL=https://dynamodb.eu-central-1.amazonaws.com")
	if said, err := demo.CombinedOutput(); demo.ProcessState.ExitCode() != exitUsage || !strings.Contains(string(said), "not on this machine") {
		t.Errorf("AWS_ENDPOINT_URL: %v: %s", err, said)
	}
}

func TestValidateHidesNothingThatMatters(t *testing.T) {
	t.Parallel()
	path := write(t, "landfall.yaml", goodConfig+"  slow: {http: http://localhost:80, deduplicates: 5m, lookup: {http: \"http://localhost/{idempotency_key}\", rules: [{status: 404, then: not_found}]}}\n")
	got := execute(t, "", "validate", path)
	want := path + ` is valid. At most 16 sends at once, lanes swept by 1 in parallel.

DESTINATION  KIND  TARGET                           DEDUPLICATES  ATTEMPTS  CLAIMED UP TO  LATE ARRIVAL  LOOKUP  LANES  KEPT
charge       http  https://api.example.com/charges  24h           5         40s            10m           -       2      7d
mail         http  https://mail.example.com         never         5         2m10s          10m           -       1      7d
old          http  (retired)                        never         5         40s            10m           -       1      7d
slow         http  http://localhost:80              5m            5         40s            10m           http    1      7d
`
	if got.stdout != want {
		t.Errorf("stdout:\n%s\nwant:\n%s", got.stdout, want)
	}
	for _, warning := range []string{"has the effect of never", "every send will be refused", "every lookup will be refused"} {
		if !strings.Contains(got.stderr, warning) {
			t.Errorf("stderr lacks %q: %s", warning, got.stderr)
		}
	}
	// What it prints as JSON is a configuration that it accepts, and prints again.
	first := execute(t, "", "validate", path, "--output", "json")
	resolved := write(t, "landfall.json", first.stdout)
	if second := execute(t, "", "validate", resolved, "--output", "json"); second.code != 0 || second.stdout != first.stdout {
		t.Errorf("resolving again changes it: %+v", second)
	}
}
