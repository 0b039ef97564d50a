package landfall_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall"
	"github.com/landfall-dev/landfall/landfalltest"
)

// charge is a configuration with one destination. A service reads its own with [landfall.LoadConfig].
var charge = landfall.Config{Destinations: map[string]landfall.Destination{"charge": {}}}

func ExampleOutbox_Put() {
	ctx := context.Background()
	box, err := landfalltest.New(charge) // in production: landfall.New(dynamodb.NewFromConfig(...), cfg)
	if err != nil {
		log.Fatal(err)
	}
	row := landfall.Row{Destination: "charge", Key: "order-42", Payload: []byte(`{"amount": 1200}`)}
	fmt.Println("put:", box.Put(ctx, row))
	fmt.Println("the same again:", box.Put(ctx, row))

	row.Payload = []byte(`{"amount": 1300}`)
	err = box.Put(ctx, row)
	fmt.Println("another amount, conflict:", errors.Is(err, landfall.ErrConflict))

	row.Key = "order\n42"
	var invalid *landfall.RowError
	if err = box.Put(ctx, row); errors.As(err, &invalid) {
		fmt.Println(invalid.Field+":", invalid.Problem)
	}
	// Output:
	// put: <nil>
	// the same again: <nil>
	// another amount, conflict: true
	// Key: idempotency key: control character at byte 5
}

func ExampleOutbox_Status() {
	ctx := context.Background()
	box, err := landfalltest.New(charge)
	if err != nil {
		log.Fatal(err)
	}
	if err := box.Put(ctx, landfall.Row{Destination: "charge", Key: "order-42"}); err != nil {
		log.Fatal(err)
	}
	status, err := box.Status(ctx, "charge", "order-42")
	fmt.Println(status.Status, status.Ended(), err)

	_, err = box.Status(ctx, "charge", "order-43")
	fmt.Println("not found:", errors.Is(err, landfall.ErrNotFound))
	// Output:
	// pending false <nil>
	// not found: true
}

func ExampleOutbox_Item() {
	ctx := context.Background()
	box, err := landfalltest.New(charge)
	if err != nil {
		log.Fatal(err)
	}
	if err := createOrders(ctx, box.Client); err != nil {
		log.Fatal(err)
	}
	// An order and its charge are stored together or not at all.
	placeOrder := func(id, payload string) error {
		row, err := box.Item(landfall.Row{Destination: "charge", Key: id, Payload: []byte(payload)})
		if err != nil {
			return err
		}
		items := []types.TransactWriteItem{order(id), row}
		_, err = box.Client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: items})
		return box.Committed(items, err)
	}
	fmt.Println("place:", placeOrder("order-42", `{"amount": 1200}`))
	fmt.Println("again, after a crash:", placeOrder("order-42", `{"amount": 1200}`))
	fmt.Println("conflict:", errors.Is(placeOrder("order-42", `{"amount": 1}`), landfall.ErrConflict))

	rows, err := box.Rows(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, row := range rows {
		fmt.Println(row.Key, string(row.Payload))
	}
	// Output:
	// place: <nil>
	// again, after a crash: <nil>
	// conflict: true
	// order-42 {"amount": 1200}
}

// order is the application's part of the transaction: an order that does not exist yet.
func order(id string) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{
		TableName:           aws.String("orders"),
		Item:                map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: id}},
		ConditionExpression: aws.String("attribute_not_exists(id)"),
	}}
}

func createOrders(ctx context.Context, client *dynamodb.Client) error {
	_, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: aws.String("orders"), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
	})
	return err
}
