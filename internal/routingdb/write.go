package routingdb

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/dynamo"
	"github.com/landfall-dev/landfall/internal/schema"
)

// write is one conditional write in the making. The zero value is ready.
type write struct{ dynamo.Write }

// update is the write as an update whose answer is the item after it.
func (w *write) update(table *string, key dynamo.Item) *dynamodb.UpdateItemInput {
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
