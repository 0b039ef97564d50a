package outboxdb

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/dynamo"
	"github.com/landfall-dev/landfall/internal/schema"
)

// Sizes, in bytes. The first two are DynamoDB's.
const (
	// unit is what one write unit writes.
	unit = 1 << 10
	// maxItem is the largest item (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html).
	maxItem = 400 << 10
	// settleRoom is kept free in an item for what settling and reconciling add to it: code, cause, reference,
	// times and counts, and what a person notes.
	settleRoom = 2 << 10
	// claimRoom is what a first claim may add to an item that lacks the place-holders.
	claimRoom = 256
	// moved is by how many bytes status, lane and lane_at may have grown since a row was put.
	moved = 20
	// MaxItem is the largest item that is sent. A row is refused, or ended unsent, if it is larger: its
	// outcome might not fit any more.
	MaxItem = maxItem - settleRoom
)

// itemSize is the size of an item by the published rules
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html).
func itemSize(item dynamo.Item) int {
	n := 0
	for name, value := range item {
		n += len(name) + valueSize(value)
	}
	return n
}

// putSize is the size of what the writer of an item put: all but what claims and settlements write, for
// which settleRoom is kept.
func putSize(item dynamo.Item) int {
	n := itemSize(item)
	for _, name := range []string{
		schema.Token, schema.ClaimedBy, schema.ClaimedAt, schema.Until, schema.Window, schema.AttemptCount,
		schema.LookupCount, schema.MaybeSince, schema.Code, schema.Cause, schema.RemoteRef, schema.CompletedAt, schema.ExpiresAt,
		schema.ResolutionID, schema.ResolvedBy, schema.ResolvedAt, schema.Reason, schema.Forced,
	} {
		if value, written := item[name]; written {
			n -= len(name) + valueSize(value)
		}
	}
	return n
}

func units(item dynamo.Item) int { return (itemSize(item) + unit - 1) / unit }

func valueSize(v types.AttributeValue) int {
	const container, element = 3, 1
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return numberSize(v.Value)
	case *types.AttributeValueMemberM:
		return container + len(v.Value)*element + itemSize(v.Value)
	case *types.AttributeValueMemberL:
		return container + sum(v.Value, func(e types.AttributeValue) int { return element + valueSize(e) })
	case *types.AttributeValueMemberSS:
		return sum(v.Value, func(s string) int { return len(s) })
	case *types.AttributeValueMemberBS:
		return sum(v.Value, func(b []byte) int { return len(b) })
	case *types.AttributeValueMemberNS:
		return sum(v.Value, numberSize)
	}
	return 1 // BOOL and NULL
}

func sum[T any](all []T, size func(T) int) int {
	n := 0
	for _, one := range all {
		n += size(one)
	}
	return n
}

// numberSize counts a byte for two significant digits, one besides, and one for a sign.
func numberSize(number string) int {
	digits, negative := strings.CutPrefix(number, "-")
	digits, _, _ = strings.Cut(strings.ToLower(digits), "e")
	whole, fraction, _ := strings.Cut(digits, ".")
	significant := strings.Trim(whole+fraction, "0")
	size := 1 + (len(significant)+1)/2
	if negative {
		size++
	}
	return size
}
