package config_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/routing"
)

// badGroups are values in place of a group's keys, each with one mistake.
var badGroups = []struct {
	value string // in place of the group's keys, {...}
	want  string // place and message
}{
	{`{route: least_loaded}`, `2:3: groups.couriers.accept: is missing: does a consumer say that it has a message`},
	{`{accept: yes, route: least_loaded}`, `2:22: groups.couriers.accept: "yes" is not possible: allowed are explicit, on_delivery`},
	{`{accept: , route: least_loaded}`, `accept: has no value`},
	{`{accept: true, route: least_loaded}`, `accept: is not text for YAML`},
	{`{accept: [explicit], route: least_loaded}`, `accept: is a list, want text`},
	{`{accept: explicit, accept_timeout: 0s, route: least_loaded}`, `accept_timeout: 0s is too short: at least 1s`},
	{`{accept: explicit, accept_timeout: 999ms, route: least_loaded}`, `accept_timeout: 999ms is too short: at least 1s`},
	{`{accept: explicit, accept_timeout: 11h1s, max_wait: 1d, route: least_loaded}`, `11h0m1s is too long: at most 11h`},
	{`{accept: explicit, accept_timeout: 30, route: least_loaded}`, `30 has no unit: 30s?`},
	{`{accept: explicit, max_wait: 4d, route: least_loaded}`, `2:42: groups.couriers.max_wait: 4d is too long: less than 4d, when the ingress queue forgets the message`},
	{`{accept: explicit, max_wait: 29s, route: least_loaded}`, `max_wait: 29s is less than accept_timeout, 30s`},
	{`{accept: explicit, max_wait: 5, route: least_loaded}`, `5 has no unit: 5m?`},
	{`{accept: explicit, qqq: 1, route: least_loaded}`, `qqq: is no key of Landfall. Allowed here are accept, accept_timeout, consumers, max_wait, route`},
	{`{accept: explicit, timeout: 1s, route: least_loaded}`, `timeout: is no key of Landfall`},
	{`{accept: explicit, consumer: {}, route: least_loaded}`, `consumer: is no key of Landfall: consumers?`},
	{`text`, `groups.couriers: is text, want keys with values`},
	{``, `2:3: groups.couriers: has no value`},

	{`{accept: explicit}`, `2:3: groups.couriers.route: is missing: allowed are affinity, cel, first_with_capacity, lambda, least_loaded, rendezvous, weighted`},
	{`{accept: explicit, route: least-loaded}`, `2:39: groups.couriers.route: "least-loaded" is no routing function: least_loaded? allowed are affinity`},
	{`{accept: explicit, route: random}`, `"random" is no routing function: allowed are affinity`},
	{`{accept: explicit, route: 1}`, `route: is not text for YAML`},
	{`{accept: explicit, route: [weighted]}`, `route: is a list, want keys with values`},
	{`{accept: explicit, route: rendezvous}`, `rendezvous wants the name of a field of the message: write {rendezvous: FIELD}`},
	{`{accept: explicit, route: cel}`, `cel wants an expression: write {cel: EXPRESSION}`},
	{`{accept: explicit, route: {}}`, `route: takes exactly one of affinity, cel`},
	{`{accept: explicit, route: {cel: "true", affinity: a}}`, `route: takes exactly one of affinity, cel`},
	{`{accept: explicit, route: {random: a}}`, `route.random: is no key of Landfall. Allowed here are affinity, cel`},
	{`{accept: explicit, route: {least_loaded: a}}`, `route.least_loaded: takes no argument: write route: least_loaded`},
	{`{accept: explicit, route: {rendezvous: ""}}`, `route.rendezvous: is empty`},
	{`{accept: explicit, route: {rendezvous: 1}}`, `route.rendezvous: is not text for YAML`},
	{`{accept: explicit, route: {affinity: ` + strings.Repeat("a", 257) + `}}`, `route.affinity: the name of a field is at most 256 bytes long`},
	{`{accept: explicit, route: {cel: ` + strings.Repeat("a", 8193) + `}}`, `route.cel: 8193 bytes are too many: at most 8192`},
	{`{accept: explicit, route: {lambda: "a b"}}`, `route.lambda: "a b" is `},
	{`{accept: explicit, route: {lambda: "arn:aws:sqs:eu-west-1:123456789012:q"}}`, `route.lambda: "arn:aws:sqs`},

	{member(``), `groups.couriers.consumers.north: takes exactly one of sqs, lambda`},
	{member(`sqs: a, lambda: b`), `consumers.north: takes exactly one of sqs, lambda`},
	{member(`sqs: ""`), `consumers.north.sqs: is empty`},
	{member(`sqs: a b`), `consumers.north.sqs: "a b" is no queue of SQS: write its name or its ARN`},
	{member(`sqs: "https://sqs.eu-west-1.amazonaws.com/123456789012/q"`), `is no queue of SQS`},
	{member(`sqs: ` + strings.Repeat("a", 81)), `is no queue of SQS`},
	{member(`sqs: "arn:aws:lambda:eu-west-1:123456789012:function:f"`), `is no queue of SQS`},
	{member(`sqs: orders.fifo`), `a FIFO queue cannot be a consumer's`},
	{member(`sqs: landfall-ingress-couriers`), `is the ingress queue of group couriers: its messages would go round in circles`},
	{member(`sqs: "arn:aws:sqs:eu-west-1:123456789012:prod-ingress-couriers"`), `is the ingress queue of group couriers`},
	{member(`lambda: a.b`), `consumers.north.lambda: "a.b" is `},
	{member(`sqs: a, max_in_flight: 0`), `consumers.north.max_in_flight: 0 would take nothing: write 1 to 120000, or leave it out for no limit`},
	{member(`sqs: a, max_in_flight: -1`), `-1 is too small: at least 1`},
	{member(`sqs: a, max_in_flight: 120001`), `120001 is too large: at most 120000`},
	{member(`sqs: a, max_in_flight: unlimited`), `is unlimited, want a whole number`},
	{member(`sqs: a, weight: 0`), `weight: 0 is too small: at least 1`},
	{member(`sqs: a, weight: 1001`), `weight: 1001 is too large: at most 1000`},
	{member(`sqs: a, tags: eu`), `tags: is eu, want a list of tags, such as [eu, bulky]`},
	{member(`sqs: a, tags: [1]`), `tags.0: is not text for YAML: write it in quotes`},
	{member(`sqs: a, tags: [""]`), `tags.0: is empty`},
	{member(`sqs: a, tags: [eu, us, eu]`), `2:92: groups.couriers.consumers.north.tags.2: eu is there twice`},
	{member(`sqs: a, tags: [` + strings.Repeat("a", 129) + `]`), `a tag is 1 to 128 bytes long`},
	{member(`sqs: a, tag: [a]`), `tag: is no key of Landfall: tags?`},
	{`{accept: explicit, route: weighted, consumers: {north: {sqs: a}, south: {sqs: a}}}`, `consumers.south: has the target of north`},
	{`{accept: explicit, route: weighted, consumers: {north: {sqs: "arn:aws:sqs:eu-west-1:123456789012:a"}, south: {sqs: a}}}`, `consumers.south: may have the target of north, and a message that moved on`},
	{`{accept: explicit, route: weighted, consumers: {north: {lambda: "f:live"}, south: {lambda: "arn:aws:lambda:eu-west-1:123456789012:function:f:live"}}}`, `consumers.south: may have the target of north`},
	{`{accept: explicit, route: weighted, consumers: {North: {sqs: a}}}`, `"North" cannot name a consumer`},
	{`{accept: explicit, route: weighted, consumers: {1: {sqs: a}}}`, `consumers.1: looks like something else than a name`},
	{`{accept: explicit, route: weighted, consumers: [north]}`, `consumers: is a list, want keys with values`},
}

// member is a group with a consumer that has these keys.
func member(keys string) string {
	return `{accept: explicit, route: weighted, consumers: {north: {` + keys + `}}}`
}

// ofTwo are mistakes in badGroups that no JSON Schema can see; see beyond.
var ofTwo = []string{"11h1s", "max_wait: 4d", "29s", "999ms", "-ingress-", "south", "{1:"}

func TestBadGroupsAreNotAccepted(t *testing.T) {
	t.Parallel()
	for _, tt := range badGroups {
		src := "groups:\n  couriers: " + tt.value + "\n  others: {accept: explicit, route: weighted}\n"
		mustRefuse(t, src, tt.want)
		var problems *config.Error
		if _, err := config.ParseYAML("f", []byte(src)); errors.As(err, &problems) && len(problems.Problems) != 1 {
			t.Errorf("%s: error = %v\nwant one problem", tt.value, err)
		}
		fits := fitsSchema([]byte(src)) == nil
		if unseen := slices.ContainsFunc(ofTwo, func(word string) bool { return strings.Contains(tt.value, word) }); fits != unseen {
			t.Errorf("%s fits the schema: %v", tt.value, fits)
		}
	}
}

// TestConsumersThatAreTwoAreNotTakenForOne.
func TestConsumersThatAreTwoAreNotTakenForOne(t *testing.T) {
	t.Parallel()
	for _, consumers := range []string{
		`{north: {sqs: a}, south: {lambda: a}}`,
		`{north: {sqs: "arn:aws:sqs:eu-west-1:123456789012:a"}, south: {sqs: "arn:aws:sqs:eu-west-1:210987654321:a"}}`,
		`{north: {lambda: "f:live"}, south: {lambda: f}}`,
	} {
		if _, err := config.ParseYAML("f", []byte("groups:\n  a: {accept: explicit, route: weighted, consumers: "+consumers+"}\n")); err != nil {
			t.Errorf("%s: %v", consumers, err)
		}
	}
}

func TestBadResolvedGroupsAreNotLoaded(t *testing.T) {
	t.Parallel()
	const good = `{"concurrency":16,"destinations":{},"log_successes":0,"parallelism":1,"groups":{"a":{"accept":"explicit",` +
		`"accept_timeout":"30s","max_wait":"1h","route":{"cel":"true"},"consumers":{"b":{"sqs":"q","weight":1}}}}}`
	if _, err := config.ParseJSON("f", []byte(good)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ old, new, want string }{
		{`"accept":"explicit",`, ``, "groups.a.accept: is missing"},
		{`"accept_timeout":"30s",`, ``, "accept_timeout: 0s is too short"},
		{`,"route":{"cel":"true"}`, ``, "groups.a.route: is missing"},
		{`{"cel":"true"}`, `null`, "route: want the name"},
		{`{"cel":"true"}`, `{}`, "route: want the name"},
		{`{"cel":"true"}`, `{"cel":1}`, "route: want the name"},
		{`{"cel":"true"}`, `{"cel":"true","lambda":"f"}`, "route: want the name"},
		{`{"cel":"true"}`, `{"cel":""}`, "the argument is empty"},
		{`{"cel":"true"}`, `{"weighted":"x"}`, "groups.a.route.weighted: takes no argument"},
		{`"weight":1`, `"weight":0`, "groups.a.consumers.b.weight: 0 is too small"},
		{`"sqs":"q",`, ``, "takes exactly one of sqs, lambda"},
		{`"weight":1`, `"wait":1`, `unknown field "wait"`},
	} {
		_, err := config.ParseJSON("f", []byte(strings.Replace(good, tt.old, tt.new, 1)))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s instead of %s: error = %v, want in it: %s", tt.new, tt.old, err, tt.want)
		}
	}
}

func TestPolicyOfAGroupLosesNothing(t *testing.T) {
	t.Parallel()
	cfg, err := config.ParseYAML("f", []byte("groups:\n  a: {accept: on_delivery, accept_timeout: 2m, max_wait: 3h, route: weighted}\n  b: {accept: explicit, route: weighted}\n"))
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

func TestGroupsThatGiveUpEarlyAreNotPassedOverInSilence(t *testing.T) {
	t.Parallel()
	for keys, warns := range map[string]bool{
		"accept_timeout: 4s, max_wait: 1h":   false, // 900 times
		"accept_timeout: 3s, max_wait: 1h":   true,
		"accept_timeout: 30s, max_wait: 90h": true,
		"accept_timeout: 30s":                false,
	} {
		cfg, err := config.ParseYAML("f", []byte("groups:\n  couriers: {accept: explicit, route: least_loaded, "+keys+"}\n"))
		if err != nil {
			t.Fatal(err)
		}
		if got := cfg.Warnings(); (len(got) == 1) != warns || warns && !strings.Contains(got[0], "groups.couriers") {
			t.Errorf("%s: warnings %q, want some: %t", keys, got, warns)
		}
	}
}
