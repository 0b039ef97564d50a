package devstack

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/landfall-dev/landfall/internal/lab/localaws"
)

func TestFilterPassesExactlyItsRecords(t *testing.T) {
	t.Parallel()
	record := []byte(`{"eventName":"INSERT","dynamodb":{"SizeBytes":214,"Keys":{"pk":{"S":"a"}},"NewImage":{"status":{"S":"pending"},"tags":{"SS":["x","y"]},"live":{"BOOL":true},"none":{"NULL":true},"m":{"M":{"k":{"N":"1"}}}}},"gone":null}`)
	for _, c := range []struct {
		filters string // separated by spaces
		want    bool
	}{
		{``, true},
		{`{"eventName":["INSERT"],"dynamodb":{"NewImage":{"status":{"S":["pending"]}}}}`, true},
		{`{"eventName":["INSERT","MODIFY"]}`, true},
		{`{"eventName":["MODIFY"]}`, false},
		{`{"eventName":["insert"]}`, false},
		{`{"eventName":["INSERT"],"dynamodb":{"NewImage":{"status":{"S":["completed"]}}}}`, false},
		{`{"dynamodb":{"NewImage":{"lane":{"S":["due"]}}}}`, false},
		{`{"dynamodb":{"NewImage":{"status":["pending"]}}}`, false},
		{`{"dynamodb":{"NewImage":{"status":{"S":{"S":["pending"]}}}}}`, false},
		{`{"dynamodb":{"NewImage":{"tags":{"SS":["y"]}}}}`, true},
		{`{"dynamodb":{"NewImage":{"tags":{"SS":["z"]}}}}`, false},
		{`{"dynamodb":{"NewImage":{"live":{"BOOL":[true]}}}}`, true},
		{`{"dynamodb":{"NewImage":{"live":{"BOOL":["true"]}}}}`, false},
		{`{"dynamodb":{"NewImage":{"m":{"M":{"k":{"N":["1"]}}}}}}`, true},
		{`{"dynamodb":{"SizeBytes":[214]}}`, true},
		{`{"gone":[null]}`, true},
		{`{"absent":[null]}`, false},
		{`{"eventName":["MODIFY"]} {"eventName":["INSERT"]}`, true},
		{`{"eventName":["MODIFY"]} {"eventName":["REMOVE"]}`, false},
	} {
		var patterns []pattern
		for _, text := range strings.Fields(c.filters) {
			p, err := parsePattern(text)
			if err != nil {
				t.Fatal(err)
			}
			patterns = append(patterns, p)
		}
		if got := passes(patterns, record); got != c.want {
			t.Errorf("%s: %v", c.filters, got)
		}
	}
}

func TestOnlyRecordsThatPassAreCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, nil, "KEYS_ONLY")
		b.put("a", "b", "a", "c", "a")
		b.start(StreamMapping{Filters: []string{`{"eventName":["INSERT"],"dynamodb":{"Keys":{"sk":{"S":["a","c"]}}}}`}}, succeeds)
		time.Sleep(time.Second) // virtual
		b.invoked("0s a c")
	})
}

func TestWrongStreamMappingsAreRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, nil, "KEYS_ONLY")
		good := StreamMapping{Table: "outbox", Client: dynamodbstreams.NewFromConfig(b.account.Config("mapping")), StartingPosition: streamtypes.ShardIteratorTypeLatest}
		empty := dynamodbstreams.NewFromConfig(localaws.New(localaws.Options{}).Config("mapping"))
		for name, c := range map[string]struct {
			change func(*StreamMapping)
			want   string // empty: it is good
		}{
			"good":               {func(m *StreamMapping) {}, ""},
			"Client is missing":  {func(m *StreamMapping) { m.Client = nil }, "client is missing"},
			"no table":           {func(m *StreamMapping) { m.Table = "" }, "table is missing"},
			"no stream":          {func(m *StreamMapping) { m.Client = empty }, "create it with a StreamSpecification"},
			"no position":        {func(m *StreamMapping) { m.StartingPosition = "" }, "neither TRIM_HORIZON nor LATEST"},
			"position":           {func(m *StreamMapping) { m.StartingPosition = "AT_SEQUENCE_NUMBER" }, "neither TRIM_HORIZON nor LATEST"},
			"batch":              {func(m *StreamMapping) { m.BatchSize = 10_001 }, "batch size 10001"},
			"window":             {func(m *StreamMapping) { m.BatchingWindow = 1500 * time.Millisecond }, "whole seconds"},
			"factor":             {func(m *StreamMapping) { m.ParallelizationFactor = 11 }, "parallelization factor 11"},
			"retries":            {func(m *StreamMapping) { m.MaximumRetryAttempts = -2 }, "-2 retry attempts"},
			"unlimited retries":  {func(m *StreamMapping) { m.MaximumRetryAttempts = Unlimited }, ""},
			"age":                {func(m *StreamMapping) { m.MaximumRecordAge = time.Second }, "record age 1s"},
			"queue, no client":   {func(m *StreamMapping) { m.OnFailure = "http://127.0.0.1/q" }, "OnFailure needs Queues"},
			"filter, no JSON":    {func(m *StreamMapping) { m.Filters = []string{`{"a":`} }, "not a JSON object"},
			"filter, list":       {func(m *StreamMapping) { m.Filters = []string{`[]`} }, "not a JSON object"},
			"filter, two":        {func(m *StreamMapping) { m.Filters = []string{`{"a":["b"]}{}`} }, "not a JSON object"},
			"filter, empty":      {func(m *StreamMapping) { m.Filters = []string{`{"a":{}}`} }, "matches nothing"},
			"filter, no values":  {func(m *StreamMapping) { m.Filters = []string{`{"a":[]}`} }, "a: an empty list"},
			"filter, scalar":     {func(m *StreamMapping) { m.Filters = []string{`{"a":"b"}`} }, "a: want an object or a list"},
			"filter, operator":   {func(m *StreamMapping) { m.Filters = []string{`{"a":["b",{"prefix":"c"}]}`} }, `a: operator "prefix" is not supported`},
			"filter, $or":        {func(m *StreamMapping) { m.Filters = []string{`{"$or":[{"a":["b"]}]}`} }, `operator "$or" is not supported`},
			"filter, nested":     {func(m *StreamMapping) { m.Filters = []string{`{"a":[["b"]]}`} }, "a list inside a list"},
			"second filter, too": {func(m *StreamMapping) { m.Filters = []string{`{"a":["b"]}`, `{}`} }, "matches nothing"},
		} {
			m := good
			c.change(&m)
			_, err := openStream(context.Background(), m.withDefaults())
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
