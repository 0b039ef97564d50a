package demo

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/landfall-dev/landfall/internal/config/yamlconfig"
	"github.com/landfall-dev/landfall/internal/egress"
	"github.com/landfall-dev/landfall/internal/lab/desk"
	"github.com/landfall-dev/landfall/internal/lab/payloads"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
)

// Options say what the demo does. It runs in the source tree, from which it builds the functions.
type Options struct {
	// Payloads is a folder of files to send; "" for the recorded webhooks that Go downloads.
	Payloads string
	// Rows is how many rows to put; 0 for each payload once to each destination.
	Rows int
	Seed uint64
	// Endpoint of an AWS on this machine; "" for one in this process.
	Endpoint string
	// Folder gets the summary (run.json) and the functions' log.
	Folder string
	Output io.Writer
}

const (
	sweepEvery  = time.Second
	sendTimeout = time.Second // as in landfall.yaml
	// gaveUp is the code of a row whose sender waited in vain for an answer.
	gaveUp = "landfall.http." + string(egress.NoAnswer)
	// partnerOpens is how long the partner's port is closed.
	partnerOpens = 3 * time.Second
	// patience bounds the demo.
	patience = 100 * time.Second
)

//go:embed landfall.yaml
var configuration string

// destinations, in the order of the configuration.
var destinations = []string{"charge", "payout", "mail", "partner"}

// demo is one run of the demonstration.
type demo struct {
	options Options
	out     io.Writer
	begun   time.Time
	// folder, names that begin with prefix, and the table orders are of this run alone: others may run beside it, and an endpoint may
	// outlive it.
	folder, prefix, orders string
	desk                   *desk.Desk
	store                  *outboxdb.Store
	remote                 *remote
	payloads               []payloads.Payload
	effects                []effect
	byName                 map[string]outbox.ID

	mu     sync.Mutex
	killed []killed
}

// effect is a row to put.
type effect struct {
	outbox.ID
	payload payloads.Payload
}

func (e effect) name() string { return rowName(e.Destination, e.Key) }

// killed is a process that was killed, and the rows that it had claimed.
type killed struct {
	request string
	tokens  map[outbox.ID]string
}

// Run runs the demo and returns its summary. It does not return an error for a bad verdict: see
// [Summary.Err].
func Run(ctx context.Context, o Options) (_ *Summary, err error) {
	d := &demo{options: o, out: o.Output, begun: time.Now(), byName: map[string]outbox.ID{}}
	if err := d.makeFolder(); err != nil {
		return nil, err
	}
	d.prefix = fmt.Sprintf("landfall-demo-%d", d.begun.UnixMilli())
	d.orders = d.prefix + "-orders"
	if err := d.prepare(ctx); err != nil {
		return nil, err
	}
	main, err := open(anyPort, d.remote)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, main.close()) }()
	partner, err := open(anyPort, d.remote) // to know a port that is free, and closed at first
	if err != nil {
		return nil, err
	}
	if err := partner.close(); err != nil {
		return nil, err
	}
	if err := d.start(ctx, main.address, partner.address); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	if err := d.desk.Begin(ctx, sweepEvery); err != nil {
		return nil, err
	}
	opens := time.After(partnerOpens)
	if err := d.put(ctx); err != nil {
		return nil, err
	}
	select {
	case <-opens:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if partner, err = open(partner.address, d.remote); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, partner.close()) }()
	if err := d.watch(ctx); err != nil {
		return nil, err
	}
	close(d.remote.stop)
	d.remote.late.Wait()
	cost := d.cost() // of this act alone
	routing, err := d.route(ctx)
	if err != nil {
		return nil, err
	}
	return d.summarise(ctx, cost, routing)
}

// makeFolder makes this run's own folder, and forgets what an earlier run concluded.
func (d *demo) makeFolder() (err error) {
	if err := os.MkdirAll(d.options.Folder, 0o755); err != nil {
		return fmt.Errorf("make the demonstration's folder: %w", err)
	}
	if err := os.Remove(d.summaryFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget the last run: %w", err)
	}
	if d.folder, err = os.MkdirTemp(d.options.Folder, "demo-"); err != nil {
		return fmt.Errorf("make the demonstration's folder: %w", err)
	}
	return nil
}

func (d *demo) summaryFile() string { return filepath.Join(d.options.Folder, "run.json") }

// prepare reads the payloads and draws the plan from the seed.
func (d *demo) prepare(ctx context.Context) error {
	folder := d.options.Payloads
	if folder == "" {
		var err error
		if folder, err = payloads.Recorded(ctx, "."); err != nil {
			return fmt.Errorf("%w (or name a folder of your own with --payloads)", err)
		}
	}
	all, err := payloads.Load(folder)
	if err != nil {
		return err
	}
	d.payloads = all
	if d.options.Rows == 0 {
		d.options.Rows = len(all) * len(destinations)
	}
	var names []string
	for i := range d.options.Rows {
		p := all[i/len(destinations)%len(all)]
		e := effect{outbox.ID{Destination: destinations[i%len(destinations)], Key: keyOf(p, i/len(destinations)/len(all))}, p}
		d.effects = append(d.effects, e)
		d.byName[e.name()] = e.ID
		names = append(names, e.name())
	}
	d.remote = newRemote(newPlan(d.options.Seed, names), d.kill)
	fmt.Fprintf(d.out, "%d rows from %d real payloads to %d destinations, seed %d\n", d.options.Rows, len(all), len(destinations), d.options.Seed)
	return nil
}

// keyOf is the idempotency key of the n-th row of a payload.
func keyOf(p payloads.Payload, n int) string {
	if n == 0 {
		return p.Name
	}
	return fmt.Sprintf("%s;%d", p.Name, n+1)
}

func (d *demo) start(ctx context.Context, main, partner string) error {
	yaml := strings.NewReplacer("MAIN", main, "PARTNER", partner, "QUEUES", d.prefix).Replace(configuration)
	cfg, err := yamlconfig.Parse("landfall.yaml", []byte(yaml))
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(d.folder, "functions.log"))
	if err != nil {
		return fmt.Errorf("keep the functions' log: %w", err)
	}
	fmt.Fprintln(d.out, "building the functions' binaries")
	d.desk, err = desk.Start(ctx, desk.Options{
		Config: cfg, Folder: d.folder, Endpoint: d.options.Endpoint, Prefix: d.prefix, Output: log, KeepRequests: -1,
	})
	if err != nil {
		return err
	}
	d.store = outboxdb.New(d.desk.DynamoDB("demo"), d.desk.OutboxTable())
	where := "local AWS in this process"
	if d.options.Endpoint != "" {
		where = "AWS of --endpoint-url"
	}
	fmt.Fprintf(d.out, "%s: %s\nthe table's stream, the queues and a schedule (every %v) start the functions; their log: %s\n",
		where, d.desk.Endpoint, sweepEvery, log.Name())
	return nil
}

// stop ends the functions, at once if they do not end by themselves.
func (d *demo) stop() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if d.options.Endpoint != "" {
		_, failed := d.desk.DynamoDB("demo").DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &d.orders})
		err = errors.Join(failed, d.desk.Remove(ctx))
	}
	return errors.Join(err, d.desk.Stop(ctx))
}

// kill ends the process that holds the row's claim, as a crash would, and notes what else it held.
func (d *demo) kill(name string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	row, err := d.store.Get(ctx, d.byName[name])
	if err != nil {
		fmt.Fprintf(d.out, "cannot read the row whose sender is to be killed: %v\n", err)
		return
	}
	if err := d.desk.Stack.Kill(row.ClaimedBy); err != nil {
		fmt.Fprintf(d.out, "cannot kill the process that sends %s: %v\n", row.ID, err)
		return
	}
	dead := killed{row.ClaimedBy, map[outbox.ID]string{row.ID: row.Token}}
	for _, e := range d.effects {
		if held, err := d.store.Get(ctx, e.ID); err == nil && held.Status == outbox.StatusDispatching && held.ClaimedBy == row.ClaimedBy {
			dead.tokens[e.ID] = held.Token
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.killed = append(d.killed, dead)
}

// watch prints the progress until every row has ended, or is unknown and its remote cannot be asked.
func (d *demo) watch(ctx context.Context) error {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for begun := time.Now(); ; {
		p, err := d.progress(ctx)
		ended := err == nil && p.due+p.asking == 0
		elapsed := int(time.Since(d.begun).Seconds())
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil: // the functions go on; so does the watch
			fmt.Fprintf(d.out, "%3ds  cannot read the rows: %v\n", elapsed, err)
		case elapsed%2 == 0 || ended:
			d.mu.Lock()
			fmt.Fprintf(d.out, "%3ds  completed %4d  open %4d  failed %3d  unknown %3d  processes killed %d\n",
				elapsed, len(d.effects)-p.due-p.unknown-p.failed, p.due, p.failed, p.unknown, len(d.killed))
			d.mu.Unlock()
		}
		if ended || time.Since(begun) > patience {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}

// progress counts rows by lane; asking counts the unknown ones whose remote can be asked.
type progress struct{ due, failed, unknown, asking int }

func (d *demo) progress(ctx context.Context) (p progress, err error) {
	for _, destination := range destinations {
		for kind, count := range map[outbox.LaneKind]*int{outbox.DueLane: &p.due, outbox.FailedLane: &p.failed, outbox.UnknownLane: &p.unknown} {
			n, err := d.inLane(ctx, outbox.Lane{Kind: kind, Destination: destination})
			if err != nil {
				return p, err
			}
			*count += n
			if kind == outbox.UnknownLane && destinationTraits[destination].canBeAsked {
				p.asking += n
			}
		}
	}
	return p, nil
}

// inLane counts the rows of a lane, whenever they are due.
func (d *demo) inLane(ctx context.Context, lane outbox.Lane) (n int, err error) {
	horizon := time.Now().Add(365 * 24 * time.Hour)
	for after := ""; ; {
		page, next, err := d.store.List(ctx, lane, horizon, after)
		if err != nil {
			return 0, err
		}
		n += len(page)
		if after = next; after == "" {
			return n, nil
		}
	}
}
