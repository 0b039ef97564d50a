package outboxdb

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/schema"
)

// Table is the outbox table as a request: for tests and a developer's desk. In an account it is the CDK
// app that makes it.
func Table(name string) *dynamodb.CreateTableInput {
	return &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String(schema.PK), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String(schema.Lane), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String(schema.LaneAt), AttributeType: types.ScalarAttributeTypeN},
		},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String(schema.PK), KeyType: types.KeyTypeHash},
		},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName: aws.String(schema.LaneIndex),
			KeySchema: []types.KeySchemaElement{
				{AttributeName: aws.String(schema.Lane), KeyType: types.KeyTypeHash},
				{AttributeName: aws.String(schema.LaneAt), KeyType: types.KeyTypeRange},
			},
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
		}},
		StreamSpecification: &types.StreamSpecification{
			StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewImage,
		},
	}
}
