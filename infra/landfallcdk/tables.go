package landfallcdk

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/jsii-runtime-go"

	"github.com/landfall-dev/landfall/internal/schema"
)

// tables makes the tables that the props do not have. The receipts and control tables exist without groups, too. A
// group that goes and comes back finds the receipts of waiting messages. Destinations use the control table as well.
func (b *builder) tables() {
	if b.made.OutboxTable = b.props.OutboxTable; b.made.OutboxTable == nil {
		outbox := b.table("Outbox", "", awsdynamodb.StreamViewType_NEW_IMAGE)
		outbox.AddGlobalSecondaryIndex(&awsdynamodb.GlobalSecondaryIndexProps{
			IndexName:      jsii.String(schema.LaneIndex),
			PartitionKey:   attribute(schema.Lane, awsdynamodb.AttributeType_STRING),
			SortKey:        attribute(schema.LaneAt, awsdynamodb.AttributeType_NUMBER),
			ProjectionType: awsdynamodb.ProjectionType_KEYS_ONLY,
		})
		b.made.OutboxTable = outbox
	}
	if b.made.ReceiptsTable = b.props.ReceiptsTable; b.made.ReceiptsTable == nil {
		b.made.ReceiptsTable = b.table("Receipts", "", "")
	}
	if b.made.ControlTable = b.props.ControlTable; b.made.ControlTable == nil {
		b.made.ControlTable = b.table("Control", schema.SK, "")
	}
}

// table makes a table with the key PK, and with the sort key and stream if they are not "". It is a Table, not a TableV2:
// a TableV2 is a global table, and a row could be claimed in each of its replicas.
func (b *builder) table(id, sortKey string, stream awsdynamodb.StreamViewType) awsdynamodb.Table {
	prod := b.props.Stage == Prod
	props := &awsdynamodb.TableProps{
		BillingMode:                      awsdynamodb.BillingMode_PAY_PER_REQUEST,
		DeletionProtection:               jsii.Bool(prod),
		Encryption:                       awsdynamodb.TableEncryption_DEFAULT,
		EncryptionKey:                    b.props.EncryptionKey,
		PartitionKey:                     attribute(schema.PK, awsdynamodb.AttributeType_STRING),
		PointInTimeRecoverySpecification: &awsdynamodb.PointInTimeRecoverySpecification{PointInTimeRecoveryEnabled: jsii.Bool(prod)},
		RemovalPolicy:                    b.removal(),
		Stream:                           stream,
		TimeToLiveAttribute:              jsii.String(schema.ExpiresAt),
	}
	if b.props.EncryptionKey != nil {
		props.Encryption = awsdynamodb.TableEncryption_CUSTOMER_MANAGED
	}
	if sortKey != "" {
		props.SortKey = attribute(sortKey, awsdynamodb.AttributeType_STRING)
	}
	made := awsdynamodb.NewTable(b.scope, jsii.String(id), props)
	if !prod {
		accept(made.Node().DefaultChild(), finding{
			rule: "AwsSolutions-DDB3", reason: "A dev stage leaves nothing behind, backups included; prod has point-in-time recovery.",
		})
	}
	return made
}

func attribute(name string, kind awsdynamodb.AttributeType) *awsdynamodb.Attribute {
	return &awsdynamodb.Attribute{Name: jsii.String(name), Type: kind}
}

// removal says what happens to data when the stack goes.
func (b *builder) removal() awscdk.RemovalPolicy {
	if b.props.Stage == Prod {
		return awscdk.RemovalPolicy_RETAIN
	}
	return awscdk.RemovalPolicy_DESTROY
}

// indexARN is the ARN of the only index that is read.
func (b *builder) indexARN() *string {
	return jsii.String(*b.tableARN() + "/index/" + schema.LaneIndex)
}

// tableARN is the outbox table's ARN.
func (b *builder) tableARN() *string { return b.made.OutboxTable.TableArn() }

// stream is the ARN of the outbox table's stream, nil for an existing table without one.
func (b *builder) stream() *string { return b.made.OutboxTable.TableStreamArn() }

// keyForLogs lets CloudWatch Logs use the stack's encryption key for log groups of this account and region. It has no
// effect on a key that the CDK did not make
// (https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/encrypt-log-data-kms.html).
func (b *builder) keyForLogs() {
	if b.props.EncryptionKey == nil {
		return
	}
	groups := b.stack.FormatArn(&awscdk.ArnComponents{
		Service: jsii.String("logs"), Resource: jsii.String("log-group"), ResourceName: jsii.String("*"), ArnFormat: awscdk.ArnFormat_COLON_RESOURCE_NAME,
	})
	b.props.EncryptionKey.AddToResourcePolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Actions:    jsii.Strings("kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey*", "kms:ReEncrypt*"),
		Conditions: &map[string]any{"ArnLike": map[string]any{"kms:EncryptionContext:aws:logs:arn": groups}},
		Principals: &[]awsiam.IPrincipal{awsiam.NewServicePrincipal(jsii.String("logs."+*b.stack.Region()+"."+*b.stack.UrlSuffix()), nil)},
		Resources:  jsii.Strings("*"),
	}), jsii.Bool(true))
}

// useKey allows a role to use the stack's encryption key, through these services alone.
func (b *builder) useKey(services ...string) []awsiam.PolicyStatement {
	if b.props.EncryptionKey == nil {
		return nil
	}
	var through []string
	for _, service := range services {
		through = append(through, service+"."+*b.stack.Region()+"."+*b.stack.UrlSuffix())
	}
	return []awsiam.PolicyStatement{awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Sid:        jsii.String("Key"),
		Actions:    jsii.Strings("kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey", "kms:ReEncryptFrom", "kms:ReEncryptTo"),
		Resources:  &[]*string{b.props.EncryptionKey.KeyArn()},
		Conditions: &map[string]any{"StringEquals": map[string]any{"kms:ViaService": through}},
	})}
}
