package routingdb

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/schema"
)

// Bounds of what is read.
const (
	// maxMillis and maxSeconds end in the year 5138. Later times are mistakes: nanoseconds, for one.
	maxMillis  = 1e14 - 1
	maxSeconds = 1e11 - 1
	// maxCount bounds counters.
	maxCount = 1e9 - 1
)

// decode reads a receipt; its State is "" if the item is empty. The error says what is wrong with an attempt
// that may not be over, in words without values. Of one that is accepted or dead, its state alone counts.
// Everything that can be read is filled in all the same.
func decode(id routing.ID, stored item) (routing.Receipt, error) {
	if len(stored) == 0 {
		return routing.Receipt{ID: id}, nil
	}
	r := &reader{item: stored}
	receipt := routing.Receipt{
		ID: id, State: routing.State(r.text(schema.State)), Attempt: r.count(schema.Attempt), Token: r.text(schema.Token),
		Consumer: r.text(schema.Consumer), OnDelivery: r.flag(schema.OnDelivery),
		AssignedAt: r.millis(schema.AssignedAt), Deadline: r.millis(schema.Deadline),
		Extensions: r.count(schema.Extensions), Again: r.flag(schema.Again), Mark: r.text(schema.Mark),
		History: r.history(), EndedAt: r.millis(schema.EndedAt), Reason: routing.Reason(r.text(schema.Reason)),
	}
	if s, ok := r.whole(schema.ExpiresAt, 0, maxSeconds); ok {
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
		r.need(schema.Attempt, receipt.Attempt > 0)
		r.need(schema.Token, receipt.Token != "")
		r.need(schema.Consumer, receipt.Consumer != "")
		r.need(schema.Deadline, !receipt.Deadline.IsZero())
	default:
		r.failf(schema.State, "is none of the four")
	}
	return receipt, r.err("the receipt")
}

// history reads what came before. A consumer that cannot be read might be picked again.
func (r *reader) history() (history []routing.Past) {
	for _, element := range r.list(schema.History) {
		m, _ := element.(*types.AttributeValueMemberM)
		if m == nil {
			r.failf(schema.History, "has an element of type %s, want M", kind(element))
			continue
		}
		past := &reader{item: m.Value}
		history = append(history, routing.Past{
			Consumer: past.text(schema.Consumer), End: routing.End(past.text(schema.End)),
			AssignedAt: past.millis(schema.AssignedAt), Deadline: past.millis(schema.Deadline), EndedAt: past.millis(schema.EndedAt),
		})
		past.need(schema.Consumer, history[len(history)-1].Consumer != "")
		for _, problem := range past.problems {
			r.failf(schema.History, "has an element whose %s", problem)
		}
	}
	return history
}

// reader reads attributes and collects what is wrong with them, without their values.
type reader struct {
	item     item
	problems []string
}

func (r *reader) failf(attribute, format string, args ...any) {
	const enough = 8 // an item may have any number of problems
	if len(r.problems) < enough {
		r.problems = append(r.problems, attribute+" "+fmt.Sprintf(format, args...))
	}
}

func (r *reader) need(attribute string, there bool) {
	if !there {
		r.failf(attribute, "is missing")
	}
}

func (r *reader) err(what string) error {
	if len(r.problems) == 0 {
		return nil
	}
	return errors.New(what + " cannot be read: " + strings.Join(r.problems, "; "))
}

// text reads a text; "" if there is none.
func (r *reader) text(name string) string {
	switch v := r.item[name].(type) {
	case nil:
	case *types.AttributeValueMemberS:
		return v.Value
	default:
		r.failf(name, "is of type %s, want S", kind(v))
	}
	return ""
}

// flag reads what is true or absent.
func (r *reader) flag(name string) bool {
	switch v := r.item[name].(type) {
	case nil:
	case *types.AttributeValueMemberBOOL:
		return v.Value
	default:
		r.failf(name, "is of type %s, want BOOL", kind(v))
	}
	return false
}

// whole reads a whole number within bounds; ok is false if there is none.
func (r *reader) whole(name string, least, most int64) (n int64, ok bool) {
	switch v := r.item[name].(type) {
	case nil:
	case *types.AttributeValueMemberN:
		n, err := strconv.ParseInt(v.Value, 10, 64)
		if err == nil && n >= least && n <= most {
			return n, true
		}
		r.failf(name, "is no whole number from %d to %d", least, most)
	default:
		r.failf(name, "is of type %s, want N", kind(v))
	}
	return 0, false
}

func (r *reader) count(name string) int {
	n, _ := r.whole(name, 0, maxCount)
	return int(n)
}

func (r *reader) millis(name string) time.Time {
	ms, ok := r.whole(name, 0, maxMillis)
	if !ok {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

func (r *reader) list(name string) []types.AttributeValue {
	switch v := r.item[name].(type) {
	case nil:
	case *types.AttributeValueMemberL:
		return v.Value
	default:
		r.failf(name, "is of type %s, want L", kind(v))
	}
	return nil
}

// kind is the name of a value's type, as DynamoDB calls it.
func kind(v types.AttributeValue) string {
	return strings.TrimPrefix(fmt.Sprintf("%T", v), "*types.AttributeValueMember")
}
