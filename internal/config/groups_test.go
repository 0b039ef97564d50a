package config_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/config/yamlconfig"
	"github.com/landfall-dev/landfall/internal/routing"
)

// badGroups are values in place of a group's keys, each with one mistake.
var badGroups = []struct {
	value string // in place of the group's keys, {...}
	want  string // place and message
}{
	{`{route: least_loaded}`, `2:3: groups.couriers.accept: missing; write explicit (the consumer says that it has the message) or`},
	{`{accept: yes, route: least_loaded}`, `2:22: groups.couriers.accept: "yes" is not allowed; write explicit or on_delivery`},
	{`{accept: , route: least_loaded}`, `accept: the key has no value; write one, or remove the key`},
	{`{accept: true, route: least_loaded}`, `accept: YAML does not take this for text; write it in quotes`},
	{`{accept: [explicit], route: least_loaded}`, `accept: this is a list; write explicit or on_delivery`},
	{`{accept: explicit, accept_timeout: 0s, route: least_loaded}`, `accept_timeout: 0s is too short; the minimum is 1s`},
	{`{accept: explicit, accept_timeout: 999ms, route: least_loaded}`, `accept_timeout: 999ms is too short; the minimum is 1s`},
	{`{accept: explicit, accept_timeout: 11h1s, max_wait: 1d, route: least_loaded}`, `2:48: groups.couriers.accept_timeout: 11h0m1s is too long; the maximum is 11h`},
	{`{accept: explicit, accept_timeout: 30, route: least_loaded}`, `_timeout: 30 has no unit; did you mean 30s?`},
	{`{accept: explicit, max_wait: 4d, route: least_loaded}`, `2:42: groups.couriers.max_wait: 4d is too long; write less than 4d, when the ingress queue drops the message`},
	{`{accept: explicit, max_wait: 29s, route: least_loaded}`, `max_wait: 29s is less than accept_timeout, 30s`},
	{`{accept: explicit, max_wait: 5, route: least_loaded}`, `2:42: groups.couriers.max_wait: 5 has no unit; did you mean 5m?`},
	{`{accept: explicit, qqq: 1, route: least_loaded}`, `qqq: unknown key; allowed keys: accept, accept_timeout, consumers, max_wait, route`},
	{`{accept: explicit, timeout: 1s, route: least_loaded}`, `timeout: unknown key; allowed keys: accept, accept_timeout, consumers, max_wait, route`},
	{`{accept: explicit, consumer: {}, route: least_loaded}`, `consumer: unknown key; did you mean consumers?`},
	{`text`, `groups.couriers: text is not allowed; write keys with values (key: value)`},
	{``, `2:3: groups.couriers: the key has no value; write one, or remove the key`},

	{`{accept: explicit}`, `2:3: groups.couriers.route: missing; write affinity, cel, first_with_capacity, lambda, least_loaded,`},
	{`{accept: explicit, route: least-loaded}`, `2:39: groups.couriers.route: unknown routing function "least-loaded"; did you mean least_loaded?`},
	{`{accept: explicit, route: random}`, `unknown routing function "random"; write affinity, cel, first_with_capacity, lambda, least_loaded, rendezvous`},
	{`{accept: explicit, route: 1}`, `route: YAML does not take this for text; write it in quotes`},
	{`{accept: explicit, route: [weighted]}`, `route: this is a list; write the name of a routing function, or one with its argument, such as {cel:`},
	{`{accept: explicit, route: rendezvous}`, `rendezvous needs the name of a field of the message; write {rendezvous: ...}`},
	{`{accept: explicit, route: cel}`, `cel needs an expression; write {cel: ...}`},
	{`{accept: explicit, route: {}}`, `route: write exactly one of affinity, cel, first_with_capacity, lambda, least_loaded, rendezvous, weighted`},
	{`{accept: explicit, route: {cel: "true", affinity: a}}`, `route: write exactly one of affinity, cel, first_with_capacity, lambda, least_loaded, rendezvous, weighted`},
	{`{accept: explicit, route: {random: a}}`, `route.random: unknown key; allowed keys: affinity, cel, lambda, rendezvous`},
	{`{accept: explicit, route: {least_loaded: a}}`, `couriers.route: least_loaded takes no argument; write route: least_loaded`},
	{`{accept: explicit, route: {rendezvous: ""}}`, `route.rendezvous: empty; write the name of a field of the message`},
	{`{accept: explicit, route: {rendezvous: 1}}`, `route.rendezvous: YAML does not take this for text; write it in quotes`},
	{`{accept: explicit, route: {affinity: ` + strings.Repeat("a", 257) + `}}`, `route.affinity: 257 bytes are too many; the maximum is 256`},
	{`{accept: explicit, route: {cel: ` + strings.Repeat("a", 8193) + `}}`, `route.cel: 8193 bytes are too many; the maximum is 8192`},
	{`{accept: explicit, route: {lambda: "a b"}}`, `route.lambda: "a b" is `},
	{`{accept: explicit, route: {lambda: "arn:aws:sqs:eu-west-1:123456789012:q"}}`, `route.lambda: "arn:aws:sqs`},

	{member(``), `groups.couriers.consumers.north: write exactly one of sqs, lambda: the name or ARN of where its messages go`},
	{member(`sqs: a, lambda: b`), `consumers.north: write exactly one of sqs, lambda: the name or ARN of where its messages go`},
	{member(`sqs: ""`), `consumers.north.sqs: empty; write the name or ARN of a standard queue`},
	{member(`sqs: a b`), `consumers.north.sqs: "a b" is not an SQS queue; write its name or its ARN`},
	{member(`sqs: "https://sqs.eu-west-1.amazonaws.com/123456789012/q"`), `" is not an SQS queue; write its name or its ARN`},
	{member(`sqs: ` + strings.Repeat("a", 81)), `" is not an SQS queue; write its name or its ARN`},
	{member(`sqs: "arn:aws:lambda:eu-west-1:123456789012:function:f"`), `" is not an SQS queue; write its name or its ARN`},
	{member(`sqs: orders.fifo`), `a FIFO queue cannot be a consumer's`},
	{member(`sqs: landfall-ingress-couriers`), `this is the ingress queue of group couriers, so its messages would go in circles; write another queue`},
	{member(`sqs: "arn:aws:sqs:eu-west-1:123456789012:prod-ingress-couriers"`), `is the ingress queue of group couriers`},
	{member(`lambda: a.b`), `consumers.north.lambda: "a.b" is `},
	{member(`sqs: a, max_in_flight: 0`), `consumers.north.max_in_flight: 0 is too small; the minimum is 1`},
	{member(`sqs: a, max_in_flight: -1`), `-1 is too small; the minimum is 1`},
	{member(`sqs: a, max_in_flight: 120001`), `2:92: groups.couriers.consumers.north.max_in_flight: 120001 is too large; the maximum is 120000`},
	{member(`sqs: a, max_in_flight: unlimited`), `unlimited is not allowed; write a whole number, such as 4`},
	{member(`sqs: a, weight: 0`), `weight: 0 is too small; the minimum is 1`},
	{member(`sqs: a, weight: 1001`), `weight: 1001 is too large; the maximum is 1000`},
	{member(`sqs: a, tags: eu`), `tags: eu is not allowed; write a list of tags, such as [eu, bulky]`},
	{member(`sqs: a, tags: [1]`), `tags.0: YAML does not take this for text; write it in quotes`},
	{member(`sqs: a, tags: [""]`), `tags.0: empty; write a tag`},
	{member(`sqs: a, tags: [eu, us, eu]`), `2:92: groups.couriers.consumers.north.tags.2: eu stands twice in the list; remove one`},
	{member(`sqs: a, tags: [` + strings.Repeat("a", 129) + `]`), `129 bytes are too many; the maximum is 128`},
	{member(`sqs: a, tag: [a]`), `tag: unknown key; did you mean tags?`},
	{`{accept: explicit, route: weighted, consumers: {north: {sqs: a}, south: {sqs: a}}}`, `consumers.south: consumer north has the same target, so a message that leaves one would come back to it as`},
	{`{accept: explicit, route: weighted, consumers: {north: {sqs: "arn:aws:sqs:eu-west-1:123456789012:a"}, south: {sqs: a}}}`, `consumers.south: consumer north may have the same target, so a message that leaves one could come back to it`},
	{`{accept: explicit, route: weighted, consumers: {north: {lambda: "f:live"}, south: {lambda: "arn:aws:lambda:eu-west-1:123456789012:function:f:live"}}}`, `consumers.south: consumer north may have the same target, so a message that leaves one could come back to it`},
	{`{accept: explicit, route: weighted, consumers: {North: {sqs: a}}}`, `"North" cannot be a name; write 1 to 63 lower-case letters, digits and hyphens, not beginning with a hyphen`},
	{`{accept: explicit, route: weighted, consumers: {1: {sqs: a}}}`, `consumers.1: YAML does not take this for a name; write it in quotes`},
	{`{accept: explicit, route: weighted, consumers: [north]}`, `consumers: this is a list; write keys with values (key: value)`},
}

// member is a group with a consumer that has these keys.
func member(keys string) string {
	return `{accept: explicit, route: weighted, consumers: {north: {` + keys + `}}}`
}

// ofTwo are mistakes in badGroups that no JSON Schema can see; see beyond.
var ofTwo = []string{"11h1s", "max_wait: 4d", "29s", "999ms", "-ingress-", "south", "{1:"}

func TestBadGroupsAreRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range badGroups {
		src := "groups:\n  couriers: " + tt.value + "\n  others: {accept: explicit, route: weighted}\n"
		mustRefuse(t, src, tt.want)
		var problems *config.Error
		if _, err := yamlconfig.Parse("f", []byte(src)); errors.As(err, &problems) && len(problems.Problems) != 1 {
			t.Errorf("%s: error = %v\nwant one problem", tt.value, err)
		}
		fits := fitsSchema([]byte(src)) == nil
		if unseen := slices.ContainsFunc(ofTwo, func(word string) bool { return strings.Contains(tt.value, word) }); fits != unseen {
			t.Errorf("%s fits the schema: %v", tt.value, fits)
		}
	}
}

func TestConsumersWithDifferentTargetsAreAccepted(t *testing.T) {
	t.Parallel()
	for _, consumers := range []string{
		`{north: {sqs: a}, south: {lambda: a}}`,
		`{north: {sqs: "arn:aws:sqs:eu-west-1:123456789012:a"}, south: {sqs: "arn:aws:sqs:eu-west-1:210987654321:a"}}`,
		`{north: {lambda: "f:live"}, south: {lambda: f}}`,
	} {
		if _, err := yamlconfig.Parse("f", []byte("groups:\n  a: {accept: explicit, route: weighted, consumers: "+consumers+"}\n")); err != nil {
			t.Errorf("%s: %v", consumers, err)
		}
	}
}

func TestBadResolvedGroupsAreRefused(t *testing.T) {
	t.Parallel()
	const good = `{"concurrency":16,"destinations":{},"log_successes":0,"parallelism":1,"groups":{"a":{"accept":"explicit",` +
		`"accept_timeout":"30s","max_wait":"1h","route":{"cel":"true"},"consumers":{"b":{"sqs":"q","weight":1}}}}}`
	if _, err := config.ParseJSON("f", []byte(good)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ old, new, want string }{
		{`"accept":"explicit",`, ``, "groups.a.accept: missing"},
		{`"accept_timeout":"30s",`, ``, "accept_timeout: 0s is too short"},
		{`,"route":{"cel":"true"}`, ``, "groups.a.route: missing"},
		{`{"cel":"true"}`, `null`, "route: write the name"},
		{`{"cel":"true"}`, `{}`, "route: write the name"},
		{`{"cel":"true"}`, `{"cel":1}`, "route: write the name"},
		{`{"cel":"true"}`, `{"cel":"true","lambda":"f"}`, "route: write the name"},
		{`{"cel":"true"}`, `{"cel":""}`, "the argument is empty"},
		{`{"cel":"true"}`, `{"weighted":"x"}`, "groups.a.route.weighted: weighted takes no argument"},
		{`"weight":1`, `"weight":0`, "groups.a.consumers.b.weight: 0 is too small"},
		{`"sqs":"q",`, ``, "write exactly one of sqs, lambda"},
		{`"weight":1`, `"wait":1`, `unknown field "wait"`},
	} {
		_, err := config.ParseJSON("f", []byte(strings.Replace(good, tt.old, tt.new, 1)))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s instead of %s: error = %v, want in it: %s", tt.new, tt.old, err, tt.want)
		}
	}
}

func TestPolicyOfAGroupKeepsEverySetting(t *testing.T) {
	t.Parallel()
	cfg, err := yamlconfig.Parse("f", []byte("groups:\n  a: {accept: on_delivery, accept_timeout: 2m, max_wait: 3h, route: weighted}\n  b: {accept: explicit, route: weighted}\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := routing.Policy{Accept: routing.OnDelivery, AcceptTimeout: 2 * time.Minute, MaxWait: 3 * time.Hour}
	if diff := cmp.Diff(want, cfg.Groups["a"].Policy()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	defaults := routing.Policy{}.WithDefaults()
	defaults.MaxReceives = 0 // the deployment's
	if diff := cmp.Diff(defaults, cfg.Groups["b"].Policy()); diff != "" {
		t.Errorf("defaults differ from the domain's (-want +got):\n%s", diff)
	}
}

func TestGroupsThatGiveUpEarlyAreWarnedOf(t *testing.T) {
	t.Parallel()
	for keys, warns := range map[string]bool{
		"accept_timeout: 4s, max_wait: 1h":   false, // 900 times
		"accept_timeout: 3s, max_wait: 1h":   true,
		"accept_timeout: 30s, max_wait: 90h": true,
		"accept_timeout: 30s":                false,
	} {
		cfg, err := yamlconfig.Parse("f", []byte("groups:\n  couriers: {accept: explicit, route: least_loaded, "+keys+"}\n"))
		if err != nil {
			t.Fatal(err)
		}
		if got := cfg.Warnings(); (len(got) == 1) != warns || warns && !strings.Contains(got[0], "groups.couriers") {
			t.Errorf("%s: warnings %q, want some: %t", keys, got, warns)
		}
	}
}
