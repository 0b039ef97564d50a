package config

import (
	"fmt"
	"strings"
	"time"

	"github.com/landfall-dev/landfall/internal/outbox"
)

// SQS is what a destination of kind sqs has besides.
type SQS struct {
	// Queue is a name or an ARN. One that ends in .fifo is a FIFO queue.
	Queue string `json:"sqs"`
	// Base64 says that bodies are the Base64 of payloads, which then need not be text. Defaults to false.
	Base64 bool `json:"base64"`
}

// DefaultAWSLateArrival is the late_arrival of a destination of AWS's own, unless the file says otherwise.
const DefaultAWSLateArrival = Duration(time.Minute)

var kindSQS = &Kind{
	Name: "sqs", Address: "a queue", Keys: sqsTable,
	defaults: func(settings, fromFile map[string]any) {
		if fromFile["late_arrival"] == nil {
			settings["late_arrival"] = DefaultAWSLateArrival.String()
		}
	},
}

var sqsTable = &Table{
	Title: "Destinations of kind sqs",
	Help:  "A row is one message of a queue that is not Landfall's. A FIFO queue (.fifo) recognises repetitions for 5m. `late_arrival` defaults to 1m.",
	Example: `destinations:
  mail: {sqs: mail-queue, deduplicates: never}
  blobs: {sqs: "arn:aws:sqs:eu-west-1:123456789012:blobs.fifo", deduplicates: 5m, base64: true}
`,
	Keys: []Key{
		{Name: "base64", Type: boolean, Default: false, Example: "true",
			Help: "Bodies are the Base64 of payloads, which then need not be text. Without it bodies are the payloads."},
		{Name: "sqs", Type: queueType, Required: true, Example: "mail-queue", Help: "The queue that every row is sent to."},
	},
}

// Kind is sqs.
func (s *SQS) Kind() *Kind { return kindSQS }

// String is the queue.
func (s *SQS) String() string { return s.Queue }

// Names has the queue.
func (s *SQS) Names() map[string]string { return map[string]string{"sqs": s.Queue} }

func (s *SQS) finish(*Destination) {}

func (s *SQS) check(c *checker, path string, _ Destination, cfg *Config) {
	if group := cfg.ingressOf(s.Queue); group != "" {
		c.failf(path+".sqs", "this is the ingress queue of group %s, where a row that is sent again would be another message; write group: %s", group, group)
	}
}

// fifoWindow: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/FIFO-queues-exactly-once-processing.html.
const fifoWindow = Window(5 * time.Minute)

// warn those that trust a FIFO queue for longer than it remembers.
func (s *SQS) warn(d Destination) []string {
	w := d.Deduplicates
	if !strings.HasSuffix(s.Queue, ".fifo") || w <= fifoWindow && w != Window(outbox.Always) {
		return nil
	}
	return []string{fmt.Sprintf("a FIFO queue recognises a repetition for %v; deduplicates: %v holds only if the queue's reader deduplicates", fifoWindow, w)}
}
