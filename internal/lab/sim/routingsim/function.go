package routingsim

import (
	"context"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/sim/stage"
	"github.com/landfall-dev/landfall/internal/routing"
)

// function is a routing function as one process asks it. It is good but for its odds.
type function struct {
	instance *instance
	process  *process
	group    *group
	number   int
}

// Hash implements [routing.Function].
func (f *function) Hash() string { return fmt.Sprintf("%032d", f.number) }

// Select implements [routing.Function]. Each message has an order of consumers of its own, as with rendezvous
// hashing, which every new function changes.
func (f *function) Select(ctx context.Context, q routing.Question) (string, error) {
	w := f.instance.world
	w.stage.Running.Add(1) // the router does not wait for a deaf one; the world's end does
	defer w.stage.Running.Done()
	p := f.process
	c := p.call("select", fmt.Sprint(q.Message.ID, " ", q.Attempt), 0)
	w.stage.Locked(func() { w.law.asked(f.instance, p, f.group.plan.name, q) })
	asked := time.Now()
	id, err := f.answer(ctx, c, q)
	w.stage.Mu.Lock()
	defer w.stage.Mu.Unlock()
	w.law.chose(p, f.group.plan.name, q, asked, id, err)
	return id, err
}

func (f *function) answer(ctx context.Context, c *stage.Call, q routing.Question) (string, error) {
	odds, w := f.group.plan.function, f.instance.world
	if !w.troubled() {
		odds = functionOdds{}
	}
	best := f.best(q)
	if c.Chance(odds.meddles) {
		for i := range q.Candidates {
			q.Candidates[i] = routing.Consumer{ID: "meddled"}
		}
	}
	switch {
	case c.Chance(odds.panics):
		panic("routing function " + secret)
	case c.Chance(odds.hangs):
		<-ctx.Done()
		return "", ctx.Err()
	case c.Chance(odds.deaf):
		_ = stage.SleepUntil(context.Background(), w.stage.Instant(time.Now().Add(c.Between(time.Second, 20*time.Second)), c.Slot))
	case c.Chance(odds.unknown):
		return "nobody " + secret, nil
	case c.Chance(odds.tried):
		if all := f.group.plan.consumers; len(all) > 0 {
			return all[c.Below(len(all))].id, nil
		}
	case c.Chance(odds.nobody):
		return "", nil
	case c.Chance(odds.fails):
		return "", fmt.Errorf("it does not like %s", secret)
	}
	return best, nil
}

func (f *function) best(q routing.Question) (best string) {
	var most uint64
	for _, candidate := range q.Candidates {
		h := fnv.New64a()
		fmt.Fprint(h, f.number, q.Message.ID, candidate.ID)
		if sum := h.Sum64(); candidate.HasCapacity() && (best == "" || sum > most) {
			best, most = candidate.ID, sum
		}
	}
	return best
}
