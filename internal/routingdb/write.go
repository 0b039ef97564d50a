package routingdb

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/schema"
)

// item is an item as the SDK knows it.
type item map[string]types.AttributeValue

// write is one conditional write in the making. The zero value is ready.
type write struct {
	sets, removes, conditions []string
	names                     map[string]string
	values                    item
}

// name is an attribute within an expression; several are reserved words there.
func (w *write) name(attribute string) string {
	if w.names == nil {
		w.names = map[string]string{}
	}
	w.names["#"+attribute] = attribute
	return "#" + attribute
}

func (w *write) value(v types.AttributeValue) string {
	if w.values == nil {
		w.values = item{}
	}
	name := ":v" + strconv.Itoa(len(w.values))
	w.values[name] = v
	return name
}

func (w *write) set(attribute string, v types.AttributeValue) {
	w.sets = append(w.sets, w.name(attribute)+" = "+w.value(v))
}

// setOrRemove sets what is there and removes what is nil.
func (w *write) setOrRemove(attribute string, v types.AttributeValue) {
	if v == nil {
		w.removes = append(w.removes, w.name(attribute))
	} else {
		w.set(attribute, v)
	}
}

func (w *write) require(condition string) { w.conditions = append(w.conditions, condition) }

// requireIs asks for an attribute's exact value; nil asks that there is none.
func (w *write) requireIs(attribute string, v types.AttributeValue) {
	if v == nil {
		w.require("attribute_not_exists(" + w.name(attribute) + ")")
	} else {
		w.require(w.name(attribute) + " = " + w.value(v))
	}
}

// requireFlag asks for a flag; false is also what is absent.
func (w *write) requireFlag(attribute string, on bool) {
	if on {
		w.requireIs(attribute, flag(true))
	} else {
		name := w.name(attribute)
		w.require("(attribute_not_exists(" + name + ") OR " + name + " = " + w.value(flag(false)) + ")")
	}
}

// update is the write as an update.
func (w *write) update(table string, key item) *dynamodb.UpdateItemInput {
	var expression []string
	if len(w.sets) > 0 {
		expression = append(expression, "SET "+strings.Join(w.sets, ", "))
	}
	if len(w.removes) > 0 {
		expression = append(expression, "REMOVE "+strings.Join(w.removes, ", "))
	}
	return &dynamodb.UpdateItemInput{
		TableName: &table, Key: key, UpdateExpression: aws.String(strings.Join(expression, " ")),
		ConditionExpression: w.condition(), ExpressionAttributeNames: w.names, ExpressionAttributeValues: w.values,
		ReturnValues: types.ReturnValueAllNew, ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// put is the write's conditions with a whole item.
func (w *write) put(table string, i item) *dynamodb.PutItemInput {
	return &dynamodb.PutItemInput{
		TableName: &table, Item: i,
		ConditionExpression: w.condition(), ExpressionAttributeNames: w.names, ExpressionAttributeValues: w.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

func (w *write) condition() *string {
	if len(w.conditions) == 0 {
		return nil
	}
	return aws.String(strings.Join(w.conditions, " AND "))
}

// repeatConflicts has the SDK repeat a write that met a transaction on the same item: it is no failed
// condition, and not among the errors that the SDK repeats by itself.
func repeatConflicts(o *dynamodb.Options) {
	o.Retryer = retry.AddWithErrorCodes(o.Retryer, (*types.TransactionConflictException)(nil).ErrorCode())
}

// refusedItem tells a failed condition, with the item that failed it: empty if there is none.
func refusedItem(err error) (i item, refused bool) {
	var failed *types.ConditionalCheckFailedException
	if !errors.As(err, &failed) {
		return nil, false
	}
	return failed.Item, true
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number[T int | int64](n T) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(int64(n), 10)}
}

func flag(b bool) types.AttributeValue { return &types.AttributeValueMemberBOOL{Value: b} }

func list(l ...types.AttributeValue) types.AttributeValue {
	return &types.AttributeValueMemberL{Value: l}
}

func millis(t time.Time) types.AttributeValue { return number(t.UnixMilli()) }

// key is the key of an item; control items have a second part.
func key(parts ...string) item {
	k := item{}
	for i, part := range parts {
		k[[]string{schema.PK, schema.SK}[i]] = text(part)
	}
	return k
}
