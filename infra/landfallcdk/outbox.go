package landfallcdk

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/jsii-runtime-go"

	"github.com/landfall-dev/landfall/internal/schema"
)

// outbox makes the table. It is a Table, not a TableV2: that one is a global table, and in each of its replicas
// the same row could be claimed.
func (b *builder) outbox() {
	if b.Props.OutboxTable != nil {
		b.Landfall.OutboxTable = b.Props.OutboxTable
		return
	}
	prod := b.Stage == Prod
	encryption := awsdynamodb.TableEncryption_DEFAULT
	if b.EncryptionKey != nil {
		encryption = awsdynamodb.TableEncryption_CUSTOMER_MANAGED
	}
	table := awsdynamodb.NewTable(b.scope, jsii.String("Outbox"), &awsdynamodb.TableProps{
		BillingMode:                      awsdynamodb.BillingMode_PAY_PER_REQUEST,
		DeletionProtection:               jsii.Bool(prod),
		Encryption:                       encryption,
		EncryptionKey:                    b.EncryptionKey,
		PartitionKey:                     attribute(schema.PK, awsdynamodb.AttributeType_STRING),
		PointInTimeRecoverySpecification: &awsdynamodb.PointInTimeRecoverySpecification{PointInTimeRecoveryEnabled: jsii.Bool(prod)},
		RemovalPolicy:                    b.removal(),
		Stream:                           awsdynamodb.StreamViewType_NEW_IMAGE,
		TimeToLiveAttribute:              jsii.String(schema.ExpiresAt),
	})
	table.AddGlobalSecondaryIndex(&awsdynamodb.GlobalSecondaryIndexProps{
		IndexName:      jsii.String(schema.LaneIndex),
		PartitionKey:   attribute(schema.Lane, awsdynamodb.AttributeType_STRING),
		SortKey:        attribute(schema.LaneAt, awsdynamodb.AttributeType_NUMBER),
		ProjectionType: awsdynamodb.ProjectionType_KEYS_ONLY,
	})
	if !prod {
		accept(table.Node().DefaultChild(), finding{
			rule: "AwsSolutions-DDB3", reason: "A dev stage leaves nothing behind, backups included; prod has point-in-time recovery.",
		})
	}
	b.Landfall.OutboxTable = table
}

func attribute(name string, kind awsdynamodb.AttributeType) *awsdynamodb.Attribute {
	return &awsdynamodb.Attribute{Name: jsii.String(name), Type: kind}
}

// removal is what becomes of data when the stack goes.
func (b *builder) removal() awscdk.RemovalPolicy {
	if b.Stage == Prod {
		return awscdk.RemovalPolicy_RETAIN
	}
	return awscdk.RemovalPolicy_DESTROY
}

// indexARN is the only index that is read.
func (b *builder) indexARN() *string {
	return jsii.String(*b.tableARN() + "/index/" + schema.LaneIndex)
}

// tableARN is the table's ARN.
func (b *builder) tableARN() *string { return b.Landfall.OutboxTable.TableArn() }

// useKey lets the holder of a role read and write what the table's own key encrypts, through DynamoDB alone.
func (b *builder) useKey() []awsiam.PolicyStatement {
	if b.EncryptionKey == nil {
		return nil
	}
	return []awsiam.PolicyStatement{awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Sid:       jsii.String("TableKey"),
		Actions:   jsii.Strings("kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey", "kms:ReEncryptFrom", "kms:ReEncryptTo"),
		Resources: &[]*string{b.EncryptionKey.KeyArn()},
		Conditions: &map[string]any{"StringEquals": map[string]any{
			"kms:ViaService": "dynamodb." + *b.stack.Region() + "." + *b.stack.UrlSuffix(),
		}},
	})}
}
