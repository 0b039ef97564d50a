package ddb

import (
	"slices"
	"strings"
	"time"

	"github.com/landfall-dev/landfall/internal/localaws/wire"
)

type tagInput struct {
	ResourceArn string
	Tags        []tag
	TagKeys     []string
}

// tagging is an operation on the tags of the table that an ARN names.
func (db *DB) tagging(body []byte, run func(t *table, in tagInput) any) (operation, error) {
	var in tagInput
	if err := wire.Decode(body, &in); err != nil {
		return operation{}, err
	}
	_, name, ok := strings.Cut(in.ResourceArn, ":table/")
	if !ok || !strings.HasPrefix(in.ResourceArn, "arn:") {
		return operation{}, validation("Invalid TableArn: Invalid ResourceArn provided as input %s", in.ResourceArn)
	}
	return onTable(name, func(time.Time) (any, error) {
		t := db.tables[name]
		if t == nil {
			return nil, failure("AccessDeniedException", "There is no resource %s in this account", in.ResourceArn)
		}
		return run(t, in), nil
	}), nil
}

func (db *DB) tagResource(body []byte) (operation, error) {
	return db.tagging(body, func(t *table, in tagInput) any {
		for _, tag := range in.Tags {
			t.untag(tag.Key)
			t.spec.Tags = append(t.spec.Tags, tag)
		}
		return struct{}{}
	})
}

func (db *DB) untagResource(body []byte) (operation, error) {
	return db.tagging(body, func(t *table, in tagInput) any {
		for _, key := range in.TagKeys {
			t.untag(key)
		}
		return struct{}{}
	})
}

func (db *DB) listTagsOfResource(body []byte) (operation, error) {
	return db.tagging(body, func(t *table, _ tagInput) any {
		return map[string]any{"Tags": slices.Concat([]tag{}, t.spec.Tags)}
	})
}

func (t *table) untag(key string) {
	t.spec.Tags = slices.DeleteFunc(slices.Clone(t.spec.Tags), func(t tag) bool { return t.Key == key })
}

// backups is what is said of a table's continuous backups. There are none: what is set is only remembered.
type backups struct {
	PointInTimeRecoveryEnabled bool
	RecoveryPeriodInDays       int
}

func (t *table) describeBackups() any {
	status := func(on bool) string {
		if on {
			return "ENABLED"
		}
		return "DISABLED"
	}
	recovery := map[string]any{"PointInTimeRecoveryStatus": status(t.backups.PointInTimeRecoveryEnabled)}
	if t.backups.PointInTimeRecoveryEnabled {
		recovery["RecoveryPeriodInDays"] = t.backups.RecoveryPeriodInDays
	}
	return map[string]any{"ContinuousBackupsDescription": map[string]any{
		"ContinuousBackupsStatus": "ENABLED", "PointInTimeRecoveryDescription": recovery,
	}}
}

func (db *DB) describeContinuousBackups(body []byte) (operation, error) {
	return db.describing(body, (*table).describeBackups)
}

func (db *DB) updateContinuousBackups(body []byte) (operation, error) {
	in := struct{ PointInTimeRecoverySpecification backups }{backups{RecoveryPeriodInDays: 35}}
	if err := wire.Decode(body, &in); err != nil {
		return operation{}, err
	}
	return db.describing(body, func(t *table) any {
		t.backups = in.PointInTimeRecoverySpecification
		return t.describeBackups()
	})
}
