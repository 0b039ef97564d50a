package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/landfall-dev/landfall/internal/routingdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

const groupsConfig = `groups:
  couriers:
    accept: explicit
    route: least_loaded
    consumers:
      north: {sqs: courier-north, max_in_flight: 2, tags: [bulky]}
      south: {sqs: courier-south, weight: 2}
  empty: {accept: on_delivery, route: {rendezvous: customer_id}}
`

// groupsBundle is a control table and queues, and the command line on them.
type groupsBundle struct {
	*rowsBundle
	sqs *sqs.Client
}

func setupGroups(t *testing.T) *groupsBundle {
	b := &groupsBundle{rowsBundle: setupRows(t)}
	b.args[len(b.args)-1] = write(t, "landfall.yaml", groupsConfig)
	if _, err := b.client.CreateTable(t.Context(), routingdb.ControlTable(schema.ControlTable)); err != nil {
		t.Fatal(err)
	}
	o := b.client.Options()
	b.sqs = sqs.New(sqs.Options{Region: o.Region, BaseEndpoint: o.BaseEndpoint, Credentials: o.Credentials})
	for _, name := range []string{
		"courier-north", "courier-south", "courier-east", "landfall-ingress-couriers", "landfall-dead-couriers", "landfall-ingress-empty", "landfall-dead-empty",
	} {
		if _, err := b.sqs.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name}); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// send puts messages into a queue.
func (b *groupsBundle) send(queue string, n int) {
	b.t.Helper()
	url, err := b.sqs.GetQueueUrl(b.t.Context(), &sqs.GetQueueUrlInput{QueueName: &queue})
	if err != nil {
		b.t.Fatal(err)
	}
	for range n {
		if _, err := b.sqs.SendMessage(b.t.Context(), &sqs.SendMessageInput{QueueUrl: url.QueueUrl, MessageBody: aws.String("x")}); err != nil {
			b.t.Fatal(err)
		}
	}
}

// stored are the keys of all control items.
func (b *groupsBundle) stored() (keys []string) {
	b.t.Helper()
	out, err := b.client.Scan(b.t.Context(), &dynamodb.ScanInput{TableName: aws.String(schema.ControlTable)})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, item := range out.Items {
		keys = append(keys, item[schema.PK].(*types.AttributeValueMemberS).Value+" "+item[schema.SK].(*types.AttributeValueMemberS).Value)
	}
	slices.Sort(keys)
	return keys
}

// read runs a command whose answer is JSON.
func (b *groupsBundle) read(to any, args ...string) {
	b.t.Helper()
	if err := json.Unmarshal([]byte(b.must("", append(args, "--output", "json")...)), to); err != nil {
		b.t.Fatal(err)
	}
}

func TestGroupChangesThatCannotWorkAreRefused(t *testing.T) {
	t.Parallel()
	b := setupGroups(t)
	b.must("", "consumers", "add", "couriers", "east", "--sqs", "courier-east", "--by", "ann")
	before := b.stored()
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"groups set-route couriers fastest", 2, `unknown routing function "fastest"; want one of affinity, cel`},
		{"groups set-route couriers cel", 2, "the source is empty"},
		{"groups set-route couriers cel consumers.filter(c,", 2, "line 1, column"},
		{"groups set-route couriers cel mesage.tier", 2, "line 1, column 1"},
		{"groups set-route couriers cel @no-such-file", 2, "read ARGUMENT"},
		{"groups set-route couriers rendezvous", 2, "want the name of a field"},
		{"groups set-route couriers least_loaded x", 2, "takes no argument"},
		{"groups set-route couriers weighted --by=", 2, "--by"},
		{"groups set-route drivers weighted", 2, `unknown group "drivers": the configuration has couriers, empty`},
		{"groups reset-route drivers", 2, `unknown group "drivers"`},
		{"consumers add couriers north --sqs courier-west", 2, "north is in the configuration"},
		{"consumers add couriers West --sqs courier-west", 2, "cannot be a name"},
		{"consumers add couriers west", 2, "give either --sqs QUEUE or --lambda FUNCTION"},
		{"consumers add couriers west --sqs a --lambda b", 2, "give either --sqs QUEUE or --lambda FUNCTION"},
		{"consumers add couriers west --sqs west.fifo", 2, "FIFO"},
		{"consumers add couriers west --sqs landfall-ingress-empty", 2, "go in circles"},
		{"consumers add couriers west --sqs courier-south", 2, "consumer south has the same target"},
		{"consumers add couriers west --sqs courier-east", 2, "consumer east already has the target sqs:courier-east"},
		{"consumers add couriers west --sqs w --weight 0", 2, "weight"},
		{"consumers add couriers west --sqs w --max-in-flight -1", 2, "max_in_flight"},
		{"consumers add couriers west --sqs w --tag a,a", 2, "stands twice"},
		{"consumers add couriers west --sqs w --lease -1m", 2, "--lease"},
		{"consumers add couriers west --sqs w --by=", 2, "--by"},
		{"consumers add drivers west --sqs w", 2, `unknown group "drivers"`},
		{"consumers drain couriers west", 1, `group couriers has no consumer "west"`},
		{"consumers drain couriers east --by=", 2, "--by"},
		{"consumers remove couriers west", 1, `group couriers has no consumer "west"`},
		{"consumers remove couriers north", 1, "north is in the configuration: drain it"},
	} {
		args := strings.Split(tt.args, " ")
		if !strings.Contains(tt.args, "--by=") && !strings.Contains(tt.args, " re") {
			args = append(args, "--by=ann")
		}
		got := b.execute("", args...)
		if got.code != tt.code || !strings.Contains(got.stderr, tt.want) || got.stdout != "" {
			t.Errorf("%s: %+v, want exit code %d and %q", tt.args, got, tt.code, tt.want)
		}
	}
	if after := b.stored(); !slices.Equal(before, after) {
		t.Errorf("the control table has %q, want %q", after, before)
	}
}

func TestDryRunChangesNoGroup(t *testing.T) {
	t.Parallel()
	b := setupGroups(t)
	b.must("", "consumers", "add", "couriers", "east", "--sqs", "courier-east", "--by", "ann")
	b.must("", "groups", "set-route", "couriers", "weighted", "--by", "ann")
	list := func() string {
		return b.must("", "groups", "describe", "couriers", "--output", "json") + strings.Join(b.stored(), " ")
	}
	before := list()
	for _, args := range []string{
		"groups set-route couriers first_with_capacity --by=bob", "groups reset-route couriers", "consumers remove couriers east",
		"consumers drain couriers north --by=bob", "consumers add couriers west --sqs courier-east-2 --by=bob", "consumers add couriers east --lambda x --by=bob",
	} {
		got := b.execute("", append(strings.Split(args, " "), "--dry-run")...)
		if got.code != 0 || !strings.HasPrefix(got.stdout, "would be done: ") {
			t.Errorf("%s: %+v", args, got)
		}
		if after := list(); after != before {
			t.Errorf("%s changed %s\nto %s", args, before, after)
		}
	}
}

// TestEveryChangeOfAGroupIsShown changes all that can be changed, and inspects it.
func TestEveryChangeOfAGroupIsShown(t *testing.T) {
	t.Parallel()
	b := setupGroups(t)
	expression := write(t, "route.cel", "consumers.filter(c,\n  c.has_capacity && message.tier in c.tags)\n")
	b.must("", "groups", "set-route", "couriers", "cel", "@"+expression, "--by", "ann")
	b.must("", "consumers", "add", "couriers", "east", "--sqs", "courier-east", "--max-in-flight", "5", "--tag", "a,b", "--tag", "c", "--weight", "3", "--lease", "10m", "--by", "bob")
	b.must("", "consumers", "drain", "couriers", "north", "--by", "cid")
	b.send("courier-north", 2)
	b.send("landfall-dead-couriers", 3)

	var got groupDetails
	b.read(&got, "groups", "describe", "couriers")
	if got.File.Route.Kind != "least_loaded" || !slices.Equal(got.File.Consumers, []string{"north", "south"}) {
		t.Errorf("the file's: %+v", got.File)
	}
	if r := got.Route; r.Kind != "cel" || r.From != "control" || r.ChangedBy != "ann" || r.ChangedAt == nil || !strings.HasSuffix(r.Argument, "c.tags)") {
		t.Errorf("the route: %+v", r)
	}
	if *got.DeadLetters.Waiting != 3 || *got.Ingress.Waiting != 0 || len(got.Problems) != 0 {
		t.Errorf("%+v, %+v, %q", got.DeadLetters, got.Ingress, got.Problems)
	}
	want := map[string]string{"north": "file draining cid", "south": "file live ", "east": "control live bob"}
	for _, c := range got.Consumers {
		if is := c.From + " " + c.State + " " + c.ChangedBy; is != want[c.ID] {
			t.Errorf("%s: %s, want %s", c.ID, is, want[c.ID])
		}
		delete(want, c.ID)
		switch c.ID {
		case "north":
			if *c.BufferDepth != 2 || *c.MaxInFlight != 2 {
				t.Errorf("%+v", c)
			}
		case "east":
			if c.LeaseUntil == nil || *c.MaxInFlight != 5 || c.Weight != 3 || !slices.Equal(c.Tags, []string{"a", "b", "c"}) || c.Target != "sqs:courier-east" {
				t.Errorf("%+v", c)
			}
		}
	}
	if len(want) > 0 {
		t.Errorf("not shown: %v", slices.Collect(maps.Keys(want)))
	}
	table := b.must("", "groups", "describe", "couriers")
	for _, text := range []string{"least_loaded", "cel consumers.filter(c, c.has_capacity", "by ann", "draining", "landfall-dead-couriers: 3 waiting", "a,b,c", "by bob"} {
		if !strings.Contains(table, text) {
			t.Errorf("%q is not in\n%s", text, table)
		}
	}
	var list []groupView
	b.read(&list, "groups", "list")
	if len(list) != 2 || list[0].Live != 2 || list[0].Members != 3 || list[0].Route.From != "control" || list[1].Route.String() != "rendezvous customer_id" {
		t.Errorf("%+v", list)
	}

	b.must("", "consumers", "drain", "couriers", "east", "--by", "cid")
	var again struct{ Before, After memberView }
	b.read(&again, "consumers", "add", "couriers", "east", "--sqs", "courier-east", "--by", "bob")
	if again.Before.State != "draining" || again.After.State != "draining" || again.After.MaxInFlight != nil || again.After.ChangedBy != "bob" {
		t.Errorf("added again: %+v", again)
	}
	b.must("", "groups", "reset-route", "couriers")
	b.must("", "consumers", "drain", "couriers", "north", "--stop", "--by", "cid")
	b.must("", "consumers", "remove", "couriers", "east")
	list = nil
	b.read(&list, "groups", "list")
	if list[0].Live != 2 || list[0].Members != 2 || list[0].Route.String() != "least_loaded" || list[0].Route.From != "file" {
		t.Errorf("taken back: %+v", list[0])
	}
	var views []memberView
	if b.read(&views, "consumers", "list", "couriers"); len(views) != 2 || views[0].State != "live" {
		t.Errorf("taken back: %+v", views)
	}
}

func TestUnreadableControlItemsAreWarnedOf(t *testing.T) {
	t.Parallel()
	b := setupGroups(t)
	for sk, attributes := range map[string]map[string]types.AttributeValue{
		"member#west": {schema.Target: &types.AttributeValueMemberN{Value: "7"}},
		"route":       {schema.RouteKind: &types.AttributeValueMemberS{Value: "fastest"}},
	} {
		attributes[schema.PK], attributes[schema.SK] = &types.AttributeValueMemberS{Value: "group#couriers"}, &types.AttributeValueMemberS{Value: sk}
		if _, err := b.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(schema.ControlTable), Item: attributes}); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"groups", "list"}, {"groups", "describe", "couriers"}, {"consumers", "list", "couriers"}} {
		if got := b.execute("", args...); got.code != 0 || !strings.Contains(got.stderr, `warning: member "west" cannot be read: target is of type N`) {
			t.Errorf("%v: %+v", args, got)
		}
	}
	if got := b.execute("", "groups", "describe", "couriers"); !strings.Contains(got.stdout, `picks no consumer`) {
		t.Errorf("an unknown function: %+v", got)
	}
	if got := b.execute("", "groups", "test", "couriers", "--message", "{}"); got.code != 1 || !strings.Contains(got.stderr, "fastest") {
		t.Errorf("an unknown function: %+v", got)
	}
	b.must("", "groups", "reset-route", "couriers")
	if got := b.execute("", "consumers", "drain", "couriers", "south", "--by", "ann"); got.code != 0 || got.stderr != "" {
		t.Errorf("%+v", got)
	}
	got := b.execute("", "consumers", "drain", "couriers", "north", "--by", "ann")
	if got.code != 0 || !strings.Contains(got.stderr, "warning: group couriers has no live consumer") {
		t.Errorf("the last one drained: %+v", got)
	}
}
