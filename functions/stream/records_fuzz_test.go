package main

import (
	"encoding/json"
	"errors"
	"os"
	"testing"
)

func FuzzParseRecords(f *testing.F) {
	sample, err := os.ReadFile("../../events/stream.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sample)
	f.Add([]byte(`{"Records":[{"eventSource":"aws:dynamodb","dynamodb":{"NewImage":{"pk":{"S":"a#b"}}}}, {"eventSource":"aws:sqs"}]}`))
	f.Add([]byte(`{"records":[{"EVENTSOURCE":"aws:dynamodb","eventName":7}]}`))
	f.Fuzz(func(t *testing.T, event []byte) {
		rows, err := parseRecords(event)
		var batch struct{ Records []json.RawMessage }
		switch {
		case err != nil && (!errors.Is(err, errEvent) || rows != nil):
			t.Errorf("%q: %v, %v", event, rows, err)
		case err == nil && (json.Unmarshal(event, &batch) != nil || len(rows) > len(batch.Records)):
			t.Errorf("%q: %d rows", event, len(rows))
		}
	})
}
