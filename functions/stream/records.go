package main

import (
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/schema"
)

// errEvent is an event that does not come from a table's stream.
var errEvent = errors.New(`the event is not a batch of a DynamoDB stream ("Records", each with "eventSource": "aws:dynamodb"): ` +
	"connect this function to the outbox table's stream alone")

// record is what is read of a stream record. Payloads are not: what is sent is what the claim returns.
type record struct {
	EventName   string `json:"eventName"`
	EventSource string `json:"eventSource"`
	Change      struct {
		NewImage struct {
			PK        attribute `json:"pk"`
			Status    attribute `json:"status"`
			Lane      attribute `json:"lane"`
			LaneAt    attribute `json:"lane_at"`
			CreatedAt attribute `json:"created_at"`
		} `json:"NewImage"`
	} `json:"dynamodb"`
}

// newRow is a row that was put.
type newRow struct {
	fresh outbox.Fresh
	lane  string
}

// attribute is a text or a number; both are empty for anything else.
type attribute struct {
	S string `json:"S"`
	N string `json:"N"`
}

// parseRecords returns the rows that were put, in the order of the event. A record that does not tell of a pending
// row, or that cannot be read, is passed over: its row, if there is one, is in its lane. An event of another shape is
// errEvent: a function that accepted any event would hide a wrong connection for ever.
func parseRecords(event []byte) ([]newRow, error) {
	var batch struct{ Records []record }
	var wrong *json.UnmarshalTypeError // leaves empty what is of another type, and reads the rest
	if err := json.Unmarshal(event, &batch); err != nil && !errors.As(err, &wrong) || len(batch.Records) == 0 {
		return nil, errEvent
	}
	rows := make([]newRow, 0, len(batch.Records))
	for _, r := range batch.Records {
		if r.EventSource != "aws:dynamodb" {
			return nil, errEvent
		}
		if row, ok := r.fresh(); ok {
			rows = append(rows, row)
		}
	}
	return rows, nil
}

func (r record) fresh() (newRow, bool) {
	image := r.Change.NewImage
	laneAt, ok := image.LaneAt.millis()
	if r.EventName != "INSERT" || image.PK.S == "" || image.Status.S != schema.StatusPending || !ok {
		return newRow{}, false
	}
	createdAt, _ := image.CreatedAt.millis()
	fresh := outbox.Fresh{Entry: outbox.Entry{ID: outbox.ParsePK(image.PK.S), LaneAt: laneAt}, CreatedAt: createdAt}
	return newRow{fresh, image.Lane.S}, true
}

// millis reads epoch milliseconds.
func (a attribute) millis() (time.Time, bool) {
	n, err := strconv.ParseInt(a.N, 10, 64)
	if err != nil {
		return time.Time{}, false
	}
	return time.UnixMilli(n), true
}
