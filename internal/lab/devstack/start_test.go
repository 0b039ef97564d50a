package devstack

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestFailedStartIsReported(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		init    string
		payload string
		log     string
	}{
		"exits": {"exit", `"errorMessage":"RequestId: \S{36} Error: Runtime exited with error: exit status 3","errorType":"Runtime.ExitError"`,
			`^\[fn\] cannot start: no configuration$`},
		"reports": {"report", `{"errorType":"Config.Missing","errorMessage":"no configuration"}`,
			`^\[fn\] INIT_REPORT Status: error Error Type: Config.Missing Message: no configuration$`},
		"hangs": {"hang", `"errorMessage":"RequestId: \S{36} Error: Init timed out after 0.50 seconds","errorType":"Sandbox.Timedout"`,
			`^\[fn\] RequestId: \S{36} Error: Init timed out after 0.50 seconds Sandbox.Timedout$`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, Function{Env: map[string]string{"INIT": c.init}})
			if c.init == "hang" {
				b.pools["fn"].initLimit = 500 * time.Millisecond
			}
			result := b.invoke(event{})
			if result.FunctionError != Unhandled || !regexp.MustCompile(c.payload).Match(result.Payload) {
				t.Errorf("got %q %s", result.FunctionError, result.Payload)
			}
			if !slices.ContainsFunc(b.log.lines(), regexp.MustCompile(c.log).MatchString) {
				t.Errorf("log says %q", b.log.lines())
			}
		})
	}
}

func TestProcessThatStopsListeningIsEnded(t *testing.T) {
	t.Parallel()
	b := setup(t, Function{Env: map[string]string{"INIT": "poll-and-hang"}, Timeout: 500 * time.Millisecond})
	b.pools["fn"].initLimit = 500 * time.Millisecond
	// It depends on the moment whether the event still goes out, but not that the end is an error.
	if result := b.invoke(event{}); result.ErrorType() != "Sandbox.Timedout" && result.ErrorType() != "Runtime.ExitError" {
		t.Errorf("got %s", result.Payload)
	}
	if b.count() != 0 {
		t.Error("the process is kept")
	}
}

func TestProcessThatDiesBeforeTheEventFailsTheInvocation(t *testing.T) {
	t.Parallel()
	b := setup(t, Function{Env: map[string]string{"INIT": "poll-and-exit"}})
	if result := b.invoke(event{}); result.ErrorType() != "Runtime.ExitError" {
		t.Errorf("got %s", result.Payload)
	}
}

func TestFileThatCannotRunIsReported(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bootstrap")
	if err := os.WriteFile(path, []byte("\x00not a program"), 0o755); err != nil {
		t.Fatal(err)
	}
	s, err := Start(Config{Functions: []Function{{Name: "broken", Path: path}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop(context.Background())
	result, err := s.Invoke(context.Background(), "broken", nil)
	if err != nil || result.ErrorType() != "Runtime.InvalidEntrypoint" {
		t.Errorf("got %s, %v", result.Payload, err)
	}
}

func TestDeveloperCredentialsStayOutsideTheFunction(t *testing.T) { // alone: it sets variables
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE",
		"AWS_CONFIG_FILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "HOME", "HTTP_PROXY", "SOME_TOKEN"} {
		t.Setenv(name, "the-developers-own")
	}
	b := setup(t, Function{Env: map[string]string{"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, Memory: 256})
	r := b.ask(event{Do: "env"})
	got := make(map[string]string)
	for _, v := range r.Env {
		name, value, _ := strings.Cut(v, "=")
		got[name] = value
		if value == "the-developers-own" {
			t.Errorf("%s reached the function", name)
		}
	}
	want := map[string]string{
		"AWS_LAMBDA_FUNCTION_NAME": "fn", "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "256", "AWS_LAMBDA_LOG_GROUP_NAME": "/aws/lambda/fn",
		"_HANDLER": "bootstrap", "AWS_REGION": "eu-central-1", "AWS_DEFAULT_REGION": "eu-central-1",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_EC2_METADATA_DISABLED": "true",
		"LAMBDA_TASK_ROOT": r.Dir, "AWS_ENDPOINT_URL": "http://127.0.0.1:1", "TZ": ":UTC",
	}
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s is %q, not %q", name, got[name], value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if strings.Contains(name, "PROXY") {
			t.Errorf("%s is set", name)
		}
	}
	if !regexp.MustCompile(`^\d{4}/\d\d/\d\d/\[\$LATEST\][0-9a-f]{32}$`).MatchString(got["AWS_LAMBDA_LOG_STREAM_NAME"]) {
		t.Errorf("log stream %q", got["AWS_LAMBDA_LOG_STREAM_NAME"])
	}
}

func TestWrongFunctionsAreNotStarted(t *testing.T) {
	t.Parallel()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	good := Function{Name: "fn", Path: path}
	with := func(change func(*Function)) []Function {
		f := good
		change(&f)
		return []Function{f}
	}
	for name, c := range map[string]struct {
		functions []Function
		want      string
	}{
		"no name":              {with(func(f *Function) { f.Name = "" }), `function "": a name is`},
		"name with a slash":    {with(func(f *Function) { f.Name = "a/b" }), "a name is"},
		"same name twice":      {[]Function{good, good}, "the name is given twice; names must differ"},
		"no path":              {with(func(f *Function) { f.Path = "" }), "path is missing: give the path of an executable"},
		"missing file":         {with(func(f *Function) { f.Path = "/nowhere/bootstrap" }), "build it first"},
		"folder":               {with(func(f *Function) { f.Path = "/" }), "not an executable file"},
		"not executable":       {with(func(f *Function) { f.Path = "doc.go" }), "not an executable file"},
		"timeout too long":     {with(func(f *Function) { f.Timeout = time.Hour }), "timeout 1h0m0s is not within"},
		"negative timeout":     {with(func(f *Function) { f.Timeout = -1 }), "is not within"},
		"too little memory":    {with(func(f *Function) { f.Memory = 1 }), "memory 1 is not within"},
		"negative concurrency": {with(func(f *Function) { f.Concurrency = -1 }), "concurrency -1"},
		"reserved variable":    {with(func(f *Function) { f.Env = map[string]string{"AWS_REGION": "x"} }), "AWS_REGION is reserved"},
		"variable with =":      {with(func(f *Function) { f.Env = map[string]string{"A=B": "x"} }), "invalid name"},
		"NUL in a value":       {with(func(f *Function) { f.Env = map[string]string{"A": "\x00"} }), "NUL"},
	} {
		s, err := Start(Config{Functions: c.functions})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v", name, err)
		}
		if s != nil {
			s.Stop(context.Background())
		}
	}
}
