package landfallcdk_test

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/landfall-dev/landfall/infra/landfallcdk"
)

var update = flag.Bool("update", false, "write the golden templates and the table of permissions")

// TestTemplatesMatchTheGoldenFiles compares both stages with files. A changed logical id replaces its resource at
// deployment. For a table, that loses all rows.
func TestTemplatesMatchTheGoldenFiles(t *testing.T) {
	for _, stage := range []landfallcdk.Stage{landfallcdk.Dev, landfallcdk.Prod} {
		t.Run(string(stage), func(t *testing.T) {
			p := props(t, everything)
			p.Stage, p.OwnedQueues, p.ConsumerTargets = stage, true, []string{"sqs:courier-*"}
			got := golden(t, synth(t, p))
			file := filepath.Join("testdata", string(stage)+".golden.json")
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("the template changed (-want +got); if it should, run go test ./landfallcdk -update:\n%s", diff)
			}
		})
	}
}

// golden leaves out the hashes of code and configuration, which change with the configuration's format, and the text
// of the dashboard, which is better read as graphs.
func golden(t *testing.T, got *template) []byte {
	t.Helper()
	for _, r := range got.all("Lambda::Function") {
		r.Properties["Code"] = "the function's binary and its landfall.json"
	}
	for _, r := range got.all("CloudWatch::Dashboard") {
		r.Properties["DashboardBody"] = "the graphs"
	}
	got.Outputs["LandfallConfig"] = struct{ Value any }{"the configuration's hash"}
	b, err := json.MarshalIndent(map[string]any{"Resources": got.Resources, "Outputs": got.Outputs}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(b, '\n')
}

func TestSynthesisIsRepeatable(t *testing.T) {
	first := synth(t, props(t, everything))
	second := synth(t, props(t, everything)) // from other folders
	if diff := cmp.Diff(first.Resources, second.Resources); diff != "" {
		t.Error(diff)
	}
}

// TestResourcesWithDataKeepTheirIDs states the ids again, because golden files are easily regenerated.
func TestResourcesWithDataKeepTheirIDs(t *testing.T) {
	p := props(t, everything)
	p.OwnedQueues = true
	got := synth(t, p)
	for _, id := range []string{
		"LandfallOutboxED842621", "LandfallReceipts3E7E176F", "LandfallControl55717B8D",
		"LandfallIngresscouriersF5F1AB95", "LandfallDeadcouriers3AE3D369", "LandfallConsumercouriernorth6AE4FB40",
		"LandfallDispatchLogs8894A597", "LandfallReconcileLogs31E8B118", "LandfallStreamLogs765A8626", "LandfallRouteLogs13E5D864",
	} {
		if _, ok := got.Resources[id]; !ok {
			t.Errorf("%s has another id: deploying this loses its data", id)
		}
	}
}

func TestProdKeepsDataAndDevLeavesNone(t *testing.T) {
	for stage, policy := range map[landfallcdk.Stage]string{landfallcdk.Prod: "Retain", landfallcdk.Dev: "Delete"} {
		p := props(t, everything)
		p.Stage, p.OwnedQueues = stage, true
		got := synth(t, p)
		for id, r := range got.Resources {
			holdsData := r.Type == "AWS::DynamoDB::Table" || r.Type == "AWS::Logs::LogGroup"
			// A queue's name is fixed: a queue that was never used must not block the next try.
			if r.Type == "AWS::SQS::Queue" && !strings.HasPrefix(id, "LandfallStreamFailures") {
				queue := map[string]string{"Retain": "RetainExceptOnCreate", "Delete": "Delete"}[policy]
				if r.DeletionPolicy != queue || r.UpdateReplacePolicy != policy {
					t.Errorf("%s: %s has %q, %q, want %s", stage, id, r.DeletionPolicy, r.UpdateReplacePolicy, queue)
				}
			}
			if holdsData && (r.DeletionPolicy != policy || r.UpdateReplacePolicy != policy) {
				t.Errorf("%s: %s has %q, %q, want %s", stage, id, r.DeletionPolicy, r.UpdateReplacePolicy, policy)
			}
			if !holdsData && r.DeletionPolicy == "Retain" {
				t.Errorf("%s: %s stays", stage, id)
			}
		}
		protected := map[landfallcdk.Stage]string{landfallcdk.Prod: "true", landfallcdk.Dev: "false"}[stage]
		for _, table := range got.all("DynamoDB::Table") {
			got.want(table, map[string]string{
				"DeletionProtectionEnabled": protected, "PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled": protected,
			})
		}
		if alarms := len(got.all("CloudWatch::Alarm")); (alarms > 0) != (stage == landfallcdk.Prod) {
			t.Errorf("%s: %d alarms", stage, alarms)
		}
	}
}

// TestTablesHaveWhatTheirStoresNeed: the stores are packages outboxdb and routingdb.
func TestTablesHaveWhatTheirStoresNeed(t *testing.T) {
	got := synth(t, props(t, twoDestinations))
	const ttl = `{"AttributeName":"expires_at","Enabled":true}`
	for name, want := range map[string]map[string]string{
		"Outbox": {
			"AttributeDefinitions": `[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"lane","AttributeType":"S"},{"AttributeName":"lane_at","AttributeType":"N"}]`,
			"BillingMode":          `"PAY_PER_REQUEST"`,
			"GlobalSecondaryIndexes": `[{"IndexName":"lane-index","KeySchema":[{"AttributeName":"lane","KeyType":"HASH"},` +
				`{"AttributeName":"lane_at","KeyType":"RANGE"}],"Projection":{"ProjectionType":"KEYS_ONLY"}}]`,
			"KeySchema":               `[{"AttributeName":"pk","KeyType":"HASH"}]`,
			"StreamSpecification":     `{"StreamViewType":"NEW_IMAGE"}`,
			"TimeToLiveSpecification": ttl,
			"TableName":               `null`, // CloudFormation cannot replace a table with a fixed name
		},
		"Receipts": {
			"AttributeDefinitions": `[{"AttributeName":"pk","AttributeType":"S"}]`, "BillingMode": `"PAY_PER_REQUEST"`, "GlobalSecondaryIndexes": "null",
			"KeySchema": `[{"AttributeName":"pk","KeyType":"HASH"}]`, "StreamSpecification": "null", "TimeToLiveSpecification": ttl, "TableName": "null",
		},
		"Control": {
			"AttributeDefinitions": `[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"S"}]`, "BillingMode": `"PAY_PER_REQUEST"`,
			"KeySchema":           `[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}]`,
			"StreamSpecification": "null", "TimeToLiveSpecification": ttl, "TableName": "null",
		},
	} {
		_, table := got.one("DynamoDB::Table", "Landfall"+name)
		got.want(table, want)
	}
}

func TestEachAlarmHasARunbook(t *testing.T) {
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	// A section about an alarm begins with the alarm's meaning, in italics.
	sections := map[string]bool{}
	for _, found := range regexp.MustCompile(`(?m)^## (.+)\n\n\*[^*]`).FindAllStringSubmatch(string(page), -1) {
		sections[strings.ReplaceAll(strings.ToLower(found[1]), " ", "-")] = true
	}
	unused := maps.Clone(sections)
	for id, r := range synth(t, props(t, everything)).all("CloudWatch::Alarm") {
		_, anchor, found := strings.Cut(r.Properties["AlarmDescription"].(string), landfallcdk.DefaultRunbooks+"#")
		if !found || !sections[anchor] {
			t.Errorf("%s links to %q, which is not a section of docs/operations.md: %v", id, anchor, slices.Sorted(maps.Keys(sections)))
		}
		delete(unused, anchor)
	}
	for anchor := range unused {
		t.Errorf("docs/operations.md explains %s, but no alarm links to it", anchor)
	}
}

// TestTheMetricsPageHasEveryMetricThatIsShownOrAlarmed compares the dashboard and the alarms with docs/metrics.md, which
// package observe holds to its code.
func TestTheMetricsPageHasEveryMetricThatIsShownOrAlarmed(t *testing.T) {
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	runbooks := map[string]string{} // the last column of the page's tables, by metric
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|.*\\|([^|]*)\\|$").FindAllStringSubmatch(string(page), -1) {
		runbooks[row[1]] = strings.TrimSpace(row[2])
	}
	got := synth(t, props(t, everything))
	_, dashboard := got.one("CloudWatch::Dashboard", "LandfallDashboard")
	shown := regexp.MustCompile(`MetricName=\W+(\w+)\W`).FindAllStringSubmatch(text(t, dashboard.Properties["DashboardBody"]), -1)
	if len(shown) < 25 {
		t.Fatalf("the dashboard has %d of Landfall's own metrics", len(shown))
	}
	for _, name := range shown {
		if _, written := runbooks[name[1]]; !written {
			t.Errorf("the dashboard shows %s, which docs/metrics.md does not have", name[1])
		}
	}
	alarmed := map[string]bool{}
	for id, alarm := range got.all("CloudWatch::Alarm") {
		name, _ := alarm.Properties["MetricName"].(string)
		if alarm.Properties["Namespace"] != "Landfall/Landfall" {
			continue
		}
		alarmed[name] = true
		_, anchor, _ := strings.Cut(alarm.Properties["AlarmDescription"].(string), landfallcdk.DefaultRunbooks+"#")
		if !strings.HasSuffix(runbooks[name], "(operations.md#"+anchor+")") {
			t.Errorf("%s watches %s: docs/metrics.md names the alarm %q, want a link to operations.md#%s", id, name, runbooks[name], anchor)
		}
	}
	for name, runbook := range runbooks {
		if runbook != "" && !alarmed[name] {
			t.Errorf("docs/metrics.md names an alarm on %s, and no alarm watches it", name)
		}
	}
}
