package outboxdb

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/schema"
)

// TableCreator is what making a table calls; *dynamodb.Client is one.
type TableCreator interface {
	CreateTable(context.Context, *dynamodb.CreateTableInput, ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error)
}

// CreateTable makes an outbox table where there is none, for desks and tests: key, index and stream are
// those of the deployed one. A table that exists is left as it is.
func CreateTable(ctx context.Context, client TableCreator, name string) error {
	attribute := func(name string, kind types.ScalarAttributeType) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: &name, AttributeType: kind}
	}
	key := func(name string, kind types.KeyType) types.KeySchemaElement {
		return types.KeySchemaElement{AttributeName: &name, KeyType: kind}
	}
	_, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			attribute(schema.PK, types.ScalarAttributeTypeS),
			attribute(schema.Lane, types.ScalarAttributeTypeS),
			attribute(schema.LaneAt, types.ScalarAttributeTypeN),
		},
		KeySchema: []types.KeySchemaElement{key(schema.PK, types.KeyTypeHash)},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName:  aws.String(schema.LaneIndex),
			KeySchema:  []types.KeySchemaElement{key(schema.Lane, types.KeyTypeHash), key(schema.LaneAt, types.KeyTypeRange)},
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
		}},
		StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewImage},
	})
	var exists *types.ResourceInUseException
	if err != nil && !errors.As(err, &exists) {
		return fmt.Errorf("create table %s: %w", name, err)
	}
	return nil
}
