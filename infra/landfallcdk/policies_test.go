package landfallcdk_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/landfall-dev/landfall/infra/landfallcdk"
)

// holders is, for each policy that is attached to programs outside of the stack, all that it allows: where "|" follows,
// under which conditions. Queues are the owned ones.
var holders = []struct {
	policy string
	may    map[string]string
}{
	{"WriterPolicy", map[string]string{"outbox": "dynamodb:PutItem | keys charge#* jobs#* mail#* print#*"}},
	{"WriterPolicycharge", map[string]string{"outbox": "dynamodb:PutItem | keys charge#*"}},
	{"WriterPolicyjobs", map[string]string{"outbox": "dynamodb:PutItem | keys jobs#*"}},
	{"WriterPolicymail", map[string]string{"outbox": "dynamodb:PutItem | keys mail#*"}},
	{"WriterPolicyprint", map[string]string{"outbox": "dynamodb:PutItem | keys print#*"}},
	{"ConsumerPolicycouriers", map[string]string{
		"receipts": "dynamodb:UpdateItem | keys couriers#*", "couriers' ingress": endMessages, "north's queue": receiveMessages,
	}},
	{"ConsumerPolicyclerks", map[string]string{
		"receipts": "dynamodb:UpdateItem | keys clerks#*", "clerks' ingress": endMessages, "one's queue": receiveMessages,
	}},
	{"SingleConsumerPolicycouriersnorth", map[string]string{
		"receipts": "dynamodb:UpdateItem | keys couriers#* " + acceptOnly, "couriers' ingress": endMessages, "north's queue": receiveMessages,
	}},
	{"SingleConsumerPolicycouriersfar", map[string]string{
		"receipts": "dynamodb:UpdateItem | keys couriers#* " + acceptOnly, "couriers' ingress": endMessages, "far's queue": receiveMessages,
	}},
	{"SingleConsumerPolicycouriersrobot", map[string]string{ // a function: its mapping receives for it
		"receipts": "dynamodb:UpdateItem | keys couriers#* " + acceptOnly, "couriers' ingress": endMessages,
	}},
	{"SingleConsumerPolicyclerksone", map[string]string{
		"receipts": "dynamodb:UpdateItem | keys clerks#* " + acceptOnly, "clerks' ingress": endMessages, "one's queue": receiveMessages,
	}},
}

const (
	endMessages     = "sqs:ChangeMessageVisibility sqs:DeleteMessage sqs:GetQueueUrl"
	receiveMessages = "sqs:ChangeMessageVisibility sqs:DeleteMessage sqs:ReceiveMessage"
	// acceptOnly are the attributes that docs/routing.md lets a consumer name, and no answer but to a refusal.
	acceptOnly = "attributes attempt ended_at expires_at on_delivery pk state token"
)

func TestPoliciesOfWritersAndConsumersAllowExactlyTheirPart(t *testing.T) {
	p := props(t, everything)
	p.OwnedQueues, p.DestinationWriterPolicies = true, true
	got := synth(t, p)
	arn := func(kind, id string) string {
		logical, _ := got.one(kind, "Landfall"+id)
		return fmt.Sprintf(`{"Fn::GetAtt":[%q,"Arn"]}`, logical)
	}
	resources := map[string]string{
		"outbox": arn("DynamoDB::Table", "Outbox"), "receipts": arn("DynamoDB::Table", "Receipts"),
		"couriers' ingress": arn("SQS::Queue", "Ingresscouriers"), "clerks' ingress": arn("SQS::Queue", "Ingressclerks"),
		"north's queue": arn("SQS::Queue", "Consumercouriernorth"), "one's queue": arn("SQS::Queue", "Consumerclerkone"),
		"far's queue": `"arn:aws:sqs:eu-west-1:210987654321:courier-far"`,
	}
	for _, h := range holders {
		_, policy := got.one("IAM::ManagedPolicy", "Landfall"+h.policy)
		want := map[string]string{}
		for on, may := range h.may {
			want[resources[on]] = may
		}
		found := allowed(got, policy)
		for _, s := range policy.Properties.at("PolicyDocument.Statement").([]any) {
			if s := properties(s.(map[string]any)); s["Condition"] != nil {
				found[text(t, s["Resource"])] += " | " + conditions(t, s["Condition"].(map[string]any))
			}
		}
		if diff := cmp.Diff(want, found); diff != "" {
			t.Errorf("%s (-want +got):\n%s", h.policy, diff)
		}
		got.want(policy, map[string]string{"Roles": "null", "Users": "null", "Groups": "null"})
	}
	if n := len(got.all("IAM::ManagedPolicy")); n != len(holders) {
		t.Errorf("%d policies, want the %d above", n, len(holders))
	}
}

// conditions says what a statement's conditions allow. It knows no others.
func conditions(t *testing.T, conditions map[string]any) string {
	t.Helper()
	var all []string
	for _, operator := range slices.Sorted(maps.Keys(conditions)) {
		for key, value := range conditions[operator].(map[string]any) {
			switch operator + " " + key {
			case "ForAllValues:StringLike dynamodb:LeadingKeys":
				all = append([]string{"keys " + strings.Join(list(value), " ")}, all...)
			case "ForAllValues:StringEquals dynamodb:Attributes":
				all = append(all, "attributes "+strings.Join(list(value), " "))
			case "Null dynamodb:LeadingKeys":
				if value != "false" {
					t.Errorf("a request without a key is allowed")
				}
			default:
				t.Errorf("unknown condition %s %s", operator, key)
			}
		}
	}
	return strings.Join(all, " ")
}

func TestOutputsNameThePoliciesOfSingleHolders(t *testing.T) {
	p := props(t, everything)
	p.DestinationWriterPolicies = true
	stack := newStack(t)
	made := landfall(t, stack, p)
	got := read(t, stack)
	for output, want := range map[string][]string{
		"LandfallSingleConsumerPolicies":    {"clerks/one=", "couriers/far=", "couriers/north=", "couriers/robot="},
		"LandfallDestinationWriterPolicies": {"charge=", "jobs=", "mail=", "print="},
		"LandfallConsumerPolicies":          {"clerks=", "couriers="},
	} {
		value := text(t, got.Outputs[output].Value)
		for _, name := range want {
			if !strings.Contains(value, name) {
				t.Errorf("%s is %s, want %s in it", output, value, name)
			}
		}
	}
	if n := len(made.DestinationWriterPolicies); n != 4 || made.SingleConsumerPolicies["couriers"]["far"] == nil {
		t.Errorf("%d policies of destinations, %v", n, made.SingleConsumerPolicies)
	}
	p.DestinationWriterPolicies = false
	if value := synth(t, p).Outputs["LandfallDestinationWriterPolicies"].Value; value != nil {
		t.Errorf("without the prop: %v", value)
	}
}

func TestUnreachableTargetsAreRefusedInProdAndWarnedOfInDev(t *testing.T) {
	const local = `
destinations:
  a: {http: "http://127.0.0.1:8080/a", allow_private: true, deduplicates: never}
  b: {http: "https://b.example.com/", deduplicates: never, lookup: {http: "http://10.0.0.7/{idempotency_key}", rules: [{status: 404, then: not_found}]}}
  old: {http: "http://localhost/", allow_private: true, deduplicates: never, retired: true}
`
	p := props(t, local)
	_, err := landfallcdk.NewLandfall(newStack(t), "Landfall", p)
	for _, want := range []string{"landfall.yaml:3:", "destinations.a.http: 127.0.0.1 is the machine itself", "destinations.b.lookup.http: 10.0.0.7 is a private address"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("prod: %v, want %q in it", err, want)
		}
	}
	if err != nil && strings.Contains(err.Error(), "destinations.old") {
		t.Errorf("a retired destination is refused: %v", err)
	}
	p.Stage = landfallcdk.Dev
	stack := newStack(t)
	landfall(t, stack, p)
	var warnings []string
	for _, m := range *stack.Node().Metadata() {
		if *m.Type == "aws:cdk:warning" {
			warnings = append(warnings, fmt.Sprint(m.Data))
		}
	}
	if len(warnings) != 2 || !strings.Contains(warnings[0], "destinations.a.http: 127.0.0.1 is the machine itself") {
		t.Errorf("dev warns %q", warnings)
	}
}
