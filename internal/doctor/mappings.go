package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/landfall-dev/landfall/internal/eventsource"
	"github.com/landfall-dev/landfall/internal/schema"
)

// mapping is an event source mapping.
type mapping = types.EventSourceMappingConfiguration

// readMappings examines what starts the router and the fast path.
func (e *examination) readMappings(ctx context.Context) {
	if e.stream != "" {
		own := func(all []mapping) []mapping { return mappingsOf(e.in.Outputs[schema.FunctionOutput+"Stream"], all) }
		if !e.readMapping(ctx, "mapping of the stream", e.stream, own, streamMapping) {
			return
		}
	}
	all := func(all []mapping) []mapping { return all } // another function on the queue would take messages away
	for _, group := range e.in.Config.GroupNames() {
		if arn := e.ingress[group]; arn != "" && !e.readMapping(ctx, "mapping of group "+group, arn, all, queueMapping) {
			return
		}
	}
}

// mappingsOf leaves out the mappings of the stream to other functions, which may follow the table, too.
func mappingsOf(function string, all []mapping) []mapping {
	if function == "" {
		return all
	}
	return slices.DeleteFunc(all, func(m mapping) bool { return !strings.HasSuffix(aws.ToString(m.FunctionArn), ":"+function) })
}

// readMapping examines the mappings of a source, of which there must be one. It reports whether others can be read.
func (e *examination) readMapping(ctx context.Context, subject, source string, own func([]mapping) []mapping, check func(*report, mapping)) bool {
	out, err := read(ctx, e.mappings.ListEventSourceMappings, &lambda.ListEventSourceMappingsInput{EventSourceArn: &source})
	switch {
	case err != nil && e.in.Local:
		e.add(Finding{NotChecked, "mappings", "the AWS on this machine has none; landfall dev starts the functions itself", ""})
	case denied(err):
		e.add(Finding{Warning, "mappings", "you may not lambda:ListEventSourceMappings: the mappings are unknown", "ask for the permission"})
	case err != nil:
		e.add(Finding{Bad, "mappings", Plain(err), "fix this error first"})
	default:
		e.add(mappings(subject, own(out.EventSourceMappings), check)...)
	}
	return err == nil
}

// mappings examines those of one source.
func mappings(subject string, all []mapping, check func(*report, mapping)) []Finding {
	r := &report{subject: subject}
	switch {
	case len(all) == 0:
		r.bad("it does not exist: nothing starts the function", "deploy the stack")
	case len(all) > 1:
		r.warn(fmt.Sprintf("there are %d: each message goes to one of them, by chance", len(all)), "remove those that are not the stack's")
	}
	for _, m := range all {
		if state := aws.ToString(m.State); state != "Enabled" && state != "Updating" && state != "Creating" {
			r.bad("it is "+state, "enable it: "+aws.ToString(m.UUID))
		}
		check(r, m)
	}
	return r.orOK("it is enabled and has the stack's settings")
}

const redeploy = "restore the stack's settings: npx cdk deploy"

func queueMapping(r *report, m mapping) {
	if !slices.Contains(m.FunctionResponseTypes, types.FunctionResponseTypeReportBatchItemFailures) {
		r.bad("ReportBatchItemFailures is off: messages that wait for a consumer are deleted", redeploy)
	}
	if n := aws.ToInt32(m.BatchSize); n > 10 {
		r.warn(fmt.Sprintf("it hands out %d messages at a time; the router expects 10 at most", n), redeploy)
	}
	if m.FilterCriteria != nil && len(m.FilterCriteria.Filters) > 0 {
		r.bad("it has a filter: messages that do not pass it are deleted", redeploy)
	}
}

func streamMapping(r *report, m mapping) {
	if !isStreamFilter(m.FilterCriteria) {
		r.warn("its filter does not select new rows: the function is started in vain, or never", redeploy)
	}
	for _, setting := range []struct {
		name      string
		has, want int32
	}{
		{"BatchSize", aws.ToInt32(m.BatchSize), eventsource.StreamBatch},
		{"MaximumRetryAttempts", aws.ToInt32(m.MaximumRetryAttempts), eventsource.StreamRetries},
		{"MaximumRecordAgeInSeconds", aws.ToInt32(m.MaximumRecordAgeInSeconds), eventsource.StreamRecordAge},
	} {
		if setting.has != setting.want {
			r.warn(fmt.Sprintf("%s is %d, not %d: a batch that fails may hold up those behind it", setting.name, setting.has, setting.want), redeploy)
		}
	}
	if !aws.ToBool(m.BisectBatchOnFunctionError) {
		r.warn("BisectBatchOnFunctionError is off: one record that fails takes its whole batch along", redeploy)
	}
	if m.DestinationConfig == nil || m.DestinationConfig.OnFailure == nil || aws.ToString(m.DestinationConfig.OnFailure.Destination) == "" {
		r.warn("it has no on-failure destination: batches are discarded in silence", redeploy)
	}
}

// isStreamFilter compares a filter with the one of new rows by meaning, not by text.
func isStreamFilter(criteria *types.FilterCriteria) bool {
	if criteria == nil || len(criteria.Filters) != 1 {
		return false
	}
	var has, want any
	return json.Unmarshal([]byte(aws.ToString(criteria.Filters[0].Pattern)), &has) == nil &&
		json.Unmarshal([]byte(eventsource.StreamFilter), &want) == nil && reflect.DeepEqual(has, want)
}
