package ddb

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/landfall-dev/landfall/internal/lab/localaws/attr"
	"github.com/landfall-dev/landfall/internal/lab/localaws/wire"
)

// The most indexes that a table can have, and the most bytes of a name that its schema holds.
const (
	maxKeyName       = 255
	maxGlobalIndexes = 20
	maxLocalIndexes  = 5
)

const invalidParameters = "One or more parameter values were invalid: "

// definition is the type of an attribute that keys may use.
type definition struct {
	typ  attr.Type
	used bool
}

// table checks a specification and makes an empty table of it.
func (spec *tableSpec) table() (*table, error) {
	t := &table{spec: *spec, held: map[string]bool{}, tags: spec.Tags}
	if spec.TableName == nil {
		return t, wire.Validation("The parameter 'TableName' is required but was not present in the request")
	}
	var c wire.Constraints
	t.name = newTableName(&c, spec.TableName, 3)
	spec.constrain(&c)
	refusal := wire.Forbid(spec.ResourcePolicy != nil || spec.GlobalTableSettingsReplicationMode != "",
		"ResourcePolicy and GlobalTableSettingsReplicationMode are not part of the local DynamoDB: leave them out")
	if err := cmp.Or(c.Err(), refusal, spec.checkBilling()); err != nil {
		return t, err
	}
	defined := map[string]*definition{}
	for _, d := range spec.AttributeDefinitions {
		if defined[d.AttributeName] != nil {
			return t, wire.Validation(invalidParameters+"Duplicate AttributeName in AttributeDefinitions: %s", d.AttributeName)
		}
		defined[d.AttributeName] = &definition{typ: attr.Type(d.AttributeType)}
	}
	var err error
	if t.key, err = schemaOf(spec.KeySchema, defined); err != nil {
		return t, err
	}
	err = spec.addIndexes(t, defined)
	unused := slices.ContainsFunc(slices.Collect(maps.Values(defined)), func(d *definition) bool { return !d.used })
	s := spec.StreamSpecification
	return t, cmp.Or(
		err,
		wire.Forbid(unused,
			invalidParameters+"Number of attributes in KeySchema does not exactly match number of attributes "+
				"defined in AttributeDefinitions"),
		wire.Forbid(s != nil && s.StreamEnabled && s.StreamViewType == "",
			invalidParameters+"StreamViewType is required when StreamEnabled is true"),
	)
}

// constrain finds what no table can have.
func (spec *tableSpec) constrain(c *wire.Constraints) {
	c.Enum("billingMode", spec.BillingMode, "PROVISIONED", "PAY_PER_REQUEST")
	c.Enum("tableClass", spec.TableClass, "STANDARD", "STANDARD_INFREQUENT_ACCESS")
	c.Required("keySchema", spec.KeySchema != nil)
	c.Required("attributeDefinitions", spec.AttributeDefinitions != nil)
	constrainKeys(c, "keySchema", spec.KeySchema)
	for i, d := range spec.AttributeDefinitions {
		at := fmt.Sprintf("attributeDefinitions.%d.member.", i+1)
		c.Required(at+"attributeType", d.AttributeType != "")
		c.Enum(at+"attributeType", d.AttributeType, "B", "N", "S")
		c.Text(at+"attributeName", d.AttributeName, 1, maxKeyName)
	}
	for group, list := range map[string][]indexSpec{
		"globalSecondaryIndexes": spec.GlobalSecondaryIndexes, "localSecondaryIndexes": spec.LocalSecondaryIndexes,
	} {
		for i, ix := range list {
			at := fmt.Sprintf("%s.%d.member.", group, i+1)
			c.Text(at+"indexName", ix.IndexName, 3, 255)
			c.Enum(at+"projection.projectionType", ix.Projection.ProjectionType, "ALL", "INCLUDE", "KEYS_ONLY")
			constrainKeys(c, at+"keySchema", ix.KeySchema)
			for j, name := range ix.Projection.NonKeyAttributes {
				c.Text(fmt.Sprintf("%sprojection.nonKeyAttributes.%d.member", at, j+1), name, 1, maxKeyName)
			}
		}
	}
	constrainTags(c, spec.Tags)
	if s := spec.SSESpecification; s != nil {
		c.Enum("sSESpecification.sSEType", s.SSEType, "AES256", "KMS")
	}
	if s := spec.StreamSpecification; s != nil {
		c.Enum("streamSpecification.streamViewType",
			s.StreamViewType, "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES", "KEYS_ONLY")
	}
}

func constrainKeys(c *wire.Constraints, at string, keys []keyElement) {
	var shown []string
	for i, k := range keys {
		shown = append(shown, fmt.Sprintf("KeySchemaElement(attributeName=%s, keyType=%s)", k.AttributeName, k.KeyType))
		c.Text(fmt.Sprintf("%s.%d.member.attributeName", at, i+1), k.AttributeName, 1, maxKeyName)
		c.Enum(fmt.Sprintf("%s.%d.member.keyType", at, i+1), k.KeyType, "HASH", "RANGE")
	}
	if keys != nil {
		c.Between(at, "'["+strings.Join(shown, ", ")+"]'", "length", len(keys), 1, 2)
	}
}

func (spec *tableSpec) checkBilling() error {
	p, onDemand := spec.ProvisionedThroughput, spec.onDemand()
	return cmp.Or(
		wire.Forbid(onDemand && p != nil,
			invalidParameters+"Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode "+
				"is PAY_PER_REQUEST"),
		wire.Forbid(!onDemand && p == nil,
			invalidParameters+"ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is "+
				"PROVISIONED"),
		wire.Forbid(p != nil && (p.ReadCapacityUnits < 1 || p.WriteCapacityUnits < 1),
			invalidParameters+"ReadCapacityUnits and WriteCapacityUnits must be at least 1"),
	)
}

// schemaOf makes a key of its elements and marks their attributes as used.
func schemaOf(elements []keyElement, defined map[string]*definition) (keySchema, error) {
	var k keySchema
	two := len(elements) == 2
	if err := cmp.Or(
		wire.Forbid(len(elements) == 0 || elements[0].KeyType != "HASH",
			"Invalid KeySchema: The first KeySchemaElement is not a HASH key type"),
		wire.Forbid(two && elements[1].KeyType != "RANGE",
			"Invalid KeySchema: The second KeySchemaElement is not a RANGE key type"),
		wire.Forbid(two && elements[0].AttributeName == elements[1].AttributeName,
			"Invalid KeySchema: Some index key attribute have no definition"),
	); err != nil {
		return k, err
	}
	for _, e := range elements {
		d := defined[e.AttributeName]
		if d == nil {
			return k, undefined(elements, defined)
		}
		d.used = true
		k = append(k, keyAttr{e.AttributeName, d.typ})
	}
	return k, nil
}

func undefined(elements []keyElement, defined map[string]*definition) error {
	var keys []string
	for _, e := range elements {
		keys = append(keys, e.AttributeName)
	}
	names := slices.Sorted(maps.Keys(defined))
	return wire.Validation(invalidParameters+"Some index key attributes are not defined in AttributeDefinitions. "+
		"Keys: [%s], AttributeDefinitions: [%s]", strings.Join(keys, ", "), strings.Join(names, ", "))
}

func (spec *tableSpec) addIndexes(t *table, defined map[string]*definition) error {
	if err := cmp.Or(
		wire.Forbid(len(spec.LocalSecondaryIndexes) > maxLocalIndexes,
			invalidParameters+"Number of LocalSecondaryIndexes exceeds per-table limit of %d", maxLocalIndexes),
		wire.Forbid(len(spec.GlobalSecondaryIndexes) > maxGlobalIndexes,
			invalidParameters+"GlobalSecondaryIndex count exceeds the per-table limit of %d", maxGlobalIndexes),
		wire.Forbid(len(spec.LocalSecondaryIndexes) > 0 && len(t.key) < 2,
			invalidParameters+"Table KeySchema does not have a range key, which is required when specifying a "+
				"LocalSecondaryIndex"),
	); err != nil {
		return err
	}
	for i, s := range append(slices.Clone(spec.LocalSecondaryIndexes), spec.GlobalSecondaryIndexes...) {
		ix, err := newIndex(s, t.key, defined)
		if err != nil {
			return err
		}
		ix.local = i < len(spec.LocalSecondaryIndexes)
		if err := cmp.Or(
			wire.Forbid(t.index(ix.name) != nil, invalidParameters+"Duplicate index name: %s", ix.name),
			wire.Forbid(ix.local && ix.key[0] != t.key[0],
				invalidParameters+"Index KeySchema does not have the same leading hash key as table KeySchema for "+
					"index: %s. index hash key: %s, table hash key: %s", ix.name, ix.key[0].name, t.key[0].name),
			wire.Forbid(ix.local && len(ix.key) < 2,
				invalidParameters+"Index KeySchema does not have a range key for index: %s", ix.name),
			wire.Forbid(!ix.local && spec.onDemand() && s.ProvisionedThroughput != nil,
				invalidParameters+"ProvisionedThroughput should not be specified for index: %s when BillingMode is "+
					"PAY_PER_REQUEST", ix.name),
			wire.Forbid(!ix.local && !spec.onDemand() && s.ProvisionedThroughput == nil,
				invalidParameters+"ProvisionedThroughput must be specified for index: %s", ix.name),
		); err != nil {
			return err
		}
		t.indexes = append(t.indexes, ix)
	}
	return nil
}

// newIndex makes an empty index.
func newIndex(s indexSpec, base keySchema, defined map[string]*definition) (*index, error) {
	key, err := schemaOf(s.KeySchema, defined)
	if err != nil {
		return nil, err
	}
	ix := &index{name: s.IndexName, spec: s, key: key, order: slices.Concat(key, base)}
	kind, named := s.Projection.ProjectionType, s.Projection.NonKeyAttributes
	if kind != "ALL" {
		ix.keep = map[string]bool{}
		for _, a := range ix.order {
			ix.keep[a.name] = true
		}
		for _, name := range named {
			ix.keep[name] = true
		}
	}
	return ix, cmp.Or(
		wire.Forbid(kind == "", invalidParameters+"Unknown ProjectionType: null"),
		wire.Forbid(kind == "INCLUDE" && len(named) == 0,
			invalidParameters+"ProjectionType is INCLUDE, but NonKeyAttributes is not specified"),
		wire.Forbid(kind != "INCLUDE" && len(named) > 0,
			invalidParameters+"ProjectionType is %s, but NonKeyAttributes is specified", kind),
	)
}
