package landfall

import (
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

// conditionFailed is the code of a cancellation reason
// (https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html).
const conditionFailed = "ConditionalCheckFailed"

// Committed reads the error of a transaction that contained rows. items are the transaction's items, all of
// them, in their order; err is what TransactWriteItems returned.
//
//	err is nil                                 nil
//	every row is found stored as it is         nil: an earlier attempt at this transaction took effect
//	a key is in use with other content         ErrConflict; err can still be unwrapped from it
//	anything else                              err: a condition of the application's own items failed, a
//	                                           TransactionConflict, throttling, a lost connection ...
//
// The second case holds because a transaction writes all of its items or none: where its rows are, the
// application's items were written, too, whatever their conditions say on a second attempt. It rests on the
// rows being put in this transaction and nowhere else. If only some of the rows are found, they came from
// elsewhere, and err is returned.
func (o *Outbox) Committed(items []types.TransactWriteItem, err error) error {
	var cancelled *types.TransactionCanceledException
	if !errors.As(err, &cancelled) || len(cancelled.CancellationReasons) != len(items) {
		return err
	}
	rows, found := 0, 0
	for i, item := range items {
		if item.Put == nil || aws.ToString(item.Put.TableName) != o.cfg.Table {
			continue
		}
		rows++
		reason := cancelled.CancellationReasons[i]
		switch {
		case aws.ToString(reason.Code) != conditionFailed:
		case outboxdb.Repeats(item.Put.Item, reason.Item):
			found++
		default:
			return fmt.Errorf("landfall: row %s: %w: %w", name(item.Put.Item), ErrConflict, err)
		}
	}
	if rows > 0 && found == rows {
		return nil
	}
	return err
}

// name is a row's name in errors.
func name(item map[string]types.AttributeValue) outbox.ID {
	pk, _ := item[schema.PK].(*types.AttributeValueMemberS)
	if pk == nil {
		return outbox.ID{}
	}
	return outbox.ParsePK(pk.Value)
}
