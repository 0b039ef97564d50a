package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/spf13/cobra"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/lab/desk"
)

// examineFor bounds the whole examination, lookFor one look at AWS.
const (
	examineFor = 2 * time.Minute
	lookFor    = 15 * time.Second
)

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Find out what is not as it must be: tools, credentials, tables, queues, mappings, permissions, configuration",
		Long: `Find out what is not as it must be: tools, credentials, tables, queues, mappings, permissions, configuration.

It reads, and tries writes that can change nothing. Permissions are your own, not those of the functions. What a machine
of its own has no use for is not checked there. Exit code 1: something is bad, that is, does not work or loses
something; what is only a warning works.`,
		Args: cobra.NoArgs,
		RunE: a.do(func(ctx context.Context, _ []string) error { return a.doctor(ctx) }),
	}
}

// level is how a finding is meant.
type level string

// The levels.
const (
	isOK         level = "ok"
	isWarning    level = "warn"
	isBad        level = "bad"
	isNotChecked level = "not checked"
)

// diagnosis is what is found about one subject.
type diagnosis struct {
	Level   level  `json:"level"`
	Subject string `json:"subject"`
	Message string `json:"message"`
	// Remedy is what to do; "" where there is nothing to do.
	Remedy string `json:"remedy,omitempty"`
}

// examination is one run of the doctor.
type examination struct {
	cfg *config.Config // nil if it cannot be read
	at  *account
	// local is an AWS on this machine.
	local    bool
	findings []diagnosis

	// stream is the ARN of the outbox table's, ingress those of the groups' ingress queues, as far as they are there.
	stream  string
	ingress map[string]string
}

func (e *examination) ok(subject, message string) {
	e.findings = append(e.findings, diagnosis{isOK, subject, message, ""})
}

func (e *examination) notChecked(subject, why string) {
	e.findings = append(e.findings, diagnosis{isNotChecked, subject, why, ""})
}

func (e *examination) warn(subject, message, remedy string) {
	e.findings = append(e.findings, diagnosis{isWarning, subject, message, remedy})
}

func (e *examination) bad(subject, message, remedy string) {
	e.findings = append(e.findings, diagnosis{isBad, subject, message, remedy})
}

// sound says that a subject is as it must be, unless something was found about it since there were so many findings.
func (e *examination) sound(before int, subject, message string) {
	if len(e.findings) == before {
		e.ok(subject, message)
	}
}

// look makes one look at AWS.
func look[In, Out, Option any](ctx context.Context, call func(context.Context, *In, ...func(*Option)) (*Out, error), in *In) (*Out, error) {
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	return call(ctx, in)
}

func (a *app) doctor(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, examineFor)
	defer cancel()
	e := &examination{ingress: map[string]string{}}
	e.tools(ctx, ".")
	var err error
	if e.cfg, err = a.loadConfig(a.config); err != nil {
		e.bad("configuration", err.Error(), "see landfall validate")
	} else {
		e.ok("configuration", a.config+" is valid")
	}
	if e.at, err = a.account(ctx); err != nil {
		e.bad("stack", err.Error(), "see --stack, --region, and that you may cloudformation:DescribeStacks")
	} else {
		e.local = desk.Loopback(cmp.Or(a.endpoint, aws.ToString(e.at.sdk.BaseEndpoint))) == nil
		e.account(ctx)
	}
	return a.printDiagnoses(e.findings)
}

// account examines what is there, from the ground up: without credentials or an endpoint everything else fails alike.
func (e *examination) account(ctx context.Context) {
	if !e.credentials(ctx) {
		return
	}
	tables := dynamodb.NewFromConfig(e.at.sdk)
	if !e.tables(ctx, tables) {
		return
	}
	e.permissions(ctx, tables)
	if e.cfg == nil {
		e.notChecked("control items, queues and mappings", "they follow from the configuration")
	} else {
		e.queues(ctx, e.control(ctx))
		e.mappings(ctx)
	}
	e.deployed()
}

func (a *app) printDiagnoses(all []diagnosis) error {
	count := map[level]int{}
	for _, d := range all {
		count[d.Level]++
	}
	if a.output == inJSON {
		if err := a.printJSON(all); err != nil {
			return err
		}
	} else if _, err := io.WriteString(a.stdout, asText(all)); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	if count[isBad] > 0 {
		return fmt.Errorf("%d bad, %d to be warned of", count[isBad], count[isWarning])
	}
	return nil
}

// asText has a line for each, and one more for what to do.
func asText(all []diagnosis) string {
	const margin = "             "
	var b strings.Builder
	for _, d := range all {
		for i, line := range strings.Split(d.Subject+": "+d.Message, "\n") {
			head := margin
			if i == 0 {
				head = fmt.Sprintf("%-*s", len(margin), d.Level)
			}
			fmt.Fprintln(&b, head+printable(line))
		}
		if d.Remedy != "" {
			fmt.Fprintln(&b, margin+"do: "+printable(d.Remedy))
		}
	}
	return b.String()
}
