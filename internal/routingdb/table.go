package routingdb

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/schema"
)

// ReceiptsTable is the table of receipts as a request: for tests and a developer's desk. In an account it is
// the CDK app that makes it. Its time to live is schema.ExpiresAt.
func ReceiptsTable(name string) *dynamodb.CreateTableInput { return table(name, schema.PK) }

// ControlTable is the table of control items, likewise.
func ControlTable(name string) *dynamodb.CreateTableInput { return table(name, schema.PK, schema.SK) }

func table(name string, keys ...string) *dynamodb.CreateTableInput {
	in := &dynamodb.CreateTableInput{TableName: &name, BillingMode: types.BillingModePayPerRequest}
	for i, key := range keys {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{
			AttributeName: aws.String(key), AttributeType: types.ScalarAttributeTypeS,
		})
		in.KeySchema = append(in.KeySchema, types.KeySchemaElement{
			AttributeName: aws.String(key), KeyType: []types.KeyType{types.KeyTypeHash, types.KeyTypeRange}[i],
		})
	}
	return in
}
