package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/spf13/cobra"

	"github.com/landfall-dev/landfall/internal/doctor"
	"github.com/landfall-dev/landfall/internal/lab/desk"
)

// examineTimeout bounds the whole examination.
const examineTimeout = 2 * time.Minute

func (a *app) doctorCommand() *cobra.Command {
	return a.command("doctor", "Check the installation, and say how to fix it",
		`It checks tools, credentials, tables, queues, event source mappings, permissions
and the configuration. It only reads, and tries writes that cannot change
anything. Permissions are your own, not those of the functions. On an AWS on
this machine, what matters only in production is left out.

Findings are ok, warn (it works, but not as it should), bad (it does not work,
or loses something) or not checked. Exit code 1: something is bad.`,
		takes(0, 0), func(ctx context.Context, _ []string) error { return a.doctor(ctx) })
}

func (a *app) doctor(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, examineTimeout)
	defer cancel()
	found := doctor.Tools(ctx, ".")
	cfg, err := readConfig(a.config)
	if err != nil {
		found = append(found, doctor.Finding{Level: doctor.Bad, Subject: "configuration", Message: err.Error(), Remedy: "run landfall validate"})
	} else {
		found = append(found, doctor.Finding{Level: doctor.OK, Subject: "configuration", Message: a.config + " is valid"})
	}
	if at, err := a.account(ctx); err != nil {
		found = append(found, doctor.Finding{
			Level: doctor.Bad, Subject: "stack", Message: err.Error(), Remedy: "check --stack, --region, and that you may cloudformation:DescribeStacks",
		})
	} else {
		name := func(n named) doctor.Name {
			value, err := at.name(n)
			return doctor.Name{Value: value, Err: err}
		}
		found = append(found, doctor.Examine(ctx, doctor.Installation{
			Config: cfg, SDK: at.sdk, Stack: at.stack, Outputs: at.outputs,
			Local:  desk.Loopback(cmp.Or(a.endpoint, aws.ToString(at.sdk.BaseEndpoint))) == nil,
			Outbox: name(outboxName), Receipts: name(receiptsName), Control: name(controlName), QueuePrefix: name(prefixName),
		})...)
	}
	return a.printFindings(found)
}

func (a *app) printFindings(found []doctor.Finding) error {
	count := map[doctor.Level]int{}
	for _, f := range found {
		count[f.Level]++
	}
	var err error
	if a.output == inJSON {
		err = a.printJSON(found)
	} else {
		err = a.write([]byte(findingsText(found)))
	}
	if err == nil && count[doctor.Bad] > 0 {
		err = fmt.Errorf("findings: %d bad, %d warn", count[doctor.Bad], count[doctor.Warning])
	}
	return err
}

// findingsText has a line for each finding, and one more for what to do.
func findingsText(found []doctor.Finding) string {
	const margin = "             "
	var b strings.Builder
	for _, f := range found {
		for i, line := range strings.Split(f.Subject+": "+f.Message, "\n") {
			head := margin
			if i == 0 {
				head = fmt.Sprintf("%-*s", len(margin), f.Level)
			}
			fmt.Fprintln(&b, head+printable(line))
		}
		if f.Remedy != "" {
			fmt.Fprintln(&b, margin+"do: "+printable(f.Remedy))
		}
	}
	return b.String()
}
