package config_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/config/yamlconfig"
)

// badTargets are values in place of a destination's keys, each with one mistake, in a file with the group couriers.
var badTargets = []struct {
	value string // in place of the destination's keys, {...}
	want  string // place and message
	fits  bool   // the schema, which does not see it
}{
	{`{sqs: mail}`, `2:3: destinations.pay.deduplicates: missing; write never, always or a duration, such as 24h: how long this`, false},
	{`{sqs: "", deduplicates: never}`, `sqs: empty; write the name or ARN of a queue`, false},
	{`{sqs: "a b", deduplicates: never}`, `2:14: destinations.pay.sqs: "a b" is not an SQS queue; write its name or its ARN`, false},
	{`{sqs: "https://sqs.eu-west-1.amazonaws.com/1/q", deduplicates: never}`, `" is not an SQS queue; write its name or its ARN`, false},
	{`{sqs: ` + strings.Repeat("a", 76) + `.fifo, deduplicates: never}`, `" is not an SQS queue; write its name or its ARN`, false},
	{`{sqs: landfall-ingress-couriers, deduplicates: never}`, `this is the ingress queue of group couriers, where a row that is sent again would be another message; write`, true},
	{`{sqs: mail, base64: yes, deduplicates: never}`, `base64: yes is not allowed; write true or false`, false},
	{`{sqs: mail, method: PUT, deduplicates: never}`, `2:20: destinations.pay.method: only destinations of kind http have this key, and this one is of kind sqs`, false},
	{`{sqs: mail, key_header: X-Key, deduplicates: never}`, `key_header: only destinations of kind http have this key, and this one is of kind sqs`, false},
	{`{sqs: mail, headers: {X-A: a}, deduplicates: never}`, `headers: only destinations of kind http have this key, and this one is of kind sqs`, false},
	{`{sqs: mail, row_headers: [X-A], deduplicates: never}`, `row_headers: only destinations of kind http have this key, and this one is of kind sqs`, false},
	{`{sqs: mail, statuses: {409: completed}, deduplicates: never}`, `statuses: only destinations of kind http have this key, and this one is of kind sqs`, false},
	{`{sqs: mail, remote_ref: {header: X-A}, deduplicates: never}`, `remote_ref: only destinations of kind http have this key, and this one is of kind sqs`, false},
	{`{sqs: mail, secret: s, deduplicates: never}`, `secret: only destinations of kind http have this key, and this one is of kind sqs`, false},
	{`{sqs: mail, http: https://x, deduplicates: never}`, `http: only destinations of kind http have this key, and this one is of kind sqs; write exactly one of http,`, false},
	{`{http: https://x, sqs: mail, deduplicates: never}`, `2:26: destinations.pay.sqs: only destinations of kind sqs have this key, and this one is of kind http; write`, false},
	{`{http: https://x, base64: true, deduplicates: never}`, `base64: only destinations of kind sqs have this key, and this one is of kind http`, false},
	{`{http: https://x, group: couriers, deduplicates: never}`, `group: only destinations of kind group have this key, and this one is of kind http; write exactly one of`, false},
	{`{sqs: mail, qqq: 1, deduplicates: never}`, `qqq: unknown key; allowed keys: allow_private, attempts, backoff, base64, concurrency, deduplicates,`, false},

	{`{group: courier}`, `2:16: destinations.pay.group: unknown group "courier"; did you mean couriers?`, true},
	{`{group: zebras}`, `unknown group "zebras"; this file has couriers`, true},
	{`{group: ""}`, `group: empty; write the name of a group`, false},
	{`{group: [couriers]}`, `group: this is a list; write the name of a group`, false},
	{`{group: couriers, deduplicates: 24h}`, `2:40: destinations.pay.deduplicates: 24h is not allowed: a group deduplicates for 15d, as long as it keeps`, false},
	{`{group: couriers, deduplicates: never}`, `never is not allowed: a group deduplicates for 15d, as long as it keeps receipts; remove this key`, false},
	{`{group: couriers, retention: 479h}`, `2:37: destinations.pay.retention: 479h is too short: while the group keeps a receipt, a new row under the`, true},
	{`{group: couriers, late_arrival: 10m}`, `2:40: destinations.pay.late_arrival: 10m is not allowed: a row can wait in a group's ingress queue for 4d;`, false},
	{`{group: couriers, base64: true}`, `base64: only destinations of kind sqs have this key, and this one is of kind group`, false},
	{`{group: couriers, method: PUT}`, `method: only destinations of kind http have this key, and this one is of kind group`, false},
}

func TestBadTargetsAreRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range badTargets {
		src := "destinations:\n  pay: " + tt.value + "\ngroups:\n  couriers: {accept: explicit, route: least_loaded}\n"
		mustRefuse(t, src, tt.want)
		var problems *config.Error
		if _, err := yamlconfig.Parse("f", []byte(src)); errors.As(err, &problems) && len(problems.Problems) != 1 {
			t.Errorf("%s: error = %v\nwant one problem", tt.value, err)
		}
		if fits := fitsSchema([]byte(src)) == nil; fits != tt.fits {
			t.Errorf("%s fits the schema: %v", tt.value, fits)
		}
	}
	mustRefuse(t, "destinations:\n  pay: {group: couriers}\n", `unknown group "couriers"; this file has no groups: add it under groups`)
}

func TestBadResolvedTargetsAreRefused(t *testing.T) {
	t.Parallel()
	src := "destinations:\n  a: {sqs: q, deduplicates: never}\n  b: {group: g}\ngroups:\n  g: {accept: explicit, route: least_loaded}\n"
	cfg, err := yamlconfig.Parse("f", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	good, err := cfg.Resolved()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ old, new, want string }{
		{`"sqs": "q"`, `"sqs": ""`, "destinations.a.sqs: missing; a destination needs http"},
		{`"sqs": "q"`, `"sqs": "q", "method": "PUT"`, "destinations.a: has keys of kind http and of kind sqs"},
		{`"sqs": "q"`, `"sqs": "q", "group": "g"`, "destinations.a: has keys of kind sqs and of kind group"},
		{`"group": "g"`, `"group": "h"`, `unknown group "h"; this file has g`},
		{`"15d"`, `"14d"`, "destinations.b.deduplicates: 14d is not allowed"},
		{`"4d"`, `"3d"`, "destinations.b.late_arrival: 3d is not allowed"},
	} {
		_, err := config.ParseJSON("f", []byte(strings.Replace(string(good), tt.old, tt.new, 1)))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s instead of %s: error = %v, want in it: %s", tt.new, tt.old, err, tt.want)
		}
	}
}

// While there is its receipt, a new row under an old key would be taken for the old message, and be lost.
func TestRowsOfAGroupOutliveTheirMessages(t *testing.T) {
	t.Parallel()
	const file = "destinations: {c: {group: g}}\ngroups: {g: {accept: explicit, route: least_loaded}}\n"
	for defaults, want := range map[string]time.Duration{
		"": 480 * time.Hour, "defaults: {retention: 1h}\n": 480 * time.Hour, "defaults: {retention: 30d}\n": 720 * time.Hour,
	} {
		cfg, err := yamlconfig.Parse("f", []byte(file+defaults))
		if err != nil {
			t.Fatal(err)
		}
		if got := cfg.Destinations["c"].Policy().Retention; got != want {
			t.Errorf("%q: %v, want %v", defaults, got, want)
		}
	}
}

// A minute is for AWS's own, unless the file says otherwise; a group's four days are nobody's to change.
func TestLateArrivalFollowsTheKind(t *testing.T) {
	t.Parallel()
	const file = "destinations: {a: {http: https://x, deduplicates: never}, b: {sqs: q, deduplicates: never}, c: {group: g}, d: {sqs: p, deduplicates: never, late_arrival: 3m}}\n" +
		"groups: {g: {accept: explicit, route: least_loaded}}\n"
	for defaults, want := range map[string][4]time.Duration{
		"":                               {10 * time.Minute, time.Minute, 96 * time.Hour, 3 * time.Minute},
		"defaults: {late_arrival: 2m}\n": {2 * time.Minute, 2 * time.Minute, 96 * time.Hour, 3 * time.Minute},
	} {
		cfg, err := yamlconfig.Parse("f", []byte(file+defaults))
		if err != nil {
			t.Fatal(err)
		}
		for i, name := range cfg.Names() {
			if got := cfg.Destinations[name].Policy().LateArrival; got != want[i] {
				t.Errorf("%q: %s: %v, want %v", defaults, name, got, want[i])
			}
		}
	}
}

func TestLongWindowOfAFIFOQueueIsWarnedOf(t *testing.T) {
	t.Parallel()
	for keys, warns := range map[string]bool{
		"sqs: q.fifo, deduplicates: 5m":     false,
		"sqs: q.fifo, deduplicates: never":  false,
		"sqs: q.fifo, deduplicates: 301s":   true,
		"sqs: q.fifo, deduplicates: always": true,
		"sqs: q, deduplicates: always":      false,
	} {
		cfg, err := yamlconfig.Parse("f", []byte("destinations:\n  a: {"+keys+"}\n"))
		if err != nil {
			t.Fatal(err)
		}
		if got := cfg.Warnings(); (len(got) > 0) != warns || warns && !strings.Contains(got[0], "recognises a repetition for 5m") {
			t.Errorf("%s: %q", keys, got)
		}
	}
}
