package outboxdb

import (
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/schema"
)

// write is one conditional write in the making. The zero value is ready.
type write struct {
	sets, removes, conditions []string
	names                     map[string]string
	values                    map[string]types.AttributeValue
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
		w.values = map[string]types.AttributeValue{}
	}
	name := ":v" + strconv.Itoa(len(w.values))
	w.values[name] = v
	return name
}

func (w *write) set(attribute string, v types.AttributeValue) {
	w.sets = append(w.sets, w.name(attribute)+" = "+w.value(v))
}

func (w *write) remove(attribute string) { w.removes = append(w.removes, w.name(attribute)) }

func (w *write) require(condition string) { w.conditions = append(w.conditions, condition) }

// requireIs asks for an attribute's exact value; nil asks that there is none.
func (w *write) requireIs(attribute string, v types.AttributeValue) {
	if v == nil {
		w.requireAbsent(attribute)
		return
	}
	w.require(w.name(attribute) + " = " + w.value(v))
}

// requireIsOrAbsent asks for a value that an absent attribute stands for, too.
func (w *write) requireIsOrAbsent(attribute string, v types.AttributeValue) {
	w.require("(attribute_not_exists(" + w.name(attribute) + ") OR " + w.name(attribute) + " = " + w.value(v) + ")")
}

func (w *write) requireAbsent(attribute string) {
	w.require("attribute_not_exists(" + w.name(attribute) + ")")
}

// requireUnchanged asks that the row is the one that was read. A row in order is fenced on what its
// attributes mean, a broken one on what they are.
func (w *write) requireUnchanged(row outbox.Row) {
	w.require("attribute_exists(" + w.name(schema.PK) + ")")
	if raw, ok := row.Seen.(seen); ok && row.Unreadable != nil {
		w.requireIs(schema.Status, raw.status)
		w.requireIs(schema.Token, raw.token)
		w.requireIs(schema.AttemptCount, raw.attemptCount)
		return
	}
	w.requireIs(schema.Status, text(string(row.Status)))
	if row.Token == "" {
		w.requireIsOrAbsent(schema.Token, text(noToken))
	} else {
		w.requireIs(schema.Token, text(row.Token))
	}
	w.requireCount(schema.AttemptCount, row.AttemptCount)
}

func (w *write) requireCount(attribute string, n int) {
	if n == 0 {
		w.requireIsOrAbsent(attribute, number(0))
	} else {
		w.requireIs(attribute, number(n))
	}
}

// update is the write as an update of a row.
func (w *write) update(table string, id outbox.ID, answer types.ReturnValue) *dynamodb.UpdateItemInput {
	var expression []string
	if len(w.sets) > 0 {
		expression = append(expression, "SET "+strings.Join(w.sets, ", "))
	}
	if len(w.removes) > 0 {
		expression = append(expression, "REMOVE "+strings.Join(w.removes, ", "))
	}
	return &dynamodb.UpdateItemInput{
		TableName: &table, Key: key(id), ReturnValues: answer,
		UpdateExpression:                    aws.String(strings.Join(expression, " ")),
		ConditionExpression:                 w.condition(),
		ExpressionAttributeNames:            w.names,
		ExpressionAttributeValues:           w.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// condition is nil where nothing is required.
func (w *write) condition() *string {
	if len(w.conditions) == 0 {
		return nil
	}
	return aws.String(strings.Join(w.conditions, " AND "))
}
