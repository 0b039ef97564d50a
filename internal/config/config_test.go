package config_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/config/yamlconfig"
	"github.com/landfall-dev/landfall/internal/outbox"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

const golden = "../../testdata/config"

// Each NAME.yaml in testdata/config has either NAME.json, what it resolves to, or NAME.txt, its error.
func TestConfigurationMatchesItsGoldenFile(t *testing.T) {
	t.Parallel()
	sources, err := filepath.Glob(filepath.Join(golden, "*.yaml"))
	if err != nil || len(sources) == 0 {
		t.Fatalf("no sources: %v", err)
	}
	for _, path := range sources {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			cfg, err := yamlconfig.Parse("landfall.yaml", src)
			if err != nil {
				compare(t, strings.TrimSuffix(path, "yaml")+"txt", err.Error()+"\n")
				return
			}
			resolved, err := cfg.Resolved()
			if err != nil {
				t.Fatal(err)
			}
			compare(t, strings.TrimSuffix(path, "yaml")+"json", string(resolved))
		})
	}
}

func compare(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// A resolved configuration must not change when it is read again, neither as JSON nor as YAML.
func TestResolvedConfigurationResolvesToItself(t *testing.T) {
	t.Parallel()
	resolved, err := filepath.Glob(filepath.Join(golden, "*.json"))
	if err != nil || len(resolved) == 0 {
		t.Fatalf("no resolved configurations: %v", err)
	}
	for _, path := range resolved {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for reader, parse := range map[string]func(string, []byte, ...config.Check) (*config.Config, error){"JSON": config.ParseJSON, "YAML": yamlconfig.Parse} {
				cfg, err := parse(path, want)
				if err != nil {
					t.Fatalf("%s: %v", reader, err)
				}
				got, err := cfg.Resolved()
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want), string(got)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", reader, diff)
				}
			}
		})
	}
}

// A file that was resolved elsewhere or changed by hand must not get past the checks.
func TestBadResolvedConfigurationIsRefused(t *testing.T) {
	t.Parallel()
	const good = `{"concurrency":16,"destinations":{"a":{"attempts":5,"backoff":{"factor":4,"first":"1s","max":"1m"},"concurrency":4,` +
		`"head_start":"5s","late_arrival":"10m","retention":"7d","send_timeout":"30s","shards":1,"deduplicates":"never","retired":false,` +
		`"http":"https://x","allow_private":false,"key_header":"Idempotency-Key","method":"POST"}},"log_successes":0,"parallelism":1}`
	if _, err := config.ParseJSON("f", []byte(good)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ old, new, want string }{
		{good, "", "the file ends too early"},
		{good, "{}", "concurrency: 0 is too small"},
		{good, "null", "no destinations and no groups; add at least one"},
		{good, "[]", "cannot be array"},
		{good, good + "x", "text after the end"},
		{good, "destinations:\n  a: {}\n", "invalid JSON at byte 1 of 22; make this file with `landfall validate"},
		{`"shards":1`, `"shards":0`, "destinations.a.shards: 0 is too small"},
		{`"shards":1`, `"shard":1`, `unknown field "shard"`},
		{`"method":"POST"`, `"method":"POST","secret":"a"`, "cannot be string"},
		{`"method":"POST"`, `"method":"POST","secret":{"header":"X-A","scheme":"none"}`, "destinations.a.secret.name: missing"},
		{`"method":"POST"`, `"method":"POST","secret":{"name":"s","header":"X-A"}`, "destinations.a.secret.scheme: missing"},
		{`"method":"POST"`, `"method":"POST","secret":{"name":"s","header":"x-a","scheme":"none"}`, "destinations.a.secret.header: write it X-A"},
		{`"method":"POST"`, `"method":"POST","secret":{"name":"s","header":"X-A","scheme":"none","value":"hunter2"}`, `unknown field "value"`},
		{`"shards":1`, `"shards":"1"`, "cannot be string"},
		{`"deduplicates":"never",`, ``, "destinations.a.deduplicates: missing"},
		{`"deduplicates":"never"`, `"deduplicates":"nevr"`, "nevr is not a duration"},
		{`"http":"https://x",`, ``, "destinations.a.http: missing; a destination needs http (a URL)"},
		{`"method":"POST"`, `"method":""`, `destinations.a.method: "" is not allowed`},
		{`"send_timeout":"30s"`, `"send_timeout":"30"`, "30 has no unit"},
		{`"method":"POST"`, `"method":"POST","headers":{"x-a":"b"}`, "headers.x-a: write it X-A"},
	} {
		_, err := config.ParseJSON("f", []byte(strings.Replace(good, tt.old, tt.new, 1)))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s instead of %.40s: error = %v, want in it: %s", tt.new, tt.old, err, tt.want)
		}
	}
}

func TestPolicyKeepsEverySetting(t *testing.T) {
	t.Parallel()
	cfg, err := yamlconfig.LoadFile(filepath.Join(golden, "everything.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	got := cfg.Destinations["charge"].Policy()
	if diff := cmp.Diff(outbox.Policy{
		Attempts:     7,
		Backoff:      outbox.Backoff{First: 2e9, Factor: 2.5, Max: 120e9},
		Concurrency:  3,
		Deduplicates: outbox.Window(36 * 3600e9),
		HeadStart:    10e9,
		LateArrival:  300e9,
		Retention:    15 * 24 * 3600e9,
		Retired:      true,
		SendTimeout:  1.5e9,
		Shards:       2,
	}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	defaults := outbox.Policy{HeadStart: time.Duration(config.DefaultHeadStart)} // the domain has none of its own
	if diff := cmp.Diff(defaults.WithDefaults(), cfg.Destinations["mail"].Policy()); diff != "" {
		t.Errorf("defaults differ from the domain's (-want +got):\n%s", diff)
	}
}

func TestUselessSettingsAreWarnedOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		keys string
		want string
	}{
		{`http: https://x, deduplicates: 645s`, "has the effect of never"}, // 30s + 10s + 10m + 5s
		{`http: https://x, deduplicates: 646s`, ""},
		{`http: https://x, deduplicates: always`, ""},
		{`http: https://x, deduplicates: never`, ""},
		{`http: "http://localhost:80", deduplicates: never`, "set allow_private"},
		{`http: "http://[::ffff:10.0.0.1]/", deduplicates: never`, "set allow_private"},
		{`http: "http://100.64.0.1/", deduplicates: never`, "set allow_private"},
		{`http: https://x, deduplicates: never, headers: {Authorization: a}`, "headers.Authorization looks like a credential"},
		{`http: https://x, deduplicates: never, headers: {x-api-key: a}`, "headers.X-Api-Key looks like a credential"},
		{`http: https://x, deduplicates: never, headers: {X-Tokens: a}`, "headers.X-Tokens looks like a credential"},
		{`http: https://x, deduplicates: never, headers: {X-Tenant: a, X-Author: b}`, ""},
		{`http: https://x, deduplicates: never, lookup: {http: "https://x/{remote_ref}", headers: {Cookie: a}, rules: [{status: 404, then: failed}]}`, "lookup.headers.Cookie looks like a credential"},
		{`http: "http://127.0.0.1/", deduplicates: never, allow_private: true`, ""},
		{`http: "http://10.0.0.1/", deduplicates: never, secret: a, allow_private: true`, ""},
		{`http: "http://x/", deduplicates: never, secret: a, allow_private: true`, ""},
		{`http: "https://x/", deduplicates: never, secret: a`, ""},
	} {
		cfg, err := yamlconfig.Parse("f", []byte("destinations:\n  a: {"+tt.keys+"}\n"))
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(cfg.Warnings(), "\n")
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: warnings %q, want %q", tt.keys, got, tt.want)
		}
	}
}

// Whatever is read must not panic, and what is valid must resolve to itself in both formats, and fit the schema.
func FuzzParse(f *testing.F) {
	sources, err := filepath.Glob(filepath.Join(golden, "*.*"))
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range sources {
		src, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) > 1<<14 {
			return // the parser's time grows with the square; see maxKeys
		}
		for _, parse := range []func(string, []byte, ...config.Check) (*config.Config, error){yamlconfig.Parse, config.ParseJSON} {
			cfg, err := parse("f", src)
			if err != nil {
				_ = err.Error()
				continue
			}
			resolved, err := cfg.Resolved()
			if err != nil {
				t.Fatalf("valid, but does not resolve: %v", err)
			}
			if err := fitsSchema(resolved); err != nil {
				t.Fatalf("valid, but unfit for the schema: %v\n%s", err, resolved)
			}
			for _, again := range []func(string, []byte, ...config.Check) (*config.Config, error){yamlconfig.Parse, config.ParseJSON} {
				second, err := again("f", resolved)
				if err != nil {
					t.Fatalf("does not load again: %v\n%s", err, resolved)
				}
				if diff := cmp.Diff(cfg, second, cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("changes when it is loaded again (-first +second):\n%s", diff)
				}
			}
		}
	})
}

// BenchmarkLoad is what a function pays when it starts.
func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if _, err := config.Load(filepath.Join(golden, "everything.json")); err != nil {
			b.Fatal(err)
		}
	}
}
