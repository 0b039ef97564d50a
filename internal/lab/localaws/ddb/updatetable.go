package ddb

import (
	"cmp"
	"slices"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/localaws/streams"
	"github.com/landfall-dev/landfall/internal/lab/localaws/wire"
)

type indexUpdate struct {
	Create *indexSpec
	Update *indexSpec
	Delete *struct{ IndexName string }
}

type updateTableInput struct {
	TableName                   *string
	AttributeDefinitions        []attributeDefinition
	BillingMode                 string
	ProvisionedThroughput       *throughput
	DeletionProtectionEnabled   *bool
	GlobalSecondaryIndexUpdates []indexUpdate
	OnDemandThroughput          map[string]int64
	SSESpecification            *sseSpec
	StreamSpecification         *streamSpec
	TableClass                  string
	WarmThroughput              map[string]int64

	ReplicaUpdates, GlobalTableWitnessUpdates []any  // refused
	MultiRegionConsistency                    string // refused
}

// updateTable makes the table that the changed specification describes, with the items of the old one. What takes the
// service minutes is done at once.
func (db *DB) updateTable(in *updateTableInput) (operation, error) {
	op, err := db.onExisting(&tableInput{in.TableName}, func(j *job, t *table) (any, error) {
		spec, err := in.changed(t.spec)
		if err != nil {
			return nil, err
		}
		next, err := spec.table()
		if err != nil {
			return nil, err
		}
		for i, ix := range next.indexes {
			if old := t.index(ix.name); old != nil {
				old.spec = ix.spec
				next.indexes[i] = old
				continue
			}
			for _, e := range t.items.entries {
				if entry := ix.entry(e.item); entry != nil {
					ix.items.set(ix.order.position(entry), entry)
				}
			}
		}
		if err := db.switchStream(j.now, t, in.StreamSpecification); err != nil {
			return nil, err
		}
		t.spec, t.indexes = *spec, next.indexes
		return fields{"TableDescription": t.describe("UPDATING")}, nil
	})
	nothing := in.BillingMode == "" && in.ProvisionedThroughput == nil && in.DeletionProtectionEnabled == nil &&
		in.GlobalSecondaryIndexUpdates == nil && in.OnDemandThroughput == nil && in.SSESpecification == nil &&
		in.StreamSpecification == nil && in.TableClass == "" && in.WarmThroughput == nil
	return op, cmp.Or(
		err,
		wire.Forbid(in.ReplicaUpdates != nil || in.GlobalTableWitnessUpdates != nil || in.MultiRegionConsistency != "",
			"Global tables are not part of the local DynamoDB"),
		wire.Forbid(nothing, "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, "+
			"GlobalSecondaryIndexUpdates or SSESpecification or ReplicaUpdates is required"),
	)
}

// changed is the specification of a table with the changes.
func (in *updateTableInput) changed(old tableSpec) (*tableSpec, error) {
	spec := old
	spec.GlobalSecondaryIndexes = slices.Clone(old.GlobalSecondaryIndexes)
	if err := in.changeThroughput(&spec, old); err != nil {
		return nil, err
	}
	if err := in.changeIndexes(&spec); err != nil {
		return nil, err
	}
	spec.TableClass = cmp.Or(in.TableClass, spec.TableClass)
	spec.SSESpecification = cmp.Or(in.SSESpecification, spec.SSESpecification)
	spec.DeletionProtectionEnabled = wire.Given(in.DeletionProtectionEnabled, spec.DeletionProtectionEnabled)
	if in.OnDemandThroughput != nil {
		spec.OnDemandThroughput = in.OnDemandThroughput
	}
	if in.WarmThroughput != nil {
		spec.WarmThroughput = in.WarmThroughput
	}
	if s := in.StreamSpecification; s != nil {
		if spec.StreamSpecification = s; !s.StreamEnabled {
			spec.StreamSpecification = nil
		}
	}
	definitions := slices.Clone(old.AttributeDefinitions)
	for _, d := range in.AttributeDefinitions {
		if !slices.Contains(definitions, d) {
			definitions = append(definitions, d)
		}
	}
	spec.AttributeDefinitions = slices.DeleteFunc(definitions, func(d attributeDefinition) bool {
		return slices.Contains(old.AttributeDefinitions, d) && !spec.uses(d.AttributeName) // of an index that goes
	})
	return &spec, nil
}

// uses reports whether an attribute is part of a key.
func (spec *tableSpec) uses(name string) bool {
	in := func(keys []keyElement) bool {
		return slices.ContainsFunc(keys, func(k keyElement) bool { return k.AttributeName == name })
	}
	inIndex := func(ix indexSpec) bool { return in(ix.KeySchema) }
	return in(spec.KeySchema) || slices.ContainsFunc(spec.LocalSecondaryIndexes, inIndex) ||
		slices.ContainsFunc(spec.GlobalSecondaryIndexes, inIndex)
}

func (in *updateTableInput) changeThroughput(spec *tableSpec, old tableSpec) error {
	spec.BillingMode = cmp.Or(in.BillingMode, spec.BillingMode)
	if in.ProvisionedThroughput != nil {
		spec.ProvisionedThroughput = in.ProvisionedThroughput
	}
	if spec.onDemand() && in.ProvisionedThroughput == nil {
		spec.ProvisionedThroughput = nil
		for i := range spec.GlobalSecondaryIndexes {
			spec.GlobalSecondaryIndexes[i].ProvisionedThroughput = nil
		}
	}
	before, after := old.ProvisionedThroughput, in.ProvisionedThroughput
	if before == nil || after == nil || *before != *after || in.GlobalSecondaryIndexUpdates != nil {
		return nil
	}
	return wire.Validation("The provisioned throughput for the table will not change. The requested value equals the current value. "+
		"Current ReadCapacityUnits provisioned for the table: %d. Requested ReadCapacityUnits: %d. "+
		"Current WriteCapacityUnits provisioned for the table: %d. Requested WriteCapacityUnits: %d. "+
		"Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits.",
		before.ReadCapacityUnits, after.ReadCapacityUnits, before.WriteCapacityUnits, after.WriteCapacityUnits)
}

func (in *updateTableInput) changeIndexes(spec *tableSpec) error {
	moved := 0
	find := func(name string) int {
		return slices.IndexFunc(spec.GlobalSecondaryIndexes, func(ix indexSpec) bool { return ix.IndexName == name })
	}
	for _, u := range in.GlobalSecondaryIndexUpdates {
		switch {
		case u.Create != nil:
			moved++
			if find(u.Create.IndexName) >= 0 {
				return wire.Validation("Attempting to create an index which already exists")
			}
			spec.GlobalSecondaryIndexes = append(spec.GlobalSecondaryIndexes, *u.Create)
		case u.Delete != nil:
			moved++
			at := find(u.Delete.IndexName)
			if at < 0 {
				return failure("ResourceNotFoundException", "Requested resource not found")
			}
			spec.GlobalSecondaryIndexes = slices.Delete(spec.GlobalSecondaryIndexes, at, at+1)
		case u.Update != nil:
			at := find(u.Update.IndexName)
			if at < 0 {
				return failure("ResourceNotFoundException", "Requested resource not found")
			}
			ix := &spec.GlobalSecondaryIndexes[at]
			ix.ProvisionedThroughput, ix.OnDemandThroughput = u.Update.ProvisionedThroughput, u.Update.OnDemandThroughput
		default:
			return wire.Validation(invalidParameters + "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, GlobalSecondaryIndexUpdate.Delete must not be null")
		}
	}
	if moved > 1 {
		return failure("LimitExceededException", "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table")
	}
	return nil
}

// switchStream turns the stream of a table on or off.
func (db *DB) switchStream(now time.Time, t *table, s *streamSpec) error {
	switch {
	case s == nil:
	case s.StreamEnabled == (t.stream != nil):
		return wire.Validation("Table already has %s stream: TableName: %s", map[bool]string{true: "an enabled", false: "a disabled"}[s.StreamEnabled], t.name)
	case s.StreamEnabled:
		t.stream = db.Streams.Open(now, t.source(s.StreamViewType))
	default:
		t.stream.Close(now)
		t.stream = nil
	}
	return nil
}

// source is what a stream of the table tells of it.
func (t *table) source(view string) streams.Source {
	return streams.Source{Table: t.name, ARN: tableARN(t.name), KeySchema: t.spec.KeySchema, View: view}
}
