package bench

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/landfall-dev/landfall/internal/config/yamlconfig"
	"github.com/landfall-dev/landfall/internal/schema"
)

// BenchmarkStart is a cold start as far as it is the program's: from the start of the process until it asks for its first
// event; CPU apart. "nothing" is a function that does nothing.
func BenchmarkStart(b *testing.B) {
	cfg, err := yamlconfig.Parse("landfall.yaml", []byte(`
destinations:
  charge: {http: https://api.example.com/charges, deduplicates: 24h}
groups:
  couriers: {accept: explicit, route: least_loaded, consumers: {north: {sqs: north}, south: {sqs: south}}}
`))
	if err != nil {
		b.Fatal(err)
	}
	resolved, err := cfg.Resolved()
	if err != nil {
		b.Fatal(err)
	}
	folder := b.TempDir()
	file := filepath.Join(folder, schema.ConfigFile)
	if err := os.WriteFile(file, resolved, 0o600); err != nil {
		b.Fatal(err)
	}
	asked, done := make(chan struct{}), make(chan struct{})
	runtime := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		select {
		case <-r.Context().Done(): // killed
		case <-done:
		}
	}))
	defer runtime.Close()
	defer close(done)
	for _, source := range []string{"internal/lab/bench/testdata/nothing", "functions/dispatch", "functions/stream", "functions/reconcile", "functions/route"} {
		binary := filepath.Join(folder, filepath.Base(source))
		build := exec.Command("go", "build", "-ldflags=-s -w", "-tags=lambda.norpc", "-o", binary, "./"+source)
		build.Dir = "../../.."
		if out, err := build.CombinedOutput(); err != nil {
			b.Fatalf("build %s: %v\n%s", source, err, out)
		}
		b.Run(filepath.Base(source), func(b *testing.B) {
			var cpu time.Duration
			for b.Loop() {
				cmd := exec.Command(binary)
				cmd.Env = []string{
					"AWS_LAMBDA_RUNTIME_API=" + strings.TrimPrefix(runtime.URL, "http://"), "AWS_REGION=us-east-1",
					"AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local", schema.ConfigEnv + "=" + file,
				}
				if err := cmd.Start(); err != nil {
					b.Fatal(err)
				}
				select {
				case <-asked:
				case <-time.After(time.Minute):
					b.Fatal("it did not ask for an event")
				}
				if err := cmd.Process.Kill(); err != nil {
					b.Fatal(err)
				}
				_ = cmd.Wait() // it was killed
				cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			}
			b.ReportMetric(float64(cpu)/float64(b.N), "cpu-ns/op")
		})
	}
}
