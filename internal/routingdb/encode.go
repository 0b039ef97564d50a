package routingdb

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/dynamo"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/schema"
)

// encode is a receipt as an item; what is zero is absent.
func encode(r routing.Receipt) dynamo.Item {
	i := key(r.ID.String())
	putTexts(i, map[string]string{
		schema.State: string(r.State), schema.Token: r.Token, schema.Consumer: r.Consumer,
		schema.Mark: r.Mark, schema.Reason: string(r.Reason),
	})
	putTimes(i, map[string]time.Time{schema.AssignedAt: r.AssignedAt, schema.Deadline: r.Deadline, schema.EndedAt: r.EndedAt})
	for attribute, n := range map[string]int{schema.Attempt: r.Attempt, schema.Extensions: r.Extensions} {
		if n != 0 {
			i[attribute] = dynamo.Number(n)
		}
	}
	for attribute, on := range map[string]bool{schema.OnDelivery: r.OnDelivery, schema.Again: r.Again} {
		if on {
			i[attribute] = dynamo.Flag(true)
		}
	}
	if len(r.History) > 0 {
		history := make([]types.AttributeValue, len(r.History))
		for at, past := range r.History {
			history[at] = encodePast(past)
		}
		i[schema.History] = dynamo.List(history...)
	}
	if !r.ExpiresAt.IsZero() {
		i[schema.ExpiresAt] = dynamo.Number(r.ExpiresAt.Unix())
	}
	return i
}

func encodePast(p routing.Past) types.AttributeValue {
	i := dynamo.Item{}
	putTexts(i, map[string]string{schema.Consumer: p.Consumer, schema.End: string(p.End)})
	putTimes(i, map[string]time.Time{schema.AssignedAt: p.AssignedAt, schema.Deadline: p.Deadline, schema.EndedAt: p.EndedAt})
	return &types.AttributeValueMemberM{Value: i}
}

func putTexts(i dynamo.Item, texts map[string]string) {
	for attribute, value := range texts {
		if value != "" {
			i[attribute] = dynamo.Text(value)
		}
	}
}

func putTimes(i dynamo.Item, times map[string]time.Time) {
	for attribute, t := range times {
		if !t.IsZero() {
			i[attribute] = dynamo.Millis(t)
		}
	}
}
