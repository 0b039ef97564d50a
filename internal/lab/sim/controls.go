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

// controlsFor is after how long a control counts for every run that begins, as documented: the law does not ask the code.
const controlsFor = 5 * time.Second

// saying is what somebody says about a destination in mid-run.
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
	spoils // a foreign hand writes what nobody can read
	sayingKinds
)

func (k sayingKind) String() string {
	return [...]string{"pausing", "resuming", "limiting", "unlimiting", "spoiling the control of"}[k]
}

// newSayings are what is said in a third of the worlds.
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

// controls is the table in which it is said. It is a DynamoDB in process, whose readers and writers have trouble of
// their own.
type controls struct {
	*world
	client *dynamodb.Client
	*outboxdb.Controls
	// of is what holds, by destination.
	of map[string]*control
	// gates are those of the instances of functions.
	gates []*gate
}

// control is what holds of a destination, and since when.
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
	c := &controls{world: w, client: client, Controls: outboxdb.NewControls(client, schema.ControlTable), of: map[string]*control{}}
	for _, d := range w.destinations {
		c.of[d.name] = &control{since: w.Begun.Add(-controlsFor), limitSince: w.Begun.Add(-controlsFor)}
	}
	return c
}

// says are what people do, each until it hears that it is done.
func (w *world) says() (all []happening) {
	for _, s := range w.sayings {
		all = append(all, happening{s.at, func(int) {
			w.Running.Go(func() {
				p := w.start("person", time.Hour)
				defer p.Kill()
				for p.Ctx.Err() == nil {
					c := p.call("say", s.destination, w.laneSlot(outbox.Lane{Destination: s.destination}))
					if _, err := stage.Writes(p.Ctx, c.Call, "control", &s, w.controls.hear); err == nil {
						return
					}
				}
			})
		}})
	}
	return all
}

// hear writes down what somebody says, unless it comes so late that all is calm.
func (c *controls) hear(s *saying) (none struct{}, err error) {
	if !c.Calm.Load() {
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
		err = c.Pause(ctx, s.destination, secret, by)
		now.paused, now.spoiltPause = true, false
	case resumes:
		err = c.Resume(ctx, s.destination, secret, by)
		now.paused, now.spoiltPause = false, false
	case limits:
		err = c.Limit(ctx, s.destination, s.limit, secret, by)
		now.limit, now.spoiltLimit = s.limit, false
	case unlimits:
		err = c.Unlimit(ctx, s.destination, secret, by)
		now.limit, now.spoiltLimit = 0, false
	case spoils:
		now.spoiltPause, now.spoiltLimit = s.limit == 1, s.limit != 1
		now.paused, now.limit = false, 0
		err = c.spoil(ctx, s)
	}
	if err != nil {
		panic(fmt.Errorf("%v %s: %w", s.what, s.destination, err)) // nothing happens to its client
	}
	c.Events++
	if now.held = now.paused || now.spoiltPause || now.spoiltLimit; now.held != was.held {
		now.since = time.Now()
	}
	if now.limit != was.limit {
		now.limitSince = time.Now()
	}
	c.Happened[fmt.Sprintf("%v a destination", s.what)]++
	c.Note(0, "%v %s: held back %t, limit %d", s.what, s.destination, now.held, now.limit)
	c.Release("control")
}

// calmDown has all be as the configuration says. The world's mutex is held.
func (c *controls) calmDown() {
	if c == nil {
		return
	}
	for _, d := range c.destinations {
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

// gate is that of an instance of a function, which reads the controls as the process that the instance runs.
type gate struct {
	outboxdb.Gate
	config *version
	kind   string
	// runs is nil while the instance is free.
	runs *process
}

// Read reads the controls, with trouble.
func (g *gate) Read(ctx context.Context) ([]outbox.Control, error) {
	p := g.runs
	return stage.Reads(ctx, p.call("controls", "", 0).Call, "controls", func() ([]outbox.Control, error) {
		return p.controls.Read(context.Background())
	})
}

// Write is the gate's log, which must not reveal what people and foreign hands have written.
func (g *gate) Write(line []byte) (int, error) {
	c := g.runs.controls
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.law.scan("a log", string(line))
	return len(line), nil
}

// allowed are the destinations that a run may send to; the error is that nobody knows.
func (w *world) allowed(p *process) (all []outbox.Destination, err error) {
	if w.controls == nil {
		return w.configured(p), nil
	}
	all, err = w.controls.gateOf(p).Apply(p.Ctx, w.configured(p))
	if err != nil {
		return nil, err
	}
	w.Mu.Lock()
	defer w.Mu.Unlock()
	w.law.allowed(p, all)
	return all, nil
}

// gateOf is that of an instance that is free, or of a new one. It runs the process until that ends well, or for ever.
func (c *controls) gateOf(p *process) *gate {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	i := slices.IndexFunc(c.gates, func(g *gate) bool { return g.runs == nil && g.config == p.config && g.kind == p.Kind })
	if i < 0 {
		i = len(c.gates)
		g := &gate{config: p.config, kind: p.Kind}
		g.Reader, g.Logger = g, slog.New(slog.NewTextHandler(g, nil))
		c.gates = append(c.gates, g)
	}
	p.gate = c.gates[i]
	p.gate.runs = p
	return p.gate
}
