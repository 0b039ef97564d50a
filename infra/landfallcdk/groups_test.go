package landfallcdk_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/landfall-dev/landfall/infra/landfallcdk"
	"github.com/landfall-dev/landfall/internal/eventsource"
	"github.com/landfall-dev/landfall/internal/schema"
)

// groupNames of the configuration with everything.
var groupNames = []string{"clerks", "couriers"}

func TestQueuesKeepMessagesAndRequireTLS(t *testing.T) {
	p := props(t, everything)
	p.OwnedQueues = true
	got := synth(t, p)
	for _, group := range groupNames {
		deadID, dead := got.one("SQS::Queue", "LandfallDead"+group)
		got.want(dead, map[string]string{
			"QueueName": fmt.Sprintf("%q", schema.DeadLetterQueue("Landfall", group)), "MessageRetentionPeriod": "1209600",
			"RedriveAllowPolicy": `{"redrivePermission":"byQueue","sourceQueueArns":[` + ours("sqs", schema.IngressQueue("Landfall", group)) + `]}`,
			"FifoQueue":          "null",
		})
		_, ingress := got.one("SQS::Queue", "LandfallIngress"+group)
		got.want(ingress, map[string]string{
			"QueueName": fmt.Sprintf("%q", schema.IngressQueue("Landfall", group)), "MessageRetentionPeriod": "345600",
			"RedrivePolicy":     fmt.Sprintf(`{"deadLetterTargetArn":{"Fn::GetAtt":[%q,"Arn"]},"maxReceiveCount":1000}`, deadID),
			"VisibilityTimeout": "270", "DelaySeconds": "null", "FifoQueue": "null",
		})
		_, route := got.one("Lambda::Function", "LandfallRoute")
		if timeout := route.Properties["Timeout"].(float64); 6*timeout > ingress.Properties["VisibilityTimeout"].(float64) {
			t.Errorf("%s: a message is hidden for less than six times the function's %v s", group, timeout)
		}
	}
	policies := map[string]bool{}
	for _, r := range got.all("SQS::QueuePolicy") {
		queue := text(t, r.Properties.at("Queues.0.Ref"))
		policies[strings.Trim(queue, `"`)] = true
		got.want(r, map[string]string{
			"PolicyDocument.Statement": `[{"Action":"sqs:*","Condition":{"Bool":{"aws:SecureTransport":"false"}},"Effect":"Deny","Principal":{"AWS":"*"},` +
				`"Resource":{"Fn::GetAtt":[` + queue + `,"Arn"]}}]`,
		})
	}
	for id, queue := range got.all("SQS::Queue") {
		got.want(queue, map[string]string{"SqsManagedSseEnabled": "true"})
		if !policies[id] {
			t.Errorf("%s accepts requests without TLS", id)
		}
	}
}

func TestMappingsReturnFailedMessages(t *testing.T) {
	p := props(t, everything)
	p.RouteConcurrency = 7
	got := synth(t, p)
	if n := len(got.all("Lambda::EventSourceMapping")); n != 3 {
		t.Errorf("%d mappings, want the stream's and one for each group", n)
	}
	route, r := got.one("Lambda::Function", "LandfallRoute")
	// With fewer, Lambda would refuse batches, and each refusal counts as a receive.
	got.want(r, map[string]string{"ReservedConcurrentExecutions": "14", "Timeout": "45"})
	for _, group := range groupNames {
		ingress, _ := got.one("SQS::Queue", "LandfallIngress"+group)
		_, mapping := got.one("Lambda::EventSourceMapping", "LandfallRoute"+group)
		got.want(mapping, map[string]string{
			"BatchSize": "10", "FunctionResponseTypes": `["ReportBatchItemFailures"]`, "ScalingConfig": `{"MaximumConcurrency":7}`,
			"EventSourceArn": fmt.Sprintf(`{"Fn::GetAtt":[%q,"Arn"]}`, ingress), "FunctionName.Ref": fmt.Sprintf("%q", route),
			"FilterCriteria": "null", // Lambda deletes what a filter leaves out
		})
	}
	stream, _ := got.one("Lambda::Function", "LandfallStream")
	failures, _ := got.one("SQS::Queue", "LandfallStreamFailures")
	_, mapping := got.one("Lambda::EventSourceMapping", "LandfallStreamMapping")
	got.want(mapping, map[string]string{
		"BatchSize": fmt.Sprint(eventsource.StreamBatch), "BisectBatchOnFunctionError": "true", "MaximumRetryAttempts": fmt.Sprint(eventsource.StreamRetries),
		"MaximumRecordAgeInSeconds": fmt.Sprint(eventsource.StreamRecordAge), "ParallelizationFactor": "10", "StartingPosition": `"TRIM_HORIZON"`,
		"EventSourceArn": `{"Fn::GetAtt":["LandfallOutboxED842621","StreamArn"]}`, "FunctionName.Ref": fmt.Sprintf("%q", stream),
		"DestinationConfig.OnFailure.Destination": fmt.Sprintf(`{"Fn::GetAtt":[%q,"Arn"]}`, failures),
		"FilterCriteria.Filters":                  `[{"Pattern":` + text(t, `{"eventName":["INSERT"],"dynamodb":{"NewImage":{"status":{"S":["pending"]}}}}`) + `}]`,
	})
}

func TestOnlyOwnedQueuesAreMade(t *testing.T) {
	names := func(owned bool) (names []string) {
		p := props(t, everything)
		p.OwnedQueues = owned
		got := synth(t, p)
		for _, queue := range got.all("SQS::Queue") {
			names = append(names, queue.Properties["QueueName"].(string))
		}
		slices.Sort(names)
		return names
	}
	want := []string{"Landfall-dead-clerks", "Landfall-dead-couriers", "Landfall-ingress-clerks", "Landfall-ingress-couriers", "Landfall-stream-failures"}
	if diff := cmp.Diff(want, names(false)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(append(want, "clerk-one", "courier-north"), names(true)); diff != "" {
		t.Error(diff)
	}
}

// TestConsumerPolicyReachesItsGroupAlone lists everything that a consumer policy allows.
func TestConsumerPolicyReachesItsGroupAlone(t *testing.T) {
	for _, owned := range []bool{false, true} {
		p := props(t, everything)
		p.OwnedQueues = owned
		got := synth(t, p)
		receipts, _ := got.one("DynamoDB::Table", "LandfallReceipts")
		for group, queue := range map[string]string{"clerks": "clerkone", "couriers": "couriernorth"} {
			_, policy := got.one("IAM::ManagedPolicy", "LandfallConsumerPolicy"+group)
			ingress, _ := got.one("SQS::Queue", "LandfallIngress"+group)
			want := map[string]string{
				fmt.Sprintf(`{"Fn::GetAtt":[%q,"Arn"]}`, receipts): "dynamodb:UpdateItem",
				fmt.Sprintf(`{"Fn::GetAtt":[%q,"Arn"]}`, ingress):  "sqs:ChangeMessageVisibility sqs:DeleteMessage sqs:GetQueueUrl",
			}
			if owned {
				id, _ := got.one("SQS::Queue", "LandfallConsumer"+queue)
				want[fmt.Sprintf(`{"Fn::GetAtt":[%q,"Arn"]}`, id)] = "sqs:ChangeMessageVisibility sqs:DeleteMessage sqs:ReceiveMessage"
			}
			if diff := cmp.Diff(want, allowed(got, policy)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", group, diff)
			}
			got.want(policy, map[string]string{
				"PolicyDocument.Statement.0.Condition": `{"ForAllValues:StringLike":{"dynamodb:LeadingKeys":["` + group + `#*"]},"Null":{"dynamodb:LeadingKeys":"false"}}`,
				"Roles":                                "null", "Users": "null", "Groups": "null",
			})
		}
	}
}

func TestRouterReachesOnlyConfiguredAndGivenTargets(t *testing.T) {
	p := props(t, everything)
	p.ConsumerTargets = []string{"sqs:courier-*", "sqs:arn:aws:sqs:eu-west-1:210987654321:far-*", "lambda:robot-*", "lambda:pick:*"}
	got := synth(t, p)
	_, policy := got.one("IAM::Policy", "LandfallRouteRoleDefaultPolicy")
	may := allowed(got, policy)
	for _, queue := range []string{ours("sqs", "courier-*"), `"arn:aws:sqs:eu-west-1:210987654321:far-*"`} {
		if may[queue] != "sqs:GetQueueAttributes sqs:GetQueueUrl sqs:SendMessage" {
			t.Errorf("on %s: %q", queue, may[queue])
		}
	}
	for _, function := range []string{ours("lambda", "function:robot-*"), ours("lambda", "function:pick:*")} {
		if may[function] != "lambda:InvokeFunction" {
			t.Errorf("on %s: %q", function, may[function])
		}
	}
	for _, name := range names {
		_, policy := got.one("IAM::Policy", "Landfall"+name+"RoleDefaultPolicy")
		if may := allowed(got, policy); may[ours("sqs", "courier-*")] != "" {
			t.Errorf("%s may send to consumers", name)
		}
	}
}

func TestStackWithoutGroupsHasNoGroupResources(t *testing.T) {
	got := synth(t, props(t, twoDestinations))
	for _, kind := range []string{"Lambda::Function", "Lambda::EventSourceMapping", "SQS::Queue", "IAM::ManagedPolicy", "CloudWatch::Alarm"} {
		for id := range got.all(kind) {
			for _, of := range []string{"Route", "Ingress", "Dead", "Consumer", "InFlight", "NotRouted", "ReceiptsThrottled"} {
				if strings.HasPrefix(id, "Landfall"+of) {
					t.Errorf("%s exists", id)
				}
			}
		}
	}
	if got.Outputs["LandfallConsumerPolicies"].Value != nil || got.Outputs["LandfallFunctionRoute"].Value != nil {
		t.Errorf("outputs %v", got.Outputs)
	}
}

// TestAlarmsGoOffInTimeAndStay checks thresholds, periods and statistics.
func TestAlarmsGoOffInTimeAndStay(t *testing.T) {
	p := props(t, everything)
	p.Thresholds = landfallcdk.Thresholds{InFlight: 90_000}
	got := synth(t, p)
	for name, want := range map[string]map[string]string{
		// A run writes it when it looks at the row, once an hour.
		"UnknownAgecharge":       {"Threshold": "3600", "Period": "300", "EvaluationPeriods": "13", "DatapointsToAlarm": "1"},
		"DeadLetterscouriers":    {"Threshold": "0", "MetricName": `"ApproximateNumberOfMessagesVisible"`, "Statistic": `"Maximum"`},
		"InFlightcouriers":       {"Threshold": "90000", "MetricName": `"ApproximateNumberOfMessagesNotVisible"`, "Statistic": `"Maximum"`, "Period": "60"},
		"NotRoutedcouriers":      {"Threshold": "0", "EvaluationPeriods": "2", "DatapointsToAlarm": "2", "Metrics.0.Expression": `"IF(waiting > 0 AND FILL(received, 0) < 1, 1, 0)"`},
		"IteratorAge":            {"Threshold": "60000", "EvaluationPeriods": "3", "DatapointsToAlarm": "3", "Period": "60"},
		"StreamFailed":           {"Threshold": "0", "MetricName": `"ApproximateNumberOfMessagesVisible"`},
		"FunctionErrorsroute":    {"Threshold": "2", "MetricName": `"Errors"`},
		"FunctionThrottledroute": {"Threshold": "0", "MetricName": `"Throttles"`},
		"FunctionErrorsstream":   {"MetricName": `"Errors"`},
		"TableThrottled":         {"Threshold": "0", "EvaluationPeriods": "1"},
		"ReceiptsThrottled":      {"Threshold": "0", "MetricName": `"WriteThrottleEvents"`, "Dimensions.0.Value.Ref": `"LandfallReceipts3E7E176F"`},
		"ControlThrottled":       {"Threshold": "0", "MetricName": `"ReadThrottleEvents"`, "Dimensions.0.Value.Ref": `"LandfallControl55717B8D"`},
	} {
		_, alarm := got.one("CloudWatch::Alarm", "Landfall"+name)
		want["ComparisonOperator"], want["TreatMissingData"] = `"GreaterThanThreshold"`, `"notBreaching"`
		got.want(alarm, want)
	}
	dead, _ := got.one("SQS::Queue", "LandfallDeadcouriers")
	_, alarm := got.one("CloudWatch::Alarm", "LandfallDeadLetterscouriers")
	got.want(alarm, map[string]string{"Dimensions": fmt.Sprintf(`[{"Name":"QueueName","Value":{"Fn::GetAtt":[%q,"QueueName"]}}]`, dead)})
}
