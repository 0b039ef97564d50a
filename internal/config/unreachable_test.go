package config_test

import (
	"slices"
	"testing"

	"github.com/landfall-dev/landfall/internal/config/yamlconfig"
)

func TestUnreachableTargetsAreThoseThatOnlyThisMachineOrAVPCReaches(t *testing.T) {
	t.Parallel()
	cfg, err := yamlconfig.Parse("landfall.yaml", []byte(`
destinations:
  far: {http: "https://example.com/", deduplicates: never, lookup: {http: "http://192.168.1.1/{idempotency_key}", rules: [{status: 404, then: not_found}]}}
  here: {http: "http://localhost:8080/", allow_private: true, deduplicates: never}
  inside: {http: "http://10.1.2.3/", allow_private: true, deduplicates: never}
  old: {http: "http://127.0.0.1/", allow_private: true, deduplicates: never, retired: true}
  queue: {sqs: printer, deduplicates: never}
`))
	if err != nil {
		t.Fatal(err)
	}
	for vpc, want := range map[bool][]string{
		false: {"destinations.far.lookup.http", "destinations.here.http", "destinations.inside.http"},
		true:  {"destinations.here.http"},
	} {
		var got []string
		for _, p := range cfg.Unreachable(vpc) {
			got = append(got, p.Path)
		}
		if !slices.Equal(got, want) {
			t.Errorf("vpc %v: %q, want %q", vpc, got, want)
		}
	}
}
