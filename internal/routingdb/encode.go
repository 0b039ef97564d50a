package routingdb

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/schema"
)

// encode is a receipt as an item; what is zero is absent.
func encode(r routing.Receipt) item {
	i := key(r.ID.String())
	i.texts(map[string]string{
		schema.State: string(r.State), schema.Token: r.Token, schema.Consumer: r.Consumer,
		schema.Mark: r.Mark, schema.Reason: string(r.Reason),
	})
	i.times(map[string]time.Time{schema.AssignedAt: r.AssignedAt, schema.Deadline: r.Deadline, schema.EndedAt: r.EndedAt})
	for attribute, n := range map[string]int{schema.Attempt: r.Attempt, schema.Extensions: r.Extensions} {
		if n != 0 {
			i[attribute] = number(n)
		}
	}
	for attribute, on := range map[string]bool{schema.OnDelivery: r.OnDelivery, schema.Again: r.Again} {
		if on {
			i[attribute] = flag(true)
		}
	}
	if len(r.History) > 0 {
		history := make([]types.AttributeValue, len(r.History))
		for at, past := range r.History {
			history[at] = encodePast(past)
		}
		i[schema.History] = list(history...)
	}
	if !r.ExpiresAt.IsZero() {
		i[schema.ExpiresAt] = number(r.ExpiresAt.Unix())
	}
	return i
}

func encodePast(p routing.Past) types.AttributeValue {
	i := item{}
	i.texts(map[string]string{schema.Consumer: p.Consumer, schema.End: string(p.End)})
	i.times(map[string]time.Time{schema.AssignedAt: p.AssignedAt, schema.Deadline: p.Deadline, schema.EndedAt: p.EndedAt})
	return &types.AttributeValueMemberM{Value: i}
}

func (i item) texts(texts map[string]string) {
	for attribute, value := range texts {
		if value != "" {
			i[attribute] = text(value)
		}
	}
}

func (i item) times(times map[string]time.Time) {
	for attribute, t := range times {
		if !t.IsZero() {
			i[attribute] = millis(t)
		}
	}
}
