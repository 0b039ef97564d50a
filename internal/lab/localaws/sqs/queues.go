package sqs

import (
	"encoding/base64"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/lab/localaws/wire"
)

// cooldown is how long the service refuses to make a deleted queue anew, or to purge one again.
const cooldown = time.Minute

var queueName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func checkName(name string, fifo bool) error {
	plain, suffixed := strings.CutSuffix(name, ".fifo")
	switch {
	case fifo && (!suffixed || !queueName.MatchString(plain) || len(name) > 80):
		return invalid("The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, must end with .fifo suffix and be 1 to 80 in length")
	case !fifo && (!queueName.MatchString(name) || len(name) > 80):
		return invalid("Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length")
	}
	return nil
}

type createQueueInput struct {
	QueueName  *string
	Attributes map[string]string
	Tags       map[string]string
}

func (e endpoint) createQueue(in *createQueueInput) (operation, error) {
	if in.QueueName == nil {
		return operation{}, missing("QueueName")
	}
	name := *in.QueueName
	if err := checkName(name, strings.EqualFold(in.Attributes["FifoQueue"], "true")); err != nil {
		return operation{}, err
	}
	return e.reading(name, func(now time.Time) (any, error) {
		if err := e.service.create(name, in.Attributes, in.Tags, now); err != nil {
			return nil, err
		}
		return map[string]any{"QueueUrl": e.url(name)}, nil
	}), nil
}

// create makes a queue, unless there is one already that has all the attributes.
func (s *Service) create(name string, attributes, tags map[string]string, now time.Time) error {
	if q := s.queues[name]; q != nil {
		for _, attribute := range slices.Sorted(maps.Keys(attributes)) {
			value, err := q.set.normal(attribute, attributes[attribute])
			switch {
			case err != nil:
				return err
			case value != q.set.values[attribute]:
				return failure("QueueNameExists", "A queue already exists with the same name and a different value for attribute %s", attribute)
			}
		}
		return nil
	}
	if at, ok := s.deleted[name]; ok && now.Sub(at) < cooldown {
		return failure("QueueDeletedRecently", "You must wait 60 seconds after deleting a queue before you can create another with the same name.")
	}
	set, err := defaults(strings.HasSuffix(name, ".fifo")).with(attributes, s.byARN)
	if err != nil {
		return err
	}
	set.perID = set.values["DeduplicationScope"] == "messageGroup"
	q := s.newQueue(name, set, now)
	maps.Copy(q.tags, tags)
	s.queues[name] = q
	delete(s.deleted, name)
	return nil
}

// queueInput is a request that only names a queue.
type queueInput struct{ QueueUrl *string }

func (e endpoint) deleteQueue(in *queueInput) (operation, error) {
	return e.asking(in.QueueUrl, func(q *queue, now time.Time) (any, error) {
		delete(e.service.queues, q.name)
		e.service.deleted[q.name] = now
		return none, nil
	})
}

type getQueueURLInput struct {
	QueueName              *string
	QueueOwnerAWSAccountId string
}

func (e endpoint) getQueueURL(in *getQueueURLInput) (operation, error) {
	if in.QueueName == nil || *in.QueueName == "" {
		return operation{}, missing("QueueName")
	}
	return e.reading(*in.QueueName, func(time.Time) (any, error) {
		if e.service.queues[*in.QueueName] == nil || in.QueueOwnerAWSAccountId != "" && in.QueueOwnerAWSAccountId != account {
			return nil, noQueue()
		}
		return map[string]any{"QueueUrl": e.url(*in.QueueName)}, nil
	}), nil
}

// listInput asks for a list of queues in parts.
type listInput struct {
	QueueUrl        *string // for its source queues
	QueueNamePrefix string
	MaxResults      *int
	NextToken       string
}

// page is the part of sorted names that is asked for, and the token of the next one, if there is one.
func (in *listInput) page(names []string) (part []string, next string, err error) {
	if err := integer("MaxResults", in.MaxResults, 1, 1000, "MaxResults must be an integer between 1 and 1000."); err != nil {
		return nil, "", err
	}
	if in.NextToken != "" {
		last, err := base64.URLEncoding.DecodeString(in.NextToken)
		if err != nil {
			return nil, "", invalid("Invalid or expired next token.")
		}
		first, found := slices.BinarySearch(names, string(last))
		if found {
			first++
		}
		names = names[first:]
	}
	limit := wire.Given(in.MaxResults, 1000)
	if len(names) <= limit {
		return names, "", nil
	}
	names = names[:limit]
	if in.MaxResults != nil { // a caller that names no MaxResults gets no token
		next = base64.URLEncoding.EncodeToString([]byte(names[limit-1]))
	}
	return names, next, nil
}

func (e endpoint) urls(names []string) []string {
	urls := make([]string, len(names))
	for i, name := range names {
		urls[i] = e.url(name)
	}
	return urls
}

func (e endpoint) listQueues(in *listInput) (operation, error) {
	return e.reading("", func(time.Time) (any, error) {
		names := slices.DeleteFunc(e.service.names(), func(name string) bool { return !strings.HasPrefix(name, in.QueueNamePrefix) })
		names, next, err := in.page(names)
		return struct {
			QueueUrls []string `json:",omitempty"`
			NextToken string   `json:",omitempty"`
		}{e.urls(names), next}, err
	}), nil
}

func (e endpoint) listDeadLetterSourceQueues(in *listInput) (operation, error) {
	return e.asking(in.QueueUrl, func(q *queue, _ time.Time) (any, error) {
		names, next, err := in.page(e.service.sourcesOf(q))
		return struct {
			QueueUrls []string `json:"queueUrls"`
			NextToken string   `json:",omitempty"`
		}{e.urls(names), next}, err
	})
}

// sourcesOf are the names of the queues whose dead letters go to a queue.
func (s *Service) sourcesOf(q *queue) []string {
	return slices.DeleteFunc(s.names(), func(name string) bool {
		r := s.queues[name].set.redrive
		return r == nil || r.DeadLetterTargetArn != q.arn
	})
}

type getQueueAttributesInput struct {
	QueueUrl       *string
	AttributeNames []string
}

func (e endpoint) getQueueAttributes(in *getQueueAttributesInput) (operation, error) {
	for _, name := range in.AttributeNames {
		if name != "All" && !known(name) {
			return operation{}, failure("InvalidAttributeName", "Unknown Attribute %s.", name)
		}
	}
	return e.asking(in.QueueUrl, func(q *queue, _ time.Time) (any, error) {
		all := q.attributes()
		told := map[string]string{}
		for _, name := range in.AttributeNames {
			if name == "All" {
				told = all
				break
			}
			if value, ok := all[name]; ok {
				told[name] = value
			}
		}
		return struct {
			Attributes map[string]string `json:",omitempty"`
		}{told}, nil
	})
}

// attributes are all attributes of a queue, as they are told.
func (q *queue) attributes() map[string]string {
	all := maps.Clone(q.set.values)
	visible, inFlight, delayed := q.counts()
	all["ApproximateNumberOfMessages"] = strconv.Itoa(visible)
	all["ApproximateNumberOfMessagesNotVisible"] = strconv.Itoa(inFlight)
	all["ApproximateNumberOfMessagesDelayed"] = strconv.Itoa(delayed)
	all["CreatedTimestamp"] = strconv.FormatInt(q.created.Unix(), 10)
	all["LastModifiedTimestamp"] = strconv.FormatInt(q.modified.Unix(), 10)
	all["QueueArn"] = q.arn
	return all
}

type setQueueAttributesInput struct {
	QueueUrl   *string
	Attributes map[string]string
}

func (e endpoint) setQueueAttributes(in *setQueueAttributesInput) (operation, error) {
	if in.Attributes == nil {
		return operation{}, missing("Attribute.Name")
	}
	return e.asking(in.QueueUrl, func(q *queue, now time.Time) (any, error) {
		if value, ok := in.Attributes["FifoQueue"]; ok && q.set.fifo && !strings.EqualFold(value, "true") {
			return nil, failure("InvalidAttributeValue", "Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.")
		}
		set, err := q.set.with(in.Attributes, e.service.byARN)
		if err != nil {
			return nil, err
		}
		q.set, q.modified = set, now
		return none, nil
	})
}

func (e endpoint) purgeQueue(in *queueInput) (operation, error) {
	return e.asking(in.QueueUrl, func(q *queue, now time.Time) (any, error) {
		if !q.purged.IsZero() && now.Sub(q.purged) < cooldown {
			return nil, failure("PurgeQueueInProgress", "Only one PurgeQueue operation on %s is allowed every 60 seconds.", q.name)
		}
		q.clear()
		q.purged = now
		return none, nil
	})
}

type tagQueueInput struct {
	QueueUrl *string
	Tags     map[string]string
}

func (e endpoint) tagQueue(in *tagQueueInput) (operation, error) {
	return e.asking(in.QueueUrl, func(q *queue, _ time.Time) (any, error) {
		maps.Copy(q.tags, in.Tags)
		return none, nil
	})
}

type untagQueueInput struct {
	QueueUrl *string
	TagKeys  []string
}

func (e endpoint) untagQueue(in *untagQueueInput) (operation, error) {
	return e.asking(in.QueueUrl, func(q *queue, _ time.Time) (any, error) {
		for _, key := range in.TagKeys {
			delete(q.tags, key)
		}
		return none, nil
	})
}

func (e endpoint) listQueueTags(in *queueInput) (operation, error) {
	return e.onQueue(in.QueueUrl, func(q *queue, _ time.Time, _ faults.Fault) wire.Outcome {
		return wire.Outcome{Answer: struct {
			Tags map[string]string `json:",omitempty"`
		}{q.tags}}
	})
}
