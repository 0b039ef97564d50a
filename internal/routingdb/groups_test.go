package routingdb_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/routesqs"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/routingdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

func (w *couriers) ids() (ids []string) {
	for _, c := range w.snapshot().Consumers() {
		ids = append(ids, c.ID)
	}
	return ids
}

func (w *couriers) expect(what string, got, want any) {
	w.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		w.Errorf("%s: %v, want %v", what, got, want)
	}
}

// live are those that may be picked.
func (w *couriers) live() (ids []string) {
	candidates, _ := w.snapshot().Candidates(nil, nil, time.Now())
	for _, c := range candidates {
		ids = append(ids, c.ID)
	}
	return ids
}

// TestNextSnapshotShowsJoinsAndLeaves.
func TestNextSnapshotShowsJoinsAndLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCouriers(t, "north", "south")
		w.queue("east")
		before := w.snapshot()
		w.join(routing.Consumer{
			ID: "east", Target: "sqs:east", Weight: 3, LeaseUntil: time.Now().Add(time.Minute),
			ConsumerState: routing.ConsumerState{Tags: []string{"cold", "größe"}},
		})
		w.expect("before", len(before.Consumers()), 2)
		east := w.consumer("east")
		if east.Weight != 3 || east.MaxInFlight != 10 || !slices.Equal(east.Tags, []string{"cold", "größe"}) || east.Draining {
			t.Errorf("%+v is not who joined", east)
		}
		w.expect("live", w.live(), []string{"east", "north", "south"})
		<-time.After(30 * time.Second)
		if err := w.control.Renew(t.Context(), "couriers", "east", time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		<-time.After(45 * time.Second)
		w.expect("renewed", w.live(), []string{"east", "north", "south"})
		<-time.After(15 * time.Second)
		w.expect("its lease is over", w.live(), []string{"north", "south"})
		if err := w.control.Leave(t.Context(), "couriers", "east"); err != nil {
			t.Fatal(err)
		}
		w.expect("left", w.ids(), []string{"north", "south"})
	})
}

// TestConfiguredConsumerKeepsItsConfiguration, whatever joins under its id, and stays when it leaves at run time.
func TestConfiguredConsumerKeepsItsConfiguration(t *testing.T) {
	t.Parallel()
	w := newCouriers(t, "north", "south")
	w.join(routing.Consumer{ID: "north", Target: "sqs:south", Weight: 7})
	if err := w.control.Leave(t.Context(), "couriers", "south"); err != nil {
		t.Fatal(err)
	}
	w.expect("members", w.ids(), []string{"north", "south"})
	if north := w.consumer("north"); north.Target != "sqs:north" || north.Weight != 0 {
		t.Errorf("%+v is not the one of the configuration", north)
	}
}

// TestSecondMemberWithATargetGetsNoMessages: who joins with the target of another one is not picked, until the
// other one's lease is over.
func TestSecondMemberWithATargetGetsNoMessages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCouriers(t, "north", "south")
		w.queue("east")
		for id, target := range map[string]string{
			"a": "sqs:north", "b": "sqs:arn:aws:sqs:us-east-1:000000000000:south", "spot-1": "sqs:east", "spot-2": "sqs:east", "west": "lambda:east",
		} {
			w.join(routing.Consumer{ID: id, Target: target, LeaseUntil: time.Now().Add(time.Hour)})
		}
		w.join(routing.Consumer{ID: "spot-1", Target: "sqs:east", LeaseUntil: time.Now().Add(time.Minute)})
		w.expect("members", w.ids(), []string{"a", "b", "north", "south", "spot-1", "spot-2", "west"})
		w.expect("live", w.live(), []string{"north", "south", "spot-1", "west"})
		if text, _ := w.log.all(); !strings.Contains(text, "member spot-2 gets no messages") || !strings.Contains(text, "that of spot-1") {
			t.Errorf("logged: %s", text)
		}
		<-time.After(time.Minute)
		w.expect("a lease is over", w.live(), []string{"north", "south", "spot-2", "west"})
	})
}

// TestDrainingConsumerIsPassedOver, whether it is configured or joined, and stays a member.
func TestDrainingConsumerIsPassedOver(t *testing.T) {
	t.Parallel()
	w := newCouriers(t, "north", "south")
	w.queue("east")
	w.join(routing.Consumer{ID: "east", Target: "sqs:east"})
	w.drain("north", true)
	w.drain("east", true)
	w.drain("nobody", true)
	w.join(routing.Consumer{ID: "east", Target: "sqs:east"}) // a restart does not undo what an operator said
	w.expect("members", w.ids(), []string{"east", "north", "south"})
	w.expect("live", w.live(), []string{"south"})
	w.drain("north", false)
	w.drain("east", false)
	w.drain("south", false) // nothing was said
	w.drain("nobody", false)
	w.expect("live again", w.live(), []string{"east", "north", "south"})
	spec := w.groups.Specs["couriers"]
	spec.Consumers[1].Draining = true
	w.drain("south", true)
	w.drain("south", false)
	w.expect("as the configuration has it", w.live(), []string{"east", "north"})
}

// TestUnreadableControlItemDrainsItsConsumer: a consumer of the configuration drains, and stays a
// member, until somebody says that it gets messages again. Who joined is none.
func TestUnreadableControlItemDrainsItsConsumer(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]item{
		"a flag of another type":      {"draining": s("true")},
		"the flag, beside what is no": {"draining": yes(), "weight": s("heavy")},
		"the flag lost":               {"target": s("sqs:south"), "lease_until": s("tomorrow")},
		"a target of no kind":         {"target": s("south")},
	} {
		w := newCouriers(t, "north", "south")
		w.drain("south", true)
		for _, id := range []string{"south", "east"} {
			broken["pk"], broken["sk"] = s("group#couriers"), s("member#"+id)
			w.write(schema.ControlTable, broken)
		}
		w.expect(name+": members", w.ids(), []string{"north", "south"})
		w.expect(name+": live", w.live(), []string{"north"})
		if text, _ := w.log.all(); !strings.Contains(text, "south") || !strings.Contains(text, "east") {
			t.Errorf("%s: logged: %s", name, text)
		}
		w.drain("south", true)
		w.expect(name+": drained", w.live(), []string{"north"})
		w.drain("south", false)
		w.expect(name+": live again", w.live(), []string{"north", "south"})
	}
}

// TestJoinStoresOnlyWhatIsSet.
func TestJoinStoresOnlyWhatIsSet(t *testing.T) {
	t.Parallel()
	w := newCouriers(t, "north")
	w.drain("north", false)
	if o, err := w.control.Read(t.Context(), "couriers"); err != nil || len(o.Members) > 0 {
		t.Errorf("%+v, %v; want nothing", o, err)
	}
}

// TestStoredRouteReplacesTheConfigured: it replaces the configuration's function; one that cannot be made routes
// nothing, and says why.
func TestStoredRouteReplacesTheConfigured(t *testing.T) {
	t.Parallel()
	w := newCouriers(t, "north")
	hash := func() string { return w.snapshot().Function.Hash() }
	w.expect("at first", hash(), "file")
	set := func(kind, argument string) {
		t.Helper()
		if err := w.control.SetRoute(t.Context(), "couriers", routingdb.Route{Kind: kind, Argument: argument}, "ada"); err != nil {
			t.Fatal(err)
		}
	}
	set("first", "other")
	held := w.snapshot()
	w.expect("set", hash(), "other")
	unroutable := func(why string) {
		t.Helper()
		d := w.snapshot().Choose(t.Context(), routing.Choice{Now: time.Now()})
		var failed *routing.EvaluationError
		if !errors.As(d.Err, &failed) || failed.Failure != routing.NotStarted || !strings.Contains(fmt.Sprint(failed.Cause), why) {
			t.Errorf("%v because of %v, want it not started because %q", d.Err, failed, why)
		}
	}
	set("last", "")
	unroutable("no such kind")
	w.write(schema.ControlTable, item{"pk": s("group#couriers"), "sk": s("route"), "route_kind": n("1")})
	unroutable("route_kind is of type N")
	w.groups.Function = nil
	set("first", "")
	unroutable("Groups.Function is not set")
	w.expect("who had it, keeps it", held.Function.Hash(), "other")
	if err := w.control.ResetRoute(t.Context(), "couriers"); err != nil {
		t.Fatal(err)
	}
	w.expect("reset", hash(), "file")
	if err := w.control.SetRoute(t.Context(), "couriers", routingdb.Route{}, "ada"); err == nil {
		t.Error("a route without a kind was stored")
	}
}

// TestUnknownGroupStaysUnknownAfterAJoin.
func TestUnknownGroupStaysUnknownAfterAJoin(t *testing.T) {
	t.Parallel()
	w := newCouriers(t, "north")
	if err := w.control.Join(t.Context(), "others", routing.Consumer{ID: "east", Target: "sqs:east"}, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := w.groups.Snapshot(t.Context(), "others"); !errors.Is(err, routing.ErrNoGroup) {
		t.Errorf("%v, want ErrNoGroup", err)
	}
}

// TestUnreadableControlTableIsAnError: then the batch is held.
func TestUnreadableControlTableIsAnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCouriers(t, "north")
		w.drain("north", true)
		w.fallback = func(r faults.Request) faults.Fault {
			if r.Operation == "Query" {
				return faults.Fault{Error: faults.Internal}
			}
			return faults.Fault{}
		}
		if _, err := w.groups.Snapshot(t.Context(), "couriers"); err == nil {
			t.Error("a snapshot was made without the control table")
		}
	})
}

// TestBrokenControlItemsLeaveOthersReadable: they make nobody a member, and are reported now and then.
func TestBrokenControlItemsLeaveOthersReadable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCouriers(t, "north", "south")
		w.queue("east")
		w.join(routing.Consumer{ID: "east", Target: "sqs:east"})
		broken := []item{
			{"sk": s("member#b-target"), "target": n("1")},
			{"sk": s("member#b-target-2"), "target": s("east")},
			{"sk": s("member#b-weight"), "target": s("sqs:east"), "weight": s("heavy")},
			{"sk": s("member#b-weight-2"), "target": s("sqs:east"), "weight": n("-1")},
			{"sk": s("member#b-weight-3"), "target": s("sqs:east"), "weight": n("0")}, // no share at all, it may be meant
			{"sk": s("member#b-limit"), "target": s("sqs:east"), "max_in_flight": n("0.5")},
			{"sk": s("member#b-lease"), "target": s("sqs:east"), "lease_until": s("tomorrow")},
			{"sk": s("member#b-lease-2"), "target": s("sqs:east"), "lease_until": n("946684830000000000")},
			{"sk": s("member#b-tags"), "target": s("sqs:east"), "tags": s("cold")},
			{"sk": s("member#b-tags-2"), "target": s("sqs:east"), "tags": past(item{})},
			{"sk": s("member#b-draining"), "target": s("sqs:east"), "draining": s("true")},
			{"sk": s("member#south"), "draining": n("1")},
			{"sk": s("member#"), "target": s("sqs:east")},
			{"sk": s("member#Not A Name"), "target": s("sqs:east")},
			{"sk": s("something else")},
		}
		for _, i := range broken {
			i["pk"] = s("group#couriers")
			w.write(schema.ControlTable, i)
		}
		w.write(schema.ControlTable, item{
			"pk": s("group#couriers"), "sk": s("member#west"), "target": s("lambda:west"), "changed_by": n("1"), "changed_at": s("?"), "note": yes(),
		})
		w.expect("members", w.ids(), []string{"east", "north", "south", "west"})
		w.expect("live", w.live(), []string{"east", "north", "west"})
		overrides, err := w.control.Read(t.Context(), "couriers")
		if err != nil || len(overrides.Problems) != len(broken) {
			t.Errorf("%d problems, want %d: %v, %v", len(overrides.Problems), len(broken), overrides.Problems, err)
		}
		text, reported := w.log.all()
		if reported != 1 || !strings.Contains(text, "b-lease-2") || !strings.Contains(text, "couriers") {
			t.Errorf("logged %d times: %s", reported, text)
		}
		<-time.After(time.Minute)
		w.snapshot()
		if _, reported := w.log.all(); reported != 2 {
			t.Errorf("logged %d times after a minute, want twice", reported)
		}
	})
}

// TestMembersOfAllPagesAreRead of a group that is larger than one reading of the table.
func TestMembersOfAllPagesAreRead(t *testing.T) {
	t.Parallel()
	w := newCouriers(t)
	tags := make([]string, routing.MaxTags)
	for i := range tags {
		tags[i] = strings.Repeat("t", routing.MaxTagBytes)
	}
	const members = 400 // of more than 4 KB each
	for i := range members {
		w.join(routing.Consumer{
			ID: fmt.Sprintf("worker-%03d", i), Target: "lambda:worker", ConsumerState: routing.ConsumerState{Tags: tags},
		})
	}
	w.expect("members", len(w.ids()), members)
}

// TestLoadsComeFromTheQueues, of live consumers behind queues alone.
func TestLoadsComeFromTheQueues(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCouriers(t, "north", "south", "east")
		w.fill("north", 3, 2)
		w.fill("east", 1, 1)
		w.drain("east", true)
		w.join(routing.Consumer{ID: "west", Target: "lambda:west"})
		w.join(routing.Consumer{ID: "gone", Target: "sqs:north", LeaseUntil: time.Now().Add(time.Second)})
		<-time.After(time.Second)
		for id, want := range map[string]string{"north": "5/3", "south": "0/0", "east": "0/0", "west": "0/0", "gone": "0/0"} {
			c := w.consumer(id)
			w.expect(id, fmt.Sprintf("%d/%d", c.CurrentInFlight, c.BufferDepth), want)
		}
	})
}

// TestSnapshotSurvivesASilentQueue: the last that was known counts, and a forward will find out.
func TestSnapshotSurvivesASilentQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCouriers(t, "north", "south")
		w.fill("north", 0, 2)
		w.join(routing.Consumer{ID: "east", Target: "sqs:east"}) // whose queue does not exist
		w.expect("north", w.consumer("north").CurrentInFlight, 2)
		trouble := faults.Fault{Error: faults.Unavailable}
		w.fallback = func(r faults.Request) faults.Fault {
			if r.Operation == "GetQueueAttributes" {
				return trouble
			}
			return faults.Fault{}
		}
		for _, trouble = range []faults.Fault{trouble, {Error: faults.Throttle}, {Before: time.Hour}} {
			<-time.After(routesqs.Freshness)
			begun := time.Now()
			w.expect("live", w.live(), []string{"east", "north", "south"})
			if waited := time.Since(begun); waited > 2*time.Second {
				t.Errorf("a snapshot took %v", waited)
			}
			w.expect("north", w.consumer("north").CurrentInFlight, 2)
		}
		if text, _ := w.log.all(); !strings.Contains(text, "east") {
			t.Errorf("the queue that is not there was not reported: %s", text)
		}
	})
}

// TestConcurrentCallersShareOneRequest: one asks for all.
func TestConcurrentCallersShareOneRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCouriers(t, "north")
		w.fill("north", 1, 2)
		url := w.queue("north")
		w.fallback = func(faults.Request) faults.Fault { return faults.Fault{After: 100 * time.Millisecond} }
		for _, name := range []string{"north", "arn:aws:sqs:us-east-1:000000000000:north", url} {
			queues := routesqs.NewQueues(w.sqs)
			w.account.Ledger().Reset()
			loads := make(chan routing.Load, 50)
			for range cap(loads) {
				go func() {
					load, err := queues.Load(t.Context(), name)
					if err != nil {
						t.Error(err)
					}
					loads <- load
				}()
			}
			for range cap(loads) {
				if load := <-loads; load != (routing.Load{InFlight: 2, Waiting: 1}) {
					t.Fatalf("%+v", load)
				}
			}
			if n := w.requests("GetQueueAttributes"); n != 1 {
				t.Errorf("%s: %d requests, want 1", name, n)
			}
		}
	})
}

// liar is a queue service that answers anything.
type liar struct {
	attributes map[string]string
	asked      int
}

func (*liar) GetQueueUrl(context.Context, *sqs.GetQueueUrlInput, ...func(*sqs.Options)) (*sqs.GetQueueUrlOutput, error) {
	return &sqs.GetQueueUrlOutput{}, nil
}

func (l *liar) GetQueueAttributes(context.Context, *sqs.GetQueueAttributesInput, ...func(*sqs.Options)) (*sqs.GetQueueAttributesOutput, error) {
	l.asked++
	return &sqs.GetQueueAttributesOutput{Attributes: l.attributes}, nil
}

// TestInvalidCountIsAnError, nor the queue asked again at once.
func TestInvalidCountIsAnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, count := range []string{"", "-1", "many", "1.5", "99999999999999999999"} {
			queue := &liar{attributes: map[string]string{
				"ApproximateNumberOfMessages": count, "ApproximateNumberOfMessagesNotVisible": "1",
			}}
			queues := routesqs.NewQueues(queue)
			for range 2 {
				if load, err := queues.Load(t.Context(), "north"); err == nil || load != (routing.Load{}) {
					t.Errorf("%q was read as %+v, %v", count, load, err)
				}
			}
			if queue.asked != 1 {
				t.Errorf("%q: asked %d times, want once", count, queue.asked)
			}
		}
	})
}
