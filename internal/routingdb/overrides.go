package routingdb

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/dynamo"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/schema"
)

// Overrides are the control items of a group.
type Overrides struct {
	// Route replaces the routing function of the configuration; nil: it does not.
	Route *Route
	// Members are ordered by id. One without a Target is about a consumer of the configuration only. One that cannot be
	// read has no Target and is draining: it may be the item of an operator who wanted to stop the consumer.
	Members []Member
	// Problems are the items that cannot be read.
	Problems []error
}

// Member is a consumer that joined, or an item about a consumer of the configuration.
type Member struct {
	Consumer routing.Consumer
	Change   Change
}

// Read reads the control items of a group, strongly consistent: one read unit for each 4 KB.
func (c *Control) Read(ctx context.Context, group string) (Overrides, error) {
	var o Overrides
	if err := checkName("group", group); err != nil {
		return o, err
	}
	for start := dynamo.Item(nil); ; {
		out, err := c.client.Query(ctx, &dynamodb.QueryInput{
			TableName: &c.table, ConsistentRead: aws.Bool(true), ExclusiveStartKey: start,
			KeyConditionExpression:    aws.String("#pk = :pk"),
			ExpressionAttributeNames:  map[string]string{"#pk": schema.PK},
			ExpressionAttributeValues: dynamo.Item{":pk": dynamo.Text(groupKey(group))},
		})
		if err != nil {
			return Overrides{}, fmt.Errorf("read control items of group %s: %w", group, err)
		}
		for _, stored := range out.Items {
			o.add(stored)
		}
		if start = out.LastEvaluatedKey; len(start) == 0 {
			return o, nil
		}
	}
}

// add reads an item. Those of a group come in the order of their second key, and so do members.
func (o *Overrides) add(stored dynamo.Item) {
	r := &dynamo.Reader{Item: stored}
	sk := r.Text(schema.SK)
	id, member := strings.CutPrefix(sk, memberKey(""))
	switch {
	case sk == schema.RouteItem:
		route := readRoute(r)
		o.Route = &route
		if route.Invalid != nil {
			o.Problems = append(o.Problems, route.Invalid)
		}
	case member:
		m := readMember(r, id)
		if err := r.Err(fmt.Sprintf("member %.80q", id)); err != nil {
			o.Problems = append(o.Problems, err)
			m = Member{Consumer: routing.Consumer{ID: id, Draining: true}, Change: m.Change}
		}
		o.Members = append(o.Members, m)
	default:
		o.Problems = append(o.Problems, fmt.Errorf("unknown control item %.80q", sk))
	}
}

func readRoute(r *dynamo.Reader) Route {
	route := Route{Kind: r.Text(schema.RouteKind), Argument: r.Text(schema.RouteArgument), Change: readChange(r)}
	r.Need(schema.RouteKind, route.Kind != "")
	route.Invalid = r.Err("the route")
	return route
}

func readMember(r *dynamo.Reader, id string) Member {
	m := Member{Consumer: routing.Consumer{
		ID: id, Target: r.Text(schema.Target), Draining: r.Flag(schema.Draining), LeaseUntil: r.Millis(schema.LeaseUntil),
		ConsumerState: routing.ConsumerState{MaxInFlight: routing.Unlimited, Tags: readTags(r)},
	}, Change: readChange(r)}
	if weight, ok := r.Whole(schema.Weight, 1, routing.MaxWeight); ok {
		m.Consumer.Weight = int(weight)
	}
	if limit, ok := r.Whole(schema.MaxInFlight, 0, routing.Unlimited); ok {
		m.Consumer.MaxInFlight = limit
	}
	if m.Consumer.Target != "" && !isTarget(m.Consumer.Target) {
		r.Failf(schema.Target, "is not %s:<queue> or %s:<function>", schema.TargetSQS, schema.TargetLambda)
	}
	if !schema.IsName(id) {
		r.Failf(schema.SK, "does not hold the name of a consumer")
	}
	return m
}

func readTags(r *dynamo.Reader) (tags []string) {
	for _, element := range r.List(schema.Tags) {
		tag, _ := element.(*types.AttributeValueMemberS)
		if tag == nil {
			r.Failf(schema.Tags, "has an element of type %s, want S", dynamo.Kind(element))
			continue
		}
		tags = append(tags, tag.Value)
	}
	return tags
}

// readChange decides nothing, so that a mistake in it does not make the item unreadable.
func readChange(r *dynamo.Reader) Change {
	lenient := dynamo.Reader{Item: r.Item}
	return Change{By: lenient.Text(schema.ChangedBy), At: lenient.Millis(schema.ChangedAt)}
}
