package config_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/config/yamlconfig"
)

// badValues are values in place of a destination's keys, each with one mistake.
var badValues = []struct {
	value string // in place of the destination's keys, {...}
	want  string // place and message
}{
	{`{deduplicates: never}`, `2:3: destinations.pay.http: missing; a destination needs http (a URL), sqs (a queue)`},
	{`{http: https://x}`, `2:3: destinations.pay.deduplicates: missing; write never, always or a duration, such as 24h: how long this`},
	{`{http: https://x, deduplicates: 24}`, `2:40: destinations.pay.deduplicates: 24 has no unit; did you mean 24h? (or never, or always)`},
	{`{http: https://x, deduplicates: 0}`, `destinations.pay.deduplicates: 0 is not a duration here; write never`},
	{`{http: https://x, deduplicates: 0s}`, `write never`},
	{`{http: https://x, deduplicates: -24h}`, `-24h is negative`},
	{`{http: https://x, deduplicates: 1500ms}`, `2:40: destinations.pay.deduplicates: 1.5s is not a number of whole seconds; rows store it in seconds`},
	{`{http: https://x, deduplicates: forever}`, `forever is not a duration; write days, h, m, s or ms, such as 30s, 1h30m or 7d (or never, or always)`},
	{`{http: https://x, deduplicates: 99999d}`, `99999d is too long; the maximum is 3650d, or write always`},
	{`{http: https://x, deduplicates: 999999999999d}`, `999999999999d is too long`},
	{`{http: https://x, deduplicates: 106751d24h}`, `106751d24h is too long`},
	{`{http: https://x, deduplicates: no}`, `no is not a duration; write days, h, m, s or ms, such as 30s, 1h30m or 7d (or never, or always)`},
	{`{http: https://x, deduplicates: ~}`, `has no value`},
	{`{http: https://x, deduplicates: }`, `has no value`},
	{`{http: https://x, deduplicates: [24h]}`, `this is a list; write never, always or a duration, such as 24h`},
	{`{http: https://x, deduplicates: {a: b}}`, `this has keys; write never, always or a duration, such as 24h`},

	{`{send_timeout: 10m1s, http: https://x, deduplicates: never}`, `2:23: destinations.pay.send_timeout: 10m1s is too long; the maximum is 10m, because Lambda ends a function`},
	{`{send_timeout: 0s, http: https://x, deduplicates: never}`, `2:23: destinations.pay.send_timeout: 0s is too short; the minimum is 1ms`},
	{`{send_timeout: 1us, http: https://x, deduplicates: never}`, `2:23: destinations.pay.send_timeout: 1µs is too short; the minimum is 1ms`},
	{`{send_timeout: 30, http: https://x, deduplicates: never}`, `_timeout: 30 has no unit; did you mean 30s?`},
	{`{send_timeout: 1.5, http: https://x, deduplicates: never}`, `2:23: destinations.pay.send_timeout: 1.5 has no unit; did you mean 1.5s?`},
	{`{send_timeout: .inf, http: https://x, deduplicates: never}`, `.inf is not a duration; write days, h, m, s or ms, such as 30s, 1h30m or 7d`},
	{`{send_timeout: .nan, http: https://x, deduplicates: never}`, `.nan is not a duration; write days, h, m, s or ms, such as 30s, 1h30m or 7d`},
	{`{send_timeout: "", http: https://x, deduplicates: never}`, `empty; write a duration, such as 30s`},
	{`{send_timeout: 1d-1h, http: https://x, deduplicates: never}`, `2:23: destinations.pay.send_timeout: 1d-1h is not a duration; write days, h, m, s or ms, such as 30s, 1h30m`},
	{`{send_timeout: 1:30, http: https://x, deduplicates: never}`, `2:23: destinations.pay.send_timeout: 1:30 is not a duration; write days, h, m, s or ms, such as 30s, 1h30m or`},
	{`{late_arrival: 31d, http: https://x, deduplicates: never}`, `2:23: destinations.pay.late_arrival: 31d is too long; the maximum is 30d`},
	{`{late_arrival: 0s, http: https://x, deduplicates: never}`, `0s is too short`},
	{`{retention: 10ms, http: https://x, deduplicates: never}`, `2:20: destinations.pay.retention: 10ms is too short; the minimum is 1s`},
	{`{http: "https://::1/x", deduplicates: never}`, `write the IPv6 address in brackets: https://[::1]/path`},
	{`{head_start: 2m, http: https://x, deduplicates: never}`, `2:21: destinations.pay.head_start: 2m is too long; the maximum is 1m`},
	{`{concurrency: 0, http: https://x, deduplicates: never}`, `2:22: destinations.pay.concurrency: 0 is too small; the minimum is 1`},
	{`{concurrency: 1001, http: https://x, deduplicates: never}`, `2:22: destinations.pay.concurrency: 1001 is too large; the maximum is 1000`},
	{`{shards: 010, http: https://x, deduplicates: never}`, `010 is not allowed; write a whole number, such as 4`},
	{`{shards: 1_0, http: https://x, deduplicates: never}`, `1_0 is not allowed; write a whole number, such as 4`},
	{`{shards: 0x10, http: https://x, deduplicates: never}`, `0x10 is not allowed; write a whole number, such as 4`},
	{`{shards: 4.0, http: https://x, deduplicates: never}`, `4.0 is not allowed; write a whole number, such as 4`},
	{`{shards: "4", http: https://x, deduplicates: never}`, `"4" is not allowed; write a whole number, such as 4`},
	{`{attempts: -1, http: https://x, deduplicates: never}`, `-1 is too small`},
	{`{attempts: 99999999999999999999999999999999999999, http: https://x, deduplicates: never}`, `99999999999999999999999999999999999999 is too large; the maximum is 1000`},
	{`{backoff: {factor: 0.5}, http: https://x, deduplicates: never}`, `backoff.factor: 0.5 is too small; the minimum is 1`},
	{`{backoff: {factor: .nan}, http: https://x, deduplicates: never}`, `.nan is not allowed; write a number, such as 4 or 1.5`},
	{`{backoff: {factor: 1e999}, http: https://x, deduplicates: never}`, `1e999 is not allowed; write a number, such as 4 or 1.5`},
	{`{backoff: {first: 2m}, http: https://x, deduplicates: never}`, `destinations.pay.backoff.max: 1m is less than the first wait, 2m`},
	{`{backoff: {max: 8d}, http: https://x, deduplicates: never}`, `2:24: destinations.pay.backoff.max: 8d is too long; the maximum is 7d`},
	{`{backoff: 5s, http: https://x, deduplicates: never}`, `backoff: 5s is not allowed; write keys with values (key: value)`},
	{`{retired: yes, http: https://x, deduplicates: never}`, `yes is not allowed; write true or false`},
	{`{retired: "true", http: https://x, deduplicates: never}`, `"true" is not allowed; write true or false`},

	{`{http: "", deduplicates: never}`, `http: empty; write a URL`},
	{`{http: 1, deduplicates: never}`, `http: YAML does not take this for text; write it in quotes`},
	{`{http: api.example.com, deduplicates: never}`, `must begin with https:// or http://`},
	{`{http: "ftp://x/y", deduplicates: never}`, `must begin with https:// or http://`},
	{`{http: "https:///path", deduplicates: never}`, `has no host`},
	{`{http: "https://:443/", deduplicates: never}`, `has no host`},
	{`{http: "https:x", deduplicates: never}`, `has no host`},
	{`{http: "https://x/#part", deduplicates: never}`, `the URL must not have a fragment (#...); it would never be sent`},
	{`{http: "https://x/#", deduplicates: never}`, `the URL must not have a fragment (#...); it would never be sent`},
	{`{http: "https://x:0/", deduplicates: never}`, `invalid port; write 1 to 65535`},
	{`{http: "https://x:/", deduplicates: never}`, `invalid port; write 1 to 65535`},
	{`{http: "https://x:65536/", deduplicates: never}`, `invalid port; write 1 to 65535`},
	{`{http: "https://[::1", deduplicates: never}`, `invalid URL; write it as https://host/path`},
	{`{http: "https://bücher.example/", deduplicates: never}`, `the URL may contain only visible ASCII; percent-encode the path, write the host in punycode`},
	{`{http: "https://x/a b", deduplicates: never}`, `the URL may contain only visible ASCII; percent-encode the path, write the host in punycode`},
	{`{http: "https://x/{idempotency_key}", deduplicates: never}`, `the URL has no placeholders; percent-encode { and }`},
	{`{method: GET, http: https://x, deduplicates: never}`, `"GET" is not allowed; write POST, PUT, PATCH or DELETE`},
	{`{method: post, http: https://x, deduplicates: never}`, `"post" is not allowed; write POST, PUT, PATCH or DELETE`},
	{`{key_header: Host, http: https://x, deduplicates: never}`, `Host cannot be set`},
	{`{key_header: "a b", http: https://x, deduplicates: never}`, `"a b" is not a header name; write letters, digits and hyphens, at most 100`},
	{`{headers: {idempotency-key: a}, http: https://x, deduplicates: never}`, `Idempotency-Key carries the idempotency key (key_header); remove it here`},
	{`{headers: {content-length: "1"}, http: https://x, deduplicates: never}`, `2:35: destinations.pay.headers.Content-Length: Content-Length cannot be set: it follows from the payload`},
	{`{headers: {transfer-encoding: chunked}, http: https://x, deduplicates: never}`, `cannot be set: it belongs to the connection`},
	{`{headers: {Content-Type: text/plain}, http: https://x, deduplicates: never}`, `cannot be set: it comes from the row`},
	{`{headers: {"X:Y": a}, http: https://x, deduplicates: never}`, `"X:Y" is not a header name; write letters, digits and hyphens, at most 100`},
	{`{headers: {X-A: 1.10}, http: https://x, deduplicates: never}`, `headers.X-A: YAML does not take this for text; write it in quotes`},
	{`{headers: {X-A: "a\nb"}, http: https://x, deduplicates: never}`, `invalid value; write visible ASCII, spaces and tabs, without spaces at the ends, at most 8000 bytes`},
	{`{headers: {X-A: " a"}, http: https://x, deduplicates: never}`, `invalid value; write visible ASCII, spaces and tabs, without spaces at the ends, at most 8000 bytes`},
	{`{headers: {X-A: a, x-a: b}, http: https://x, deduplicates: never}`, `this header stands here twice (upper and lower case are the same); remove one`},
	{`{headers: X-A, http: https://x, deduplicates: never}`, `headers: write names and values, such as {X-Tenant: acme}`},
	{`{headers: [X-A], http: https://x, deduplicates: never}`, `headers: write names and values, such as {X-Tenant: acme}`},
	{`{row_headers: X-A, http: https://x, deduplicates: never}`, `X-A is not allowed; write a list of names, such as [X-Tenant]`},
	{`{row_headers: [X-A, x-a], http: https://x, deduplicates: never}`, `2:28: destinations.pay.row_headers.1: X-A stands twice in the list; remove one`},
	{`{row_headers: [X-A], headers: {x-a: b}, http: https://x, deduplicates: never}`, `X-A is in`},
	{`{row_headers: [idempotency-key], http: https://x, deduplicates: never}`, `Idempotency-Key carries the idempotency key (key_header); remove it here`},
	{`{row_headers: [[X-A]], http: https://x, deduplicates: never}`, `this is a list; write the name of a header`},
	{`{secret: a, http: "http://x/", deduplicates: never}`, `pay.secret: the secret would travel unencrypted; write https in the URL`},
	{`{secret: a, http: "http://8.8.8.8/", allow_private: true, deduplicates: never}`, `pay.secret: the secret would travel unencrypted; write https in the URL`},
	{`{lookup: {secret: a, http: "http://x/{remote_ref}", rules: [{status: 404, then: failed}]}, http: https://x, deduplicates: never}`, `lookup.secret: the secret would travel unencrypted`},
	{`{http: "http://169.254.169.254/", allow_private: true, deduplicates: never}`, `the URL leads to an address of metadata or of no host, which Landfall never calls; write another host`},
	{`{http: "http://[fd00:ec2::254]/", deduplicates: never}`, `an address of metadata`},
	{`{http: "http://[::ffff:169.254.170.2]/", deduplicates: never}`, `an address of metadata`},
	{`{http: "http://0.0.0.0:8080/", deduplicates: never}`, `an address of metadata or of no host`},
	{`{lookup: {http: "http://169.254.169.254/{remote_ref}", rules: [{status: 404, then: failed}]}, http: https://x, deduplicates: never}`, `an address of metadata`},
	{`{answers: [{then: permanent}], http: https://x, deduplicates: never}`, `answers.0: no condition; write status, header, pointer or contains`},
	{`{answers: [{status: 404}], http: https://x, deduplicates: never}`, `answers.0.then: missing; write completed, retryable, permanent or unknown`},
	{`{answers: [{status: 404, then: not_found}], http: https://x, deduplicates: never}`, `"not_found" is not allowed; write completed, retryable, permanent or unknown`},
	{`{answers: [{status: 1xx, then: unknown}], http: https://x, deduplicates: never}`, `"1xx" is not the status of a final answer; write 200 to 599, or a class from 2xx to 5xx`},
	{`{answers: [{status: [404, 600], then: unknown}], http: https://x, deduplicates: never}`, `answers.0.status.1: "600" is not the status of a final answer`},
	{`{answers: [{status: [], then: unknown}], http: https://x, deduplicates: never}`, `answers.0.status: the list is empty; add an entry, or remove the key`},
	{`{answers: [{status: [404, 404], then: unknown}], http: https://x, deduplicates: never}`, `404 stands twice in the list; remove one`},
	{`{answers: [{status: {a: b}, then: unknown}], http: https://x, deduplicates: never}`, `write a status, a class or a list, such as 404, 4xx or [404, 410]`},
	{`{answers: [{pointer: ok, equals: a, then: unknown}], http: https://x, deduplicates: never}`, `"ok" is not a JSON pointer`},
	{`{answers: [{pointer: /ok, then: unknown}], http: https://x, deduplicates: never}`, `answers.0: write exactly one of equals, one_of, exists, contains beside pointer`},
	{`{answers: [{pointer: /ok, equals: a, exists: true, then: unknown}], http: https://x, deduplicates: never}`, `answers.0: write exactly one of equals, one_of, exists, contains beside pointer`},
	{`{answers: [{pointer: /ok, one_of: [], then: unknown}], http: https://x, deduplicates: never}`, `answers.0.one_of: the list is empty`},
	{`{answers: [{pointer: /ok, equals: [a], then: unknown}], http: https://x, deduplicates: never}`, `write a text, a number, true or false`},
	{`{answers: [{status: 404, exists: true, then: unknown}], http: https://x, deduplicates: never}`, `equals, one_of and exists need pointer`},
	{`{answers: [{header: {name: X-A}, then: unknown}], http: https://x, deduplicates: never}`, `answers.0.header: write exactly one of equals, one_of, exists, contains beside name`},
	{`{answers: [{header: {equals: a}, then: unknown}], http: https://x, deduplicates: never}`, `answers.0.header.name: missing; write the name of a header`},
	{`{answers: [{header: {name: "a b", equals: a}, then: unknown}], http: https://x, deduplicates: never}`, `"a b" is not a header name`},
	{`{answers: [{status: 4xx, then: permanent}, {status: 422, pointer: /unreached, exists: true, then: retryable}], http: https://x, deduplicates: never}`, `answers.1: rule 1 of the list decides every answer that this rule is about`},
	{`{answers: [{pointer: /unreached, exists: true, then: permanent}, {status: 422, pointer: /unreached, exists: true, then: retryable}], http: https://x, deduplicates: never}`, `answers.1: rule 1 of the list decides every answer that this rule is about`},
	{`{answers: [{status: 409, then: unknown}], statuses: {409: completed}, http: https://x, deduplicates: never}`, `statuses.409: a rule of answers decides every answer of this status; remove one of the two`},
	{`{lookup: {http: "https://x/{remote_ref}", method: HEAD, rules: [{contains: a, then: failed}]}, http: https://x, deduplicates: never}`, `an answer to HEAD has no body`},
	{`{answers: [{status: 404, then: unknown}], sqs: q, deduplicates: never}`, `only destinations of kind http have this key`},
	{`{statuses: {199: completed}, http: https://x, deduplicates: never}`, `statuses.199: 199 is not a status of a final answer; write a number from 200 to 599`},
	{`{statuses: {600: completed}, http: https://x, deduplicates: never}`, `600 is not a status of a final answer; write a number from 200 to 599`},
	{`{statuses: {4xx: completed}, http: https://x, deduplicates: never}`, `statuses.4xx: 4xx is not a status of a final answer; write a number from 200 to 599`},
	{`{statuses: {0400: completed}, http: https://x, deduplicates: never}`, `0400 is not a status of a final answer; write a number from 200 to 599`},
	{`{statuses: {409: done}, http: https://x, deduplicates: never}`, `"done" is not allowed; write completed, retryable, permanent or unknown`},
	{`{statuses: {409: unknown, 409: completed}, http: https://x, deduplicates: never}`, `this key is also in line 2; remove one`},
	{`{remote_ref: {header: X-A, pointer: /a}, http: https://x, deduplicates: never}`, `write exactly one of header, pointer`},
	{`{remote_ref: {}, http: https://x, deduplicates: never}`, `write exactly one of header, pointer`},
	{`{remote_ref: {pointer: a}, http: https://x, deduplicates: never}`, `"a" is not a JSON pointer; write /name/..., with ~1 for / and ~0 for ~ inside a name`},
	{`{remote_ref: {pointer: /a~2}, http: https://x, deduplicates: never}`, `"/a~2" is not a JSON pointer; write /name/..., with ~1 for / and ~0 for ~ inside a name`},
	{`{remote_ref: {header: "a b"}, http: https://x, deduplicates: never}`, `"a b" is not a header name; write letters, digits and hyphens, at most 100`},

	{`{sns: topic, deduplicates: never}`, `2:9: destinations.pay.sns: this key is not supported in this version; remove it`},
	{`{auth: {basic: a}, http: https://x, deduplicates: never}`, `auth: this key is not supported in this version; remove it`},

	{`{lookup: {rules: [{status: 404, then: not_found}]}, http: https://x, deduplicates: never}`, `lookup.http: missing; a lookup needs http (a URL) or lambda (a function)`},
	{`{lookup: {lambda: "a b"}, http: https://x, deduplicates: never}`, `2:26: destinations.pay.lookup.lambda: "a b" is not a Lambda function; write its name (at most 64 letters,`},
	{`{lookup: {lambda: "arn:aws:lambda:eu-west-1:1:function:f"}, http: https://x, deduplicates: never}`, `"arn:aws:lambda:eu-west-1:1:function:f" is not a Lambda function; write its name (at most 64 letters, digits,`},
	{`{lookup: {lambda: 1}, http: https://x, deduplicates: never}`, `lookup.lambda: YAML does not take this for text; write it in quotes`},
	{`{lookup: {lambda: f, rules: [{status: 404, then: not_found}]}, http: https://x, deduplicates: never}`, `2:9: destinations.pay.lookup: lambda must be the only key: the function knows everything else; remove the`},
	{`{lookup: {lambda: f, http: "https://x/{remote_ref}"}, http: https://x, deduplicates: never}`, `lambda must be the only key: the function knows everything else; remove the others`},
	{`{lookup: {lambda: f, rules: []}, http: https://x, deduplicates: never}`, `lambda must be the only key: the function knows everything else; remove the others`},
	{`{lookup: {lambda: f, headers: {}}, http: https://x, deduplicates: never}`, `lambda must be the only key: the function knows everything else; remove the others`},
	{`{lookup: {lambda: f, secret: a}, http: https://x, deduplicates: never}`, `lambda must be the only key: the function knows everything else; remove the others`},

	{`{secret: "a b", http: https://x, deduplicates: never}`, `2:17: destinations.pay.secret.name: this is not a secret of Secrets Manager; write its name (letters, digits`},
	{`{secret: "arn:aws:secretsmanager:eu-west-1:123456789012:secret:pay", http: https://x, deduplicates: never}`, `this is not a secret of Secrets Manager; write its name (letters, digits and /_+=.@!-) or its complete ARN,`},
	{`{secret: "arn:aws:ssm:eu-west-1:123456789012:parameter/pay", http: https://x, deduplicates: never}`, `this is not a secret of Secrets Manager; write its name (letters, digits and /_+=.@!-) or its complete ARN,`},
	{`{secret: 1, http: https://x, deduplicates: never}`, `secret: YAML does not take this for text; write it in quotes`},
	{`{secret: "", http: https://x, deduplicates: never}`, `secret: empty; write the name of a secret`},
	{`{secret: [a], http: https://x, deduplicates: never}`, `secret: write the name of a secret, or keys with values`},
	{`{secret: {header: X-A}, http: https://x, deduplicates: never}`, `secret.name: missing; write the name or ARN of a secret in Secrets Manager`},
	{`{secret: {name: a, key: b}, http: https://x, deduplicates: never}`, `secret.key: unknown key; allowed keys: header, member, name, scheme`},
	{`{secret: {name: a, header: Host}, http: https://x, deduplicates: never}`, `2:35: destinations.pay.secret.header: Host cannot be set`},
	{`{secret: {name: a, header: "a b"}, http: https://x, deduplicates: never}`, `"a b" is not a header name; write letters, digits and hyphens, at most 100`},
	{`{secret: {name: a, header: X-A}, headers: {x-a: b}, http: https://x, deduplicates: never}`, `X-A is in`},
	{`{secret: {name: a, header: X-A}, row_headers: [x-a], http: https://x, deduplicates: never}`, `X-A is in key_header or row_headers too; choose another header`},
	{`{secret: {name: a, header: idempotency-key}, http: https://x, deduplicates: never}`, `Idempotency-Key is in key_header or row_headers too; choose another header`},
	{`{secret: {name: a, scheme: "Bearer "}, http: https://x, deduplicates: never}`, `secret.scheme: this cannot stand before a secret; write one word, such as Bearer, or none`},
	{`{secret: {name: a, member: ` + strings.Repeat("m", 257) + `}, http: https://x, deduplicates: never}`, `secret.member: 257 bytes are too many; the maximum is 256`},
	{`{lookup: {http: "https://x/{remote_ref}", secret: {name: a, header: X-A}, headers: {x-a: b}, rules: [{status: 404, then: failed}]}, http: https://x, deduplicates: never}`, `lookup.secret.header: X-A is in`},
	{`{lookup: {http: https://x, rules: [{status: 404, then: not_found}]}, http: https://x, deduplicates: never}`, `the URL has no placeholder; put {idempotency_key} or {remote_ref} into it`},
	{`{lookup: {http: "https://x/{key}", rules: [{status: 404, then: not_found}]}, http: https://x, deduplicates: never}`, `unknown placeholder; write {idempotency_key} or {remote_ref}`},
	{`{lookup: {http: "https://{remote_ref}/x", rules: [{status: 404, then: not_found}]}, http: https://x, deduplicates: never}`, `a placeholder cannot choose the host`},
	{`{lookup: {http: "https://x/a^b/{remote_ref}", rules: [{status: 404, then: not_found}]}, http: https://x, deduplicates: never}`, `percent-encode it`},
	{`{lookup: {http: "https://x/../{remote_ref}", rules: [{status: 404, then: not_found}]}, http: https://x, deduplicates: never}`, `cannot stand in the path`},
	{`{lookup: {http: "https://x/a%2f%2e%2E/{remote_ref}", rules: [{status: 404, then: not_found}]}, http: https://x, deduplicates: never}`, `cannot stand in the path`},
	{`{lookup: {http: "ftp://x/{remote_ref}", rules: [{status: 404, then: not_found}]}, http: https://x, deduplicates: never}`, `must begin with https:// or http://`},
	{`{lookup: {http: "https://x/{remote_ref}"}, http: https://x, deduplicates: never}`, `lookup.rules: missing; add at least one rule, such as {status: 404, then: not_found}`},
	{`{lookup: {http: "https://x/{remote_ref}", rules: {status: 404}}, http: https://x, deduplicates: never}`, `this has keys; write a list of rules, such as [{status: 404, then: not_found}]`},
	{`{lookup: {http: "https://x/{remote_ref}", rules: [a]}, http: https://x, deduplicates: never}`, `lookup.rules.0: a is not allowed; write keys with values (key: value)`},
	{`{lookup: {http: "https://x/{remote_ref}", rules: [{status: 404}]}, http: https://x, deduplicates: never}`, `lookup.rules.0.then: missing; write completed, failed, not_found or unresolved`},
	{`{lookup: {http: "https://x/{remote_ref}", rules: [{status: 404, then: gone}]}, http: https://x, deduplicates: never}`, `"gone" is not allowed; write completed, failed, not_found or unresolved`},
	{`{lookup: {http: "https://x/{remote_ref}", rules: [{then: failed}]}, http: https://x, deduplicates: never}`, `lookup.rules.0: no condition; write status, header, pointer or contains`},
	{`{lookup: {http: "https://x/{remote_ref}", rules: [{status: 200, pointer: /a, then: failed}]}, http: https://x, deduplicates: never}`, `write exactly one of equals, one_of, exists, contains beside pointer`},
	{`{lookup: {http: "https://x/{remote_ref}", rules: [{status: 200, equals: a, then: failed}]}, http: https://x, deduplicates: never}`, `equals, one_of and exists need pointer; add it, or write contains for the text of the whole body`},
	{`{lookup: {http: "https://x/{remote_ref}", rules: [{status: 200, pointer: a, equals: b, then: failed}]}, http: https://x, deduplicates: never}`, `"a" is not a JSON pointer; write /name/..., with ~1 for / and ~0 for ~ inside a name`},
	{`{lookup: {http: "https://x/{remote_ref}", method: HEAD, rules: [{status: 200, pointer: /a, equals: b, then: failed}]}, http: https://x, deduplicates: never}`, `an answer to HEAD has no body`},
	{`{lookup: {http: "https://x/{remote_ref}", method: PUT, rules: [{status: 404, then: failed}]}, http: https://x, deduplicates: never}`, `"PUT" is not allowed; write GET, HEAD or POST`},
	{`{lookup: {http: "https://x/{remote_ref}", headers: {Host: a}, rules: [{status: 404, then: failed}]}, http: https://x, deduplicates: never}`, `lookup.headers.Host: Host cannot be set`},
	{`{dedup: 24h, http: https://x}`, `dedup: unknown key; did you mean deduplicates?`},
	{`{shard: 1, http: https://x, deduplicates: never}`, `unknown key; did you mean shards?`},
	{`{qqq: 1, http: https://x, deduplicates: never}`, `unknown key; allowed keys: allow_private, answers, attempts, backoff, concurrency, deduplicates, head_start, headers,`},
	{`{http: https://x, http: https://y, deduplicates: never}`, `this key is also in line 2; remove one`},
	{`text`, `2:8: destinations.pay: text is not allowed; write keys with values (key: value)`},
	{`[a]`, `2:8: destinations.pay: this is a list; write keys with values (key: value)`},
	{``, `2:3: destinations.pay: the key has no value; write one, or remove the key`},
}

// Whatever is wrong with one value, the error must name its place and say what is allowed.
func TestBadValuesAreRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range badValues {
		t.Run(tt.value, func(t *testing.T) {
			t.Parallel()
			mustRefuse(t, "destinations:\n  pay: "+tt.value+"\n", tt.want)
		})
	}
}

func TestOneMistakeIsReportedOnce(t *testing.T) {
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
		_, err := yamlconfig.Parse("f", []byte(src))
		var problems *config.Error
		if !errors.As(err, &problems) || len(problems.Problems) != 1 {
			t.Errorf("%serror = %v\nwant one problem", src, err)
		}
	}
}

// What YAML has beyond plain keys and values, and what is no YAML at all, must not be taken for a configuration.
func TestOtherYAMLThanKeysAndValuesIsRefused(t *testing.T) {
	t.Parallel()
	const valid = "destinations:\n  pay: {http: https://x, deduplicates: never}\n"
	tests := []struct{ name, src, want string }{
		{"empty", "", "f: the file is empty; write at least one destination under destinations:"},
		{"comment only", "# nothing\n", "f: the file is empty; write at least one destination under destinations:"},
		{"header only", "---\n", "f: the file is empty; write at least one destination under destinations:"},
		{"text", "hello", "f:1:1: hello is not allowed; write keys with values (key: value)"},
		{"list", "- a\n", "f:1:1: this is a list; write keys with values (key: value)"},
		{"no destinations", "concurrency: 4\n", "f: destinations: no destinations and no groups; add at least one"},
		{"empty destinations", "destinations: {}\n", "f:1:1: destinations: no destinations and no groups; add at least one"},
		{"null destinations", "destinations:\n", "f:1:1: destinations: the key has no value; write one, or remove the key"},
		{"two documents", valid + "---\na: b\n", "f:4:1: a second document begins here"},
		{"tab", "destinations:\n\tpay: x\n", "f:2:1: a tab cannot indent; use spaces"},
		{"tab behind spaces", "destinations:\n  \tpay: x\n", "f:2:3: a tab cannot indent"},
		{"control", valid + "# \x1b[2J\n", "f:3:3: a control character"},
		{"NUL", valid + "\x00", "f:3:1: a control character"},
		{"not UTF-8", valid + "# \xff\n", "f:3:3: the text is not UTF-8 from here on; save the file as UTF-8"},
		{"UTF-16", "\xff\xfed\x00e\x00", "f:1:1: the text is not UTF-8 from here on; save the file as UTF-8"},
		{"alias", "destinations:\n  a: &x {http: https://x, deduplicates: never}\n  b: *x\n", "f:2:6: anchors and aliases are not supported; write the value out, or use defaults"},
		{"alias to nothing", "destinations: *x\n", "f:1:15: anchors and aliases are not supported; write the value out, or use defaults"},
		{"merge", "destinations:\n  a: {<<: {http: https://x}, deduplicates: never}\n", "f:2:7: merging (<<) is not supported; use defaults"},
		{"tag", "destinations: !!map {}\n", "f:1:15: tags (!) are not supported; quote a text that begins with !"},
		{"directive", "%YAML 1.1\n---\n" + valid, "f:1:1: directives (%) are not supported; remove this line"},
		{"complex key", "? destinations\n: {}\n", "f:1:1: keys with ? are not supported; write key: value"},
		{"block text", "destinations:\n  pay:\n    http: |\n      https://x\n", "f:3:11: block text (| or >) is not supported; write the value on one line"},
		{"open bracket", "destinations: {pay: {http: https://x\n", "f:1:"},
		{"deep brackets", "destinations: " + strings.Repeat("{a: ", 40), "are nested too deep"},
		{"deep lists", "destinations: \n" + strings.Repeat("- ", 40), ""},
		{"too many keys", "destinations:\n" + strings.Repeat("  a:\n", 20_000), ""},
		{"duplicate top key", valid + valid, "f:3:1: destinations: this key is also in line 1; remove one"},
		{"duplicate destination", valid + "  pay: {http: https://y, deduplicates: never}\n", "f:3:3: destinations.pay: this key is also in line 2; remove one"},
		{"unquoted true", "destinations:\n  true: {http: https://x, deduplicates: never}\n", "f:2:3: destinations.true: YAML does not take this for a name; write it in quotes"},
		{"unquoted number", "destinations:\n  1: {http: https://x, deduplicates: never}\n", "f:2:3: destinations.1: YAML does not take this for a name; write it in quotes"},
		{"upper case name", "destinations:\n  Pay: {http: https://x, deduplicates: never}\n", `f:2:3: destinations.Pay: "Pay" cannot be a name; write 1 to 63 lower-case letters, digits and hyphens, not`},
		{"name too long", "destinations:\n  " + strings.Repeat("a", 64) + ": {http: https://x, deduplicates: never}\n", "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...\" cannot be a name; write 1 to 63 lower-case"},
		{"name with #", "destinations:\n  a#b: {http: https://x, deduplicates: never}\n", "\"a#b\" cannot be a name; write 1 to 63 lower-case letters, digits and hyphens, not beginning with a hyphen"},
		{"later key", valid + "stages: {}\n", "f:3:1: stages: this key is not supported in this version; remove it"},
		{"typing slip", valid + "paralelism: 2\n", "f:3:1: paralelism: unknown key; did you mean parallelism?"},
		{"share above one", valid + "log_successes: 2\n", "f:3:16: log_successes: 2 is too large; the maximum is 1"},
		{"negative share", valid + "log_successes: -0.5\n", "log_successes: -0.5 is too small; the minimum is 0"},
		{"no parallelism", valid + "parallelism: 0\n", "f:3:14: parallelism: 0 is too small; the minimum is 1"},
		{"bad default", valid + "defaults: {send_timeout: 1h}\n", "f:3:26: defaults.send_timeout: 1h is too long"},
		{"default that no destination has", valid + "defaults: {http: https://x}\n", "f:3:12: defaults.http: unknown key here; http belongs under destinations.NAME or destinations.NAME.lookup"},
		{"too large", valid + strings.Repeat("#", config.MaxBytes), "the file is too long; the maximum is 1048576 bytes"},
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
	_, err := yamlconfig.Parse("f", []byte(src))
	var problems *config.Error
	if !errors.As(err, &problems) || len(problems.Problems) == 0 {
		t.Fatalf("error = %v, want a *config.Error with problems", err)
	}
	if !strings.Contains(err.Error(), want) {
		t.Errorf("error = %v\nwant in it: %s", err, want)
	}
}

// An error must not repeat what may be a credential, wherever it stands and whatever else is wrong.
func TestErrorsHideCredentials(t *testing.T) {
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
		_, err := yamlconfig.Parse("f", []byte(src))
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
