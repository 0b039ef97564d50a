package landfallcdk_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/jsii-runtime-go"

	"github.com/landfall-dev/landfall/infra/landfallcdk"
)

// TestGivenResourcesAreUsed gives every resource that the props can have.
func TestGivenResourcesAreUsed(t *testing.T) {
	stack := newStack(t)
	p := props(t, twoDestinations)
	const table = "arn:aws:dynamodb:eu-central-1:123456789012:table/"
	p.OutboxTable = awsdynamodb.Table_FromTableAttributes(stack, jsii.String("Mine"), &awsdynamodb.TableAttributes{
		TableArn: jsii.String(table + "mine"), TableStreamArn: jsii.String(table + "mine/stream/2026-11-30T00:00:00.000"),
	})
	p.ReceiptsTable = awsdynamodb.Table_FromTableArn(stack, jsii.String("MyReceipts"), jsii.String(table+"receipts"))
	p.ControlTable = awsdynamodb.Table_FromTableArn(stack, jsii.String("MyControl"), jsii.String(table+"control"))
	p.EncryptionKey = awskms.Key_FromKeyArn(stack, jsii.String("Key"), jsii.String("arn:aws:kms:eu-central-1:123456789012:key/0a1b2c3d-0000-4000-8000-000000000000"))
	p.AlarmTopic = awssns.Topic_FromTopicArn(stack, jsii.String("Topic"), jsii.String("arn:aws:sns:eu-central-1:123456789012:t"))
	p.PermissionsBoundary = awsiam.ManagedPolicy_FromManagedPolicyArn(stack, jsii.String("Boundary"), jsii.String("arn:aws:iam::123456789012:policy/b"))
	p.Vpc = awsec2.Vpc_FromVpcAttributes(stack, jsii.String("Vpc"), &awsec2.VpcAttributes{
		VpcId: jsii.String("vpc-0123456789abcdef0"), AvailabilityZones: jsii.Strings("eu-central-1a"), PrivateSubnetIds: jsii.Strings("subnet-0123456789abcdef0"),
	})
	p.SecurityGroups = &[]awsec2.ISecurityGroup{awsec2.SecurityGroup_FromSecurityGroupId(stack, jsii.String("Group"), jsii.String("sg-0123456789abcdef0"), nil)}
	p.Runbooks = "https://wiki.example.com/landfall"
	landfall(t, stack, p)
	got := read(t, stack)

	for _, kind := range []string{"DynamoDB::Table", "KMS::Key", "SNS::Topic", "EC2::SecurityGroup", "EC2::VPC"} {
		if made := got.all(kind); len(made) > 0 {
			t.Errorf("made %v", made)
		}
	}
	keys := 0
	for _, name := range names {
		_, function := got.one("Lambda::Function", "Landfall"+name)
		got.want(function, map[string]string{
			"Environment.Variables.LANDFALL_OUTBOX_TABLE":   `"mine"`,
			"Environment.Variables.LANDFALL_RECEIPTS_TABLE": `"receipts"`,
			"Environment.Variables.LANDFALL_CONTROL_TABLE":  `"control"`,
			"VpcConfig": `{"SecurityGroupIds":["sg-0123456789abcdef0"],"SubnetIds":["subnet-0123456789abcdef0"]}`,
		})
		_, role := got.one("IAM::Role", "Landfall"+name+"Role")
		got.want(role, map[string]string{"PermissionsBoundary": `"arn:aws:iam::123456789012:policy/b"`, "ManagedPolicyArns": "null"})
		_, policy := got.one("IAM::Policy", "Landfall"+name+"RoleDefaultPolicy")
		may := allowed(got, policy)
		if may[`"`+table+`mine"`] == "" || name != "Stream" && may[`"`+table+`mine/index/lane-index"`] == "" {
			t.Errorf("%s: %v", name, may)
		}
		for _, s := range policy.Properties.at("PolicyDocument.Statement").([]any) {
			s := properties(s.(map[string]any))
			if s["Sid"] == "Key" {
				services := []string{"dynamodb"}
				if name == "Stream" { // it tells the queue of failures
					services = append(services, "sqs")
				}
				viaAlone(t, name, s, services...)
				keys++
			}
			if s["Sid"] == "NetworkInterfaces" && slices.ContainsFunc(list(s["Action"]), func(a string) bool { return a[:4] != "ec2:" }) {
				t.Errorf("%s may do more with the network than Lambda needs: %v", name, s)
			}
		}
	}
	if keys != len(names) {
		t.Errorf("%d of %d functions may use the key", keys, len(names))
	}
	_, writer := got.one("IAM::ManagedPolicy", "LandfallWriterPolicy")
	for _, s := range writer.Properties.at("PolicyDocument.Statement").([]any) {
		if s := properties(s.(map[string]any)); s["Sid"] == "Key" {
			viaAlone(t, "a writer", s, "dynamodb")
		}
	}
	for id, alarm := range got.all("CloudWatch::Alarm") {
		const topic = `["arn:aws:sns:eu-central-1:123456789012:t"]`
		got.want(alarm, map[string]string{"AlarmActions": topic, "OKActions": topic})
		if why := alarm.Properties["AlarmDescription"].(string); !strings.Contains(why, p.Runbooks+"#") {
			t.Errorf("%s: %s", id, why)
		}
	}
	if got.Outputs["LandfallOutboxTable"].Value != "mine" {
		t.Errorf("the outputs are %v", got.Outputs)
	}
}

// viaAlone checks that a statement about the given key is good for what these services keep, and no others.
func viaAlone(t *testing.T, who string, s properties, services ...string) {
	t.Helper()
	var through []string
	for _, service := range services {
		through = append(through, `{"Fn::Join":["",["`+service+`.",{"Ref":"AWS::Region"},".",{"Ref":"AWS::URLSuffix"}]]}`)
	}
	if got := text(t, s["Condition"]); s["Resource"] != "arn:aws:kms:eu-central-1:123456789012:key/0a1b2c3d-0000-4000-8000-000000000000" ||
		got != `{"StringEquals":{"kms:ViaService":[`+strings.Join(through, ",")+`]}}` {
		t.Errorf("%s may use the key otherwise than through %v: %v", who, services, s)
	}
}

func TestTablesQueuesAndLogsUseTheGivenKey(t *testing.T) {
	const key = "arn:aws:kms:eu-central-1:123456789012:key/0a1b2c3d-0000-4000-8000-000000000000"
	stack := newStack(t)
	p := props(t, everything)
	p.EncryptionKey = awskms.Key_FromKeyArn(stack, jsii.String("Key"), jsii.String(key))
	p.OwnedQueues = true
	landfall(t, stack, p)
	got := read(t, stack)
	for _, table := range got.all("DynamoDB::Table") {
		got.want(table, map[string]string{"SSESpecification": `{"KMSMasterKeyId":"` + key + `","SSEEnabled":true,"SSEType":"KMS"}`})
	}
	for _, queue := range got.all("SQS::Queue") {
		got.want(queue, map[string]string{"KmsMasterKeyId": `"` + key + `"`})
	}
	logs := got.all("Logs::LogGroup")
	for _, group := range logs {
		got.want(group, map[string]string{"KmsKeyId": `"` + key + `"`})
	}
	if len(logs) != 4 {
		t.Errorf("%d log groups, want one of each function", len(logs))
	}
	for id, policy := range got.all("IAM::ManagedPolicy") {
		if document := text(t, policy.Properties["PolicyDocument"]); !strings.Contains(document, key) {
			t.Errorf("%s: its holder cannot use the key: %s", id, document)
		}
	}
}

// TestKeyOfTheSameAppLetsCloudWatchLogsIn, or else CloudWatch Logs would refuse the log groups.
func TestKeyOfTheSameAppLetsCloudWatchLogsIn(t *testing.T) {
	stack := newStack(t)
	p := props(t, twoDestinations)
	p.EncryptionKey = awskms.NewKey(stack, jsii.String("Key"), nil)
	landfall(t, stack, p)
	got := read(t, stack)
	for _, key := range got.all("KMS::Key") {
		got.want(key, map[string]string{
			"KeyPolicy.Statement.1.Principal.Service": `{"Fn::Join":["",["logs.",{"Ref":"AWS::Region"},".",{"Ref":"AWS::URLSuffix"}]]}`,
			"KeyPolicy.Statement.1.Action":            `["kms:Decrypt","kms:DescribeKey","kms:Encrypt","kms:GenerateDataKey*","kms:ReEncrypt*"]`,
			"KeyPolicy.Statement.1.Condition.ArnLike": `{"kms:EncryptionContext:aws:logs:arn":` + ours("logs", "log-group:*") + `}`,
			"KeyPolicy.Statement.2":                   "null",
		})
	}
}

func TestTableWithoutStreamHasNoFastPath(t *testing.T) {
	stack := newStack(t)
	p := props(t, twoDestinations)
	p.OutboxTable = awsdynamodb.Table_FromTableName(stack, jsii.String("Mine"), jsii.String("mine"))
	landfall(t, stack, p)
	got := read(t, stack)
	if functions, mappings := len(got.all("Lambda::Function")), len(got.all("Lambda::EventSourceMapping")); functions != 2 || mappings != 0 {
		t.Errorf("%d functions, %d mappings", functions, mappings)
	}
}

func TestSubnetsWithoutVPCAreRefused(t *testing.T) {
	p := props(t, twoDestinations)
	p.VpcSubnets = &awsec2.SubnetSelection{SubnetType: awsec2.SubnetType_PUBLIC}
	if _, err := landfallcdk.NewLandfall(newStack(t), "Landfall", p); err == nil {
		t.Error("they were")
	}
}
