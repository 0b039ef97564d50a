package main

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/routing"
)

// maxRate bounds --rate.
const maxRate = 1_000_000

// fitsInFlight reports the groups that have more messages in flight than SQS allows when so many come in a second.
func fitsInFlight(rate float64) config.Check {
	return func(cfg *config.Config) (problems []config.Problem) {
		for _, name := range cfg.GroupNames() {
			g := cfg.Groups[name]
			n := inFlight(g, rate)
			if n <= config.MaxInFlight {
				continue
			}
			way := "spread the messages over more groups"
			if most := time.Duration(config.MaxInFlight/rate) * time.Second; most > 0 {
				way = fmt.Sprintf("at most %v, or %s", config.Duration(most), way)
			}
			problems = append(problems, config.Problem{Path: "groups." + name + ".accept_timeout", Message: fmt.Sprintf(
				"at %v messages a second %.0f can be in flight in the ingress queue, and SQS allows %d: %s", rate, n, config.MaxInFlight, way)})
		}
		return problems
	}
}

// inFlight is how many messages at most wait to be accepted, if all are at the first attempt.
func inFlight(g config.Group, rate float64) float64 {
	if g.Policy().Accept == routing.OnDelivery {
		return 0
	}
	return math.Ceil(rate * time.Duration(g.AcceptTimeout).Seconds())
}

func groupSummary(cfg *config.Config, rate float64) [][]string {
	rows := [][]string{{"GROUP", "ACCEPT", "WITHIN", "GIVEN UP AFTER", "ROUTE", "CONSUMERS"}}
	if rate > 0 {
		rows[0] = append(rows[0], "IN FLIGHT, OF "+strconv.Itoa(config.MaxInFlight))
	}
	for _, name := range cfg.GroupNames() {
		g := cfg.Groups[name]
		row := []string{name, g.Accept, g.AcceptTimeout.String(), g.MaxWait.String(), g.Route.Kind, strconv.Itoa(len(g.Consumers))}
		if rate > 0 {
			waiting := "-"
			if n := inFlight(g, rate); n > 0 {
				waiting = strconv.FormatFloat(n, 'f', 0, 64)
			}
			row = append(row, waiting)
		}
		rows = append(rows, row)
	}
	return rows
}
