package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/landfall-dev/landfall/internal/outboxdb"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/routingdb"
)

// control examines what was said at run time, and returns the consumers of each group as they are by that.
func (e *examination) control(ctx context.Context) map[string][]routing.Consumer {
	members := map[string][]routing.Consumer{}
	for _, name := range e.cfg.GroupNames() {
		members[name] = e.cfg.Groups[name].Members()
	}
	table, err := e.at.table(ctx, controlName)
	if err != nil {
		return members // it is among the findings about tables
	}
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	g := &groups{cfg: e.cfg, at: e.at, table: table, control: routingdb.NewControl(table, table.name)}
	for _, name := range e.cfg.GroupNames() {
		now, err := g.read(ctx, name)
		if err != nil {
			return members // so are permissions
		}
		members[name] = now.consumers
		e.said(now)
	}
	d := &destinations{e.cfg, table, outboxdb.NewControls(table, table.name)}
	all, err := d.controls.Read(ctx)
	if err != nil {
		return members
	}
	for _, c := range all {
		e.controlled(d.view(c.Destination, c))
	}
	return members
}

// said examines what is said about a group.
func (e *examination) said(now *groupNow) {
	subject := "group " + now.name
	for _, problem := range now.Problems {
		e.warn(subject, problem.Error(), "write it anew: landfall consumers drain --stop, add or remove, landfall groups set-route or reset-route")
	}
	if r := now.route(); r.Invalid != "" {
		e.bad(subject, "nobody is picked: "+r.Invalid, "landfall groups reset-route "+now.name)
	}
	if now.live() == 0 {
		e.warn(subject, "it has no live consumer: its messages wait, and are dead-lettered after "+now.file.MaxWait.String(), "landfall consumers add, or drain --stop")
	}
}

func (e *examination) controlled(v destinationView) {
	subject := "destination " + v.Destination
	switch {
	case v.State == stateUnknown:
		e.warn(fmt.Sprintf("destination %.80q", v.Destination), "there is a control for it, but it is not in the configuration", "look for its name's right spelling")
	case v.Unreadable != "":
		e.bad(subject, "it counts as paused: "+v.Unreadable, "landfall destinations unlimit "+v.Destination+", then resume")
	case v.State == statePaused:
		e.warn(subject, strings.TrimSpace("it is paused"+signature(v.ChangedBy, v.ChangedAt)+" "+v.Reason), "landfall destinations resume "+v.Destination+", if it is over")
	}
}
