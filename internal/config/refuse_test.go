package config_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/landfall-dev/landfall/internal/config"
)

// badValues are values in place of a destination's keys, each with one mistake.
var badValues = []struct {
	value string // in place of the destination's keys, {...}
	want  string // place and message
}{
	{`{deduplicates: never}`, `2:3: destinations.pay: has no target`},
	{`{http: https://x}`, `2:3: destinations.pay.deduplicates: is missing`},
	{`{http: https://x, deduplicates: 24}`, `2:40: destinations.pay.deduplicates: 24 has no unit: 24h?; allowed are never, always, or how long`},
	{`{http: https://x, deduplicates: 0}`, `destinations.pay.deduplicates: 0 is no time at all: write never`},
	{`{http: https://x, deduplicates: 0s}`, `write never`},
	{`{http: https://x, deduplicates: -24h}`, `-24h is negative`},
	{`{http: https://x, deduplicates: 1500ms}`, `1.5s: whole seconds only`},
	{`{http: https://x, deduplicates: forever}`, `forever is no duration`},
	{`{http: https://x, deduplicates: 99999d}`, `at most 3650d, or always`},
	{`{http: https://x, deduplicates: 999999999999d}`, `999999999999d is too long`},
	{`{http: https://x, deduplicates: 106751d24h}`, `106751d24h is too long`},
	{`{http: https://x, deduplicates: no}`, `no is no duration`},
	{`{http: https://x, deduplicates: ~}`, `has no value`},
	{`{http: https://x, deduplicates: }`, `has no value`},
	{`{http: https://x, deduplicates: [24h]}`, `is a list, want never, always, or how long`},
	{`{http: https://x, deduplicates: {a: b}}`, `has keys, want never, always, or how long`},

	{`{send_timeout: 10m1s, http: https://x, deduplicates: never}`, `2:23: destinations.pay.send_timeout: 10m1s is too long: at most 10m, because Lambda ends a function after 15m`},
	{`{send_timeout: 0s, http: https://x, deduplicates: never}`, `0s is too short: at least 1ms`},
	{`{send_timeout: 1us, http: https://x, deduplicates: never}`, `1µs is too short: at least 1ms`},
	{`{send_timeout: 30, http: https://x, deduplicates: never}`, `30 has no unit: 30s?`},
	{`{send_timeout: 1.5, http: https://x, deduplicates: never}`, `1.5 has no unit: 1.5s?`},
	{`{send_timeout: .inf, http: https://x, deduplicates: never}`, `.inf is no duration`},
	{`{send_timeout: .nan, http: https://x, deduplicates: never}`, `.nan is no duration`},
	{`{send_timeout: "", http: https://x, deduplicates: never}`, `is empty`},
	{`{send_timeout: 1d-1h, http: https://x, deduplicates: never}`, `1d-1h is no duration`},
	{`{send_timeout: 1:30, http: https://x, deduplicates: never}`, `1:30 is no duration`},
	{`{late_arrival: 31d, http: https://x, deduplicates: never}`, `31d is too long: at most 30d`},
	{`{late_arrival: 0s, http: https://x, deduplicates: never}`, `0s is too short`},
	{`{retention: 10ms, http: https://x, deduplicates: never}`, `10ms is too short: at least 1s`},
	{`{http: "https://::1/x", deduplicates: never}`, `must have an IPv6 address in brackets`},
	{`{head_start: 2m, http: https://x, deduplicates: never}`, `2m is too long: at most 1m`},
	{`{concurrency: 0, http: https://x, deduplicates: never}`, `0 is too small: at least 1`},
	{`{concurrency: 1001, http: https://x, deduplicates: never}`, `1001 is too large: at most 1000`},
	{`{shards: 010, http: https://x, deduplicates: never}`, `is 010, want a whole number`},
	{`{shards: 1_0, http: https://x, deduplicates: never}`, `is 1_0, want a whole number`},
	{`{shards: 0x10, http: https://x, deduplicates: never}`, `is 0x10, want a whole number`},
	{`{shards: 4.0, http: https://x, deduplicates: never}`, `is 4.0, want a whole number`},
	{`{shards: "4", http: https://x, deduplicates: never}`, `is "4", want a whole number`},
	{`{attempts: -1, http: https://x, deduplicates: never}`, `-1 is too small`},
	{`{attempts: 99999999999999999999999999999999999999, http: https://x, deduplicates: never}`, `is too large or too small`},
	{`{backoff: {factor: 0.5}, http: https://x, deduplicates: never}`, `backoff.factor: 0.5: write a number from 1 to 100`},
	{`{backoff: {factor: .nan}, http: https://x, deduplicates: never}`, `is .nan, want a number`},
	{`{backoff: {factor: 1e999}, http: https://x, deduplicates: never}`, `is 1e999, want a number`},
	{`{backoff: {first: 2m}, http: https://x, deduplicates: never}`, `destinations.pay.backoff.max: 1m is less than the first wait, 2m`},
	{`{backoff: {max: 8d}, http: https://x, deduplicates: never}`, `8d is too long: at most 7d`},
	{`{backoff: 5s, http: https://x, deduplicates: never}`, `backoff: is 5s, want keys with values`},
	{`{retired: yes, http: https://x, deduplicates: never}`, `is yes, want true or false`},
	{`{retired: "true", http: https://x, deduplicates: never}`, `want true or false`},

	{`{http: "", deduplicates: never}`, `http: is empty`},
	{`{http: 1, deduplicates: never}`, `http: is not text for YAML: write it in quotes`},
	{`{http: api.example.com, deduplicates: never}`, `must begin with https:// or http://`},
	{`{http: "ftp://x/y", deduplicates: never}`, `must begin with https:// or http://`},
	{`{http: "https:///path", deduplicates: never}`, `has no host`},
	{`{http: "https://:443/", deduplicates: never}`, `has no host`},
	{`{http: "https:x", deduplicates: never}`, `has no host`},
	{`{http: "https://x/#part", deduplicates: never}`, `no fragment`},
	{`{http: "https://x/#", deduplicates: never}`, `no fragment`},
	{`{http: "https://x:0/", deduplicates: never}`, `port must be 1 to 65535`},
	{`{http: "https://x:/", deduplicates: never}`, `port must be 1 to 65535`},
	{`{http: "https://x:65536/", deduplicates: never}`, `port must be 1 to 65535`},
	{`{http: "https://[::1", deduplicates: never}`, `is no URL`},
	{`{http: "https://bücher.example/", deduplicates: never}`, `visible ASCII only`},
	{`{http: "https://x/a b", deduplicates: never}`, `visible ASCII only`},
	{`{http: "https://x/{idempotency_key}", deduplicates: never}`, `{ } are not filled in`},
	{`{method: GET, http: https://x, deduplicates: never}`, `"GET" is not possible: allowed are POST, PUT, PATCH, DELETE`},
	{`{method: post, http: https://x, deduplicates: never}`, `"post" is not possible`},
	{`{key_header: Host, http: https://x, deduplicates: never}`, `Host cannot be set`},
	{`{key_header: "a b", http: https://x, deduplicates: never}`, `"a b" is no name of a header`},
	{`{headers: {idempotency-key: a}, http: https://x, deduplicates: never}`, `is the header of the idempotency key`},
	{`{headers: {content-length: "1"}, http: https://x, deduplicates: never}`, `2:35: destinations.pay.headers.Content-Length: Content-Length cannot be set: it follows from the payload`},
	{`{headers: {transfer-encoding: chunked}, http: https://x, deduplicates: never}`, `cannot be set: it belongs to the connection`},
	{`{headers: {Content-Type: text/plain}, http: https://x, deduplicates: never}`, `cannot be set: it comes from the row`},
	{`{headers: {"X:Y": a}, http: https://x, deduplicates: never}`, `"X:Y" is no name of a header`},
	{`{headers: {X-A: 1.10}, http: https://x, deduplicates: never}`, `headers.X-A: is not text for YAML: write it in quotes`},
	{`{headers: {X-A: "a\nb"}, http: https://x, deduplicates: never}`, `must be visible ASCII`},
	{`{headers: {X-A: " a"}, http: https://x, deduplicates: never}`, `must be visible ASCII`},
	{`{headers: {X-A: a, x-a: b}, http: https://x, deduplicates: never}`, `is there twice: the case of a header's name means nothing`},
	{`{headers: X-A, http: https://x, deduplicates: never}`, `headers: want names and values`},
	{`{headers: [X-A], http: https://x, deduplicates: never}`, `headers: is a list, want keys with values`},
	{`{row_headers: X-A, http: https://x, deduplicates: never}`, `is X-A, want a list of names`},
	{`{row_headers: [X-A, x-a], http: https://x, deduplicates: never}`, `2:28: destinations.pay.row_headers.1: X-A is there twice`},
	{`{row_headers: [X-A], headers: {x-a: b}, http: https://x, deduplicates: never}`, `X-A is one of the fixed headers`},
	{`{row_headers: [idempotency-key], http: https://x, deduplicates: never}`, `is the header of the idempotency key`},
	{`{row_headers: [[X-A]], http: https://x, deduplicates: never}`, `is a list, want text`},
	{`{statuses: {199: completed}, http: https://x, deduplicates: never}`, `statuses.199: is no status of a final answer: write 200 to 599`},
	{`{statuses: {600: completed}, http: https://x, deduplicates: never}`, `write 200 to 599`},
	{`{statuses: {4xx: completed}, http: https://x, deduplicates: never}`, `statuses.4xx: is no status`},
	{`{statuses: {0400: completed}, http: https://x, deduplicates: never}`, `is no status`},
	{`{statuses: {409: done}, http: https://x, deduplicates: never}`, `"done" is no outcome: allowed are completed, retryable, permanent, unknown`},
	{`{statuses: {409: unknown, 409: completed}, http: https://x, deduplicates: never}`, `is there twice, first in line 2`},
	{`{remote_ref: {header: X-A, pointer: /a}, http: https://x, deduplicates: never}`, `takes exactly one of header, pointer`},
	{`{remote_ref: {}, http: https://x, deduplicates: never}`, `takes exactly one of header, pointer`},
	{`{remote_ref: {pointer: a}, http: https://x, deduplicates: never}`, `"a" is no JSON pointer`},
	{`{remote_ref: {pointer: /a~2}, http: https://x, deduplicates: never}`, `"/a~2" is no JSON pointer`},
	{`{remote_ref: {header: "a b"}, http: https://x, deduplicates: never}`, `"a b" is no name of a header`},

	{`{sns: topic, deduplicates: never}`, `2:9: destinations.pay.sns: is not in this version`},
	{`{auth: {basic: a}, http: https://x, deduplicates: never}`, `auth: is not in this version`},

	{`{lookup: {rules: [{status: 404, then: not_found}]}, http: https://x, deduplicates: never}`, `lookup.http: is missing`},
	{`{lookup: {lambda: "a b"}, http: https://x, deduplicates: never}`, `2:26: destinations.pay.lookup.lambda: "a b" is neither a name nor an ARN of a function`},
	{`{lookup: {lambda: "arn:aws:lambda:eu-west-1:1:function:f"}, http: https://x, deduplicates: never}`, `is neither a name nor an ARN of a function`},
	{`{lookup: {lambda: 1}, http: https://x, deduplicates: never}`, `lookup.lambda: is not text for YAML`},
	{`{lookup: {lambda: f, rules: [{status: 404, then: not_found}]}, http: https://x, deduplicates: never}`, `2:9: destinations.pay.lookup: lambda takes no other key beside it`},
	{`{lookup: {lambda: f, http: "https://x/{remote_ref}"}, http: https://x, deduplicates: never}`, `lambda takes no other key beside it`},
	{`{lookup: {lambda: f, rules: []}, http: https://x, deduplicates: never}`, `lambda takes no other key beside it`},
	{`{lookup: {lambda: f, headers: {}}, http: https://x, deduplicates: never}`, `lambda takes no other key beside it`},
	{`{lookup: {lambda: f, secret: a}, http: https://x, deduplicates: never}`, `lambda takes no other key beside it`},

	{`{secret: "a b", http: https://x, deduplicates: never}`, `2:17: destinations.pay.secret.name: is neither a name nor a complete ARN of Secrets Manager`},
	{`{secret: "arn:aws:secretsmanager:eu-west-1:123456789012:secret:pay", http: https://x, deduplicates: never}`, `nor a complete ARN`},
	{`{secret: "arn:aws:ssm:eu-west-1:123456789012:parameter/pay", http: https://x, deduplicates: never}`, `nor a complete ARN`},
	{`{secret: 1, http: https://x, deduplicates: never}`, `secret: is not text for YAML`},
	{`{secret: "", http: https://x, deduplicates: never}`, `secret: is empty`},
	{`{secret: [a], http: https://x, deduplicates: never}`, `secret: is a list, want keys with values`},
	{`{secret: {header: X-A}, http: https://x, deduplicates: never}`, `secret.name: is missing`},
	{`{secret: {name: a, key: b}, http: https://x, deduplicates: never}`, `secret.key: is no key of Landfall. Allowed here are header, member, name, scheme`},
	{`{secret: {name: a, header: Host}, http: https://x, deduplicates: never}`, `2:35: destinations.pay.secret.header: Host cannot be set`},
	{`{secret: {name: a, header: "a b"}, http: https://x, deduplicates: never}`, `"a b" is no name of a header`},
	{`{secret: {name: a, header: X-A}, headers: {x-a: b}, http: https://x, deduplicates: never}`, `X-A is one of the fixed headers`},
	{`{secret: {name: a, header: X-A}, row_headers: [x-a], http: https://x, deduplicates: never}`, `X-A belongs to the row`},
	{`{secret: {name: a, header: idempotency-key}, http: https://x, deduplicates: never}`, `Idempotency-Key belongs to the row`},
	{`{secret: {name: a, scheme: "Bearer "}, http: https://x, deduplicates: never}`, `secret.scheme: is no word that can stand before a secret`},
	{`{secret: {name: a, member: ` + strings.Repeat("m", 257) + `}, http: https://x, deduplicates: never}`, `secret.member: is too long`},
	{`{lookup: {http: "https://x/{remote_ref}", secret: {name: a, header: X-A}, headers: {x-a: b}, rules: [{status: 404, then: failed}]}, http: https://x, deduplicates: never}`, `lookup.secret.header: X-A is one of the fixed headers`},
	{`{lookup: {http: https://x, rules: [{status: 404, then: not_found}]}, http: https://x, deduplicates: never}`, `it asks the same for every row`},
	{`{lookup: {http: "https://x/{key}", rules: [{status: 404, then: not_found}]}, http: https://x, deduplicates: never}`, `no such placeholder: allowed are {idempotency_key} and {remote_ref}`},
	{`{lookup: {http: "https://{remote_ref}/x", rules: [{status: 404, then: not_found}]}, http: https://x, deduplicates: never}`, `a placeholder cannot choose the host`},
	{`{lookup: {http: "https://x/a^b/{remote_ref}", rules: [{status: 404, then: not_found}]}, http: https://x, deduplicates: never}`, `percent-encode it`},
	{`{lookup: {http: "https://x/../{remote_ref}", rules: [{status: 404, then: not_found}]}, http: https://x, deduplicates: never}`, `cannot stand in the path`},
	{`{lookup: {http: "https://x/a%2f%2e%2E/{remote_ref}", rules: [{status: 404, then: not_found}]}, http: https://x, deduplicates: never}`, `cannot stand in the path`},
	{`{lookup: {http: "ftp://x/{remote_ref}", rules: [{status: 404, then: not_found}]}, http: https://x, deduplicates: never}`, `must begin with https:// or http://`},
	{`{lookup: {http: "https://x/{remote_ref}"}, http: https://x, deduplicates: never}`, `lookup.rules: at least one rule is needed`},
	{`{lookup: {http: "https://x/{remote_ref}", rules: {status: 404}}, http: https://x, deduplicates: never}`, `has keys, want a list of rules`},
	{`{lookup: {http: "https://x/{remote_ref}", rules: [a]}, http: https://x, deduplicates: never}`, `lookup.rules.0: is a, want keys with values`},
	{`{lookup: {http: "https://x/{remote_ref}", rules: [{status: 404}]}, http: https://x, deduplicates: never}`, `lookup.rules.0.then: is missing`},
	{`{lookup: {http: "https://x/{remote_ref}", rules: [{status: 404, then: gone}]}, http: https://x, deduplicates: never}`, `"gone" is no answer: allowed are completed, failed, not_found, unresolved`},
	{`{lookup: {http: "https://x/{remote_ref}", rules: [{then: failed}]}, http: https://x, deduplicates: never}`, `lookup.rules.0.status: 0 is no status`},
	{`{lookup: {http: "https://x/{remote_ref}", rules: [{status: 200, pointer: /a, then: failed}]}, http: https://x, deduplicates: never}`, `takes pointer and equals together, or neither`},
	{`{lookup: {http: "https://x/{remote_ref}", rules: [{status: 200, equals: a, then: failed}]}, http: https://x, deduplicates: never}`, `takes pointer and equals together, or neither`},
	{`{lookup: {http: "https://x/{remote_ref}", rules: [{status: 200, pointer: a, equals: b, then: failed}]}, http: https://x, deduplicates: never}`, `"a" is no JSON pointer`},
	{`{lookup: {http: "https://x/{remote_ref}", method: HEAD, rules: [{status: 200, pointer: /a, equals: b, then: failed}]}, http: https://x, deduplicates: never}`, `an answer to HEAD has no body`},
	{`{lookup: {http: "https://x/{remote_ref}", method: PUT, rules: [{status: 404, then: failed}]}, http: https://x, deduplicates: never}`, `"PUT" is not possible: allowed are GET, HEAD, POST`},
	{`{lookup: {http: "https://x/{remote_ref}", headers: {Host: a}, rules: [{status: 404, then: failed}]}, http: https://x, deduplicates: never}`, `lookup.headers.Host: Host cannot be set`},
	{`{dedup: 24h, http: https://x}`, `dedup: is no key of Landfall: deduplicates?`},
	{`{shard: 1, http: https://x, deduplicates: never}`, `is no key of Landfall: shards? Allowed here are allow_private, attempts`},
	{`{qqq: 1, http: https://x, deduplicates: never}`, `is no key of Landfall. Allowed here are`},
	{`{http: https://x, http: https://y, deduplicates: never}`, `is there twice, first in line 2`},
	{`text`, `2:8: destinations.pay: is text, want keys with values`},
	{`[a]`, `2:8: destinations.pay: is a list`},
	{``, `2:3: destinations.pay: has no value`},
}

// Whatever is wrong with one value, the error must name its place and say what is allowed.
func TestBadValuesAreNotAccepted(t *testing.T) {
	t.Parallel()
	for _, tt := range badValues {
		t.Run(tt.value, func(t *testing.T) {
			t.Parallel()
			mustRefuse(t, "destinations:\n  pay: "+tt.value+"\n", tt.want)
		})
	}
}

func TestOneMistakeIsNotReportedTwice(t *testing.T) {
	t.Parallel()
	for _, src := range []string{
		"destinations:\n  pay: {http: https://x, deduplicates: 24}\n",
		"destinations:\n  pay: {http: 1, deduplicates: never}\n",
		"destinations:\n  pay: {sns: topic, deduplicates: never}\n",
		"destinations:\n  pay: {http: https://x, deduplicates: never, row_headers: [\"\"]}\n",
		"destinations:\n  pay: {http: https://x, deduplicates: never, remote_ref: [a]}\n",
		"destinations: []\n",
		"defaults: {shards: 0}\ndestinations:\n  a: {http: https://x, deduplicates: never}\n  b: {http: https://x, deduplicates: never}\n",
	} {
		_, err := config.ParseYAML("f", []byte(src))
		var problems *config.Error
		if !errors.As(err, &problems) || len(problems.Problems) != 1 {
			t.Errorf("%serror = %v\nwant one problem", src, err)
		}
	}
}

// What YAML has beyond plain keys and values, and what is no YAML at all, must not be taken for a configuration.
func TestNothingButPlainKeysAndValuesIsRead(t *testing.T) {
	t.Parallel()
	const valid = "destinations:\n  pay: {http: https://x, deduplicates: never}\n"
	tests := []struct{ name, src, want string }{
		{"empty", "", "f: is empty"},
		{"comment only", "# nothing\n", "f: is empty"},
		{"header only", "---\n", "f: is empty"},
		{"text", "hello", "f:1:1: is hello, want keys with values"},
		{"list", "- a\n", "f:1:1: is a list, want keys with values"},
		{"no destinations", "concurrency: 4\n", "f: destinations: at least one destination is needed, or a group"},
		{"empty destinations", "destinations: {}\n", "f:1:1: destinations: at least one destination is needed"},
		{"null destinations", "destinations:\n", "f:1:1: destinations: has no value"},
		{"two documents", valid + "---\na: b\n", "f:4:1: a second document begins here"},
		{"tab", "destinations:\n\tpay: x\n", "f:2:1: a tab cannot indent: use spaces"},
		{"tab behind spaces", "destinations:\n  \tpay: x\n", "f:2:3: a tab cannot indent"},
		{"control", valid + "# \x1b[2J\n", "f:3:3: a control character"},
		{"NUL", valid + "\x00", "f:3:1: a control character"},
		{"not UTF-8", valid + "# \xff\n", "f:3:3: is not UTF-8"},
		{"UTF-16", "\xff\xfed\x00e\x00", "f:1:1: is not UTF-8"},
		{"alias", "destinations:\n  a: &x {http: https://x, deduplicates: never}\n  b: *x\n", "f:2:6: anchors and aliases are not possible"},
		{"alias to nothing", "destinations: *x\n", "f:1:15: anchors and aliases are not possible"},
		{"merge", "destinations:\n  a: {<<: {http: https://x}, deduplicates: never}\n", "f:2:7: merging (<<) is not possible"},
		{"tag", "destinations: !!map {}\n", "f:1:15: tags (!) are not possible"},
		{"directive", "%YAML 1.1\n---\n" + valid, "f:1:1: directives (%) are not possible"},
		{"complex key", "? destinations\n: {}\n", "f:1:1: keys with ? are not possible"},
		{"block text", "destinations:\n  pay:\n    http: |\n      https://x\n", "f:3:11: block text (| or >) is not possible"},
		{"open bracket", "destinations: {pay: {http: https://x\n", "f:1:"},
		{"deep brackets", "destinations: " + strings.Repeat("{a: ", 40), "are nested too deep"},
		{"deep lists", "destinations: \n" + strings.Repeat("- ", 40), "a list cannot stand in a list"},
		{"too many keys", "destinations:\n" + strings.Repeat("  a:\n", 20_000), "more than 20000 keys are too many"},
		{"duplicate top key", valid + valid, "f:3:1: destinations: is there twice, first in line 1"},
		{"duplicate destination", valid + "  pay: {http: https://y, deduplicates: never}\n", "f:3:3: destinations.pay: is there twice, first in line 2"},
		{"unquoted true", "destinations:\n  true: {http: https://x, deduplicates: never}\n", "f:2:3: destinations.true: looks like something else than a name"},
		{"unquoted number", "destinations:\n  1: {http: https://x, deduplicates: never}\n", "f:2:3: destinations.1: looks like something else than a name"},
		{"upper case name", "destinations:\n  Pay: {http: https://x, deduplicates: never}\n", `f:2:3: destinations.Pay: "Pay" cannot name a destination`},
		{"name too long", "destinations:\n  " + strings.Repeat("a", 64) + ": {http: https://x, deduplicates: never}\n", "cannot name a destination: 1 to 63"},
		{"name with #", "destinations:\n  a#b: {http: https://x, deduplicates: never}\n", "cannot name a destination"},
		{"later key", valid + "stages: {}\n", "f:3:1: stages: is not in this version"},
		{"typing slip", valid + "paralelism: 2\n", "f:3:1: paralelism: is no key of Landfall: parallelism? Allowed here are concurrency, defaults, destinations, groups, log_successes, parallelism"},
		{"share above one", valid + "log_successes: 2\n", "f:3:16: log_successes: 2 is no share"},
		{"negative share", valid + "log_successes: -0.5\n", "log_successes: -0.5 is no share"},
		{"no parallelism", valid + "parallelism: 0\n", "f:3:14: parallelism: 0 is too small: at least 1"},
		{"bad default", valid + "defaults: {send_timeout: 1h}\n", "f:3:26: defaults.send_timeout: 1h is too long"},
		{"default that no destination has", valid + "defaults: {http: https://x}\n", "f:3:12: defaults.http: is no key of Landfall. Allowed here are attempts, backoff"},
		{"too large", valid + strings.Repeat("#", config.MaxBytes), "is longer than 1048576 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			mustRefuse(t, tt.src, tt.want)
		})
	}
}

func mustRefuse(t *testing.T, src, want string) {
	t.Helper()
	_, err := config.ParseYAML("f", []byte(src))
	var problems *config.Error
	if !errors.As(err, &problems) || len(problems.Problems) == 0 {
		t.Fatalf("error = %v, want a *config.Error with problems", err)
	}
	if !strings.Contains(err.Error(), want) {
		t.Errorf("error = %v\nwant in it: %s", err, want)
	}
}

// An error must not repeat what may be a credential, wherever it stands and whatever else is wrong.
func TestErrorsDoNotRevealCredentials(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	for _, src := range []string{
		"destinations:\n  a: {http: 'https://user:hunter2@x/', deduplicates: 1}\n",
		"destinations:\n  a: {http: 'ftp://hunter2@x/', deduplicates: 1}\n",
		"destinations:\n  a: {http: 'https://x/?token=hunter2', deduplicates: 1}\n",
		"destinations:\n  a: {http: 'https://x/\u00e4?token=hunter2', deduplicates: 1}\n",
		"destinations:\n  a: {headers: {Authorization: Bearer hunter2}, deduplicates: 1}\n",
		"destinations:\n  a: {headers: {Host: hunter2, deduplicates: 1}}\n",
		"destinations:\n  a: {headers: {A: \"hunter2\\u0001\"}, deduplicates: 1}\n",
		"destinations:\n  a: {headers: {A: {B: hunter2}, C: [hunter2]}, deduplicates: 1}\n",
		"destinations:\n  a:\n    headers:\n      A: 'x\n        hunter2\n        y'\n    deduplicates: 1\n",
		"destinations:\n  a:\n    headers:\n      A: hunter2: x\n",
		"destinations:\n  a: {lookup: {headers: {A: hunter2}, rules: 1, http: 'https://hunter2@x/?q=hunter2'}}\n",
		"destinations:\n  a: {headers: Bearer hunter2, deduplicates: 1}\n",
		"destinations:\n  a: {headers: [hunter2], deduplicates: 1}\n",
		"destinations:\n  a: {headers: {A: b, A: hunter2}, deduplicates: 1}\n",
		"destinations:\n  a: {headers: {A: b}, headers: {A: hunter2}, deduplicates: 1}\n",
		"destinations:\n  a: {header: {A: hunter2}, deduplicates: 1}\n",
		"destinations:\n  a: {secret: hunter2, token: hunter2, deduplicates: 1}\n",
		"destinations:\n  a: {secret: hunter2?}\n",
		"destinations:\n  a: {secret: {name: hunter2?, member: hunter2, scheme: 'a hunter2'}}\n",
		"destinations:\n  a: {secret: {nam: hunter2, value: hunter2}}\n",
		"destinations:\n  a: {secre: hunter2}\n",
		"destinations:\n  a: {lookup: {secret: hunter2?}}\n",
		"destinations:\n  a: {http: x, secret: hunter2\n",
		"destinations: [{a: {headers: {A: hunter2}}}]\n",
		"destinations: {a: {http: {x: hunter2}, deduplicates: {y: hunter2}, concurrency: [hunter2]}}\n",
		"destinations: {a: {http: https://x, deduplicates: never}}\n---\n{x: hunter2}\n",
		"destinations:\n  a:\n    headers: {A: hunter2\n",
		"destinations:\n  a:\n    headers:\n      A: *hunter2\n",
		"destinations:\n  a:\n    headers:\n      A: !hunter2 x\n",
		"destinations:\n  a:\n    headers:\n      A hunter2\n    http: [\n",
	} {
		_, err := config.ParseYAML("f", []byte(src))
		if err == nil {
			t.Fatalf("no error for %s", src)
		}
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the error for\n%s\nreveals it: %v", src, err)
		}
	}
	for _, src := range []string{
		`{"destinations": {"a": {"headers": {"A": "hunter2"}, "http": "https://hunter2@x/"}}}`,
		`{"destinations": {"a": {"headers": {"A": ["hunter2"]}}}}`,
		`{"destinations": {"a": {"headers": "hunter2"}}}`,
		`{"destinations": {"a": {"headers": {"A": "hunter2"`,
	} {
		_, err := config.ParseJSON("f", []byte(src))
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("the error for %s is missing or reveals it: %v", src, err)
		}
	}
}
