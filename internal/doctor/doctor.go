// Package doctor examines an installation of Landfall: tools, credentials, tables, queues, event source mappings,
// permissions, and whether they fit the configuration.
//
// It reads, and tries writes that cannot change anything. Each check is a function from what was read to findings. It
// prints nothing, and it knows nothing of flags and exit codes.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/routesqs"
)

// readTimeout bounds one call of AWS with its retries.
const readTimeout = 15 * time.Second

// Level is how serious a finding is.
type Level string

// The levels.
const (
	OK      Level = "ok"
	Warning Level = "warn" // it works, but not as it should
	// Bad: it does not work, or it loses something.
	Bad        Level = "bad"
	NotChecked Level = "not checked"
)

// Finding is what an examination says about one subject.
type Finding struct {
	Level   Level  `json:"level"`
	Subject string `json:"subject"`
	Message string `json:"message"`
	// Remedy is what to do; "" where there is nothing to do.
	Remedy string `json:"remedy,omitempty"`
}

// Name is the name of a table, or the prefix of the queues' names, in an installation.
type Name struct {
	Value string
	// Err says why the name is unknown.
	Err error
}

// Installation is what [Examine] looks at.
type Installation struct {
	// Config is the configuration; nil if it cannot be read. Then the checks that follow from it are left out.
	Config *config.Config
	SDK    aws.Config
	// Local: AWS is an emulator on this machine. It is excused from what matters only in production.
	Local bool
	// Stack is the name of the deployed stack, Outputs are its outputs by name. "" if the installation was found
	// without a stack.
	Stack   string
	Outputs map[string]string

	Outbox, Receipts, Control, QueuePrefix Name
}

// Examine reads an installation and returns what it found, from the ground up: without credentials or without an
// endpoint it stops, since everything else would fail for the same reason.
func Examine(ctx context.Context, in Installation) []Finding {
	e := &examination{
		in: in, tables: dynamodb.NewFromConfig(in.SDK), queues: sqs.NewFromConfig(in.SDK), mappings: lambda.NewFromConfig(in.SDK),
		ingress: map[string]string{},
	}
	e.urls = routesqs.NewQueues(e.queues)
	e.examine(ctx)
	return e.findings
}

// examination is one run of Examine.
type examination struct {
	in       Installation
	tables   *dynamodb.Client
	queues   *sqs.Client
	urls     *routesqs.Queues
	mappings *lambda.Client

	findings []Finding
	// stream is the ARN of the outbox table's stream, ingress has those of the groups' ingress queues. Both have only what
	// was found.
	stream  string
	ingress map[string]string
}

func (e *examination) examine(ctx context.Context) {
	if !e.credentials(ctx) || !e.readTables(ctx) {
		return
	}
	e.permissions(ctx)
	if e.in.Config == nil {
		e.add(Finding{NotChecked, "control items, queues and mappings", "they follow from the configuration", ""})
	} else {
		e.readQueues(ctx, e.readControl(ctx))
		e.readMappings(ctx)
	}
	e.add(deployment(e.in)...)
}

func (e *examination) add(findings ...Finding) { e.findings = append(e.findings, findings...) }

// report collects what is found about one subject.
type report struct {
	subject  string
	findings []Finding
}

func (r *report) add(level Level, message, remedy string) {
	r.findings = append(r.findings, Finding{level, r.subject, message, remedy})
}

func (r *report) bad(message, remedy string)  { r.add(Bad, message, remedy) }
func (r *report) warn(message, remedy string) { r.add(Warning, message, remedy) }

// orOK returns the findings, or if there are none one that says that all is well.
func (r *report) orOK(message string) []Finding {
	if len(r.findings) == 0 {
		r.add(OK, message, "")
	}
	return r.findings
}

// one returns a single finding as a list.
func one(level Level, subject, message, remedy string) []Finding {
	return []Finding{{level, subject, message, remedy}}
}

// read makes one call of AWS.
func read[In, Out, Option any](ctx context.Context, call func(context.Context, *In, ...func(*Option)) (*Out, error), in *In) (*Out, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return call(ctx, in)
}

// Plain is the text of an error, in which an answer of AWS is its operation, code and message alone. An answer that the
// SDK does not understand stays as the SDK describes it.
func Plain(err error) string {
	var operation *smithy.OperationError
	var answered smithy.APIError
	if !errors.As(err, &operation) || !errors.As(operation, &answered) || answered.ErrorMessage() == "" || answered.ErrorCode() == "UnknownError" {
		return err.Error()
	}
	plain := fmt.Sprintf("%s %s: %s: %s", operation.ServiceID, operation.OperationName, answered.ErrorCode(), answered.ErrorMessage())
	return strings.ReplaceAll(err.Error(), operation.Error(), plain)
}

// codeOf is the code of an error that AWS answered with; "" if it did not answer.
func codeOf(err error) string {
	var answered smithy.APIError
	if errors.As(err, &answered) {
		return answered.ErrorCode()
	}
	return ""
}

// denied reports whether the caller lacks a permission.
func denied(err error) bool {
	return slices.Contains([]string{"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"}, codeOf(err))
}
