package main_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/landfall-dev/landfall/internal/lab/functiontest"
)

// members are those of a record, by name; what is nil is left out.
type members map[string]any

// record is one as Lambda sends it, with some members changed.
func record(id string, changes members) members {
	r := members{
		"messageId": id, "receiptHandle": "handle-of-" + id, "body": "body of " + id,
		"attributes":        members{"ApproximateReceiveCount": "1", "SenderId": "123456789012"},
		"messageAttributes": members{}, "md5OfBody": "0cc175b9c0f1b6a831c399e269772661",
		"eventSource": "aws:sqs", "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:landfall-ingress-couriers", "awsRegion": "us-east-1",
	}
	for name, value := range changes {
		if r[name] = value; value == nil {
			delete(r, name)
		}
	}
	return r
}

// attribute is a message attribute as Lambda sends it: with everything that it does not have.
func attribute(kind string, value any) members {
	a := members{"dataType": kind, "stringValue": nil, "binaryValue": nil, "stringListValues": []string{}, "binaryListValues": []string{}}
	if strings.HasPrefix(kind, "Binary") {
		a["binaryValue"] = value
	} else {
		a["stringValue"] = value
	}
	return a
}

func attributes(n int) members {
	all := members{}
	for i := range n {
		all[fmt.Sprint("a", i)] = attribute("String", "x")
	}
	return all
}

// TestEventsAreReadOrKept sends raw events to the function's own binary over the runtime API. Each has one record in
// order besides, which must be forwarded and kept whatever the others are. The names are those of cases.
func TestEventsAreReadOrKept(t *testing.T) {
	t.Parallel()
	r := functiontest.NewRouter(t, "landfall", couriers, "north", "south")
	const elsewhere = "arn:aws:sqs:us-east-1:000000000000:"
	n := 0
	for name, c := range map[string]struct {
		record any
		// forwarded and dead say where the record must be then, deleted that it may leave the ingress queue.
		forwarded, dead, deleted bool
		// refused says that the whole batch must stay.
		refused bool
	}{
		"in order":                         {record: record("m", nil), forwarded: true},
		"Q2: the same record again":        {record: record("good", nil)},
		"Q3: a body cut short":             {record: record("m", members{"body": `{"order": `}), forwarded: true},
		"Q4: a queue without an owner":     {record: record("m", members{"eventSourceARN": elsewhere + "jobs"})},
		"Q4: a group that is not there":    {record: record("m", members{"eventSourceARN": elsewhere + "landfall-ingress-vans"})},
		"Q4: no queue":                     {record: record("m", members{"eventSourceARN": nil})},
		"Q6: nulls and empty lists":        {record: record("m", members{"messageAttributes": members{"a": attribute("String", "x"), "b": attribute("Binary", "AAH/")}}), forwarded: true},
		"Q6: no attributes at all":         {record: record("m", members{"messageAttributes": nil, "attributes": nil}), forwarded: true},
		"Q6: null for attributes":          {record: json.RawMessage(`{"messageId": "m", "receiptHandle": "h", "body": "b", "attributes": null, "messageAttributes": null, "eventSource": "aws:sqs", "eventSourceARN": "` + elsewhere + `landfall-ingress-couriers"}`), forwarded: true},
		"Q6: binaryValue null":             {record: record("m", members{"messageAttributes": members{"a": attribute("Binary", nil)}})},
		"Q6: an attribute that is null":    {record: record("m", members{"messageAttributes": members{"a": json.RawMessage("null")}})},
		"Q6: no Base64":                    {record: record("m", members{"messageAttributes": members{"a": attribute("Binary", "!")}})},
		"Q6: a list with something":        {record: record("m", members{"messageAttributes": members{"a": members{"dataType": "String", "stringValue": "x", "stringListValues": []string{"x"}}}})},
		"Q6: attributes of the wrong type": {record: record("m", members{"messageAttributes": []string{"a"}})},
		"Q7: plain text":                   {record: record("m", members{"body": "hello"}), forwarded: true},
		"Q7: a JSON text":                  {record: record("m", members{"body": `"hello"`}), forwarded: true},
		"Q7: numbers without bounds":       {record: record("m", members{"body": `{"a": 1e999, "b": 99999999999999999999, "c": [1], "a": {}}`}), forwarded: true},
		"Q7: every character there is":     {record: record("m", members{"body": "\t\n\r ~\u007f\u0080\u2028\ufffd\U0001F6A2\U0010FFFD"}), forwarded: true},
		"Q7: what SQS does not take":       {record: record("m", members{"body": "\x00\x01\x02"})},
		"Q9: null":                         {record: json.RawMessage("null"), refused: true},
		"Q9: a number":                     {record: 7, refused: true},
		"Q9: no id":                        {record: record("m", members{"messageId": nil}), refused: true},
		"Q9: an empty id":                  {record: record("m", members{"messageId": ""}), refused: true},
		"Q9: an id of the wrong type":      {record: record("m", members{"messageId": 7}), refused: true},
		"Q9: one of Kinesis":               {record: members{"eventID": "shardId-0:1", "eventSource": "aws:kinesis", "kinesis": members{"data": "aGVsbG8="}}, refused: true},
		"Q9: of another source":            {record: record("m", members{"eventSource": "aws:sns"})},
		"Q10: a FIFO queue":                {record: record("m", members{"eventSourceARN": elsewhere + "landfall-ingress-couriers.fifo"})},
		"Q11: counts that are numbers":     {record: record("m", members{"attributes": members{"ApproximateReceiveCount": 2, "SentTimestamp": json.RawMessage("null")}}), forwarded: true},
		"Q11: counts that are none":        {record: record("m", members{"attributes": members{"ApproximateReceiveCount": "many", "SentTimestamp": "-1"}}), forwarded: true},
		"Q11: system attributes of a list": {record: record("m", members{"attributes": []int{1}}), forwarded: true},
		"Q11: about to be given up":        {record: record("m", members{"attributes": members{"ApproximateReceiveCount": "900"}}), dead: true, deleted: true},
		"Q11: older than max_wait":         {record: record("m", members{"attributes": members{"SentTimestamp": "1"}}), dead: true, deleted: true},
		"Q19: 9 attributes":                {record: record("m", members{"messageAttributes": attributes(9)}), forwarded: true},
		"Q19: 10 attributes":               {record: record("m", members{"messageAttributes": attributes(10)}), dead: true, deleted: true},
		"Q19: no room for the envelope":    {record: record("m", members{"body": strings.Repeat("x", 1<<20-4095)}), dead: true, deleted: true},
		"Q19: just room for it":            {record: record("m", members{"body": strings.Repeat("y", 1<<20-4096)}), forwarded: true},
		"no body":                          {record: record("m", members{"body": nil})},
		"an empty body":                    {record: record("m", members{"body": ""})},
		"a body of the wrong type":         {record: record("m", members{"body": members{"a": 1}})},
		"no handle":                        {record: record("m", members{"receiptHandle": nil})},
		"a handle without end":             {record: record("m", members{"receiptHandle": strings.Repeat("h", 4096)})},
		"members of later times":           {record: record("m", members{"later": members{"a": 1}}), forwarded: true},
	} {
		n++
		good, id := fmt.Sprint("good-", n), fmt.Sprint("m-", n)
		event, err := json.Marshal(members{"Records": []any{c.record, record("good", nil)}})
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(strings.ReplaceAll(string(event), `"messageId":"good"`, `"messageId":"`+good+`"`), `"messageId":"m"`, `"messageId":"`+id+`"`)
		result := r.Invoke(text)
		want := fmt.Sprintf(`{"batchItemFailures":[{"itemIdentifier":%q}]}`, good)
		if !c.deleted && strings.Contains(text, `"`+id+`"`) {
			want = fmt.Sprintf(`{"batchItemFailures":[{"itemIdentifier":%q},{"itemIdentifier":%q}]}`, good, id)
		}
		if refused := result.FunctionError != ""; refused != c.refused || !refused && string(result.Payload) != want {
			t.Errorf("%s: %s %s, want %s", name, result.FunctionError, result.Payload, want)
		}
		forwarded, dead := 0, 0
		for _, m := range append(r.Receive("north", 0), r.Receive("north", 0)...) {
			if strings.Contains(*m.MessageAttributes["landfall"].StringValue, `"`+good+`"`) {
				forwarded += 100
			} else {
				forwarded++
			}
		}
		for range r.Receive("landfall-dead-couriers", 0) {
			dead++
		}
		if forwarded != 100+map[bool]int{true: 1}[c.forwarded] || dead != map[bool]int{true: 1}[c.dead] {
			t.Errorf("%s: %d forwarded, want the one in order (100)%s, %d dead letters", name, forwarded, map[bool]string{true: " and it"}[c.forwarded], dead)
		}
	}
	for _, event := range []string{`{}`, `{"Records": []}`, `{"Records": null}`, `{"Records": {}}`, `{"part": 0, "of": 1}`, `[]`, `"hello"`, `null`} {
		if result := r.Invoke(event); result.FunctionError == "" || !strings.Contains(string(result.Payload), "connect the function to an ingress queue") {
			t.Errorf("%s: %s %s, want a visible error", event, result.FunctionError, result.Payload)
		}
	}
	r.Stop()
	log := r.Output.String()
	for _, secret := range []string{"body of", "handle-of", "hello", `"token"`} {
		if strings.Contains(log, secret) {
			t.Errorf("%q is in the output", secret)
		}
	}
	for _, said := range []string{"is not the ingress queue of a configured group", "is FIFO", "has the wrong type", "oversize", "receive_count", "max_wait", "lease_lost"} {
		if !strings.Contains(log, said) {
			t.Errorf("nothing in the output says %q", said)
		}
	}
}

// TestSampleEventIsRouted: the one that a person tries first (case Q8).
func TestSampleEventIsRouted(t *testing.T) {
	t.Parallel()
	r := functiontest.NewRouter(t, "landfall", strings.Replace(couriers, "consumers:", "max_wait: 95h\n    consumers:", 1), "north", "south")
	sample, err := os.ReadFile("../../events/route.json")
	if err != nil {
		t.Fatal(err)
	}
	var event struct{ Records []members }
	if err := json.Unmarshal(sample, &event); err != nil {
		t.Fatal(err)
	}
	for _, r := range event.Records { // as if it was sent now
		if system := r["attributes"].(map[string]any); len(system) > 0 {
			delete(system, "SentTimestamp")
		}
	}
	fresh, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		BatchItemFailures []struct{ ItemIdentifier string }
	}
	result := r.Invoke(string(fresh))
	if err := json.Unmarshal(result.Payload, &answer); err != nil || result.FunctionError != "" || len(answer.BatchItemFailures) != 4 {
		t.Errorf("%s %s, want four that stay", result.FunctionError, result.Payload)
	}
	bodies := map[string]bool{}
	for _, m := range r.Receive("north", 0) {
		bodies[*m.Body] = true
		if a, found := m.MessageAttributes["signature"]; found && (len(a.BinaryValue) != 256 || a.BinaryValue[255] != 255 || *a.DataType != "Binary.signature") {
			t.Errorf("the binary attribute is %v", a)
		}
	}
	if len(bodies) != 4 || !bodies["hello"] || !bodies[`{"order": 44}`] {
		t.Errorf("forwarded: %q", slices.Sorted(maps.Keys(bodies)))
	}
	if dead := r.Receive("landfall-dead-couriers", 0); len(dead) != 1 || *dead[0].Body != `{"order": 45}` || len(dead[0].MessageAttributes) != 10 {
		t.Errorf("%d dead letters", len(dead))
	}
	if old := r.Invoke(string(sample)); old.FunctionError != "" {
		t.Errorf("as it is: %s %s", old.FunctionError, old.Payload)
	}
}
