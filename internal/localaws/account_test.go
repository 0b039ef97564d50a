package localaws_test

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/localaws"
)

func TestSmoke(t *testing.T) {
	a := localaws.New(localaws.Options{})
	c := dynamodb.NewFromConfig(a.Config("test"))
	ctx := context.Background()
	_, err := c.CreateTable(ctx, &dynamodb.CreateTableInput{TableName: aws.String("tab"), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: "S"}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: "HASH"}}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: aws.String("tab"),
		Key:                       map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "a"}},
		UpdateExpression:          aws.String("SET a = if_not_exists(a, :one) + :one, b.#x = :one"),
		ExpressionAttributeNames:  map[string]string{"#x": "x"},
		ExpressionAttributeValues: map[string]types.AttributeValue{":one": &types.AttributeValueMemberN{Value: "1"}},
	})
	t.Log(err)
	out, err := c.Scan(ctx, &dynamodb.ScanInput{TableName: aws.String("tab")})
	t.Log(out, err, a.Ledger().Entries())
}
