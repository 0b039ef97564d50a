package routingdb

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/dynamo"
	"github.com/landfall-dev/landfall/internal/schema"
)

// update turns a write into an update that answers with the item after it.
func update(w *dynamo.Write, table *string, key dynamo.Item) *dynamodb.UpdateItemInput {
	return w.Update(table, key, types.ReturnValueAllNew)
}

// key is the key of an item; control items have a second part.
func key(parts ...string) dynamo.Item {
	k := dynamo.Item{}
	for i, part := range parts {
		k[[]string{schema.PK, schema.SK}[i]] = dynamo.Text(part)
	}
	return k
}
