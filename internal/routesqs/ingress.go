package routesqs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/landfall-dev/landfall/internal/awscall"
	"github.com/landfall-dev/landfall/internal/bounded"
	"github.com/landfall-dev/landfall/internal/routing"
)

// maxHold is for how long a message is hidden at most: SQS's 12 hours count from its receipt, the longest invocation
// of a function takes 15 minutes
// (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-visibility-timeout.html).
const maxHold = 12*time.Hour - 15*time.Minute

// IngressClient is what Ingress calls; *sqs.Client is one.
type IngressClient interface {
	ChangeMessageVisibilityBatch(context.Context, *sqs.ChangeMessageVisibilityBatchInput, ...func(*sqs.Options)) (*sqs.ChangeMessageVisibilityBatchOutput, error)
}

// Ingress implements [routing.Ingress] for messages whose Source is a [Source]. It is safe for concurrent use.
type Ingress struct {
	Client IngressClient
	// URL finds a queue by its ARN.
	URL func(ctx context.Context, arn string) (string, error)
}

var _ routing.Ingress = (*Ingress)(nil)

// Hold implements [routing.Ingress], ten messages a request.
func (q *Ingress) Hold(ctx context.Context, holds []routing.Hold) []error {
	errs := make([]error, len(holds))
	chunks(holds, func(h routing.Hold) (string, int) { return source(h.Message).QueueARN, 0 }, func(queue string, chunk []int) {
		q.hold(ctx, queue, holds, chunk, errs)
	})
	return errs
}

// Delete does nothing: the event source mapping deletes what the function does not report, ten messages a request.
// Deleting here as well would cost a second one.
func (*Ingress) Delete(_ context.Context, messages []routing.Incoming) []error {
	return make([]error, len(messages))
}

// tries is how often holding is tried of what SQS itself could not do.
const tries = 3

func (q *Ingress) hold(ctx context.Context, queue string, holds []routing.Hold, chunk []int, errs []error) {
	url, err := q.URL(ctx, queue)
	if err != nil {
		err = fmt.Errorf("find the ingress queue: %s", awscall.Code(err))
		for _, i := range chunk {
			errs[i] = err
		}
		return
	}
	for try := range tries {
		if try > 0 && !bounded.Pause(ctx, time.Duration(try)*50*time.Millisecond) {
			return
		}
		if chunk = q.ask(ctx, url, holds, chunk, errs); len(chunk) == 0 {
			return
		}
	}
}

// ask sends one request and notes what became of its messages. It returns those that SQS could not do.
func (q *Ingress) ask(ctx context.Context, url string, holds []routing.Hold, chunk []int, errs []error) (again []int) {
	in := &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &url}
	for _, i := range chunk {
		in.Entries = append(in.Entries, types.ChangeMessageVisibilityBatchRequestEntry{
			Id: aws.String(strconv.Itoa(i)), ReceiptHandle: &holds[i].Message.Handle, VisibilityTimeout: visibility(holds[i].For),
		})
	}
	out, err := q.Client.ChangeMessageVisibilityBatch(ctx, in)
	trouble := errors.New(noWord)
	if err != nil {
		trouble = errors.New(awscall.Code(err))
	}
	for _, i := range chunk {
		errs[i] = trouble
	}
	if err != nil {
		return nil
	}
	for _, done := range out.Successful {
		if i := index(chunk, done.Id); i >= 0 {
			errs[i] = nil
		}
	}
	for _, failed := range out.Failed {
		if i := index(chunk, failed.Id); i >= 0 {
			errs[i] = troubleOf(aws.ToString(failed.Code))
			if !failed.SenderFault {
				again = append(again, i)
			}
		}
	}
	return again
}

// troubleOf is the error of a code. Of what is asked for here, SQS finds nothing invalid but the handle, and says so
// in different ways.
func troubleOf(code string) error {
	for _, lost := range []string{"ReceiptHandleIsInvalid", "InvalidParameterValue", "MessageNotInflight"} {
		if strings.Contains(code, lost) {
			return routing.ErrLeaseLost
		}
	}
	return errors.New(awscall.Word(code))
}

// noWord is about an entry that an answer does not mention.
const noWord = "the answer does not mention the message"

// visibility is whole seconds, rounded up.
func visibility(d time.Duration) int32 {
	return int32((min(max(d, 0), maxHold) + time.Second - 1) / time.Second)
}

// index returns the message of an entry by the id of the entry; -1 if the chunk does not have it.
func index(chunk []int, id *string) int {
	i, err := strconv.Atoi(aws.ToString(id))
	if err != nil || !slices.Contains(chunk, i) {
		return -1
	}
	return i
}

// source returns the message as it came. A message of another kind has an empty Source, whose queue is not found.
func source(in routing.Incoming) Source {
	s, _ := in.Source.(Source)
	return s
}
