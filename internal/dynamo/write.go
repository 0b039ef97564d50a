package dynamo

import (
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/schema"
)

// reserved are Landfall's attributes that DynamoDB keeps for itself within expressions, with what stands for
// them there (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ReservedWords.html).
var reserved = map[string]string{
	schema.Status: "#status", schema.Token: "#token", schema.Until: "#until", schema.Window: "#window", schema.State: "#state",
}

// Write is one conditional write in the making. The zero value is ready. It is made for each effect anew, so
// that it builds its texts in place.
type Write struct {
	sets, removes, conditions strings.Builder
	names                     map[string]string
	values                    Item
}

// Name is an attribute within an expression.
func (w *Write) Name(attribute string) string {
	name, isReserved := reserved[attribute]
	if !isReserved {
		return attribute
	}
	if w.names == nil {
		w.names = map[string]string{}
	}
	w.names[name] = attribute
	return name
}

// Value is a value within an expression, of which there may be 62.
func (w *Write) Value(v types.AttributeValue) string {
	const names = ":a:b:c:d:e:f:g:h:i:j:k:l:m:n:o:p:q:r:s:t:u:v:w:x:y:z" +
		":A:B:C:D:E:F:G:H:I:J:K:L:M:N:O:P:Q:R:S:T:U:V:W:X:Y:Z:0:1:2:3:4:5:6:7:8:9"
	if w.values == nil {
		w.values = Item{}
	}
	at := 2 * len(w.values)
	name := names[at : at+2]
	w.values[name] = v
	return name
}

// Set gives an attribute a value.
func (w *Write) Set(attribute string, v types.AttributeValue) { w.SetTo(attribute, w.Value(v)) }

// SetTo gives an attribute what an expression says, in parts.
func (w *Write) SetTo(attribute string, expression ...string) {
	add(&w.sets, "SET ", ", ", w.Name(attribute), " = ")
	write(&w.sets, expression)
}

// Remove removes an attribute.
func (w *Write) Remove(attribute string) { add(&w.removes, " REMOVE ", ", ", w.Name(attribute)) }

// SetOrRemove sets an attribute, or removes it if the value is nil.
func (w *Write) SetOrRemove(attribute string, v types.AttributeValue) {
	if v == nil {
		w.Remove(attribute)
	} else {
		w.Set(attribute, v)
	}
}

// Require adds a condition, in parts.
func (w *Write) Require(condition ...string) { add(&w.conditions, "", " AND ", condition...) }

// RequireIs asks for an attribute's exact value; nil asks that it is absent.
func (w *Write) RequireIs(attribute string, v types.AttributeValue) {
	if v == nil {
		w.RequireAbsent(attribute)
	} else {
		w.Require(w.Name(attribute), " = ", w.Value(v))
	}
}

// RequireIsOrAbsent asks for a value, which an absent attribute stands for, too.
func (w *Write) RequireIsOrAbsent(attribute string, v types.AttributeValue) {
	w.RequireOrAbsent(attribute, " = ", w.Value(v))
}

// RequireOrAbsent asks that an attribute is absent, or compares as said.
func (w *Write) RequireOrAbsent(attribute, operator, operand string) {
	name := w.Name(attribute)
	w.Require("(attribute_not_exists(", name, ") OR ", name, operator, operand, ")")
}

// RequireAbsent asks that an attribute is absent.
func (w *Write) RequireAbsent(attribute string) {
	w.Require("attribute_not_exists(", w.Name(attribute), ")")
}

// RequireExists asks that the item with this key attribute exists.
func (w *Write) RequireExists(key string) { w.Require("attribute_exists(", w.Name(key), ")") }

// RequireFlag asks for a flag; an absent one counts as false.
func (w *Write) RequireFlag(attribute string, on bool) {
	if on {
		w.RequireIs(attribute, Flag(true))
	} else {
		w.RequireIsOrAbsent(attribute, Flag(false))
	}
}

// Update is the write as an update.
func (w *Write) Update(table *string, key Item, answer types.ReturnValue) *dynamodb.UpdateItemInput {
	w.sets.WriteString(w.removes.String())
	update := strings.TrimPrefix(w.sets.String(), " ")
	return &dynamodb.UpdateItemInput{
		TableName: table, Key: key, UpdateExpression: &update,
		ConditionExpression: w.condition(), ExpressionAttributeNames: w.names, ExpressionAttributeValues: w.values,
		ReturnValues: answer, ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// Put is the write's conditions with a whole item.
func (w *Write) Put(table *string, i Item) *dynamodb.PutItemInput {
	return &dynamodb.PutItemInput{
		TableName: table, Item: i,
		ConditionExpression: w.condition(), ExpressionAttributeNames: w.names, ExpressionAttributeValues: w.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// Delete is the write's conditions for a deletion.
func (w *Write) Delete(table *string, key Item) *dynamodb.DeleteItemInput {
	return &dynamodb.DeleteItemInput{
		TableName: table, Key: key,
		ConditionExpression: w.condition(), ExpressionAttributeNames: w.names, ExpressionAttributeValues: w.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// condition is nil where nothing is required.
func (w *Write) condition() *string {
	if w.conditions.Len() == 0 {
		return nil
	}
	condition := w.conditions.String()
	return &condition
}

// add writes parts to a text, after what stands at its beginning or between what was added before.
func add(to *strings.Builder, first, between string, parts ...string) {
	if to.Len() == 0 {
		const usual = 512
		to.Grow(usual)
		to.WriteString(first)
	} else {
		to.WriteString(between)
	}
	write(to, parts)
}

func write(to *strings.Builder, parts []string) {
	for _, part := range parts {
		to.WriteString(part)
	}
}

// RepeatConflicts makes the SDK retry a write that met a transaction on the same item. The SDK's own retries do not cover
// that error. The client's settings give number, waits and jitter.
func RepeatConflicts(o *dynamodb.Options) {
	o.Retryer = retry.AddWithErrorCodes(o.Retryer, (*types.TransactionConflictException)(nil).ErrorCode())
}

// Refused reports whether err is a failed condition, and returns the item that failed it: nil if the item does not exist.
func Refused(err error) (i Item, refused bool) {
	var failed *types.ConditionalCheckFailedException
	if !errors.As(err, &failed) {
		return nil, false
	}
	return failed.Item, true
}
