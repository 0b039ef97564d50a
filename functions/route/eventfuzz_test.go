package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/landfall-dev/landfall/functions/internal/setup"
	"github.com/landfall-dev/landfall/internal/config/yamlconfig"
	"github.com/landfall-dev/landfall/internal/routing"
)

// FuzzEvent: whatever comes, no record that has an id is left out of the answer, none is reported that is not of the
// event, none is routed with parts missing, and nothing of the content is logged.
func FuzzEvent(f *testing.F) {
	sample, err := os.ReadFile("../../events/route.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sample)
	for _, event := range []string{
		`{"Records": []}`, `{"Records": [null, 7, {}]}`, `null`,
		`{"Records": [{"messageId": "a", "receiptHandle": "h", "body": "{\"a\": 1e999}", "eventSource": "aws:sqs", "eventSourceARN": "arn:aws:sqs:us-east-1:1:landfall-ingress-couriers", "attributes": {"SentTimestamp": 1}, "messageAttributes": {"b": {"dataType": "Binary", "binaryValue": "AA=="}}}]}`,
		`{"Records": [{"messageId": "a"}, {"messageId": "a"}]}`,
		`{"Records": [{"messageId": "a", "body": {}, "messageAttributes": {"b": {"dataType": "Binary", "binaryValue": null, "stringListValues": [""]}}}]}`,
	} {
		f.Add([]byte(event))
	}
	cfg, err := yamlconfig.Parse("landfall.yaml", []byte(couriers))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, event []byte) {
		var log lines
		r, err := setup.NewRouting(cfg, setup.Clients{}, slog.New(slog.NewJSONHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		seen := &refusing{}
		r.Router = &routing.Router{Groups: seen, Ingress: seen, Reserve: 1}
		answer, err := (&handler{r}).handle(t.Context(), event)
		records, unnamed, parseErr := parseEvent(event)
		if (parseErr != nil || unnamed > 0) != (err != nil) {
			t.Fatalf("%v, though %d have no id and parsing says %v", err, unnamed, parseErr)
		}
		if err == nil {
			var got, want []string
			for _, failure := range answer.BatchItemFailures {
				got = append(got, failure.ItemIdentifier)
			}
			for _, record := range records {
				want = append(want, record.MessageID)
			}
			slices.Sort(want)
			if want = slices.Compact(want); !slices.Equal(got, want) || slices.Contains(got, "") {
				t.Errorf("%q are reported, want %q", got, want)
			}
		}
		for _, in := range seen.messages {
			if in.ID == "" || in.Handle == "" || in.Bytes < 1 || in.AttributeCount < 0 || in.Receives < 0 {
				t.Errorf("routed: %d bytes, %d attributes, %d receives", in.Bytes, in.AttributeCount, in.Receives)
			}
		}
		for _, record := range records {
			if record.Body != nil && len(*record.Body) > 40 && !strings.Contains(record.EventSourceARN, *record.Body) && strings.Contains(log.String(), *record.Body) {
				t.Errorf("a body is logged:\n%s", log.String())
			}
		}
		if _, err := json.Marshal(answer); err != nil {
			t.Error(err)
		}
	})
}

// refusing is where nothing is known of any group, so that every message is kept.
type refusing struct{ messages []routing.Incoming }

func (*refusing) Snapshot(context.Context, string) (routing.Snapshot, error) {
	return routing.Snapshot{}, routing.ErrNoGroup
}

func (r *refusing) Hold(_ context.Context, holds []routing.Hold) []error {
	for _, h := range holds {
		r.messages = append(r.messages, h.Message)
	}
	return make([]error, len(holds))
}

func (*refusing) Delete(_ context.Context, messages []routing.Incoming) []error {
	return make([]error, len(messages))
}

// TestEveryRecordIsRead because there is another list of that name: what is not reported is deleted.
func TestEveryRecordIsRead(t *testing.T) {
	t.Parallel()
	for _, event := range []string{
		`{"Records": [{"messageId": "a"}], "Records": [{"messageId": "b"}]}`,
		`{"Records": [{"messageId": "a"}], "records": [{"messageId": "b"}], "Records": null}`,
	} {
		records, unnamed, err := parseEvent([]byte(event))
		if len(records) != 2 || records[0].MessageID != "a" || records[1].MessageID != "b" || unnamed != 0 || err != nil {
			t.Errorf("%s: %d records, %v", event, len(records), err)
		}
	}
}
