package config

import "regexp"

// queueName is the name of a queue in the stage's own account and region, or an ARN
// (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-queues.html).
var queueName = regexp.MustCompile(`^(arn:aws[a-z-]*:sqs:[a-z0-9-]{1,32}:[0-9]{12}:)?([A-Za-z0-9_-]{1,80}|[A-Za-z0-9_-]{1,75}\.fifo)$`)
