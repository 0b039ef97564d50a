package conformance

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
)

func TestSQSQueueMadeAgainWithOtherAttributesIsRefused(t *testing.T) {
	t.Parallel()
	c := QueueClient()
	q := NewQueue(t, c, Attributes{"DelaySeconds": "1", "VisibilityTimeout": "69"})
	name := q.URL[strings.LastIndex(q.URL, "/")+1:]
	for _, tc := range []struct {
		attributes Attributes
		want       string
	}{
		{nil, ""},
		{Attributes{"DelaySeconds": "1"}, ""},
		{Attributes{"DelaySeconds": "1", "VisibilityTimeout": "69"}, ""},
		{Attributes{"ReceiveMessageWaitTimeSeconds": "0"}, ""},
		{Attributes{"DelaySeconds": "2"}, "QueueAlreadyExists"},
		{Attributes{"VisibilityTimeout": "30"}, "QueueAlreadyExists"},
		{Attributes{"VisibilityTimeout": "minutes"}, "InvalidAttributeValue"},
	} {
		out, err := c.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: tc.attributes})
		if code(err) != tc.want || err == nil && aws.ToString(out.QueueUrl) != q.URL {
			t.Errorf("%v: %v", tc.attributes, err)
		}
	}
	var exists *types.QueueNameExists
	if _, err := c.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: Attributes{"DelaySeconds": "2"}}); !errors.As(err, &exists) {
		t.Errorf("the SDK does not know the error: %v", err)
	}
	if q.Attribute("DelaySeconds") != "1" {
		t.Error("a refused request changed the queue")
	}
}

func TestSQSQueueOfAWrongNameIsRefused(t *testing.T) {
	t.Parallel()
	c := QueueClient()
	for _, tc := range []struct{ name, fifo string }{
		{"", ""}, {"with space", ""}, {"a/b", ""}, {"a.b", ""}, {strings.Repeat("n", 81), ""}, {"a.fifo", ""}, {"ä", ""},
		{"plain", "true"}, {strings.Repeat("n", 76) + ".fifo", "true"}, {".fifo", "true"}, {"a.b.fifo", "true"},
	} {
		in := &sqs.CreateQueueInput{QueueName: &tc.name}
		if tc.fifo != "" {
			in.Attributes = Attributes{"FifoQueue": tc.fifo}
		}
		if _, err := c.CreateQueue(t.Context(), in); code(err) != "InvalidParameterValue" {
			t.Errorf("%+v: %v", tc, err)
		}
	}
}

func TestSQSAttributeOutOfBoundsIsRefused(t *testing.T) {
	t.Parallel()
	c := QueueClient()
	standard, fifo := NewQueue(t, c, nil), NewQueue(t, c, Attributes{"FifoQueue": "true"})
	const name, value = "InvalidAttributeName", "InvalidAttributeValue"
	for _, tc := range []struct {
		q           *Queue
		name, value string
		want        string
	}{
		{standard, "DelaySeconds", "0", ""},
		{standard, "DelaySeconds", "900", ""},
		{standard, "DelaySeconds", "901", value},
		{standard, "DelaySeconds", "-1", value},
		{standard, "DelaySeconds", "soon", value},
		{standard, "MaximumMessageSize", "1023", value},
		{standard, "MaximumMessageSize", "1024", ""},
		{standard, "MaximumMessageSize", "1048576", ""},
		{standard, "MaximumMessageSize", "1048577", value},
		{standard, "MessageRetentionPeriod", "59", value},
		{standard, "MessageRetentionPeriod", "60", ""},
		{standard, "MessageRetentionPeriod", "1209601", value},
		{standard, "ReceiveMessageWaitTimeSeconds", "20", ""},
		{standard, "ReceiveMessageWaitTimeSeconds", "21", value},
		{standard, "VisibilityTimeout", "43200", ""},
		{standard, "VisibilityTimeout", "43201", value},
		{standard, "Policy", "{", value},
		{standard, "Policy", "", ""},
		{standard, "SqsManagedSseEnabled", "false", ""},
		{standard, "SqsManagedSseEnabled", "maybe", value},
		{standard, "NoSuchThing", "1", name},
		{standard, "QueueArn", "arn:aws:sqs:us-east-1:000000000000:other", name},
		{standard, "ApproximateNumberOfMessages", "1", name},
		{standard, "FifoQueue", "true", name},
		{standard, "ContentBasedDeduplication", "true", name},
		{standard, "DeduplicationScope", "queue", name},
		{standard, "FifoThroughputLimit", "perQueue", name},
		{fifo, "FifoQueue", "false", value},
		{fifo, "FifoQueue", "true", ""},
		{fifo, "ContentBasedDeduplication", "true", ""},
		{fifo, "ContentBasedDeduplication", "1", value},
		{fifo, "DeduplicationScope", "messageGroup", ""},
		{fifo, "DeduplicationScope", "everything", value},
		{fifo, "FifoThroughputLimit", "perMessageGroupId", ""},
	} {
		before := tc.q.Attribute(types.QueueAttributeNameAll)
		_, err := c.SetQueueAttributes(t.Context(), &sqs.SetQueueAttributesInput{QueueUrl: &tc.q.URL, Attributes: Attributes{tc.name: tc.value}})
		if code(err) != tc.want {
			t.Errorf("%s = %q: %v, want %s", tc.name, tc.value, err, tc.want)
		}
		if err != nil {
			if after := tc.q.Attribute(types.QueueAttributeNameAll); after != before {
				t.Errorf("%s = %q: refused, and changed the queue", tc.name, tc.value)
			}
		} else if got := tc.q.Attribute(types.QueueAttributeName(tc.name)); got != tc.value {
			t.Errorf("%s = %q, and is %q", tc.name, tc.value, got)
		}
	}
}

func TestSQSAttributesAreToldOnRequest(t *testing.T) {
	t.Parallel()
	c := QueueClient()
	q := NewQueue(t, c, Attributes{"VisibilityTimeout": "20"})
	get := func(names ...types.QueueAttributeName) Attributes {
		t.Helper()
		out, err := c.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &q.URL, AttributeNames: names})
		if err != nil {
			t.Fatal(err)
		}
		return out.Attributes
	}
	if got := get(); len(got) != 0 {
		t.Errorf("nothing asked for: %v", got)
	}
	if diff := cmp.Diff(Attributes{"VisibilityTimeout": "20", "QueueArn": q.ARN}, get("VisibilityTimeout", "QueueArn", "RedrivePolicy")); diff != "" {
		t.Error(diff)
	}
	all := get("All")
	for _, name := range []string{"CreatedTimestamp", "LastModifiedTimestamp"} {
		if all[name] == "" {
			t.Errorf("no %s", name)
		}
		delete(all, name)
	}
	want := Attributes{"ApproximateNumberOfMessages": "0", "ApproximateNumberOfMessagesDelayed": "0", "ApproximateNumberOfMessagesNotVisible": "0",
		"DelaySeconds": "0", "MaximumMessageSize": "1048576", "MessageRetentionPeriod": "345600", "QueueArn": q.ARN,
		"ReceiveMessageWaitTimeSeconds": "0", "SqsManagedSseEnabled": "true", "VisibilityTimeout": "20"}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Error(diff)
	}
	_, err := c.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &q.URL, AttributeNames: []types.QueueAttributeName{"NoSuchThing"}})
	if code(err) != "InvalidAttributeName" {
		t.Errorf("an unknown attribute: %v", err)
	}
}

func TestSQSQueueIsEncryptedInOneWay(t *testing.T) {
	t.Parallel()
	c := QueueClient()
	q := NewQueue(t, c, nil)
	set := func(a Attributes) error {
		_, err := c.SetQueueAttributes(t.Context(), &sqs.SetQueueAttributesInput{QueueUrl: &q.URL, Attributes: a})
		return err
	}
	if err := set(Attributes{"KmsMasterKeyId": "key", "SqsManagedSseEnabled": "true"}); code(err) != "InvalidAttributeName" {
		t.Errorf("both: %v", err)
	}
	if err := set(Attributes{"KmsMasterKeyId": "key", "KmsDataKeyReusePeriodSeconds": "6000"}); err != nil || q.Attribute("SqsManagedSseEnabled") != "false" {
		t.Errorf("a key: %v, %s", err, q.Attribute("SqsManagedSseEnabled"))
	}
	if err := set(Attributes{"KmsMasterKeyId": "", "KmsDataKeyReusePeriodSeconds": "300"}); err != nil || q.Attribute("KmsMasterKeyId") != "" || q.Attribute("KmsDataKeyReusePeriodSeconds") != "" {
		t.Errorf("no key: %v, %q", err, q.Attribute("KmsMasterKeyId"))
	}
}

func TestSQSPagesListEveryQueue(t *testing.T) {
	t.Parallel()
	c := QueueClient()
	prefix := fmt.Sprintf("landfall-list-%d-", time.Now().UnixNano())
	var want []string
	for i := range 7 {
		out, err := c.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String(fmt.Sprint(prefix, i))})
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, aws.ToString(out.QueueUrl))
		defer func() {
			if _, err := c.DeleteQueue(t.Context(), &sqs.DeleteQueueInput{QueueUrl: out.QueueUrl}); err != nil {
				t.Error(err)
			}
		}()
	}
	for _, size := range []int32{1, 3, 7, 1000} {
		var got []string
		pages := sqs.NewListQueuesPaginator(c, &sqs.ListQueuesInput{QueueNamePrefix: &prefix, MaxResults: &size})
		for pages.HasMorePages() {
			page, err := pages.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, page.QueueUrls...)
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("pages of %d: %s", size, diff)
		}
	}
	for _, in := range []*sqs.ListQueuesInput{{MaxResults: aws.Int32(0)}, {MaxResults: aws.Int32(1001)}, {MaxResults: aws.Int32(2), NextToken: aws.String("!")}} {
		if _, err := c.ListQueues(t.Context(), in); code(err) != "InvalidParameterValue" {
			t.Errorf("%v, %v: %v", in.MaxResults, in.NextToken, err)
		}
	}
}

func TestSQSQueueThatIsGoneRefusesEveryRequest(t *testing.T) {
	t.Parallel()
	c := QueueClient()
	q := NewQueue(t, c, nil)
	q.Send("lost")
	name := q.URL[strings.LastIndex(q.URL, "/")+1:]
	if out, err := c.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: &name}); err != nil || aws.ToString(out.QueueUrl) != q.URL {
		t.Fatalf("before: %v", err)
	}
	if _, err := c.DeleteQueue(t.Context(), &sqs.DeleteQueueInput{QueueUrl: &q.URL}); err != nil {
		t.Fatal(err)
	}
	_, url := c.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: &name})
	_, attributes := c.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &q.URL})
	_, send := c.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &q.URL, MessageBody: aws.String("b")})
	_, receive := c.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &q.URL, WaitTimeSeconds: 20})
	_, purge := c.PurgeQueue(t.Context(), &sqs.PurgeQueueInput{QueueUrl: &q.URL})
	for name, err := range map[string]error{"url": url, "attributes": attributes, "send": send, "receive": receive, "purge": purge} {
		var gone *types.QueueDoesNotExist
		if !errors.As(err, &gone) || code(err) != "AWS.SimpleQueueService.NonExistentQueue" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSQSTagsAreKeptUntilTheirRemoval(t *testing.T) {
	t.Parallel()
	c := QueueClient()
	q := NewQueue(t, c, nil)
	tags := func() map[string]string {
		out, err := c.ListQueueTags(t.Context(), &sqs.ListQueueTagsInput{QueueUrl: &q.URL})
		if err != nil {
			t.Fatal(err)
		}
		return out.Tags
	}
	for _, set := range []map[string]string{{"a": "1", "b": "2"}, {"b": "3", "B": "4"}} {
		if _, err := c.TagQueue(t.Context(), &sqs.TagQueueInput{QueueUrl: &q.URL, Tags: set}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.UntagQueue(t.Context(), &sqs.UntagQueueInput{QueueUrl: &q.URL, TagKeys: []string{"a", "nope"}}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"b": "3", "B": "4"}, tags()); diff != "" {
		t.Error(diff)
	}
}

func TestSQSPurgedMessagesAreGone(t *testing.T) {
	t.Parallel()
	OverTime(t, func(t *testing.T) {
		c := QueueClient()
		q := NewQueue(t, c, Attributes{"VisibilityTimeout": "1"})
		q.Send("visible", "in flight")
		got := q.Take()
		if _, err := c.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &q.URL, MessageBody: aws.String("delayed"), DelaySeconds: 1}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.PurgeQueue(t.Context(), &sqs.PurgeQueueInput{QueueUrl: &q.URL}); err != nil {
			t.Fatal(err)
		}
		if n := q.Receive(10, 3); len(n) != 0 || q.Counts() != "0 0 0" {
			t.Errorf("%v, %s", Bodies(n), q.Counts())
		}
		if err := q.Delete(got.ReceiptHandle); err != nil {
			t.Errorf("delete what was purged: %v", err)
		}
	})
}
