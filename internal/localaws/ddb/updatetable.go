package ddb

import (
	"slices"
	"time"

	"github.com/landfall-dev/landfall/internal/localaws/wire"
)

type updateTableInput struct {
	TableName                   *string
	AttributeDefinitions        []attributeDefinition
	BillingMode                 string
	ProvisionedThroughput       *throughput
	StreamSpecification         *streamSpec
	DeletionProtectionEnabled   *bool
	TableClass                  string
	GlobalSecondaryIndexUpdates []struct {
		Create *indexSpec
		Update *indexSpec
		Delete *struct{ IndexName string }
	}
}

func (db *DB) updateTable(body []byte) (operation, error) {
	var in updateTableInput
	if err := wire.Decode(body, &in); err != nil {
		return operation{}, err
	}
	var c constraints
	name := c.tableName(in.TableName)
	c.enum("billingMode", in.BillingMode, "PROVISIONED", "PAY_PER_REQUEST")
	c.enum("tableClass", in.TableClass, "STANDARD", "STANDARD_INFREQUENT_ACCESS")
	if err := c.err(); err != nil {
		return operation{}, err
	}
	return onTable(name, func(now time.Time) (any, error) {
		t, err := db.existing(name)
		if err != nil {
			return nil, err
		}
		if err := t.update(&in, now); err != nil {
			return nil, err
		}
		return map[string]any{"TableDescription": t.describe("UPDATING")}, nil
	}), nil
}

// update changes the table at once, or not at all.
func (t *table) update(in *updateTableInput, now time.Time) error {
	spec := t.spec
	if in.BillingMode != "" && (in.BillingMode == "PAY_PER_REQUEST") != t.onDemand() {
		spec.BillingMode, spec.ProvisionedThroughput = in.BillingMode, nil
	}
	if p := in.ProvisionedThroughput; p != nil {
		if !t.onDemand() && spec.ProvisionedThroughput != nil && *p == *spec.ProvisionedThroughput && len(in.GlobalSecondaryIndexUpdates) == 0 {
			return validation("The provisioned throughput for the table will not change. The requested value equals the current value. Current ReadCapacityUnits provisioned for the table: %d. Requested ReadCapacityUnits: %d. Current WriteCapacityUnits provisioned for the table: %d. Requested WriteCapacityUnits: %d.",
				p.ReadCapacityUnits, p.ReadCapacityUnits, p.WriteCapacityUnits, p.WriteCapacityUnits)
		}
		spec.ProvisionedThroughput = p
	}
	if err := spec.checkBilling(); err != nil {
		return err
	}
	if in.StreamSpecification != nil {
		spec.StreamSpecification = in.StreamSpecification
	}
	if in.DeletionProtectionEnabled != nil {
		spec.DeletionProtectionEnabled = *in.DeletionProtectionEnabled
	}
	if in.TableClass != "" {
		spec.TableClass = in.TableClass
	}
	indexes, err := t.updateIndexes(in, &spec, now)
	if err != nil {
		return err
	}
	t.spec, t.indexes = spec, indexes
	return nil
}

// updateIndexes is the table's indexes after the update; new ones are filled from the items.
func (t *table) updateIndexes(in *updateTableInput, spec *tableSpec, now time.Time) ([]*index, error) {
	indexes := slices.Clone(t.indexes)
	find := func(name string) int {
		return slices.IndexFunc(indexes, func(ix *index) bool { return ix.name == name && !ix.local })
	}
	for _, d := range in.AttributeDefinitions {
		if !slices.Contains(spec.AttributeDefinitions, d) {
			spec.AttributeDefinitions = append(slices.Clone(spec.AttributeDefinitions), d)
		}
	}
	for _, u := range in.GlobalSecondaryIndexUpdates {
		switch {
		case u.Create != nil:
			if t.index(u.Create.IndexName) != nil {
				return nil, validation("Attempting to create an index which already exists")
			}
			ix, err := newIndex(*u.Create, t.key, spec.attributes(), map[string]bool{})
			if err != nil {
				return nil, err
			}
			ix.fill(&t.items, now)
			indexes = append(indexes, ix)
		case u.Delete != nil:
			i := find(u.Delete.IndexName)
			if i < 0 {
				return nil, failure("ResourceNotFoundException", "Requested resource not found")
			}
			indexes = slices.Delete(indexes, i, i+1)
		case u.Update != nil:
			i := find(u.Update.IndexName)
			if i < 0 {
				return nil, failure("ResourceNotFoundException", "Requested resource not found")
			}
			changed := *indexes[i]
			changed.spec.ProvisionedThroughput = u.Update.ProvisionedThroughput
			indexes[i] = &changed
		}
	}
	return indexes, nil
}

// fill puts the items into an empty index. Those with a key that the index cannot have are left out of it.
func (ix *index) fill(items *store, now time.Time) {
	for e := range items.ascend("") {
		if entry := ix.entry(e.item); entry != nil && ix.checkKeys(e.item) == nil {
			ix.put(nil, entry, now)
		}
	}
}
