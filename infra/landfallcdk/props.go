package landfallcdk

import (
	"cmp"
	"fmt"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
)

// Defaults of [Props].
const (
	DefaultDist      = "dist"
	DefaultMemoryMiB = 512
	// DefaultRouteConcurrency suffices for some hundred messages a second in each group.
	DefaultRouteConcurrency = 10
	DefaultRunbooks         = "https://github.com/landfall-dev/landfall/blob/main/docs/operations.md"
)

// Memory that Lambda offers (https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html).
const minMemoryMiB, maxMemoryMiB = 128, 10240

// Thresholds of the alarms. Zero values stand for the defaults.
type Thresholds struct {
	// DueAge is how long a row may be due without being claimed. Defaults to 5 minutes.
	DueAge time.Duration
	// Errors is how many invocations of one function may fail in five minutes. Defaults to 2.
	Errors int
	// IteratorAge is how long a new row may wait for the fast path. Defaults to a minute.
	IteratorAge time.Duration
	// InFlight is how many messages of a group may be received and not deleted. At 120,000, SQS hands out no more.
	// Defaults to 100,000.
	InFlight int
	// Failed is how many rows of one destination may fail in five minutes. Defaults to 0: each failed row is an alarm.
	Failed int
	// UnknownAge is how long a row's outcome may stay unknown after a lookup became possible. Defaults to an hour.
	UnknownAge time.Duration
}

// Defaults of [Thresholds].
const (
	DefaultDueAge      = 5 * time.Minute
	DefaultErrors      = 2
	DefaultInFlight    = 100_000
	DefaultIteratorAge = time.Minute
	DefaultUnknownAge  = time.Hour
)

// fill sets the defaults and refuses invalid props.
func (p *Props) fill() error {
	p.Stage = cmp.Or(p.Stage, Prod)
	if p.Stage != Prod && p.Stage != Dev {
		return fmt.Errorf("stage %q: allowed are %s, %s", p.Stage, Dev, Prod)
	}
	if p.Architecture == nil {
		p.Architecture = awslambda.Architecture_ARM_64()
	}
	p.Dist = cmp.Or(p.Dist, DefaultDist)
	p.MemoryMiB = cmp.Or(p.MemoryMiB, DefaultMemoryMiB)
	if p.MemoryMiB < minMemoryMiB || p.MemoryMiB > maxMemoryMiB {
		return fmt.Errorf("MemoryMiB is %d: Lambda offers %d to %d", p.MemoryMiB, minMemoryMiB, maxMemoryMiB)
	}
	p.RouteConcurrency = cmp.Or(p.RouteConcurrency, DefaultRouteConcurrency)
	if p.RouteConcurrency < minRouteConcurrency || p.RouteConcurrency > maxRouteConcurrency {
		return fmt.Errorf("RouteConcurrency is %d: Lambda offers %d to %d for each queue", p.RouteConcurrency, minRouteConcurrency, maxRouteConcurrency)
	}
	p.Runbooks = cmp.Or(p.Runbooks, DefaultRunbooks)
	if p.LogRetention == "" {
		p.LogRetention = awslogs.RetentionDays_ONE_WEEK
		if p.Stage == Prod {
			p.LogRetention = awslogs.RetentionDays_THREE_MONTHS
		}
	}
	if p.Vpc == nil && (p.VpcSubnets != nil || p.SecurityGroups != nil) {
		return fmt.Errorf("VpcSubnets or SecurityGroups without a Vpc: set Vpc, too")
	}
	return p.Thresholds.fill()
}

func (t *Thresholds) fill() error {
	t.DueAge = cmp.Or(t.DueAge, DefaultDueAge)
	t.Errors = cmp.Or(t.Errors, DefaultErrors)
	t.InFlight = cmp.Or(t.InFlight, DefaultInFlight)
	t.IteratorAge = cmp.Or(t.IteratorAge, DefaultIteratorAge)
	t.UnknownAge = cmp.Or(t.UnknownAge, DefaultUnknownAge)
	if t.DueAge < 0 || t.Errors < 0 || t.Failed < 0 || t.InFlight < 0 || t.IteratorAge < 0 || t.UnknownAge < 0 {
		return fmt.Errorf("negative threshold in %+v: use 0 for the default", *t)
	}
	return nil
}
