package demo

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall"
	"github.com/landfall-dev/landfall/internal/schema"
)

// application is what the ledger calls the application.
const application = "application"

// put is the application: it puts every third row in a transaction with an order, the others by themselves.
func (d *demo) put(ctx context.Context) error {
	client := d.desk.DynamoDB(application)
	if err := createOrders(ctx, client, d.orders); err != nil {
		return err
	}
	box, err := d.box()
	if err != nil {
		return err
	}
	inTransactions := 0
	for i, e := range d.effects {
		row := landfall.Row{
			Destination: e.Destination, Key: e.Key, Payload: e.payload.Body, Headers: map[string]string{rowHeader: e.name()},
		}
		var err error
		if i/len(destinations)%3 == 0 {
			inTransactions++
			err = placeOrder(ctx, client, d.orders, box, row)
		} else {
			err = box.Put(ctx, row)
		}
		if err != nil {
			return fmt.Errorf("put %s: %w", e.payload.Name, err)
		}
	}
	fmt.Fprintf(d.out, "all rows put, %d of them in a transaction with an order of the application\n", inTransactions)
	return nil
}

// box is the application's outbox.
func (d *demo) box() (*landfall.Outbox, error) {
	cfg, err := landfall.LoadConfig(filepath.Join(d.folder, schema.ConfigFile))
	if err != nil {
		return nil, err
	}
	cfg.Table = d.desk.OutboxTable()
	return landfall.New(d.desk.DynamoDB(application), cfg), nil
}

// placeOrder writes the application's item and the row, both or neither.
func placeOrder(ctx context.Context, client *dynamodb.Client, orders string, box *landfall.Outbox, row landfall.Row) error {
	item, err := box.Item(row)
	if err != nil {
		return err
	}
	order := types.TransactWriteItem{Put: &types.Put{
		TableName: &orders,
		Item: map[string]types.AttributeValue{
			"order": &types.AttributeValueMemberS{Value: row.Destination + "/" + row.Key},
			"state": &types.AttributeValueMemberS{Value: "placed"},
		},
	}}
	_, err = client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{order, item}})
	return err
}

func createOrders(ctx context.Context, client *dynamodb.Client, orders string) error {
	_, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: &orders, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("order"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("order"), KeyType: types.KeyTypeHash}},
	})
	if err != nil {
		return fmt.Errorf("create the application's table: %w", err)
	}
	return nil
}
