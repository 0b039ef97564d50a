package landfallcdk_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"github.com/landfall-dev/landfall/infra/landfallcdk"
)

// stackIn is a stack of that name in a known region; "" stands for any region.
func stackIn(t *testing.T, name, region string) awscdk.Stack {
	t.Helper()
	app := awscdk.NewApp(&awscdk.AppProps{Outdir: jsii.String(t.TempDir())})
	p := &awscdk.StackProps{StackName: jsii.String(name)}
	if region != "" {
		p.Env = &awscdk.Environment{Account: jsii.String("123456789012"), Region: jsii.String(region)}
	}
	return awscdk.NewStack(app, jsii.String("Landfall"), p)
}

func TestARNOfAnotherRegionIsRefused(t *testing.T) {
	const group = "groups:\n  g: {accept: explicit, route: %s, consumers: {%s}}\n"
	http := func(rest string) string {
		return "destinations:\n  a: {http: \"https://a.example.com/\", deduplicates: never, " + rest + "}\n"
	}
	for name, c := range map[string]struct{ yaml, path string }{
		"a destination's queue":  {"destinations:\n  a: {sqs: \"arn:aws:sqs:REGION:123456789012:q\", deduplicates: never}\n", "destinations.a.sqs"},
		"a destination's secret": {http(`secret: "arn:aws:secretsmanager:REGION:123456789012:secret:s-AbCdEf"`), "destinations.a.secret"},
		"a lookup's secret": {http(`lookup: {http: "https://b.example.com/{idempotency_key}", ` +
			`secret: "arn:aws:secretsmanager:REGION:123456789012:secret:s-AbCdEf", rules: [{status: 404, then: not_found}]}`), "destinations.a.lookup.secret"},
		"a lookup's function":   {http(`lookup: {lambda: "arn:aws:lambda:REGION:123456789012:function:f"}`), "destinations.a.lookup.lambda"},
		"a consumer's queue":    {fmt.Sprintf(group, "least_loaded", `c: {sqs: "arn:aws:sqs:REGION:123456789012:q"}`), "groups.g.consumers.c.sqs"},
		"a consumer's function": {fmt.Sprintf(group, "least_loaded", `c: {lambda: "arn:aws:lambda:REGION:123456789012:function:f"}`), "groups.g.consumers.c.lambda"},
		"a routing function":    {fmt.Sprintf(group, `{lambda: "arn:aws:lambda:REGION:123456789012:function:f"}`, "c: {sqs: q}"), "groups.g.route.lambda"},
	} {
		t.Run(name, func(t *testing.T) {
			in := func(region string) landfallcdk.Props { return props(t, strings.ReplaceAll(c.yaml, "REGION", region)) }
			_, err := landfallcdk.NewLandfall(stackIn(t, "landfall", "eu-central-1"), "Landfall", in("eu-west-1"))
			if err == nil || !strings.Contains(err.Error(), "is in region eu-west-1, and the stack is in eu-central-1") || !strings.Contains(err.Error(), "landfall.yaml:2:") {
				t.Errorf("got %v, want something about %s", err, c.path)
			}
			// Another account is allowed, and a stack for any region cannot know its own.
			another := in("eu-central-1")
			another.ConfigFile = write(t, "landfall.yaml", strings.ReplaceAll(strings.ReplaceAll(c.yaml, "REGION", "eu-central-1"), "123456789012", "210987654321"))
			landfall(t, stackIn(t, "landfall", "eu-central-1"), another)
			landfall(t, stackIn(t, "landfall", ""), in("eu-west-1"))
		})
	}
}

// grouped has groups with consumers. All names have the longest allowed length.
func grouped(groups, consumers int) string {
	var yaml strings.Builder
	yaml.WriteString("groups:\n")
	for g := range groups {
		fmt.Fprintf(&yaml, "  g%02d-%s:\n    accept: explicit\n    route: least_loaded\n    consumers: {", g, strings.Repeat("x", 42))
		for c := range consumers {
			fmt.Fprintf(&yaml, "c%03d: {sqs: %02d-%03d-%s}, ", c, g, c, strings.Repeat("y", 73))
		}
		yaml.WriteString("}\n")
	}
	return yaml.String()
}

func TestImpossibleGroupIsRefused(t *testing.T) {
	const one = "groups:\n  g: {accept: explicit, route: least_loaded, consumers: {c: {sqs: %s}}}\n"
	for name, c := range map[string]struct {
		yaml, stack string
		change      func(*landfallcdk.Props)
		want        string
	}{
		"a name that no queue can have": {"groups:\n  " + strings.Repeat("g", 63) + ": {accept: explicit, route: least_loaded}\n", "landfall-prod", nil,
			"would have a name of 85 characters, SQS allows 80: shorten the stack's name or the group's"},
		"dead letters for a consumer": {fmt.Sprintf(one, "landfall-dead-g"), "landfall", nil, "a consumer needs one of its own"},
		"failures for a consumer":     {fmt.Sprintf(one, `"arn:aws:sqs:eu-west-1:123456789012:landfall-stream-failures"`), "landfall", nil, "a consumer needs one of its own"},
		"an invalid expression":       {"groups:\n  g: {accept: explicit, route: {cel: \"consumers[\"}}\n", "landfall", nil, "landfall.yaml:2:"},
		"too many groups":             {grouped(50, 0), "landfall", nil, "50 groups and 0 queues of consumers make up to 553 resources"},
		"too many owned queues": {grouped(10, 20), "landfall", func(p *landfallcdk.Props) { p.OwnedQueues = true },
			"10 groups and 200 queues of consumers make up to 798 resources"},
		"a policy that is too large": {grouped(1, 28), "landfall", func(p *landfallcdk.Props) { p.OwnedQueues = true },
			"has 28 owned queues, but a policy has room for"},
		"a role that is too large": {grouped(3, 110), "landfall", nil, "route needs 12 policies for the names of its queues, functions and secrets, but a role can hold 10"},
		"too little concurrency": {fmt.Sprintf(one, "q"), "landfall", func(p *landfallcdk.Props) { p.RouteConcurrency = 1 },
			"RouteConcurrency is 1: Lambda offers 2 to 1000"},
		"a target without a kind": {fmt.Sprintf(one, "q"), "landfall", targets("courier-*"), `consumer target "courier-*": want sqs: or lambda:`},
		"another kind of target":  {fmt.Sprintf(one, "q"), "landfall", targets("sqs:arn:aws:lambda:eu-west-1:123456789012:function:f"), "want sqs: or lambda:"},
		"a target of any name":    {fmt.Sprintf(one, "q"), "landfall", targets("lambda:arn:aws:lambda:eu-west-1:123456789012:function:*"), "would let messages be sent to anything"},
		"a target of any account": {fmt.Sprintf(one, "q"), "landfall", targets("sqs:arn:aws:sqs:*:*:courier"), "want sqs: or lambda:"},
	} {
		t.Run(name, func(t *testing.T) {
			p := props(t, c.yaml)
			if c.change != nil {
				c.change(&p)
			}
			if _, err := landfallcdk.NewLandfall(stackIn(t, c.stack, ""), "Landfall", p); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want something about %q", err, c.want)
			}
		})
	}
}

func targets(targets ...string) func(*landfallcdk.Props) {
	return func(p *landfallcdk.Props) { p.ConsumerTargets = targets }
}

func TestStackWithoutANameIsRefusedForGroups(t *testing.T) {
	stack := awscdk.NewNestedStack(stackIn(t, "landfall", ""), jsii.String("Nested"), nil)
	_, err := landfallcdk.NewLandfall(stack, "Landfall", props(t, everything))
	if err == nil || !strings.Contains(err.Error(), "give the stack a name") {
		t.Errorf("got %v", err)
	}
}

// TestPoliciesFitIntoIAMsLimits makes the largest stacks of groups and of long names.
func TestPoliciesFitIntoIAMsLimits(t *testing.T) {
	queues := "destinations:\n"
	for i := range 40 {
		queues += fmt.Sprintf("  d%02d: {sqs: %02d-%s, deduplicates: never}\n", i, i, strings.Repeat("q", 77))
	}
	var secrets string
	for i := range 10 {
		secrets += fmt.Sprintf("  s%02d: {http: \"https://a.example.com/%d\", deduplicates: never, secret: %02d-%s}\n", i, i, i, strings.Repeat("s", 500))
	}
	for name, c := range map[string]struct {
		yaml  string
		owned bool
	}{
		"groups":    {grouped(43, 3), false},
		"consumers": {grouped(7, 23), true},
		"sends":     {queues + secrets, false},
	} {
		t.Run(name, func(t *testing.T) {
			stack := stackIn(t, "landfall", "")
			p := props(t, c.yaml)
			p.OwnedQueues, p.GroupPoliciesOnly = c.owned, true
			landfall(t, stack, p)
			got := read(t, stack)
			if n := len(got.Resources); n > 500 {
				t.Errorf("%d resources, CloudFormation allows 500", n)
			}
			for id, r := range got.all("IAM::Policy") {
				if n := length(r.Properties["PolicyDocument"]); n > 10240 {
					t.Errorf("%s may have %d bytes, IAM allows a role 10240", id, n)
				}
			}
			attached := map[string]int{}
			for id, r := range got.all("IAM::ManagedPolicy") {
				if n := length(r.Properties["PolicyDocument"]); n > 6144 {
					t.Errorf("%s may have %d bytes, IAM allows 6144", id, n)
				}
				attached[text(t, r.Properties["Roles"])]++
			}
			for role, n := range attached {
				if n > 10 && role != "null" {
					t.Errorf("%d policies are attached to %s, IAM allows 10", n, role)
				}
			}
		})
	}
}

// length is the largest number of bytes that this can have in a deployed policy.
func length(v any) (n int) {
	const partition, region, account, queue = len("aws-us-gov"), len("us-gov-west-1"), 12, 80
	switch v := v.(type) {
	case string:
		return len(v) + len(`"",`)
	case []any:
		for _, each := range v {
			n += length(each)
		}
	case map[string]any:
		if v["Fn::GetAtt"] != nil {
			return len(`"arn::sqs:::",`) + partition + region + account + queue
		}
		if v["Ref"] != nil {
			return region
		}
		if join, ok := v["Fn::Join"].([]any); ok {
			return length(join[1]) - 3*len(join[1].([]any))
		}
		for key, each := range v {
			n += len(key) + len(`"":,`) + length(each)
		}
	}
	return n + len("{},")
}
