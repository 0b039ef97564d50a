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

// TestWhatTheEmbedderOwnsIsNotMadeAnew gives everything that can be given.
func TestWhatTheEmbedderOwnsIsNotMadeAnew(t *testing.T) {
	stack := newStack(t)
	p := props(t, twoDestinations)
	const table = "arn:aws:dynamodb:eu-central-1:123456789012:table/mine"
	p.OutboxTable = awsdynamodb.Table_FromTableArn(stack, jsii.String("Mine"), jsii.String(table))
	p.EncryptionKey = awskms.Key_FromKeyArn(stack, jsii.String("Key"), jsii.String("arn:aws:kms:eu-central-1:123456789012:key/k"))
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
	for _, name := range names {
		_, function := got.one("Lambda::Function", "Landfall"+name)
		got.want(function, map[string]string{
			"Environment.Variables.LANDFALL_OUTBOX_TABLE": `"mine"`,
			"VpcConfig": `{"SecurityGroupIds":["sg-0123456789abcdef0"],"SubnetIds":["subnet-0123456789abcdef0"]}`,
		})
		_, role := got.one("IAM::Role", "Landfall"+name+"Role")
		got.want(role, map[string]string{"PermissionsBoundary": `"arn:aws:iam::123456789012:policy/b"`, "ManagedPolicyArns": "null"})
		_, policy := got.one("IAM::Policy", "Landfall"+name+"RoleDefaultPolicy")
		got.want(policy, map[string]string{
			"PolicyDocument.Statement.0.Resource": `"` + table + `"`,
			"PolicyDocument.Statement.1.Resource": `"` + table + `/index/lane-index"`,
			"PolicyDocument.Statement.3.Resource": `"arn:aws:kms:eu-central-1:123456789012:key/k"`,
			"PolicyDocument.Statement.3.Condition": `{"StringEquals":{"kms:ViaService":{"Fn::Join":["",["dynamodb.",` +
				`{"Ref":"AWS::Region"},".",{"Ref":"AWS::URLSuffix"}]]}}}`,
		})
		for _, s := range policy.Properties.at("PolicyDocument.Statement").([]any) {
			s := properties(s.(map[string]any))
			if s["Sid"] == "NetworkInterfaces" && slices.ContainsFunc(list(s["Action"]), func(a string) bool { return a[:4] != "ec2:" }) {
				t.Errorf("%s may do more with the network than Lambda needs: %v", name, s)
			}
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

func TestANewTableIsNotEncryptedWithAnotherKeyThanTheGivenOne(t *testing.T) {
	stack := newStack(t)
	p := props(t, twoDestinations)
	p.EncryptionKey = awskms.Key_FromKeyArn(stack, jsii.String("Key"), jsii.String("arn:aws:kms:eu-central-1:123456789012:key/k"))
	landfall(t, stack, p)
	got := read(t, stack)
	_, table := got.one("DynamoDB::Table", "LandfallOutbox")
	got.want(table, map[string]string{
		"SSESpecification": `{"KMSMasterKeyId":"arn:aws:kms:eu-central-1:123456789012:key/k","SSEEnabled":true,"SSEType":"KMS"}`,
	})
}

func TestSubnetsWithoutAVPCAreNotIgnored(t *testing.T) {
	p := props(t, twoDestinations)
	p.VpcSubnets = &awsec2.SubnetSelection{SubnetType: awsec2.SubnetType_PUBLIC}
	if _, err := landfallcdk.NewLandfall(newStack(t), "Landfall", p); err == nil {
		t.Error("they were")
	}
}
