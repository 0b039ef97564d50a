package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/landfall-dev/landfall/internal/routefn"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/schema"
)

// consumers reads a list of consumers, as a routing function of kind lambda is asked with. What follows from the rest
// (available_capacity, has_capacity) is not looked at.
func (a *app) consumers(given string) ([]routing.Consumer, error) {
	const most = 1 << 20
	text, err := a.input("--consumers", given, most)
	if err != nil {
		return nil, err
	}
	var views []routefn.Candidate
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&views); err != nil {
		return nil, fmt.Errorf(`--consumers: want a JSON list such as [{"id": "north", "current_in_flight": 3, "max_in_flight": 50}]: %w`, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) || len(text) > most {
		return nil, fmt.Errorf("--consumers: want one JSON list of at most %d bytes, and nothing after it", most)
	}
	var all []routing.Consumer
	for i, v := range views {
		if v.ID == "" {
			return nil, fmt.Errorf("--consumers: number %d has no id", i+1)
		}
		c := routing.Consumer{ID: v.ID, Weight: v.Weight, ConsumerState: routing.ConsumerState{
			CurrentInFlight: v.CurrentInFlight, MaxInFlight: routing.Unlimited, BufferDepth: v.BufferDepth, Tags: v.Tags,
		}}
		if v.MaxInFlight != nil {
			c.MaxInFlight = *v.MaxInFlight
		}
		all = append(all, c)
	}
	return all, nil
}

// fill reads how busy consumers are, as the router does: a queue that does not tell counts as idle.
func (g *groups) fill(ctx context.Context, all []routing.Consumer) error {
	var problems []error
	for i := range all {
		queue, isQueue := strings.CutPrefix(all[i].Target, schema.TargetSQS+":")
		if !isQueue {
			continue
		}
		waiting, inFlight, err := g.queue(ctx, queue)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		all[i].BufferDepth, all[i].CurrentInFlight = *waiting, *waiting+*inFlight
	}
	return errors.Join(problems...)
}
