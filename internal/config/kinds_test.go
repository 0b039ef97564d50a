package config_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/landfall-dev/landfall/internal/config"
)

// badTargets are values in place of a destination's keys, each with one mistake, in a file with the group couriers.
var badTargets = []struct {
	value string // in place of the destination's keys, {...}
	want  string // place and message
	fits  bool   // the schema, which does not see it
}{
	{`{sqs: mail}`, `2:3: destinations.pay.deduplicates: is missing`, false},
	{`{sqs: "", deduplicates: never}`, `sqs: is empty`, false},
	{`{sqs: "a b", deduplicates: never}`, `2:14: destinations.pay.sqs: "a b" is no queue of SQS: write its name or its ARN`, false},
	{`{sqs: "https://sqs.eu-west-1.amazonaws.com/1/q", deduplicates: never}`, `is no queue of SQS`, false},
	{`{sqs: ` + strings.Repeat("a", 76) + `.fifo, deduplicates: never}`, `is no queue of SQS`, false},
	{`{sqs: landfall-ingress-couriers, deduplicates: never}`, `is the ingress queue of group couriers: write group: couriers`, true},
	{`{sqs: mail, base64: yes, deduplicates: never}`, `base64: is yes, want true or false`, false},
	{`{sqs: mail, method: PUT, deduplicates: never}`, `2:20: destinations.pay.method: belongs to destinations of kind http, and this one is of kind sqs: a destination takes exactly one of http, sqs, group`, false},
	{`{sqs: mail, key_header: X-Key, deduplicates: never}`, `key_header: belongs to destinations of kind http`, false},
	{`{sqs: mail, headers: {X-A: a}, deduplicates: never}`, `headers: belongs to destinations of kind http`, false},
	{`{sqs: mail, row_headers: [X-A], deduplicates: never}`, `row_headers: belongs to destinations of kind http`, false},
	{`{sqs: mail, statuses: {409: completed}, deduplicates: never}`, `statuses: belongs to destinations of kind http`, false},
	{`{sqs: mail, remote_ref: {header: X-A}, deduplicates: never}`, `remote_ref: belongs to destinations of kind http`, false},
	{`{sqs: mail, secret: s, deduplicates: never}`, `secret: belongs to destinations of kind http`, false},
	{`{sqs: mail, http: https://x, deduplicates: never}`, `http: belongs to destinations of kind http, and this one is of kind sqs`, false},
	{`{http: https://x, sqs: mail, deduplicates: never}`, `2:26: destinations.pay.sqs: belongs to destinations of kind sqs, and this one is of kind http`, false},
	{`{http: https://x, base64: true, deduplicates: never}`, `base64: belongs to destinations of kind sqs`, false},
	{`{http: https://x, group: couriers, deduplicates: never}`, `group: belongs to destinations of kind group`, false},
	{`{sqs: mail, qqq: 1, deduplicates: never}`, `qqq: is no key of Landfall. Allowed here are allow_private, attempts, backoff, base64, concurrency`, false},

	{`{group: courier}`, `2:16: destinations.pay.group: "courier" is no group of this file: couriers?`, true},
	{`{group: zebras}`, `"zebras" is no group of this file: there are couriers`, true},
	{`{group: ""}`, `group: is empty`, false},
	{`{group: [couriers]}`, `group: is a list, want text`, false},
	{`{group: couriers, deduplicates: 24h}`, `2:40: destinations.pay.deduplicates: 24h is not possible: a group deduplicates for 15d`, false},
	{`{group: couriers, deduplicates: never}`, `never is not possible`, false},
	{`{group: couriers, retention: 479h}`, `2:37: destinations.pay.retention: 479h is too short: while the group has a receipt, a new row under the same key would be the old message; at least 20d, or leave it out`, true},
	{`{group: couriers, late_arrival: 10m}`, `2:40: destinations.pay.late_arrival: 10m is not possible: a row can wait in a group's ingress queue for 4d`, false},
	{`{group: couriers, base64: true}`, `base64: belongs to destinations of kind sqs, and this one is of kind group`, false},
	{`{group: couriers, method: PUT}`, `method: belongs to destinations of kind http`, false},
}

func TestBadTargetsAreNotAccepted(t *testing.T) {
	t.Parallel()
	for _, tt := range badTargets {
		src := "destinations:\n  pay: " + tt.value + "\ngroups:\n  couriers: {accept: explicit, route: least_loaded}\n"
		mustRefuse(t, src, tt.want)
		var problems *config.Error
		if _, err := config.ParseYAML("f", []byte(src)); errors.As(err, &problems) && len(problems.Problems) != 1 {
			t.Errorf("%s: error = %v\nwant one problem", tt.value, err)
		}
		if fits := fitsSchema([]byte(src)) == nil; fits != tt.fits {
			t.Errorf("%s fits the schema: %v", tt.value, fits)
		}
	}
	mustRefuse(t, "destinations:\n  pay: {group: couriers}\n", `"couriers" is no group of this file: there are none (groups:)`)
}

func TestBadResolvedTargetsAreNotLoaded(t *testing.T) {
	t.Parallel()
	src := "destinations:\n  a: {sqs: q, deduplicates: never}\n  b: {group: g}\ngroups:\n  g: {accept: explicit, route: least_loaded}\n"
	cfg, err := config.ParseYAML("f", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	good, err := cfg.Resolved()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ old, new, want string }{
		{`"sqs": "q"`, `"sqs": ""`, "destinations.a: has no target"},
		{`"sqs": "q"`, `"sqs": "q", "method": "PUT"`, "destinations.a: has keys of several kinds"},
		{`"sqs": "q"`, `"sqs": "q", "group": "g"`, "destinations.a: has keys of several kinds"},
		{`"group": "g"`, `"group": "h"`, `"h" is no group of this file`},
		{`"15d"`, `"14d"`, "destinations.b.deduplicates: 14d is not possible"},
		{`"4d"`, `"3d"`, "destinations.b.late_arrival: 3d is not possible"},
	} {
		_, err := config.ParseJSON("f", []byte(strings.Replace(string(good), tt.old, tt.new, 1)))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s instead of %s: error = %v, want in it: %s", tt.new, tt.old, err, tt.want)
		}
	}
}

// While there is its receipt, a new row under an old key would be taken for the old message, and be lost.
func TestNoRowOfAGroupIsForgottenBeforeItsMessage(t *testing.T) {
	t.Parallel()
	const file = "destinations: {c: {group: g}}\ngroups: {g: {accept: explicit, route: least_loaded}}\n"
	for defaults, want := range map[string]time.Duration{
		"": 480 * time.Hour, "defaults: {retention: 1h}\n": 480 * time.Hour, "defaults: {retention: 30d}\n": 720 * time.Hour,
	} {
		cfg, err := config.ParseYAML("f", []byte(file+defaults))
		if err != nil {
			t.Fatal(err)
		}
		if got := cfg.Destinations["c"].Policy().Retention; got != want {
			t.Errorf("%q: %v, want %v", defaults, got, want)
		}
	}
}

// A minute is for AWS's own, unless the file says otherwise; a group's four days are nobody's to change.
func TestLateArrivalIsNotThatOfAnotherKind(t *testing.T) {
	t.Parallel()
	const file = "destinations: {a: {http: https://x, deduplicates: never}, b: {sqs: q, deduplicates: never}, c: {group: g}, d: {sqs: p, deduplicates: never, late_arrival: 3m}}\n" +
		"groups: {g: {accept: explicit, route: least_loaded}}\n"
	for defaults, want := range map[string][4]time.Duration{
		"":                               {10 * time.Minute, time.Minute, 96 * time.Hour, 3 * time.Minute},
		"defaults: {late_arrival: 2m}\n": {2 * time.Minute, 2 * time.Minute, 96 * time.Hour, 3 * time.Minute},
	} {
		cfg, err := config.ParseYAML("f", []byte(file+defaults))
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

func TestAFIFOQueueIsNotTrustedForLongerThanItRemembersInSilence(t *testing.T) {
	t.Parallel()
	for keys, warns := range map[string]bool{
		"sqs: q.fifo, deduplicates: 5m":     false,
		"sqs: q.fifo, deduplicates: never":  false,
		"sqs: q.fifo, deduplicates: 301s":   true,
		"sqs: q.fifo, deduplicates: always": true,
		"sqs: q, deduplicates: always":      false,
	} {
		cfg, err := config.ParseYAML("f", []byte("destinations:\n  a: {"+keys+"}\n"))
		if err != nil {
			t.Fatal(err)
		}
		if got := cfg.Warnings(); (len(got) > 0) != warns || warns && !strings.Contains(got[0], "recognises a repetition for 5m") {
			t.Errorf("%s: %q", keys, got)
		}
	}
}
