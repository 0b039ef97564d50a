package routingsim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/lab/localaws"
	"github.com/landfall-dev/landfall/internal/lab/sim/stage"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/routingdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

// newControl is the control table of a world, in a DynamoDB in process. Its client never fails: each process that reads
// through it has failures of its own.
func newControl() (*dynamodb.Client, *routingdb.Control) {
	client := dynamodb.NewFromConfig(localaws.New(localaws.Options{KeepEntries: 1}).Config("control"))
	if _, err := client.CreateTable(context.Background(), routingdb.ControlTable(schema.ControlTable)); err != nil {
		panic(fmt.Errorf("create the control table of a world: %w", err))
	}
	return client, routingdb.NewControl(client, schema.ControlTable)
}

// routeKind is the kind of the routing functions here.
const routeKind = "simulated"

// newGroups are the groups as an instance reads them.
func newGroups(i *instance) *routingdb.Groups {
	return &routingdb.Groups{
		Control: i.world.control, Log: slog.New(slog.NewTextHandler(&scanned{i}, nil)),
		Function: func(r routingdb.Route) (routing.Function, error) {
			if r.Kind != routeKind {
				return nil, errors.New("there is no such kind")
			}
			number, err := strconv.Atoi(r.Argument)
			return &function{number: number}, err
		},
	}
}

// scanned is a log that must not reveal what foreign hands have written.
type scanned struct{ instance *instance }

// Write implements [io.Writer]. The mutex is held.
func (s *scanned) Write(line []byte) (int, error) {
	s.instance.world.law.scan("a log", errors.New(string(line)))
	return len(line), nil
}

// groupsPort is the groups as one instance reads them.
type groupsPort struct{ instance *instance }

// Snapshot implements [routing.Groups].
func (g *groupsPort) Snapshot(ctx context.Context, name string) (routing.Snapshot, error) {
	p, w := g.instance.process, g.instance.world
	s, err := stage.Reads(ctx, p.call("group", name, 0), "group "+name, func() (routing.Snapshot, error) {
		return g.instance.read(w.group(name))
	})
	w.stage.Mu.Lock()
	defer w.stage.Mu.Unlock()
	if err != nil {
		p.told.trouble = true
		return routing.Snapshot{}, err
	}
	p.told.snapshots[name] = s
	return s, nil
}

// read reads a group at once, and adds what its consumers have in flight.
func (i *instance) read(g *group) (routing.Snapshot, error) {
	i.reader.Specs = map[string]routingdb.Spec{}
	if !time.Now().Before(g.hidden) {
		spec := routingdb.Spec{Policy: g.policy, Function: &function{}}
		for n, c := range g.plan.consumers {
			if g.configured[c.id] {
				spec.Consumers = append(spec.Consumers, g.member(n))
			}
		}
		i.reader.Specs[g.plan.name] = spec
	}
	s, err := i.reader.Snapshot(context.Background(), g.plan.name)
	if err != nil {
		i.world.stage.Must(errors.Is(err, routing.ErrNoGroup) && time.Now().Before(g.hidden), "group", "%s is read with %v", g.plan.name, err)
		return s, err
	}
	i.world.law.read(g, s)
	for _, m := range s.Consumers() {
		m.CurrentInFlight = g.works[m.ID]
		s.Group = s.With(m)
	}
	if f, made := s.Function.(*function); made {
		s.Function = &function{instance: i, process: i.process, group: g, number: f.number}
	}
	return s, nil
}

// spoilMember writes an unreadable item about a member.
func (g *group) spoilMember(id string) {
	g.put(schema.MemberItem+schema.Separator+id, map[string]types.AttributeValue{
		schema.Target: text(target(id)), schema.Weight: text(secret),
	})
}

// spoilRoute writes an unreadable routing function.
func (g *group) spoilRoute() {
	g.put(schema.RouteItem, map[string]types.AttributeValue{schema.RouteArgument: text(secret)})
}

func (g *group) put(sk string, item map[string]types.AttributeValue) {
	table := schema.ControlTable
	item[schema.PK], item[schema.SK] = text(schema.GroupScope+schema.Separator+g.plan.name), text(sk)
	_, err := g.world.client.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: &table, Item: item})
	g.done(err)
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
