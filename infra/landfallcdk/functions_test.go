package landfallcdk_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/landfall-dev/landfall/infra/landfallcdk"
)

// names of the functions, as logical ids begin.
var names = []string{"Dispatch", "Reconcile"}

func TestNoFunctionRunsOtherThanItShould(t *testing.T) {
	p := props(t, `
destinations:
  slow: {http: "https://api.example.com/slow", deduplicates: never, send_timeout: 90s}
  mail: {http: "https://mail.example.com/send", deduplicates: never, send_timeout: 1500ms}
`)
	got := synth(t, p)
	if n := len(got.all("Lambda::Function")); n != len(names) {
		t.Errorf("%d functions, want %d", n, len(names))
	}
	for _, name := range names {
		id, function := got.one("Lambda::Function", "Landfall"+name)
		got.want(function, map[string]string{
			"Architectures": `["arm64"]`, "Handler": `"bootstrap"`, "MemorySize": `512`, "Runtime": `"provided.al2023"`,
			"TracingConfig.Mode": `"Active"`, "VpcConfig": `null`,
			"Environment.Variables.GOMEMLIMIT":                `"409MiB"`,
			"Environment.Variables.LANDFALL_OUTBOX_TABLE.Ref": `"LandfallOutboxED842621"`,
		})
		logs, group := got.one("Logs::LogGroup", "Landfall"+name+"Logs")
		got.want(group, map[string]string{"RetentionInDays": "90"})
		got.want(function, map[string]string{"LoggingConfig.LogGroup.Ref": fmt.Sprintf("%q", logs)})
		async := 0
		for _, r := range got.all("Lambda::EventInvokeConfig") {
			if r.Properties.at("FunctionName.Ref") == id {
				async++
				got.want(r, map[string]string{"MaximumEventAgeInSeconds": "60", "MaximumRetryAttempts": "0", "Qualifier": `"$LATEST"`})
			}
		}
		if async != 1 {
			t.Errorf("%s: %d settings for asynchronous invocations", name, async)
		}
	}
	_, dispatch := got.one("Lambda::Function", "LandfallDispatch")
	got.want(dispatch, map[string]string{"Timeout": "165", "ReservedConcurrentExecutions": "3"}) // 65 + 90 + 10
	_, reconcile := got.one("Lambda::Function", "LandfallReconcile")
	got.want(reconcile, map[string]string{"Timeout": "85", "ReservedConcurrentExecutions": "2"})
}

func TestFractionsOfASecondDoNotShortenATimeout(t *testing.T) {
	got := synth(t, props(t, `{destinations: {a: {http: "https://a.example.com/", deduplicates: never, send_timeout: 1500ms}}}`))
	_, dispatch := got.one("Lambda::Function", "LandfallDispatch")
	got.want(dispatch, map[string]string{"Timeout": "77"})
}

func TestConcurrencyIsNotReservedWhereNoneIsToSpare(t *testing.T) {
	dev := props(t, twoDestinations)
	dev.Stage = landfallcdk.Dev
	shared := props(t, twoDestinations)
	shared.ShareConcurrency = true
	for _, p := range []landfallcdk.Props{dev, shared} {
		for id, r := range synth(t, p).all("Lambda::Function") {
			if reserved := r.Properties["ReservedConcurrentExecutions"]; reserved != nil {
				t.Errorf("%s reserves %v", id, reserved)
			}
		}
	}
}

// actions is everything that a function may do, by what it may be done to.
var actions = map[string][]string{
	table:      {"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"},
	index:      {"dynamodb:Query"},
	"its logs": {"logs:CreateLogStream", "logs:PutLogEvents"},
	`"*"`:      {"xray:PutTelemetryRecords", "xray:PutTraceSegments"},
}

const (
	table = `{"Fn::GetAtt":["LandfallOutboxED842621","Arn"]}`
	index = `{"Fn::Join":["",[` + table + `,"/index/lane-index"]]}`
)

func TestNoFunctionMayDoMoreThanItNeeds(t *testing.T) {
	got := synth(t, props(t, twoDestinations))
	policies := got.all("IAM::Policy")
	if len(policies) != len(names) || len(got.all("IAM::Role")) != len(names) {
		t.Errorf("%d policies, %d roles, want one of each per function", len(policies), len(got.all("IAM::Role")))
	}
	for _, name := range names {
		role, r := got.one("IAM::Role", "Landfall"+name+"Role")
		got.want(r, map[string]string{
			"ManagedPolicyArns": "null", "Policies": "null", "PermissionsBoundary": "null",
			"AssumeRolePolicyDocument.Statement": `[{"Action":"sts:AssumeRole","Effect":"Allow","Principal":{"Service":"lambda.amazonaws.com"}}]`,
		})
		logs, _ := got.one("Logs::LogGroup", "Landfall"+name+"Logs")
		_, policy := got.one("IAM::Policy", "Landfall"+name+"RoleDefaultPolicy")
		got.want(policy, map[string]string{"Roles": fmt.Sprintf(`[{"Ref":%q}]`, role)})
		allowed := map[string][]string{}
		for _, s := range policy.Properties.at("PolicyDocument.Statement").([]any) {
			statement := properties(s.(map[string]any))
			if statement["Effect"] != "Allow" || statement["NotAction"] != nil || statement["NotResource"] != nil {
				t.Errorf("%s: %v", name, statement)
			}
			resource := text(t, statement["Resource"])
			if resource == fmt.Sprintf(`{"Fn::GetAtt":[%q,"Arn"]}`, logs) {
				resource = "its logs"
			}
			allowed[resource] = append(allowed[resource], list(statement["Action"])...)
			slices.Sort(allowed[resource])
		}
		if diff := cmp.Diff(actions, allowed); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		_, function := got.one("Lambda::Function", "Landfall"+name)
		got.want(function, map[string]string{"Role": fmt.Sprintf(`{"Fn::GetAtt":[%q,"Arn"]}`, role)})
	}
}

// TestThePageDoesNotHideAPermission compares the page with the table above.
func TestThePageDoesNotHideAPermission(t *testing.T) {
	const page = "../../docs/deploy.md"
	const begin, end = "-update -->\n", "<!-- end -->"
	src, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(src), begin)
	listed, after, found := strings.Cut(rest, end)
	if !found {
		t.Fatalf("%s has no place for the permissions", page)
	}
	var want strings.Builder
	want.WriteString("| on | dispatch, reconcile |\n|---|---|\n")
	for _, on := range []struct{ name, resource string }{
		{"the outbox table", table}, {"its `lane-index`", index}, {"its own log group", "its logs"}, {"`*`", `"*"`},
	} {
		fmt.Fprintf(&want, "| %s | `%s` |\n", on.name, strings.Join(actions[on.resource], "`, `"))
	}
	if *update {
		if err := os.WriteFile(page, []byte(before+begin+want.String()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want.String(), listed); diff != "" {
		t.Errorf("run go test ./landfallcdk -update (-want +got):\n%s", diff)
	}
}

func TestNoPartOfTheLanesIsLeftOutOrSweptTwice(t *testing.T) {
	for parallelism, rules := range map[int]int{1: 1, 2: 1, 5: 1, 7: 2} {
		t.Run(fmt.Sprint(parallelism), func(t *testing.T) {
			got := synth(t, props(t, fmt.Sprintf("parallelism: %d\n%s", parallelism, twoDestinations)))
			function, r := got.one("Lambda::Function", "LandfallDispatch")
			got.want(r, map[string]string{"ReservedConcurrentExecutions": fmt.Sprint(2 * parallelism)})
			var inputs, want []string
			made := 0
			for id, r := range got.all("Events::Rule") {
				if !strings.HasPrefix(id, "LandfallDispatch") {
					continue
				}
				made++
				got.want(r, map[string]string{"ScheduleExpression": `"rate(1 minute)"`, "State": `"ENABLED"`})
				targets := r.Properties["Targets"].([]any)
				if len(targets) > 5 {
					t.Errorf("%s has %d targets, EventBridge allows 5", id, len(targets))
				}
				for _, target := range targets {
					target := properties(target.(map[string]any))
					if got := text(t, target["Arn"]); got != fmt.Sprintf(`{"Fn::GetAtt":[%q,"Arn"]}`, function) {
						t.Errorf("%s starts %s", id, got)
					}
					inputs = append(inputs, fmt.Sprint(target["Input"]))
				}
				if n := permissions(got, id, function); n != 1 {
					t.Errorf("%s: %d permissions to start the function", id, n)
				}
			}
			if made != rules {
				t.Errorf("%d rules, want %d", made, rules)
			}
			for part := range parallelism {
				want = append(want, fmt.Sprintf(`{"part":%d,"of":%d}`, part, parallelism))
			}
			if parallelism == 1 {
				want = []string{"<nil>"} // EventBridge's own event
			}
			slices.Sort(inputs)
			slices.Sort(want)
			if diff := cmp.Diff(want, inputs); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// permissions counts those that a rule has for a function.
func permissions(got *template, rule, function string) (n int) {
	for _, r := range got.all("Lambda::Permission") {
		if text(got.T, r.Properties["SourceArn"]) == fmt.Sprintf(`{"Fn::GetAtt":[%q,"Arn"]}`, rule) {
			n++
			got.want(r, map[string]string{
				"Action": `"lambda:InvokeFunction"`, "Principal": `"events.amazonaws.com"`,
				"FunctionName": fmt.Sprintf(`{"Fn::GetAtt":[%q,"Arn"]}`, function),
			})
		}
	}
	return n
}
