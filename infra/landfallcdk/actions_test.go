package landfallcdk_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// everything has a destination, a lookup, a group and a consumer of each kind.
const everything = `
destinations:
  charge: {http: "https://api.example.com/charges", deduplicates: 24h, secret: charge-key, lookup: {lambda: ask-charge}}
  mail: {http: "https://mail.example.com/send", deduplicates: never, lookup: {http: "https://mail.example.com/{idempotency_key}", secret: mail-reader, rules: [{status: 404, then: not_found}]}}
  print: {sqs: printer, deduplicates: never}
  jobs: {group: couriers}
  old: {sqs: old-queue, deduplicates: never, retired: true}
groups:
  couriers: {accept: explicit, route: least_loaded, consumers: {north: {sqs: courier-north}, far: {sqs: "arn:aws:sqs:eu-west-1:210987654321:courier-far"}, robot: {lambda: "courier-robot:live"}}}
  clerks: {accept: on_delivery, route: {lambda: pick-clerk}, consumers: {one: {sqs: clerk-one}}}
`

// actions lists every permission of each function, by resource.
var actions = []struct {
	on  string
	may map[string]string
}{
	{"the outbox table", map[string]string{
		"Dispatch": "dynamodb:GetItem dynamodb:PutItem dynamodb:UpdateItem", "Reconcile": "dynamodb:GetItem dynamodb:PutItem dynamodb:UpdateItem",
		"Stream": "dynamodb:GetItem dynamodb:PutItem dynamodb:UpdateItem",
	}},
	{"its `lane-index`", map[string]string{"Dispatch": "dynamodb:Query", "Reconcile": "dynamodb:Query"}},
	{"its stream", map[string]string{
		"Stream": "dynamodb:DescribeStream dynamodb:GetRecords dynamodb:GetShardIterator dynamodb:ListStreams",
	}},
	{"the receipts table", map[string]string{"Route": "dynamodb:GetItem dynamodb:PutItem dynamodb:UpdateItem"}},
	{"the control table, items of destinations", map[string]string{"Dispatch": "dynamodb:Query", "Stream": "dynamodb:Query"}},
	{"the control table, items of groups", map[string]string{"Route": "dynamodb:Query"}},
	{"the queue of stream failures", map[string]string{"Stream": "sqs:SendMessage"}},
	{"queues of destinations, and ingress queues of groups that are destinations", map[string]string{
		"Dispatch": "sqs:GetQueueUrl sqs:SendMessage", "Stream": "sqs:GetQueueUrl sqs:SendMessage",
	}},
	{"ingress queues", map[string]string{
		"Route": "sqs:ChangeMessageVisibility sqs:DeleteMessage sqs:GetQueueAttributes sqs:GetQueueUrl sqs:ReceiveMessage",
	}},
	{"dead-letter queues", map[string]string{"Route": "sqs:GetQueueUrl sqs:SendMessage"}},
	{"queues of consumers", map[string]string{"Route": "sqs:GetQueueAttributes sqs:GetQueueUrl sqs:SendMessage"}},
	{"functions that route or consume", map[string]string{"Route": "lambda:InvokeFunction"}},
	{"functions of lookups", map[string]string{"Reconcile": "lambda:InvokeFunction"}},
	{"secrets of destinations", map[string]string{"Dispatch": "secretsmanager:GetSecretValue", "Stream": "secretsmanager:GetSecretValue"}},
	{"secrets of lookups", map[string]string{"Reconcile": "secretsmanager:GetSecretValue"}},
	{"its own log group", map[string]string{
		"Dispatch": "logs:CreateLogStream logs:PutLogEvents", "Reconcile": "logs:CreateLogStream logs:PutLogEvents",
		"Stream": "logs:CreateLogStream logs:PutLogEvents", "Route": "logs:CreateLogStream logs:PutLogEvents",
	}},
	{"`*`", map[string]string{
		"Dispatch": "xray:PutTelemetryRecords xray:PutTraceSegments", "Reconcile": "xray:PutTelemetryRecords xray:PutTraceSegments",
		"Stream": "xray:PutTelemetryRecords xray:PutTraceSegments", "Route": "xray:PutTelemetryRecords xray:PutTraceSegments",
	}},
}

// resources are the ARNs of the table above for that configuration, as the template has them.
func resources(got *template, function string) map[string][]string {
	attribute := func(kind, prefix, attribute string) string {
		id, _ := got.one(kind, "Landfall"+prefix)
		return fmt.Sprintf(`{"Fn::GetAtt":[%q,%q]}`, id, attribute)
	}
	outbox := attribute("DynamoDB::Table", "Outbox", "Arn")
	return map[string][]string{
		"the outbox table":   {outbox},
		"its `lane-index`":   {`{"Fn::Join":["",[` + outbox + `,"/index/lane-index"]]}`},
		"its stream":         {attribute("DynamoDB::Table", "Outbox", "StreamArn")},
		"the receipts table": {attribute("DynamoDB::Table", "Receipts", "Arn")},
		"the control table, items of destinations":                                   {attribute("DynamoDB::Table", "Control", "Arn")},
		"the control table, items of groups":                                         {attribute("DynamoDB::Table", "Control", "Arn")},
		"the queue of stream failures":                                               {attribute("SQS::Queue", "StreamFailures", "Arn")},
		"queues of destinations, and ingress queues of groups that are destinations": {ours("sqs", "printer"), attribute("SQS::Queue", "Ingresscouriers", "Arn")},
		"ingress queues":                  {attribute("SQS::Queue", "Ingressclerks", "Arn"), attribute("SQS::Queue", "Ingresscouriers", "Arn")},
		"dead-letter queues":              {attribute("SQS::Queue", "Deadclerks", "Arn"), attribute("SQS::Queue", "Deadcouriers", "Arn")},
		"queues of consumers":             {`"arn:aws:sqs:eu-west-1:210987654321:courier-far"`, ours("sqs", "clerk-one"), ours("sqs", "courier-north")},
		"functions that route or consume": {ours("lambda", "function:courier-robot:live"), ours("lambda", "function:pick-clerk")},
		"functions of lookups":            {ours("lambda", "function:ask-charge")},
		"secrets of destinations":         {ours("secretsmanager", "secret:charge-key-??????")},
		"secrets of lookups":              {ours("secretsmanager", "secret:mail-reader-??????")},
		"its own log group":               {attribute("Logs::LogGroup", function+"Logs", "Arn")},
		"`*`":                             {`"*"`},
	}
}

// ours is the ARN of something in the stage's own account and region.
func ours(service, rest string) string {
	return `{"Fn::Join":["",["arn:",{"Ref":"AWS::Partition"},":` + service + `:",{"Ref":"AWS::Region"},":",{"Ref":"AWS::AccountId"},":` + rest + `"]]}`
}

func TestFunctionsHaveExactlyTheirPermissions(t *testing.T) {
	got := synth(t, props(t, everything))
	all := append(slices.Clone(names), "Route")
	if policies, roles := len(got.all("IAM::Policy")), len(got.all("IAM::Role")); policies != len(all) || roles != len(all) {
		t.Errorf("%d policies, %d roles, want one of each per function", policies, roles)
	}
	for _, name := range all {
		role, r := got.one("IAM::Role", "Landfall"+name+"Role")
		got.want(r, map[string]string{
			"ManagedPolicyArns": "null", "Policies": "null", "PermissionsBoundary": "null",
			"AssumeRolePolicyDocument.Statement": `[{"Action":"sts:AssumeRole","Effect":"Allow","Principal":{"Service":"lambda.amazonaws.com"}}]`,
		})
		_, policy := got.one("IAM::Policy", "Landfall"+name+"RoleDefaultPolicy")
		got.want(policy, map[string]string{"Roles": fmt.Sprintf(`[{"Ref":%q}]`, role)})
		want := map[string]string{}
		resources := resources(got, name)
		for _, a := range actions {
			if may := a.may[name]; may != "" {
				for _, resource := range resources[a.on] {
					want[resource] = strings.TrimSpace(want[resource] + " " + may)
				}
			}
		}
		if diff := cmp.Diff(want, allowed(got, policy)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		_, function := got.one("Lambda::Function", "Landfall"+name)
		got.want(function, map[string]string{"Role": fmt.Sprintf(`{"Fn::GetAtt":[%q,"Arn"]}`, role)})
	}
}

// TestFunctionsReadOnlyTheirControls holds the queries of the control table to the keys that the code asks for.
func TestFunctionsReadOnlyTheirControls(t *testing.T) {
	got := synth(t, props(t, everything))
	for name, keys := range map[string]string{"Dispatch": "destination", "Stream": "destination", "Route": "group#*", "Reconcile": ""} {
		_, policy := got.one("IAM::Policy", "Landfall"+name+"RoleDefaultPolicy")
		found := ""
		for _, s := range policy.Properties.at("PolicyDocument.Statement").([]any) {
			if s := properties(s.(map[string]any)); s["Sid"] == "Control" {
				found = text(t, s["Condition"])
			}
		}
		want := ""
		if keys != "" {
			want = `{"ForAllValues:StringLike":{"dynamodb:LeadingKeys":["` + keys + `"]},"Null":{"dynamodb:LeadingKeys":"false"}}`
		}
		if found != want {
			t.Errorf("%s may query the control table under %s, want %s", name, found, want)
		}
	}
}

// allowed are the actions of a policy by resource, in order.
func allowed(got *template, policy resource) map[string]string {
	got.t.Helper()
	by := map[string][]string{}
	for _, s := range policy.Properties.at("PolicyDocument.Statement").([]any) {
		statement := properties(s.(map[string]any))
		if statement["Effect"] != "Allow" || statement["NotAction"] != nil || statement["NotResource"] != nil {
			got.t.Errorf("%v", statement)
		}
		on := []any{statement["Resource"]}
		if several, ok := statement["Resource"].([]any); ok {
			on = several
		}
		for _, resource := range on {
			key := text(got.t, resource)
			by[key] = append(by[key], list(statement["Action"])...)
		}
	}
	joined := map[string]string{}
	for resource, actions := range by {
		slices.Sort(actions)
		joined[resource] = strings.Join(actions, " ")
	}
	return joined
}

// TestPageListsEveryPermission compares docs/deploy.md with the table above.
func TestPageListsEveryPermission(t *testing.T) {
	const page = "../../docs/deploy.md"
	const begin, end = "-update -->\n", "<!-- end -->"
	src, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(src), begin)
	listed, after, found := strings.Cut(rest, end)
	if !found {
		t.Fatalf("%s has no markers for the permissions", page)
	}
	var want strings.Builder
	want.WriteString("| on | | may |\n|---|---|---|\n")
	for _, a := range actions {
		who := map[string][]string{}
		for function, may := range a.may {
			who[may] = append(who[may], strings.ToLower(function))
		}
		for _, may := range slices.Sorted(maps.Keys(who)) {
			slices.Sort(who[may])
			fmt.Fprintf(&want, "| %s | %s | `%s` |\n", a.on, strings.Join(who[may], ", "), strings.ReplaceAll(may, " ", "`, `"))
		}
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
