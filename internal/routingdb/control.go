package routingdb

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/dynamo"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/schema"
)

// ControlClient is what Control calls; *dynamodb.Client is one.
type ControlClient interface {
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
}

// Control is what was said about groups at run time, without a deployment. It takes effect with the next
// snapshot and touches no message in flight. Every write may be repeated. It is safe for concurrent use.
type Control struct {
	client ControlClient
	table  string
}

// NewControl returns the control items in a table like [ControlTable].
func NewControl(client ControlClient, table string) *Control {
	return &Control{client: client, table: table}
}

// ErrNoMember is that no such consumer has joined with a lease, or that it was removed since.
var ErrNoMember = errors.New("no such member with a lease")

const (
	// maxBy bounds who is said to have changed something, in bytes; what is longer is cut.
	maxBy = 256
	// leaseKept is how long an item stays after its lease is over, for people who look.
	leaseKept = 24 * time.Hour
)

// Route is a routing function, in the words of configurations.
type Route struct {
	Kind     string
	Argument string
	Change
	// Invalid says why a stored route cannot be read.
	Invalid error
}

// Change is who wrote an item last, and when.
type Change struct {
	By string
	At time.Time
}

// SetRoute gives the group another routing function than its configuration does. It stores what it is given:
// whether such a function can be made is to be found out before.
func (c *Control) SetRoute(ctx context.Context, group string, route Route, by string) error {
	if err := checkName("group", group); err != nil {
		return err
	}
	if route.Kind == "" {
		return errors.New("set route: the kind of the function is missing")
	}
	i := key(groupKey(group), schema.RouteItem)
	putTexts(i, map[string]string{
		schema.RouteKind: route.Kind, schema.RouteArgument: route.Argument, schema.ChangedBy: dynamo.Clip(by, maxBy),
	})
	i[schema.ChangedAt] = dynamo.Millis(time.Now())
	var w write
	if _, err := c.client.PutItem(ctx, w.Put(&c.table, i), dynamo.RepeatConflicts); err != nil {
		return fmt.Errorf("set route of group %s: %w", group, err)
	}
	return nil
}

// ResetRoute gives the group back the routing function of its configuration.
func (c *Control) ResetRoute(ctx context.Context, group string) error {
	if err := checkName("group", group); err != nil {
		return err
	}
	return c.remove(ctx, group, schema.RouteItem)
}

// Join adds a member or replaces what it said of itself. If it has a LeaseUntil, it is a member until then unless
// it renews. Its Draining is not looked at: what [Control.Drain] said stays until it leaves, also if it joins
// again, or until a day after its lease.
func (c *Control) Join(ctx context.Context, group string, m routing.Consumer, by string) error {
	now := time.Now()
	if err := checkMember(group, m, now); err != nil {
		return err
	}
	var w write
	w.Set(schema.Target, dynamo.Text(m.Target))
	w.Set(schema.Weight, dynamo.Number(max(1, m.Weight)))
	var limit, tags, lease, expires types.AttributeValue
	if m.MaxInFlight != routing.Unlimited {
		limit = dynamo.Number(m.MaxInFlight)
	}
	if len(m.Tags) > 0 {
		all := make([]types.AttributeValue, len(m.Tags))
		for i, tag := range m.Tags {
			all[i] = dynamo.Text(tag)
		}
		tags = dynamo.List(all...)
	}
	if !m.LeaseUntil.IsZero() {
		lease, expires = dynamo.Millis(m.LeaseUntil), dynamo.Number(m.LeaseUntil.Add(leaseKept).Unix())
	}
	w.SetOrRemove(schema.MaxInFlight, limit)
	w.SetOrRemove(schema.Tags, tags)
	w.SetOrRemove(schema.LeaseUntil, lease)
	w.SetOrRemove(schema.ExpiresAt, expires)
	w.changed(by, now)
	_, err := c.update(ctx, "join", group, m.ID, &w)
	return err
}

// Renew moves the end of a member's lease, never back. It is [ErrNoMember] for who has not joined with a lease or
// was removed: it may join again, if it should.
func (c *Control) Renew(ctx context.Context, group, id string, until time.Time) error {
	if err := errors.Join(checkName("group", group), checkName("consumer", id), checkLease(id, until, time.Now())); err != nil {
		return err
	}
	var w write
	w.Require(schema.LeaseUntil, " <= ", w.Value(dynamo.Millis(until)))
	w.Set(schema.LeaseUntil, dynamo.Millis(until))
	w.Set(schema.ExpiresAt, dynamo.Number(until.Add(leaseKept).Unix()))
	_, err := c.update(ctx, "renew", group, id, &w)
	stored, refused := dynamo.Refused(err)
	if !refused {
		return err
	}
	r := dynamo.Reader{Item: stored}
	if lease, ok := r.Whole(schema.LeaseUntil, 0, dynamo.MaxMillis); ok && lease > until.UnixMilli() {
		return nil
	}
	return fmt.Errorf("renew %s in group %s: %w", id, group, ErrNoMember)
}

// Drain says that a consumer, of the configuration or one that joined, finishes what it has and gets nothing more,
// or that it gets messages again: then an item that cannot be read is removed. Of a consumer that does not exist it says
// something, too, should it come.
func (c *Control) Drain(ctx context.Context, group, id string, draining bool, by string) error {
	if err := errors.Join(checkName("group", group), checkName("consumer", id)); err != nil {
		return err
	}
	var w write
	w.changed(by, time.Now())
	if draining {
		w.Set(schema.Draining, dynamo.Flag(true))
		_, err := c.update(ctx, "drain", group, id, &w)
		return err
	}
	w.SetOrRemove(schema.Draining, nil)
	w.RequireExists(schema.PK)
	stored, err := c.update(ctx, "stop draining", group, id, &w)
	if _, nothingSaid := dynamo.Refused(err); nothingSaid {
		return nil
	}
	if err != nil {
		return err
	}
	var left Overrides
	if left.add(stored); len(left.Problems) == 0 {
		return nil
	}
	var unread write // it would go on draining
	unread.RequireIs(schema.ChangedAt, stored[schema.ChangedAt])
	unread.RequireIs(schema.ChangedBy, stored[schema.ChangedBy])
	if err = c.delete(ctx, group, memberKey(id), &unread); err != nil {
		if _, changedSince := dynamo.Refused(err); changedSince {
			return nil
		}
	}
	return err
}

// Leave removes a member, and whatever was said about it. Messages that it has and has not accepted move on when
// their time is over. A consumer of the configuration stays.
func (c *Control) Leave(ctx context.Context, group, id string) error {
	if err := errors.Join(checkName("group", group), checkName("consumer", id)); err != nil {
		return err
	}
	return c.remove(ctx, group, memberKey(id))
}

// update answers with the item after it.
func (c *Control) update(ctx context.Context, what, group, id string, w *write) (dynamo.Item, error) {
	out, err := c.client.UpdateItem(ctx, w.update(&c.table, key(groupKey(group), memberKey(id))), dynamo.RepeatConflicts)
	if err != nil {
		return nil, fmt.Errorf("%s %s in group %s: %w", what, id, group, err)
	}
	return out.Attributes, nil
}

func (c *Control) remove(ctx context.Context, group, sk string) error {
	return c.delete(ctx, group, sk, &write{})
}

func (c *Control) delete(ctx context.Context, group, sk string, w *write) error {
	if _, err := c.client.DeleteItem(ctx, w.Delete(&c.table, key(groupKey(group), sk)), dynamo.RepeatConflicts); err != nil {
		return fmt.Errorf("remove %s of group %s: %w", sk, group, err)
	}
	return nil
}

func (w *write) changed(by string, at time.Time) {
	w.Set(schema.ChangedBy, dynamo.Text(dynamo.Clip(by, maxBy)))
	w.Set(schema.ChangedAt, dynamo.Millis(at))
}

func groupKey(group string) string { return schema.GroupScope + schema.Separator + group }
func memberKey(id string) string   { return schema.MemberItem + schema.Separator + id }

// name is how groups and consumers are called, as configurations have it.
var name = regexp.MustCompile("^" + schema.NamePattern + "$")

func checkName(what, s string) error {
	if !name.MatchString(s) {
		return fmt.Errorf("%s %.80q: want 1 to 63 lower-case letters, digits and hyphens, no hyphen first", what, s)
	}
	return nil
}

// checkMember checks what is written about a member that joins.
func checkMember(group string, m routing.Consumer, now time.Time) error {
	if err := errors.Join(checkName("group", group), checkName("consumer", m.ID)); err != nil {
		return err
	}
	switch {
	case !isTarget(m.Target):
		return fmt.Errorf("consumer %s: target %.80q: want %s:<queue> or %s:<function>, by name or ARN", m.ID, m.Target, schema.TargetSQS, schema.TargetLambda)
	case m.Weight < 0 || m.Weight > routing.MaxWeight:
		return fmt.Errorf("consumer %s: weight %d: want 1 to %d", m.ID, m.Weight, routing.MaxWeight)
	case m.MaxInFlight < 0:
		return fmt.Errorf("consumer %s: max_in_flight %d: want 0 or more", m.ID, m.MaxInFlight)
	case len(m.Tags) > routing.MaxTags || slices.ContainsFunc(m.Tags, func(tag string) bool { return tag == "" || len(tag) > routing.MaxTagBytes || !utf8.ValidString(tag) }):
		return fmt.Errorf("consumer %s: want at most %d tags of 1 to %d bytes of UTF-8 each", m.ID, routing.MaxTags, routing.MaxTagBytes)
	case !m.LeaseUntil.IsZero():
		return checkLease(m.ID, m.LeaseUntil, now)
	}
	return nil
}

// isTarget tells "sqs:" or "lambda:" and a name, in visible ASCII.
func isTarget(s string) bool {
	kind, name, _ := strings.Cut(s, ":")
	return (kind == schema.TargetSQS || kind == schema.TargetLambda) && name != "" &&
		!strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' })
}

func checkLease(id string, until, now time.Time) error {
	if !until.After(now) || until.UnixMilli() > dynamo.MaxMillis {
		return fmt.Errorf("consumer %s: a lease until %s: want a time to come, by the year 5000", id, until.UTC().Format(time.RFC3339))
	}
	return nil
}
