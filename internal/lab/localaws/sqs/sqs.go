// Package sqs is Amazon SQS: standard and FIFO queues, visibility timeouts, redrive, and what each request is billed as.
//
// It follows the service's documentation and, where that is silent, its observed behaviour; docs/local-aws.md lists
// the operations and the departures. It is not a message broker: messages live in memory and end with the process. A
// Service is not safe for concurrent use, but for Decode; package localaws guards it. It never sleeps: a receive that
// waits says when to look again.
package sqs

import (
	"slices"
	"strings"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/lab/localaws/wire"
)

const account = "000000000000"

// MaxInFlight is how many messages of a queue can be in flight.
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html
const MaxInFlight = 120_000

// Options are the settings of a Service.
type Options struct {
	Region   string
	InFlight int // messages of a queue that can be in flight. Defaults to MaxInFlight.
}

// Service is SQS in one account and region. It implements wire.Service.
type Service struct {
	options Options
	queues  map[string]*queue
	deleted map[string]time.Time // when, by name
	made    int                  // queues, ever
	sent    uint64               // messages, ever
	moves   []*move              // message move tasks, oldest first
}

// New makes a Service without queues.
func New(o Options) *Service {
	if o.InFlight == 0 {
		o.InFlight = MaxInFlight
	}
	return &Service{options: o, queues: map[string]*queue{}, deleted: map[string]time.Time{}}
}

// Name is the name of the service in ledgers and fault plans.
func (s *Service) Name() string { return "sqs" }

// Target is what stands before the names of operations on the wire.
func (s *Service) Target() string { return "AmazonSQS" }

// Decode reads and checks a request as far as that is possible without looking at queues. Queues' URLs are at the host
// that it reached, messages carry its trace.
func (s *Service) Decode(r *wire.Request) (wire.Operation, error) {
	return operations.Decode("SQS", endpoint{s, r.Host, r.Trace}, r)
}

// endpoint is a Service as a request reaches it.
type endpoint struct {
	service *Service
	host    string
	trace   string
}

func (e endpoint) url(name string) string { return "http://" + e.host + "/" + account + "/" + name }

var operations = wire.Operations[endpoint]{
	"CancelMessageMoveTask":        wire.Reading(endpoint.cancelMessageMoveTask),
	"ChangeMessageVisibility":      wire.Reading(byHandle(handleEntry.change)),
	"ChangeMessageVisibilityBatch": wire.Reading(byHandles("ChangeMessageVisibilityBatchRequestEntry", handleEntry.change)),
	"CreateQueue":                  wire.Reading(endpoint.createQueue),
	"DeleteMessage":                wire.Reading(byHandle(handleEntry.delete)),
	"DeleteMessageBatch":           wire.Reading(byHandles("DeleteMessageBatchRequestEntry", handleEntry.delete)),
	"DeleteQueue":                  wire.Reading(endpoint.deleteQueue),
	"GetQueueAttributes":           wire.Reading(endpoint.getQueueAttributes),
	"GetQueueUrl":                  wire.Reading(endpoint.getQueueURL),
	"ListDeadLetterSourceQueues":   wire.Reading(endpoint.listDeadLetterSourceQueues),
	"ListMessageMoveTasks":         wire.Reading(endpoint.listMessageMoveTasks),
	"ListQueueTags":                wire.Reading(endpoint.listQueueTags),
	"ListQueues":                   wire.Reading(endpoint.listQueues),
	"PurgeQueue":                   wire.Reading(endpoint.purgeQueue),
	"ReceiveMessage":               wire.Reading(endpoint.receiveMessage),
	"SendMessage":                  wire.Reading(endpoint.sendMessage),
	"SendMessageBatch":             wire.Reading(endpoint.sendMessageBatch),
	"SetQueueAttributes":           wire.Reading(endpoint.setQueueAttributes),
	"StartMessageMoveTask":         wire.Reading(endpoint.startMessageMoveTask),
	"TagQueue":                     wire.Reading(endpoint.tagQueue),
	"UntagQueue":                   wire.Reading(endpoint.untagQueue),
}

// operation is a request that was read.
type operation struct {
	service  *Service
	resource string
	run      func(now time.Time, f faults.Fault) wire.Outcome
}

// Resource is the queue that the operation is about.
func (o operation) Resource() string { return o.resource }

// Run does the work, unless the fault is an error.
func (o operation) Run(now time.Time, f faults.Fault) wire.Outcome {
	if f.Error != "" {
		return wire.Outcome{Err: faulty(f.Error), Billed: 1}
	}
	o.service.runMoves(now)
	out := o.run(now, f)
	out.Billed = max(out.Billed, 1)
	return out
}

// reading is an operation that is billed as one request, whatever its size.
func (e endpoint) reading(resource string, run func(now time.Time) (any, error)) operation {
	return operation{service: e.service, resource: resource, run: func(now time.Time, _ faults.Fault) wire.Outcome {
		answer, err := run(now)
		return wire.Outcome{Answer: answer, Err: err}
	}}
}

// none is the answer of an operation that has nothing to say.
var none = struct{}{}

// onQueue is an operation on a queue that exists, as it is at the time.
func (e endpoint) onQueue(url *string, run func(q *queue, now time.Time, f faults.Fault) wire.Outcome) (operation, error) {
	if url == nil || *url == "" {
		return operation{}, missing("QueueUrl")
	}
	name := (*url)[strings.LastIndexByte(*url, '/')+1:]
	return operation{service: e.service, resource: name, run: func(now time.Time, f faults.Fault) wire.Outcome {
		q := e.service.queues[name]
		if q == nil {
			return wire.Outcome{Err: noQueue()}
		}
		q.advance(now)
		return run(q, now, f)
	}}, nil
}

// asking is onQueue for what is billed as one request.
func (e endpoint) asking(url *string, run func(q *queue, now time.Time) (any, error)) (operation, error) {
	return e.onQueue(url, func(q *queue, now time.Time, _ faults.Fault) wire.Outcome {
		answer, err := run(q, now)
		return wire.Outcome{Answer: answer, Err: err}
	})
}

// byARN is the queue of an ARN of this account and region, nil if there is none.
func (s *Service) byARN(arn string) *queue {
	name, ok := strings.CutPrefix(arn, s.arn(""))
	if !ok {
		return nil
	}
	return s.queues[name]
}

func (s *Service) arn(name string) string {
	return "arn:aws:sqs:" + s.options.Region + ":" + account + ":" + name
}

// names are the names of the queues, in order.
func (s *Service) names() []string {
	names := make([]string, 0, len(s.queues))
	for name := range s.queues {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// chunk is how much of a payload is billed as one request. https://aws.amazon.com/sqs/pricing/
const chunk = 64 << 10

// billed is how many requests a payload of so many bytes is billed as.
func billed(bytes int) int { return max(1, (bytes+chunk-1)/chunk) }
