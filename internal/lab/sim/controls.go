package sim

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/lab/localaws"
	"github.com/landfall-dev/landfall/internal/lab/sim/stage"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
	"github.com/landfall-dev/landfall/internal/routingdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

// saying is a change of a destination's control while runs go on.
type saying struct {
	at          time.Duration
	destination string
	what        sayingKind
	limit       int
}

type sayingKind int

const (
	pauses sayingKind = iota
	resumes
	limits
	unlimits
	spoils // a foreign program writes a control that cannot be read
)

func (k sayingKind) String() string {
	return [...]string{"pausing", "resuming", "limiting", "unlimiting", "spoiling the control of"}[k]
}

// newSayings are the changes of controls; a third of the worlds has some.
func newSayings(d *stage.Dice, p plan) (all []saying) {
	if !d.Chance(0.33) {
		return nil
	}
	for range 1 + d.Below(6) {
		all = append(all, saying{
			at: time.Duration(d.Unit() * float64(p.length)), destination: p.destinations[d.Below(len(p.destinations))].name,
			what: stage.Pick(d, pauses, pauses, resumes, limits, unlimits, spoils), limit: 1 + d.Below(3),
		})
	}
	return all
}

// controls is the control table: a DynamoDB in process, whose readers and writers have trouble of their own.
type controls struct {
	world  *world
	client *dynamodb.Client
	table  *outboxdb.Controls
	// of is the control of each destination.
	of        map[string]*control
	instances []*instance
}

// control is what the table says about a destination, and since when.
type control struct {
	paused, spoiltPause, spoiltLimit bool
	limit                            int
	held                             bool
	since, limitSince                time.Time
}

func newControls(w *world) *controls {
	client := dynamodb.NewFromConfig(localaws.New(localaws.Options{KeepEntries: 1}).Config("controls"))
	if _, err := client.CreateTable(context.Background(), routingdb.ControlTable(schema.ControlTable)); err != nil {
		panic(fmt.Errorf("create the control table of a world: %w", err))
	}
	c := &controls{world: w, client: client, table: outboxdb.NewControls(client, schema.ControlTable), of: map[string]*control{}}
	for _, d := range w.plan.destinations {
		c.of[d.name] = &control{since: w.stage.Begun.Add(-controlsFor), limitSince: w.stage.Begun.Add(-controlsFor)}
	}
	return c
}

// says are the sayings, each repeated until its answer arrives.
func (w *world) says() (all []happening) {
	for _, s := range w.plan.sayings {
		all = append(all, happening{s.at, func(int) {
			w.stage.Running.Go(func() {
				p := w.start("person", time.Hour)
				defer p.actor.Kill()
				for p.actor.Ctx.Err() == nil {
					c := p.call("say", s.destination, w.laneSlot(outbox.Lane{Destination: s.destination}))
					if _, err := stage.Writes(p.actor.Ctx, c, "control", &s, w.controls.hear); err == nil {
						return
					}
				}
			})
		}})
	}
	return all
}

// hear writes down a saying, unless it arrives when all is calm already.
func (c *controls) hear(s *saying) (none struct{}, err error) {
	if !c.world.stage.Calm.Load() {
		c.say(s)
	}
	return none, nil
}

// say writes it down at once. The world's mutex is held.
func (c *controls) say(s *saying) {
	var err error
	ctx, by := context.Background(), "operator"
	now := c.of[s.destination]
	was := *now
	switch s.what {
	case pauses:
		err = c.table.Pause(ctx, s.destination, secret, by)
		now.paused, now.spoiltPause = true, false
	case resumes:
		err = c.table.Resume(ctx, s.destination, secret, by)
		now.paused, now.spoiltPause = false, false
	case limits:
		err = c.table.Limit(ctx, s.destination, s.limit, secret, by)
		now.limit, now.spoiltLimit = s.limit, false
	case unlimits:
		err = c.table.Unlimit(ctx, s.destination, secret, by)
		now.limit, now.spoiltLimit = 0, false
	case spoils:
		now.spoiltPause, now.spoiltLimit = s.limit == 1, s.limit != 1
		now.paused, now.limit = false, 0
		err = c.spoil(ctx, s)
	}
	if err != nil {
		panic(fmt.Errorf("%v %s: %w", s.what, s.destination, err)) // nothing happens to its client
	}
	c.world.stage.Events++
	if now.held = now.paused || now.spoiltPause || now.spoiltLimit; now.held != was.held {
		now.since = time.Now()
	}
	if now.limit != was.limit {
		now.limitSince = time.Now()
	}
	c.world.stage.Happened[fmt.Sprintf("%v a destination", s.what)]++
	c.world.stage.Note(0, "%v %s: held back %t, limit %d", s.what, s.destination, now.held, now.limit)
	c.world.stage.Release("control")
}

// calmDown resumes and unlimits every destination. The world's mutex is held.
func (c *controls) calmDown() {
	if c == nil {
		return
	}
	for _, d := range c.world.plan.destinations {
		for _, what := range []sayingKind{resumes, unlimits} {
			c.say(&saying{destination: d.name, what: what})
		}
	}
}

func (c *controls) spoil(ctx context.Context, s *saying) error {
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	item := map[string]types.AttributeValue{schema.PK: text(schema.DestinationScope), schema.SK: text(s.destination)}
	switch s.limit {
	case 1:
		item[schema.Paused] = text(secret)
	case 2:
		item[schema.MaxConcurrency] = text(secret)
	default:
		item[schema.MaxConcurrency] = &types.AttributeValueMemberN{Value: "0"}
	}
	_, err := c.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: stringOf(schema.ControlTable), Item: item})
	return err
}

func stringOf(s string) *string { return &s }

// instance is one of a function. Its gate reads the controls as the process that the instance runs.
type instance struct {
	gate   outboxdb.Gate
	config *version
	kind   string
	// runs is nil while the instance is free.
	runs *process
}

// Read reads the controls, with trouble.
func (i *instance) Read(ctx context.Context) ([]outbox.Control, error) {
	p := i.runs
	return stage.Reads(ctx, p.call("controls", "", 0), "controls", func() ([]outbox.Control, error) {
		return p.world.controls.table.Read(context.Background())
	})
}

// Write is its gate's log, which must not reveal what people and foreign hands have written.
func (i *instance) Write(line []byte) (int, error) {
	c := i.runs.world.controls
	c.world.stage.Mu.Lock()
	defer c.world.stage.Mu.Unlock()
	c.world.law.scan("a log", string(line))
	return len(line), nil
}

// allowed are the destinations that a run may send to; the error says that the controls could not be read.
func (w *world) allowed(p *process) (all []outbox.Destination, err error) {
	if w.controls == nil {
		return w.configured(p), nil
	}
	all, err = w.controls.instanceOf(p).gate.Apply(p.actor.Ctx, w.configured(p))
	if err != nil {
		return nil, err
	}
	w.stage.Mu.Lock()
	defer w.stage.Mu.Unlock()
	w.law.allowed(p, all)
	return all, nil
}

// instanceOf is an instance that is free, or a new one. A process that dies never frees its instance.
func (c *controls) instanceOf(p *process) *instance {
	c.world.stage.Mu.Lock()
	defer c.world.stage.Mu.Unlock()
	n := slices.IndexFunc(c.instances, func(i *instance) bool { return i.runs == nil && i.config == p.config && i.kind == p.actor.Kind })
	if n < 0 {
		n = len(c.instances)
		i := &instance{config: p.config, kind: p.actor.Kind}
		i.gate.Reader, i.gate.Logger = i, slog.New(slog.NewTextHandler(i, nil))
		c.instances = append(c.instances, i)
	}
	p.instance = c.instances[n]
	p.instance.runs = p
	return p.instance
}
