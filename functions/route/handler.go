package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/landfall-dev/landfall/functions/internal/setup"
	"github.com/landfall-dev/landfall/internal/routing"
)

// handler translates between Lambda and the router.
type handler struct{ setup *setup.Routing }

// handle routes a batch. Only what it does not report is deleted, so that every message that is not at its end is
// reported, and one that cannot be read, too. An error, which keeps the whole batch, is left for what cannot be
// reported: an event of another shape, or a record that has no id.
func (h *handler) handle(ctx context.Context, event json.RawMessage) (events.SQSEventResponse, error) {
	records, unnamed, err := parseEvent(event)
	if err != nil {
		return events.SQSEventResponse{}, err
	}
	requestID := ""
	if invocation, ok := lambdacontext.FromContext(ctx); ok {
		requestID = invocation.AwsRequestID
	}
	var kept []string
	var batch []routing.Incoming
	var ids []string // of the batch, as SQS has them
	for _, r := range records {
		in, err := h.incoming(r)
		if err != nil {
			h.setup.Logger.ErrorContext(ctx, "the record cannot be routed and stays in its queue", "record", r.name(), "error", err.Error())
			kept = append(kept, r.MessageID)
			continue
		}
		batch, ids = append(batch, in), append(ids, r.MessageID)
	}
	observer := h.setup.Observer(requestID)
	for i, handled := range h.setup.Router.Route(ctx, batch) {
		observer.Routed(handled)
		if handled.Kept {
			kept = append(kept, ids[i])
		}
	}
	if err := observer.Flush(); err != nil { // what was routed stays routed
		h.setup.Logger.ErrorContext(ctx, "metrics could not be written", "error", err.Error())
	}
	if unnamed > 0 {
		return events.SQSEventResponse{}, fmt.Errorf("%d of %d records have no messageId, so that the whole batch stays: connect the function to an ingress queue only",
			unnamed, unnamed+len(records))
	}
	return response(kept), nil
}

// incoming is a record as the router takes it.
func (h *handler) incoming(r record) (routing.Incoming, error) {
	if r.err != nil {
		return routing.Incoming{}, r.err
	}
	group := h.setup.Group(r.EventSourceARN)
	switch {
	case strings.HasSuffix(r.EventSourceARN, ".fifo"):
		return routing.Incoming{}, fmt.Errorf("queue %.160q is FIFO: an ingress queue must be a standard queue", r.EventSourceARN)
	case group == "":
		return routing.Incoming{}, fmt.Errorf("queue %.160q is not the ingress queue of a configured group", r.EventSourceARN)
	}
	return r.source().Incoming(group, *r.ReceiptHandle, r.sentAt(), r.receives()), nil
}

// response reports messages as failed, each once.
func response(kept []string) events.SQSEventResponse {
	slices.Sort(kept)
	kept = slices.Compact(kept)
	answer := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
	for _, id := range kept {
		answer.BatchItemFailures = append(answer.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: id})
	}
	return answer
}
