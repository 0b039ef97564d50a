package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/config/yamlconfig"
	"github.com/landfall-dev/landfall/internal/routefn"
)

const groupConfig = `destinations:
  mail: {sqs: mail-queue, deduplicates: never}
  jobs: {group: couriers}
groups:
  couriers: {accept: explicit, accept_timeout: 2m, route: least_loaded, consumers: {north: {sqs: n}, south: {lambda: s}}}
  mailers: {accept: on_delivery, accept_timeout: 1h, route: {cel: "consumers[0].id"}}
`

func TestValidateShowsGroups(t *testing.T) {
	t.Parallel()
	path := write(t, "landfall.yaml", groupConfig)
	got := execute(t, "", "validate", path, "--rate", "1000")
	want := path + ` is valid. Sends in flight: at most 16. Lanes swept in parallel: 1.

DESTINATION  KIND   TARGET      DEDUPLICATES  ATTEMPTS  CLAIMED UP TO  LATE ARRIVAL  LOOKUP  SHARDS  RETENTION
jobs         group  couriers    15d           5         40s            4d            -       1       20d
mail         sqs    mail-queue  never         5         40s            1m            -       1       7d

GROUP     ACCEPT       ACCEPT TIMEOUT  MAX WAIT  ROUTE         CONSUMERS  IN FLIGHT OF 120000
couriers  explicit     2m              1h        least_loaded  2          120000
mailers   on_delivery  1h              1h        cel           0          -
`
	if got.stdout != want || got.code != 0 {
		t.Errorf("exit code %d, stdout:\n%s\nwant:\n%s%s", got.code, got.stdout, want, got.stderr)
	}
	only := write(t, "landfall.yaml", groupConfig[strings.Index(groupConfig, "groups:"):])
	if got := execute(t, "", "validate", only); got.code != 0 || strings.Contains(got.stdout, "DESTINATION") || !strings.Contains(got.stdout, "GROUP") {
		t.Errorf("groups alone: %+v", got)
	}
}

func TestRateBeyondSQSLimitIsInvalid(t *testing.T) {
	t.Parallel()
	path := write(t, "landfall.yaml", groupConfig)
	for _, tt := range []struct {
		rate, want string
		code       int
	}{
		{"0", "", 0},
		{"1000", "", 0},
		{"1000.01", ":5:48: groups.couriers.accept_timeout: at 1000.01 messages a second, 120002 can be in flight in the ingress queue, but SQS allows 120000: lower it to 1m59s, or spread", 1},
		{"4000", "480000 can be in flight in the ingress queue, but SQS allows 120000: lower it to 30s, or spread the messages over more groups", 1},
		{"200000", "SQS allows 120000: spread the messages over more groups", 1},
		{"-1", "--rate -1: want messages a second", 2},
		{"NaN", "--rate NaN: want", 2},
		{"1e9", "--rate 1e+09: want", 2},
	} {
		got := execute(t, "", "validate", path, "--rate", tt.rate)
		if got.code != tt.code || !strings.Contains(got.stderr, tt.want) || tt.want == "" && got.stderr != "" {
			t.Errorf("%s: exit code %d, want %d: %s\nwant in it: %s", tt.rate, got.code, tt.code, got.stderr, tt.want)
		}
	}
}

func TestExpressionThatDoesNotCompileIsInvalid(t *testing.T) {
	t.Parallel()
	bad := strings.Replace(groupConfig, "consumers[0].id", "consumers[0].idd", 1)
	path := write(t, "landfall.yaml", bad)
	const want = ":6:67: groups.mailers.route.cel: cel: line 1, column 13: undefined field 'idd'\n"
	if got := execute(t, "", "validate", path); got.code != 1 || !strings.Contains(got.stderr, want) {
		t.Errorf("exit code %d: %s\nwant in it: %s", got.code, got.stderr, want)
	}
	cfg, err := yamlconfig.Parse("f", []byte(bad))
	if err != nil {
		t.Fatal(err)
	}
	resolved, err := cfg.Resolved()
	if err != nil {
		t.Fatal(err)
	}
	if got := execute(t, "", "validate", write(t, "landfall.json", string(resolved))); got.code != 1 || !strings.Contains(got.stderr, "groups.mailers.route.cel: cel: line 1") {
		t.Errorf("resolved: %+v", got)
	}
}

// TestRoutesOfTheConfigurationAreThoseOfTheRouter.
func TestRoutesOfTheConfigurationAreThoseOfTheRouter(t *testing.T) {
	t.Parallel()
	for _, kind := range config.Routes() {
		without, with := routefn.Spec{Kind: routefn.Kind(kind)}, routefn.Spec{Kind: routefn.Kind(kind), Argument: "attempt"}
		if kind == "cel" {
			with.Argument = "consumers[0].id"
		}
		if (without.Validate() == nil) == (with.Validate() == nil) {
			t.Errorf("%s: %v, %v; want it to take an argument, or none", kind, without.Validate(), with.Validate())
		}
	}
	err := routefn.Spec{Kind: "?"}.Validate()
	if list := strings.Join(config.Routes(), ", "); err == nil || !strings.HasSuffix(err.Error(), list) {
		t.Errorf("the format has %s, but: %v", list, err)
	}
	var problems *config.Error
	if _, err := yamlconfig.Parse("f", []byte("groups: {a: {accept: explicit, route: '?'}}")); !errors.As(err, &problems) {
		t.Errorf("error = %v", err)
	}
}

func TestValidateWarnsThatTheExampleCannotBeDeployed(t *testing.T) {
	t.Parallel()
	got := execute(t, "", "validate", "../../landfall.yaml")
	if got.code != 0 || !strings.Contains(got.stderr, "warning: destinations.charge.http: 127.0.0.1 is the machine itself") {
		t.Errorf("exit code %d, stderr:\n%s", got.code, got.stderr)
	}
}
