package conformance

import (
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var sameAttribute = cmp.Options{cmpopts.IgnoreUnexported(types.MessageAttributeValue{}), cmpopts.EquateEmpty()}

func text(kind, value string) types.MessageAttributeValue {
	return types.MessageAttributeValue{DataType: &kind, StringValue: &value}
}

func bytesOf(kind string, value []byte) types.MessageAttributeValue {
	return types.MessageAttributeValue{DataType: &kind, BinaryValue: value}
}

func TestSQSMessageComesBackAsItWasSent(t *testing.T) {
	t.Parallel()
	c := QueueClient()
	q := NewQueue(t, c, nil)
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	body := "\t\n\r ü \u2028 😀 \U0010FFFF <&>\"'"
	attributes := map[string]types.MessageAttributeValue{
		"bytes": bytesOf("Binary", all), "gif": bytesOf("Binary.gif", []byte{0}), "text": text("String", "ü <&>"),
		"number": text("Number.int", "-12.5e3"), "a-b_c.9ø": text("String.x", " "),
	}
	sent, err := c.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &q.URL, MessageBody: &body, MessageAttributes: attributes,
		MessageSystemAttributes: map[string]types.MessageSystemAttributeValue{"AWSTraceHeader": {DataType: aws.String("String"), StringValue: aws.String("Root=1-5759e988-bd862e3fe1be46a994272793")}}})
	if err != nil {
		t.Fatal(err)
	}
	got := q.Receive(10, 5)
	if len(got) != 1 {
		t.Fatalf("%d messages", len(got))
	}
	m := got[0]
	if aws.ToString(m.Body) != body || aws.ToString(m.MessageId) != aws.ToString(sent.MessageId) || aws.ToString(m.MD5OfMessageAttributes) != aws.ToString(sent.MD5OfMessageAttributes) {
		t.Errorf("%+v", m)
	}
	if diff := cmp.Diff(attributes, m.MessageAttributes, sameAttribute); diff != "" {
		t.Error(diff)
	}
	if m.Attributes["AWSTraceHeader"] != "Root=1-5759e988-bd862e3fe1be46a994272793" || m.Attributes["ApproximateReceiveCount"] != "1" || m.Attributes["SentTimestamp"] == "" || m.Attributes["ApproximateFirstReceiveTimestamp"] == "" || m.Attributes["SenderId"] == "" {
		t.Errorf("%v", m.Attributes)
	}
}

// The sum over attributes is a recipe that clients follow on their own; this is another reading of it.
func TestSQSSumOverAttributesIsTheOneThatClientsMake(t *testing.T) {
	t.Parallel()
	c := QueueClient()
	q := NewQueue(t, c, nil)
	part := func(s string) string { return fmt.Sprintf("%c%c%c%c%s", 0, 0, 0, len(s), s) }
	raw := part("a") + part("Number") + "\x01" + part("1") + part("b") + part("Binary.x") + "\x02" + part("\x00") + part("c") + part("String") + "\x01" + part("z")
	want := md5.Sum([]byte(raw))
	out, err := c.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &q.URL, MessageBody: aws.String("x"),
		MessageAttributes: map[string]types.MessageAttributeValue{"c": text("String", "z"), "a": text("Number", "1"), "b": bytesOf("Binary.x", []byte{0})}})
	if err != nil || aws.ToString(out.MD5OfMessageAttributes) != hex.EncodeToString(want[:]) {
		t.Errorf("%v, %v", out, err)
	}
}

func TestSQSMessageBeyondTheLimitsIsRefused(t *testing.T) {
	t.Parallel()
	c := QueueClient()
	q, small := NewQueue(t, c, nil), NewQueue(t, c, Attributes{"MaximumMessageSize": "1024"})
	many := func(n int) map[string]types.MessageAttributeValue {
		all := map[string]types.MessageAttributeValue{}
		for i := range n {
			all[fmt.Sprint("a", i)] = text("String", "v")
		}
		return all
	}
	one := func(name string, v types.MessageAttributeValue) map[string]types.MessageAttributeValue {
		return map[string]types.MessageAttributeValue{name: v}
	}
	const value, contents = "InvalidParameterValue", "InvalidMessageContents"
	const mib = 1 << 20
	for name, tc := range map[string]struct {
		q          *Queue
		body       string
		attributes map[string]types.MessageAttributeValue
		want       string
	}{
		"1 MiB":                      {q, strings.Repeat("b", mib), nil, ""},
		"1 MiB + 1":                  {q, strings.Repeat("b", mib+1), nil, value},
		"1 MiB with attributes":      {q, strings.Repeat("b", mib-10), one("ab", text("String", "vv")), ""},
		"1 MiB with attributes, + 1": {q, strings.Repeat("b", mib-10), one("ab", text("String", "vvv")), value},
		"bytes are counted":          {small, strings.Repeat("ü", 513), nil, value},
		"1 KiB":                      {small, strings.Repeat("ü", 512), nil, ""},
		"empty":                      {q, "", nil, "MissingParameter"},
		"control":                    {q, "a\x01", nil, contents},
		"nul":                        {q, "a\x00", nil, contents},
		"not a character":            {q, "a\uffff", nil, contents},
		"10 attributes":              {q, "b", many(10), ""},
		"11 attributes":              {q, "b", many(11), value},
		"name: 256":                  {q, "b", one(strings.Repeat("n", 256), text("String", "v")), ""},
		"name: 257":                  {q, "b", one(strings.Repeat("n", 257), text("String", "v")), value},
		"name: reserved":             {q, "b", one("aWs.x", text("String", "v")), value},
		"name: reserved too":         {q, "b", one("AMAZON.x", text("String", "v")), value},
		"name: not reserved":         {q, "b", one("awsome", text("String", "v")), ""},
		"name: leading period":       {q, "b", one(".x", text("String", "v")), value},
		"name: trailing period":      {q, "b", one("x.", text("String", "v")), value},
		"name: two periods":          {q, "b", one("x..y", text("String", "v")), value},
		"name: empty":                {q, "b", one("", text("String", "v")), value},
		"name: character":            {q, "b", one("a b", text("String", "v")), value},
		"name: sign":                 {q, "b", one("a§", text("String", "v")), value},
		"type: other":                {q, "b", one("a", text("Text", "v")), value},
		"type: run on":               {q, "b", one("a", text("Stringy", "v")), value},
		"type: empty":                {q, "b", one("a", text("", "v")), value},
		"type: long":                 {q, "b", one("a", text("String."+strings.Repeat("t", 250), "v")), value},
		"value: empty":               {q, "b", one("a", text("String", "")), value},
		"value: none":                {q, "b", one("a", types.MessageAttributeValue{DataType: aws.String("String")}), value},
		"value: of another type":     {q, "b", one("a", text("Binary", "v")), value},
		"value: both":                {q, "b", one("a", types.MessageAttributeValue{DataType: aws.String("String"), StringValue: aws.String("v"), BinaryValue: []byte{1}}), value},
		"value: control":             {q, "b", one("a", text("String", "\x08")), value},
		"value: no number":           {q, "b", one("a", text("Number", "1_0")), value},
		"value: not a number":        {q, "b", one("a", text("Number", "NaN")), value},
		"value: number":              {q, "b", one("a", text("Number", "-.5E+10")), ""},
	} {
		before := tc.q.Counts()
		_, err := c.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &tc.q.URL, MessageBody: &tc.body, MessageAttributes: tc.attributes})
		if code(err) != tc.want {
			t.Errorf("%s: %.200v, want %q", name, err, tc.want)
		}
		if err != nil && tc.q.Counts() != before {
			t.Errorf("%s: refused and taken", name)
		}
	}
	for _, delay := range []int32{-1, 901} {
		if _, err := c.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &q.URL, MessageBody: aws.String("b"), DelaySeconds: delay}); code(err) != value {
			t.Errorf("delay of %d s: %v", delay, err)
		}
	}
	for name, v := range map[string]string{"AWSTraceHeader": "Number", "Other": "String"} {
		_, err := c.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &q.URL, MessageBody: aws.String("b"),
			MessageSystemAttributes: map[string]types.MessageSystemAttributeValue{name: {DataType: &v, StringValue: aws.String("1")}}})
		if code(err) != value {
			t.Errorf("system attribute %s: %v", name, err)
		}
	}
}

func entries(n int, body string) []types.SendMessageBatchRequestEntry {
	var list []types.SendMessageBatchRequestEntry
	for i := range n {
		list = append(list, types.SendMessageBatchRequestEntry{Id: aws.String(fmt.Sprint(i)), MessageBody: aws.String(body)})
	}
	return list
}

func TestSQSWrongBatchIsRefusedAsAWhole(t *testing.T) {
	t.Parallel()
	c := QueueClient()
	q := NewQueue(t, c, nil)
	const prefix = "AWS.SimpleQueueService."
	twice := entries(2, "b")
	twice[1].Id = twice[0].Id
	named := func(id string) []types.SendMessageBatchRequestEntry {
		list := entries(2, "b")
		list[1].Id = &id
		return list
	}
	for name, tc := range map[string]struct {
		entries []types.SendMessageBatchRequestEntry
		want    string
	}{
		"empty":      {[]types.SendMessageBatchRequestEntry{}, prefix + "EmptyBatchRequest"},
		"10":         {entries(10, "b"), ""},
		"11":         {entries(11, "b"), prefix + "TooManyEntriesInBatchRequest"},
		"twice":      {twice, prefix + "BatchEntryIdsNotDistinct"},
		"no id":      {named(""), prefix + "InvalidBatchEntryId"},
		"bad id":     {named("a:b"), prefix + "InvalidBatchEntryId"},
		"long id":    {named(strings.Repeat("i", 81)), prefix + "InvalidBatchEntryId"},
		"just 1 MiB": {entries(8, strings.Repeat("b", 128<<10)), ""},
		"too long":   {append(entries(8, strings.Repeat("b", 128<<10)), types.SendMessageBatchRequestEntry{Id: aws.String("more"), MessageBody: aws.String("b")}), prefix + "BatchRequestTooLong"},
	} {
		before := q.Counts()
		out, err := c.SendMessageBatch(t.Context(), &sqs.SendMessageBatchInput{QueueUrl: &q.URL, Entries: tc.entries})
		if code(err) != tc.want {
			t.Errorf("%s: %v", name, err)
		}
		switch {
		case err != nil && q.Counts() != before:
			t.Errorf("%s: refused and taken", name)
		case err == nil && (len(out.Successful) != len(tc.entries) || len(out.Failed) != 0):
			t.Errorf("%s: %d of %d taken", name, len(out.Successful), len(tc.entries))
		}
	}
	_, del := c.DeleteMessageBatch(t.Context(), &sqs.DeleteMessageBatchInput{QueueUrl: &q.URL, Entries: []types.DeleteMessageBatchRequestEntry{}})
	_, change := c.ChangeMessageVisibilityBatch(t.Context(), &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &q.URL, Entries: []types.ChangeMessageVisibilityBatchRequestEntry{}})
	if code(del) != prefix+"EmptyBatchRequest" || code(change) != prefix+"EmptyBatchRequest" {
		t.Errorf("%v, %v", del, change)
	}
}

func TestSQSEntryOfABatchFailsAlone(t *testing.T) {
	t.Parallel()
	c := QueueClient()
	q := NewQueue(t, c, Attributes{"MaximumMessageSize": "1024"})
	list := entries(4, "fine")
	list[1].MessageBody = aws.String("\x01")
	list[2].MessageBody = aws.String(strings.Repeat("b", 1025))
	out, err := c.SendMessageBatch(t.Context(), &sqs.SendMessageBatchInput{QueueUrl: &q.URL, Entries: list})
	if err != nil || len(out.Successful) != 2 || len(out.Failed) != 2 {
		t.Fatalf("%+v, %v", out, err)
	}
	for i, want := range []string{"InvalidMessageContents", "InvalidParameterValue"} {
		if f := out.Failed[i]; aws.ToString(f.Code) != want || !f.SenderFault || aws.ToString(f.Id) != fmt.Sprint(i+1) {
			t.Errorf("%+v", f)
		}
	}
	got := q.Receive(10, 5)
	if len(got) != 2 {
		t.Fatalf("received %v", Bodies(got))
	}
	changed, err := c.ChangeMessageVisibilityBatch(t.Context(), &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &q.URL, Entries: []types.ChangeMessageVisibilityBatchRequestEntry{
		{Id: aws.String("a"), ReceiptHandle: got[0].ReceiptHandle, VisibilityTimeout: 60}, {Id: aws.String("b"), ReceiptHandle: aws.String("garbage"), VisibilityTimeout: 60},
		{Id: aws.String("c"), ReceiptHandle: got[1].ReceiptHandle, VisibilityTimeout: 43201}}})
	if err != nil || len(changed.Successful) != 1 || len(changed.Failed) != 2 || aws.ToString(changed.Failed[0].Code) != "ReceiptHandleIsInvalid" || aws.ToString(changed.Failed[1].Code) != "InvalidParameterValue" {
		t.Errorf("change: %+v, %v", changed, err)
	}
	deleted, err := c.DeleteMessageBatch(t.Context(), &sqs.DeleteMessageBatchInput{QueueUrl: &q.URL, Entries: []types.DeleteMessageBatchRequestEntry{
		{Id: aws.String("a"), ReceiptHandle: aws.String("garbage")}, {Id: aws.String("b"), ReceiptHandle: got[0].ReceiptHandle}, {Id: aws.String("c"), ReceiptHandle: got[1].ReceiptHandle}}})
	if err != nil || len(deleted.Successful) != 2 || len(deleted.Failed) != 1 || q.Counts() != "0 0 0" {
		t.Errorf("delete: %+v, %v, %s", deleted, err, q.Counts())
	}
}

func TestSQSMessageAttributesAreDeliveredOnRequest(t *testing.T) {
	t.Parallel()
	OverTime(t, func(t *testing.T) {
		c := QueueClient()
		q := NewQueue(t, c, Attributes{"VisibilityTimeout": "1"})
		_, err := c.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &q.URL, MessageBody: aws.String("b"),
			MessageAttributes: map[string]types.MessageAttributeValue{"Hello": text("String", "1"), "Help.Me": text("String", "2"), "General": text("String", "3")}})
		if err != nil {
			t.Fatal(err)
		}
		for _, tc := range []struct{ ask, want []string }{
			{nil, nil}, {[]string{"All"}, []string{"General", "Hello", "Help.Me"}}, {[]string{".*"}, []string{"General", "Hello", "Help.Me"}},
			{[]string{"Hel.*"}, []string{"Hello", "Help.Me"}}, {[]string{"Foo", "Help"}, nil}, {[]string{"Foo", "Hello"}, []string{"Hello"}}, {[]string{"AWS.", "..x"}, nil},
		} {
			out, err := c.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &q.URL, MessageAttributeNames: tc.ask, WaitTimeSeconds: 5})
			if err != nil || len(out.Messages) != 1 {
				t.Fatalf("%v: %v", tc.ask, err)
			}
			m := out.Messages[0]
			if diff := cmp.Diff(tc.want, slices.Sorted(maps.Keys(m.MessageAttributes)), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%v: %s", tc.ask, diff)
			}
			if (m.MD5OfMessageAttributes == nil) != (len(tc.want) == 0) || len(m.Attributes) != 0 {
				t.Errorf("%v: %+v", tc.ask, m)
			}
		}
	})
}

func TestSQSMessageIsReceivedAfterItsDelay(t *testing.T) {
	t.Parallel()
	OverTime(t, func(t *testing.T) {
		c := QueueClient()
		q := NewQueue(t, c, Attributes{"DelaySeconds": "2"})
		start := time.Now()
		q.Send("queue")
		if _, err := c.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &q.URL, MessageBody: aws.String("message"), DelaySeconds: 5}); err != nil {
			t.Fatal(err)
		}
		if q.Counts() != "0 0 2" || len(q.Receive(10, 0)) != 0 {
			t.Errorf("before: %s", q.Counts())
		}
		for _, tc := range []struct {
			body  string
			after time.Duration
		}{{"queue", 2 * time.Second}, {"message", 5 * time.Second}} {
			got := Bodies(q.Receive(10, 20))
			if passed := time.Since(start); !slices.Equal(got, []string{tc.body}) || passed < tc.after || passed > tc.after+time.Second {
				t.Errorf("%v after %s", got, passed)
			}
		}
	})
}

func TestSQSMessageIsDroppedAfterItsRetention(t *testing.T) {
	t.Parallel()
	OverTime(t, func(t *testing.T) {
		c := QueueClient()
		q := NewQueue(t, c, Attributes{"MessageRetentionPeriod": "60", "VisibilityTimeout": "80"})
		q.Send("in flight", "left")
		got := q.Take()
		time.Sleep(55 * time.Second)
		q.Send("young")
		if q.Counts() != "2 1 0" {
			t.Errorf("before: %s", q.Counts())
		}
		time.Sleep(6 * time.Second)
		if rest := Bodies(q.Receive(10, 0)); !slices.Equal(rest, []string{"young"}) || q.Counts() != "0 1 0" {
			t.Errorf("after: %v, %s", rest, q.Counts())
		}
		if err := q.Delete(got.ReceiptHandle); err != nil {
			t.Errorf("delete what is gone: %v", err)
		}
	})
}
