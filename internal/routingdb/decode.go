package routingdb

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/dynamo"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/schema"
)

// decode reads a receipt; its State is "" if the item is empty. The error says what is wrong with an attempt
// that may not be over, in words without values. Of one that is accepted or dead, its state alone counts.
// Everything that can be read is filled in all the same.
func decode(id routing.ID, stored dynamo.Item) (routing.Receipt, error) {
	if len(stored) == 0 {
		return routing.Receipt{ID: id}, nil
	}
	r := &dynamo.Reader{Item: stored}
	receipt := routing.Receipt{
		ID: id, State: routing.State(r.Text(schema.State)), Attempt: r.Count(schema.Attempt), Token: r.Text(schema.Token),
		Consumer: r.Text(schema.Consumer), OnDelivery: r.Flag(schema.OnDelivery),
		AssignedAt: r.Millis(schema.AssignedAt), Deadline: r.Millis(schema.Deadline),
		Extensions: r.Count(schema.Extensions), Again: r.Flag(schema.Again), Mark: r.Text(schema.Mark),
		History: history(r), EndedAt: r.Millis(schema.EndedAt), Reason: routing.Reason(r.Text(schema.Reason)),
	}
	if s, ok := r.Whole(schema.ExpiresAt, 0, dynamo.MaxSeconds); ok {
		receipt.ExpiresAt = time.Unix(s, 0)
	}
	switch receipt.State {
	case routing.Accepted:
		return receipt, nil
	case routing.Dead:
		if receipt.Reason == "" {
			receipt.Reason = ReasonInvalid
		}
		return receipt, nil
	case routing.Pending, routing.Declined:
		r.Need(schema.Attempt, receipt.Attempt > 0)
		r.Need(schema.Token, receipt.Token != "")
		r.Need(schema.Consumer, receipt.Consumer != "")
		r.Need(schema.Deadline, !receipt.Deadline.IsZero())
	default:
		r.Failf(schema.State, "is not one of the four states")
	}
	return receipt, r.Err("the receipt")
}

// history reads what came before. A consumer that cannot be read might be picked again.
func history(r *dynamo.Reader) (pasts []routing.Past) {
	for _, element := range r.List(schema.History) {
		m, _ := element.(*types.AttributeValueMemberM)
		if m == nil {
			r.Failf(schema.History, "has an element of type %s, want M", dynamo.Kind(element))
			continue
		}
		past := &dynamo.Reader{Item: m.Value}
		pasts = append(pasts, routing.Past{
			Consumer: past.Text(schema.Consumer), End: routing.End(past.Text(schema.End)),
			AssignedAt: past.Millis(schema.AssignedAt), Deadline: past.Millis(schema.Deadline), EndedAt: past.Millis(schema.EndedAt),
		})
		past.Need(schema.Consumer, pasts[len(pasts)-1].Consumer != "")
		r.FailLike(schema.History, past)
	}
	return pasts
}
