package landfallcdk_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/landfall-dev/landfall/infra/landfallcdk"
)

// names of the functions, with which their logical ids begin.
var names = []string{"Dispatch", "Reconcile", "Stream"}

// scheduled are the functions that run every minute.
var scheduled = names[:2]

func TestFunctionsHaveTheirSettings(t *testing.T) {
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
			"Environment.Variables.GOMEMLIMIT":                 `"409MiB"`,
			"Environment.Variables.LANDFALL_OUTBOX_TABLE.Ref":  `"LandfallOutboxED842621"`,
			"Environment.Variables.LANDFALL_METRICS_NAMESPACE": `"Landfall/Landfall"`,
			"Environment.Variables.LANDFALL_QUEUE_PREFIX":      `"Landfall"`,
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
		if want := map[bool]int{true: 1}[slices.Contains(scheduled, name)]; async != want {
			t.Errorf("%s: %d settings for asynchronous invocations, want %d", name, async, want)
		}
	}
	_, dispatch := got.one("Lambda::Function", "LandfallDispatch")
	got.want(dispatch, map[string]string{"Timeout": "165", "ReservedConcurrentExecutions": "3"}) // 65 + 90 + 10
	_, reconcile := got.one("Lambda::Function", "LandfallReconcile")
	got.want(reconcile, map[string]string{"Timeout": "85", "ReservedConcurrentExecutions": "2"})
	_, stream := got.one("Lambda::Function", "LandfallStream")
	got.want(stream, map[string]string{"ReservedConcurrentExecutions": "null"}) // the number of shards is unknown
}

// TestLambdaLogsItsOwnLinesOnlyForFailures: and it keeps the functions' lines. A line of metrics has no level and counts
// as INFO.
func TestLambdaLogsItsOwnLinesOnlyForFailures(t *testing.T) {
	got := synth(t, props(t, everything))
	for _, name := range append(slices.Clone(names), "Route") {
		_, function := got.one("Lambda::Function", "Landfall"+name)
		got.want(function, map[string]string{
			"LoggingConfig.LogFormat": `"JSON"`, "LoggingConfig.SystemLogLevel": `"WARN"`, "LoggingConfig.ApplicationLogLevel": `"INFO"`,
		})
	}
}

func TestTimeoutIsRoundedUp(t *testing.T) {
	got := synth(t, props(t, `{destinations: {a: {http: "https://a.example.com/", deduplicates: never, send_timeout: 1500ms}}}`))
	_, dispatch := got.one("Lambda::Function", "LandfallDispatch")
	got.want(dispatch, map[string]string{"Timeout": "77"})
}

func TestDevAndSharedStacksReserveNoConcurrency(t *testing.T) {
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

func TestEachPartOfTheLanesIsSweptOnce(t *testing.T) {
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

// permissions counts the rule's permissions to start a function.
func permissions(got *template, rule, function string) (n int) {
	for _, r := range got.all("Lambda::Permission") {
		if text(got.t, r.Properties["SourceArn"]) == fmt.Sprintf(`{"Fn::GetAtt":[%q,"Arn"]}`, rule) {
			n++
			got.want(r, map[string]string{
				"Action": `"lambda:InvokeFunction"`, "Principal": `"events.amazonaws.com"`,
				"FunctionName": fmt.Sprintf(`{"Fn::GetAtt":[%q,"Arn"]}`, function),
			})
		}
	}
	return n
}
