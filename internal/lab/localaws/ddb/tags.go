package ddb

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/landfall-dev/landfall/internal/lab/localaws/wire"
)

// maxTags is how many tags a table has at most.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Tagging.Operations.html
const maxTags = 50

type tag struct{ Key, Value string }

type tagInput struct {
	ResourceArn *string
	Tags        []tag
	TagKeys     []string
}

// onTagged is an operation on the tags of a table that an ARN names.
func (db *DB) onTagged(in *tagInput, missing func(arn string) error, run func(*table) (any, error)) (operation, error) {
	var c wire.Constraints
	c.Required("resourceArn", in.ResourceArn != nil)
	constrainTags(&c, in.Tags)
	arn := wire.Given(in.ResourceArn, "")
	name, ok := strings.CutPrefix(arn, tableARN(""))
	return operation{resource: name, run: func(*job) (any, error) {
		t := db.tables[name]
		if t == nil {
			return nil, missing(arn)
		}
		return run(t)
	}}, cmp.Or(c.Err(), wire.Forbid(!ok, "Invalid TableArn: Invalid ResourceArn provided as input %s", arn))
}

func constrainTags(c *wire.Constraints, tags []tag) {
	for i, one := range tags {
		c.Text(fmt.Sprintf("tags.%d.member.key", i+1), one.Key, 1, 128)
		c.Text(fmt.Sprintf("tags.%d.member.value", i+1), one.Value, 0, 256)
	}
}

func noResource(arn string) error {
	return failure("ResourceNotFoundException", "Requested resource not found: ResourcArn: %s not found", arn) // the service's spelling
}

func (db *DB) tagResource(in *tagInput) (operation, error) {
	return db.onTagged(in, noResource, func(t *table) (any, error) {
		tags := without(t.tags, func(k string) bool { return slices.ContainsFunc(in.Tags, func(o tag) bool { return o.Key == k }) })
		if tags = append(tags, in.Tags...); len(tags) > maxTags {
			return nil, wire.Validation("Tags cannot exceed %d per resource", maxTags)
		}
		t.tags = tags
		return fields{}, nil
	})
}

func (db *DB) untagResource(in *tagInput) (operation, error) {
	return db.onTagged(in, noResource, func(t *table) (any, error) {
		t.tags = without(t.tags, func(k string) bool { return slices.Contains(in.TagKeys, k) })
		return fields{}, nil
	})
}

func (db *DB) listTagsOfResource(in *tagInput) (operation, error) {
	denied := func(arn string) error {
		return failure("AccessDeniedException", "User is not authorized to perform: dynamodb:ListTagsOfResource on resource: %s", arn)
	}
	return db.onTagged(in, denied, func(t *table) (any, error) { return fields{"Tags": append([]tag{}, t.tags...)}, nil })
}

func without(tags []tag, key func(string) bool) []tag {
	return slices.DeleteFunc(slices.Clone(tags), func(o tag) bool { return key(o.Key) })
}
