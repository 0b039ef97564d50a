package main

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

// mappings examines what starts the router and the fast path.
func (e *examination) mappings(ctx context.Context) {
	client := lambda.NewFromConfig(e.at.sdk)
	if e.stream != "" && !e.mapping(ctx, client, "mapping of the stream", e.stream, "Stream", e.streamMapping) {
		return
	}
	for _, group := range e.cfg.GroupNames() {
		if arn := e.ingress[group]; arn != "" && !e.mapping(ctx, client, "mapping of group "+group, arn, "Route", e.queueMapping) {
			return
		}
	}
}

// mapping finds that of a source to a function, of which there must be one. It reports whether there is any use in asking on.
func (e *examination) mapping(ctx context.Context, client *lambda.Client, subject, source, function string, examine func(string, types.EventSourceMappingConfiguration)) bool {
	before := len(e.findings)
	out, err := look(ctx, client.ListEventSourceMappings, &lambda.ListEventSourceMappingsInput{EventSourceArn: &source})
	var all []types.EventSourceMappingConfiguration
	if err == nil {
		all = e.starting(function, source, out.EventSourceMappings)
	}
	switch {
	case err != nil && e.local:
		e.notChecked("mappings", "the AWS on this machine knows no mappings; landfall dev makes them itself")
		return false
	case err != nil && slices.Contains(denied, codeOf(err)):
		e.warn("mappings", "you may not lambda:ListEventSourceMappings: what they are like is not known", "ask for it")
		return false
	case err != nil:
		e.bad("mappings", err.Error(), "mend that first")
		return false
	case len(all) == 0:
		e.bad(subject, "there is none: nothing starts the function", "deploy the stack")
		return true
	case len(all) > 1:
		e.warn(subject, fmt.Sprintf("there are %d: messages go to whoever is first", len(all)), "remove those that are not the stack's")
	}
	for _, m := range all {
		if state := aws.ToString(m.State); state != "Enabled" && state != "Updating" && state != "Creating" {
			e.bad(subject, "it is "+state, "enable it: "+aws.ToString(m.UUID))
		}
		examine(subject, m)
	}
	e.sound(before, subject, "it is as it must be")
	return true
}

// starting leaves out mappings of the stream to functions of others, who may follow the table, too. Who shares a queue takes
// messages away.
func (e *examination) starting(function, source string, all []types.EventSourceMappingConfiguration) []types.EventSourceMappingConfiguration {
	name := e.at.outputs[schema.FunctionOutput+function]
	if source != e.stream || name == "" {
		return all
	}
	return slices.DeleteFunc(all, func(m types.EventSourceMappingConfiguration) bool {
		return !strings.HasSuffix(aws.ToString(m.FunctionArn), ":"+name)
	})
}

const redeploy = "put it back as the stack has it: npx cdk deploy"

func (e *examination) queueMapping(subject string, m types.EventSourceMappingConfiguration) {
	if !slices.Contains(m.FunctionResponseTypes, types.FunctionResponseTypeReportBatchItemFailures) {
		e.bad(subject, "ReportBatchItemFailures is off: messages that wait for a consumer are deleted", redeploy)
	}
	if n := aws.ToInt32(m.BatchSize); n > 10 {
		e.warn(subject, fmt.Sprintf("it hands out %d messages at a time, the router is made for 10", n), redeploy)
	}
	if m.FilterCriteria != nil && len(m.FilterCriteria.Filters) > 0 {
		e.bad(subject, "it has a filter: messages that do not pass it are deleted", redeploy)
	}
}

func (e *examination) streamMapping(subject string, m types.EventSourceMappingConfiguration) {
	if !e.filtered(m.FilterCriteria) {
		e.warn(subject, "its filter is not that of rows that were just put: the function is started in vain, or not at all", redeploy)
	}
	for _, setting := range []struct {
		name      string
		has, must int32
	}{
		{"BatchSize", aws.ToInt32(m.BatchSize), eventsource.StreamBatch},
		{"MaximumRetryAttempts", aws.ToInt32(m.MaximumRetryAttempts), eventsource.StreamRetries},
		{"MaximumRecordAgeInSeconds", aws.ToInt32(m.MaximumRecordAgeInSeconds), eventsource.StreamRecordAge},
	} {
		if setting.has != setting.must {
			e.warn(subject, fmt.Sprintf("%s is %d, not %d: a batch that fails may hold up those behind it", setting.name, setting.has, setting.must), redeploy)
		}
	}
	if !aws.ToBool(m.BisectBatchOnFunctionError) {
		e.warn(subject, "BisectBatchOnFunctionError is off: one record that cannot be used takes its neighbours along", redeploy)
	}
	if m.DestinationConfig == nil || m.DestinationConfig.OnFailure == nil || aws.ToString(m.DestinationConfig.OnFailure.Destination) == "" {
		e.warn(subject, "nobody is told of batches that are discarded", redeploy)
	}
}

// filtered tells the filter of rows that were just put, however it is written.
func (e *examination) filtered(criteria *types.FilterCriteria) bool {
	if criteria == nil || len(criteria.Filters) != 1 {
		return false
	}
	var has, must any
	return json.Unmarshal([]byte(aws.ToString(criteria.Filters[0].Pattern)), &has) == nil &&
		json.Unmarshal([]byte(eventsource.StreamFilter), &must) == nil && reflect.DeepEqual(has, must)
}
