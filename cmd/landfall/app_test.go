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

// TestExitCodesTellYesNoAndUsageApart, so that a script can tell a mistyped command line from a no.
func TestExitCodesTellYesNoAndUsageApart(t *testing.T) {
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
		{[]string{"validate", good + ".missing"}, 2, "", "no such file or directory: name it with --config, or write a first one with landfall init"},
		{[]string{"validate", filepath.Dir(good)}, 2, "", "read configuration"},
		{[]string{"validate", good, bad}, 2, "", "takes 0 to 1 arguments, but got 2"},
		{[]string{"validate", "--output", "xml"}, 2, "", `--output "xml": want table or json`},
		{[]string{"validate", "--colour"}, 2, "", "unknown flag: --colour"},
		{[]string{"version"}, 0, "landfall ", ""},
		{[]string{"version", "--output=json"}, 0, `"revision"`, ""},
		{[]string{"version", "x"}, 2, "", "takes no arguments, but got 1"},
		{[]string{"--help"}, 0, "Usage:", ""},
		{[]string{"validate", "--help"}, 0, "validate [FILE]", ""},
		{nil, 2, "", "missing command: choose one of bench, consumers"},
		{[]string{"valdate"}, 2, "", `unknown command "valdate": did you mean validate?`},
		{[]string{"rows"}, 2, "", "missing command: choose one of audit, cancel, get, list, resolve, retry"},
		{[]string{"rows", "drop"}, 2, "", `unknown command "drop": choose one of audit, cancel`},
		{[]string{"rows", "get"}, 2, "", "get takes 1 to 2 arguments, but got 0. Usage: landfall rows get {DESTINATION KEY | ROW}"},
		{[]string{"rows", "get", "not-a-name"}, 2, "", `"not-a-name" is not a row's name`},
		{[]string{"rows", "get", "Charge", "key"}, 2, "", "destination"},
		{[]string{"rows", "resolve", "charge", "k", "--reason", "r"}, 2, "", "resolve needs --as. Usage: landfall rows resolve"},
		{[]string{"rows", "resolve", "charge", "k", "--as", "failed"}, 2, "", "resolve needs --reason"},
		{[]string{"rows", "resolve", "charge", "k", "--as", "retry", "--reason", "r"}, 2, "", "--as retry: choose completed, failed or resend"},
		{[]string{"rows", "retry"}, 2, "", "retry takes 1 to 2 arguments"},
		{[]string{"rows", "cancel", "not-a-name", "--config", good}, 2, "", "is not a row's name"},
		{[]string{"rows", "list", "mial", "--config", good}, 2, "", `unknown destination "mial": the configuration has charge, mail, old`},
		{[]string{"rows", "list", "--lane", "fast", "--config", good}, 2, "", "--lane fast: choose due, unknown or failed"},
		{[]string{"rows", "list", "--status", "completed", "--config", good}, 2, "", "completed rows are not listed"},
		{[]string{"rows", "list", "--status", "failed", "--lane", "due", "--config", good}, 2, "", "--status failed: rows of this status are in lane failed, not in --lane due"},
		{[]string{"rows", "list", "--older-than", "-1h", "--config", good}, 2, "", "--older-than -1h0m0s: want a positive duration"},
		{[]string{"rows", "list", "mail", "--destination", "mail", "--config", good}, 2, "", "--destination mail: the argument names a destination, too"},
		{[]string{"rows", "list", "--older-than", "5"}, 2, "", `--older-than "5": want a duration such as 30s or 1h`},
		{[]string{"rows", "list", "--limit", "x"}, 2, "", `--limit "x": want a whole number`},
		{[]string{"rows", "list", "--limit"}, 2, "", "flag needs an argument: --limit"},
		{[]string{"rows", "list", "--limit", "0", "--config", good}, 2, "", "--limit 0: want 1 or more"},
		{[]string{"rows", "list", "--endpoint-url", "localhost:4570", "--config", good}, 2, "", "--endpoint-url: want http://host:port"},
		{[]string{"rows", "list", "--config", bad}, 2, "", "deduplicates: missing"},
		{[]string{"groups"}, 2, "", "missing command: choose one of describe, list, reset-route, set-route, test"},
		{[]string{"groups", "list", "--config", bad}, 2, "", "deduplicates: missing"},
		{[]string{"groups", "describe", "couriers", "--config", good}, 2, "", `unknown group "couriers": the configuration has no group`},
		{[]string{"consumers"}, 2, "", "missing command: choose one of add, drain, list, remove"},
		{[]string{"destinations"}, 2, "", "missing command: choose one of limit, list, pause, resume, unlimit"},
		{[]string{"doctor", "x"}, 2, "", "takes no arguments, but got 1"},
		{[]string{"doctor", "--endpoint-url", "localhost:1", "--config", good}, 1, "stack: --endpoint-url: want http", "1 bad"},
		{[]string{"bench"}, 2, "", "run this from Landfall's source tree"},
		{[]string{"demo"}, 2, "", "run this from Landfall's source tree"},
		{[]string{"demo", "--rows", "0"}, 2, "", "--rows 0: want 1 or more"},
		{[]string{"demo", "--seed", "-1"}, 2, "", "--seed"},
		{[]string{"demo", "--payloads", good + ".missing"}, 2, "", "--payloads: read the payloads"},
		{[]string{"demo", "--payloads", t.TempDir()}, 2, "", "--payloads: read the payloads: no file below"},
		{[]string{"enqueue", "charge", "--key", "k"}, 2, "", "enqueue needs --data"},
		{[]string{"enqueue", "--key", "k", "--data", "d"}, 2, "", "enqueue takes 1 argument, but got 0"},
		{[]string{"enqueue", "charge", "--key", "k", "--data", "@" + good + ".missing", "--config", good}, 2, "", "read --data"},
		{[]string{"enqueue", "charge", "--key", "k", "--data", "d", "--header", "a", "--config", good}, 2, "", "--header number 1: want NAME=VALUE"},
		{[]string{"enqueue", "charge", "--key", "k", "--data", "d", "--header", "a=b", "--header", "a=c", "--config", good}, 2, "", "--header a is given twice"},
		{[]string{"enqueue", "charge", "--key", "k", "--data", "d", "--config", bad}, 2, "", "deduplicates: missing"},
		{[]string{"enqueue", "old", "--key", "k", "--data", "d", "--config", good}, 2, "", "retired"},
		{[]string{"enqueue", "mial", "--key", "k", "--data", "d", "--config", good}, 2, "", "unknown destination"},
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

// TestMissingAnswerSaysWhatToDo, without words that only the makers of the SDK understand.
func TestMissingAnswerSaysWhatToDo(t *testing.T) {
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
			{gone.URL, "local", "DynamoDB cannot be reached: check --endpoint-url, "},
			{gone.URL, "", "no AWS credentials: log in or set AWS_PROFILE"},
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

func TestRequestsHaveATimeout(t *testing.T) {
	t.Parallel()
	at, err := (&app{}).account(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if client, ok := at.sdk.HTTPClient.(*awshttp.BuildableClient); !ok || client.GetTimeout() <= 0 {
		t.Errorf("requests have no end: %T", at.sdk.HTTPClient)
	}
}

func TestInterruptedCommandSaysSo(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	code := run(ctx, []string{"rows", "get", "charge", "k", "--endpoint-url", "http://127.0.0.1:1"}, strings.NewReader(""), &stdout, &stderr)
	if code != exitNo || !strings.HasPrefix(stderr.String(), "interrupted: ") {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
}

// TestDemoRefusesEndpointsThatOnlyLookLocal, because it writes to whatever answers there.
func TestDemoRefusesEndpointsThatOnlyLookLocal(t *testing.T) {
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

func TestValidateShowsDestinationsAndWarnings(t *testing.T) {
	t.Parallel()
	path := write(t, "landfall.yaml", goodConfig+"  slow: {http: http://localhost:80, deduplicates: 5m, lookup: {http: \"http://localhost/{idempotency_key}\", rules: [{status: 404, then: not_found}]}}\n")
	got := execute(t, "", "validate", path)
	want := path + ` is valid. Sends in flight: at most 16. Lanes swept in parallel: 1.

DESTINATION  KIND  TARGET                           DEDUPLICATES  ATTEMPTS  CLAIMED UP TO  LATE ARRIVAL  LOOKUP  SHARDS  RETENTION
charge       http  https://api.example.com/charges  24h           5         40s            10m           -       2       7d
mail         http  https://mail.example.com         never         5         2m10s          10m           -       1       7d
old          http  (retired)                        never         5         40s            10m           -       1       7d
slow         http  http://localhost:80              5m            5         40s            10m           http    1       7d
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
