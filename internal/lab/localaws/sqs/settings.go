package sqs

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// settings are the attributes of a queue that are set, by name, and what follows from some of them.
type settings struct {
	values  map[string]string
	fifo    bool
	perID   bool // deduplication ids are per message group; as the queue was made, later changes do not count
	redrive *redrivePolicy
}

type redrivePolicy struct {
	DeadLetterTargetArn string `json:"deadLetterTargetArn"`
	MaxReceiveCount     int    `json:"maxReceiveCount"`
}

// numeric are the attributes that are numbers, with their bounds and defaults.
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html
var numeric = map[string]struct{ low, high, normal int }{
	"DelaySeconds":                  {0, 900, 0},
	"KmsDataKeyReusePeriodSeconds":  {60, 86_400, 300},
	"MaximumMessageSize":            {1024, maxMessage, maxMessage},
	"MessageRetentionPeriod":        {60, 1_209_600, 345_600},
	"ReceiveMessageWaitTimeSeconds": {0, 20, 0},
	"VisibilityTimeout":             {0, 43_200, 30},
}

// enumerated are the attributes that take one of a few values, in lower case.
var enumerated = map[string][]string{
	"ContentBasedDeduplication": {"false", "true"},
	"DeduplicationScope":        {"queue", "messageGroup"},
	"FifoQueue":                 {"true"},
	"FifoThroughputLimit":       {"perQueue", "perMessageGroupId"},
	"SqsManagedSseEnabled":      {"true", "false"},
}

// documents are the attributes that are JSON, or text of which nothing is asked.
var documents = []string{"KmsMasterKeyId", "Policy", "RedriveAllowPolicy", "RedrivePolicy"}

// computed are the attributes that are told but cannot be set.
var computed = []string{"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesDelayed",
	"ApproximateNumberOfMessagesNotVisible", "CreatedTimestamp", "LastModifiedTimestamp", "QueueArn"}

func defaults(fifo bool) settings {
	set := settings{fifo: fifo, values: map[string]string{"SqsManagedSseEnabled": "true"}}
	for name, n := range numeric {
		set.values[name] = strconv.Itoa(n.normal)
	}
	delete(set.values, "KmsDataKeyReusePeriodSeconds") // told only if it is not the default
	if fifo {
		for _, name := range []string{"ContentBasedDeduplication", "DeduplicationScope", "FifoQueue", "FifoThroughputLimit"} {
			set.values[name] = enumerated[name][0]
		}
	}
	return set
}

func known(name string) bool {
	_, number := numeric[name]
	return number || enumerated[name] != nil || slices.Contains(documents, name) || slices.Contains(computed, name)
}

// normal is an attribute's value as it is kept, empty if it is not, or the error of one that cannot be set. Where the
// value refers to another queue, that is not looked at.
func (set *settings) normal(name, value string) (string, error) {
	limit, number := numeric[name]
	switch {
	case !known(name) || slices.Contains(computed, name):
		return "", failure("InvalidAttributeName", "Unknown Attribute %s.", name)
	case !set.fifo && (name == "DeduplicationScope" || name == "FifoThroughputLimit"):
		return "", failure("InvalidAttributeName", "You can specify the %s only when FifoQueue is set to true.", name)
	case !set.fifo && (name == "FifoQueue" || name == "ContentBasedDeduplication"):
		return "", failure("InvalidAttributeName", "Unknown Attribute %s.", name)
	case number:
		n, err := strconv.Atoi(value)
		if err != nil || n < limit.low || n > limit.high {
			return "", failure("InvalidAttributeValue", "Invalid value for the parameter %s.", name)
		}
		if name == "KmsDataKeyReusePeriodSeconds" && n == limit.normal {
			return "", nil
		}
		return strconv.Itoa(n), nil
	case enumerated[name] != nil:
		for _, one := range enumerated[name] {
			if strings.EqualFold(one, value) {
				return one, nil
			}
		}
		return "", failure("InvalidAttributeValue", "Invalid value for the parameter %s.", name)
	case name == "RedrivePolicy" && value != "":
		policy, err := readRedrive(value)
		if err != nil {
			return "", err
		}
		return policy.String(), nil
	case name != "KmsMasterKeyId" && value != "" && !json.Valid([]byte(value)):
		return "", failure("InvalidAttributeValue", "Invalid value for the parameter %s.", name)
	}
	return value, nil
}

// with is the settings with some attributes changed. exists finds the queue that an ARN names, which is nil if there is
// none.
func (set settings) with(changes map[string]string, exists func(arn string) *queue) (settings, error) {
	set.values = maps.Clone(set.values)
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		value, err := set.normal(name, changes[name])
		if err != nil {
			return set, err
		}
		set.values[name] = value
		if value == "" {
			delete(set.values, name)
		}
	}
	if changes["KmsMasterKeyId"] != "" {
		if strings.EqualFold(changes["SqsManagedSseEnabled"], "true") {
			return set, failure("InvalidAttributeName", "You can use one type of server-side encryption (SSE) at one time. You can either enable KMS SSE or SQS SSE.")
		}
		set.values["SqsManagedSseEnabled"] = "false"
	}
	set.redrive = nil
	if text := set.values["RedrivePolicy"]; text != "" {
		policy, err := readRedrive(text)
		if err != nil {
			return set, err
		}
		set.redrive = policy
	}
	if changes["RedrivePolicy"] != "" {
		return set, set.checkRedrive(exists)
	}
	return set, nil
}

func (set *settings) checkRedrive(exists func(arn string) *queue) error {
	target := exists(set.redrive.DeadLetterTargetArn)
	switch {
	case target == nil:
		return invalidValue("RedrivePolicy", set.redrive, "Dead letter target does not exist.")
	case target.set.fifo != set.fifo:
		return invalidValue("RedrivePolicy", set.redrive, "Dead-letter queue must be same type of queue as the source.")
	}
	return nil
}

// readRedrive reads a redrive policy, of which the service takes the count as a number or as a text.
func readRedrive(text string) (*redrivePolicy, error) {
	var in struct {
		DeadLetterTargetArn *string `json:"deadLetterTargetArn"`
		MaxReceiveCount     any     `json:"maxReceiveCount"`
	}
	if json.Unmarshal([]byte(text), &in) != nil {
		return nil, invalidValue("RedrivePolicy", text, "Redrive policy is not a valid JSON map.")
	}
	switch {
	case in.DeadLetterTargetArn == nil:
		return nil, invalidValue("RedrivePolicy", text, "Redrive policy does not contain mandatory attribute: deadLetterTargetArn.")
	case in.MaxReceiveCount == nil:
		return nil, invalidValue("RedrivePolicy", text, "Redrive policy does not contain mandatory attribute: maxReceiveCount.")
	}
	n, err := strconv.Atoi(fmt.Sprint(in.MaxReceiveCount))
	if err != nil || n < 1 || n > 1000 {
		return nil, invalidValue("RedrivePolicy", text, fmt.Sprintf("Invalid value for maxReceiveCount: %v, valid values are from 1 to 1000 both inclusive.", in.MaxReceiveCount))
	}
	return &redrivePolicy{*in.DeadLetterTargetArn, n}, nil
}

// String is the policy as the service tells it.
func (r *redrivePolicy) String() string {
	text, _ := json.Marshal(r) // two plain fields
	return string(text)
}

// seconds is an attribute that is a number of seconds; a number it is, or it would not be there.
func (set *settings) seconds(name string) time.Duration {
	return time.Duration(set.number(name)) * time.Second
}

func (set *settings) number(name string) int {
	n, _ := strconv.Atoi(set.values[name])
	return n
}

func (set *settings) retention() time.Duration { return set.seconds("MessageRetentionPeriod") }
