package yamlconfig_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/config/yamlconfig"
)

// Each file has one mistake, which must be one error: what follows from it is not reported.
func TestUnknownKeyIsOneErrorThatNamesTheKeyThatWasMeant(t *testing.T) {
	t.Parallel()
	const group = "groups: {couriers: {accept: explicit, route: least_loaded}}\n"
	for _, tt := range []struct{ src, want string }{
		{"destinations:\n  mail: {sqss: my-queue, deduplicates: never}\n", "destinations.mail.sqss: unknown key; did you mean sqs?"},
		{"destinations:\n  jobs: {gruop: couriers}\n" + group, "destinations.jobs.gruop: unknown key; did you mean group?"},
		{"destinations:\n  pay: {htp: https://x, deduplicates: never}\n", "destinations.pay.htp: unknown key; did you mean http?"},
		{"destinations:\n  pay: {http: https://x, dedup: 24h}\n", "destinations.pay.dedup: unknown key; did you mean deduplicates?"},
		{"destinations:\n  pay: {http: https://x, deduplicates: never, bas64: true}\n", "did you mean base64? Only destinations of kind sqs have it"},
		{"destinations:\n  pay: {http: https://x, deduplicates: never, rules: []}\n", "rules belongs under destinations.NAME.lookup"},
		{"destinations:\n  pay: {http: https://x, deduplicates: never, lookup: {lamda: f}}\n", "lookup.lamda: unknown key; did you mean lambda?"},
		{"attempts: 3\ndestinations:\n  pay: {http: https://x, deduplicates: never}\n", "attempts belongs under defaults or destinations.NAME"},
		{"destinations:\n  pay: {http: https://x, deduplicates: never, colour: blue}\n", "unknown key; allowed keys: allow_private, answers, attempts"},
		{"groups: {couriers: {accept: explicit, rout: least_loaded}}\n", "groups.couriers.rout: unknown key; did you mean route?"},
		{"destinations:\n  jobs: {group: couriers}\n" + strings.Replace(group, "groups", "gruops", 1), "gruops: unknown key; did you mean groups?"},
	} {
		_, err := yamlconfig.Parse("f", []byte(tt.src))
		var all *config.Error
		if !errors.As(err, &all) || len(all.Problems) != 1 || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%serror = %v\nwant one problem with: %s", tt.src, err, tt.want)
		}
	}
}

func TestLinesShowWhatIsWrittenUnlessItMayBeACredential(t *testing.T) {
	t.Parallel()
	for written, shown := range map[string]bool{
		"colour: blue":             true,
		"sns: blue":                true,
		"colour: {shade: blue}":    true,
		"api_token: blue":          false,
		"password: blue":           false,
		"authorization: blue":      false,
		"header: {X-A: blue}":      false,
		"options: {api-key: blue}": false,
	} {
		_, err := yamlconfig.Parse("f", []byte("destinations:\n  pay:\n    http: https://x\n    deduplicates: never\n    "+written+"\n"))
		if err == nil || strings.Contains(err.Error(), "blue") != shown {
			t.Errorf("%s: error = %v\nwant the value shown: %t", written, err, shown)
		}
	}
}
