package ddb

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/landfall-dev/landfall/internal/localaws/ddb/attr"
	"github.com/landfall-dev/landfall/internal/localaws/wire"
)

// What CreateTable is told, and DescribeTable tells.
type (
	attributeDefinition struct{ AttributeName, AttributeType string }

	keyElement struct{ AttributeName, KeyType string }

	projectionSpec struct {
		ProjectionType   string   `json:",omitempty"`
		NonKeyAttributes []string `json:",omitempty"`
	}

	throughput struct {
		ReadCapacityUnits, WriteCapacityUnits int64
	}

	indexSpec struct {
		IndexName             string
		KeySchema             []keyElement
		Projection            projectionSpec
		ProvisionedThroughput *throughput `json:",omitempty"`
	}

	streamSpec struct {
		StreamEnabled  bool
		StreamViewType string `json:",omitempty"`
	}

	tag struct{ Key, Value string }

	tableSpec struct {
		TableName                 *string
		AttributeDefinitions      []attributeDefinition
		KeySchema                 []keyElement
		LocalSecondaryIndexes     []indexSpec
		GlobalSecondaryIndexes    []indexSpec
		BillingMode               string
		ProvisionedThroughput     *throughput
		StreamSpecification       *streamSpec
		DeletionProtectionEnabled bool
		TableClass                string
		Tags                      []tag
	}
)

// throughputDescription is a throughput as it is described.
type throughputDescription struct {
	NumberOfDecreasesToday int
	throughput
}

type indexDescription struct {
	IndexName             string
	KeySchema             []keyElement
	Projection            projectionSpec
	IndexStatus           string                 `json:",omitempty"`
	ProvisionedThroughput *throughputDescription `json:",omitempty"`
	IndexSizeBytes        int
	ItemCount             int
	IndexArn              string
}

type billingSummary struct {
	BillingMode                       string
	LastUpdateToPayPerRequestDateTime float64
}

type tableClass struct{ TableClass string }

type tableDescription struct {
	TableName                 string
	TableArn                  string
	TableId                   string
	TableStatus               string
	CreationDateTime          float64
	AttributeDefinitions      []attributeDefinition
	KeySchema                 []keyElement
	ProvisionedThroughput     throughputDescription
	BillingModeSummary        *billingSummary    `json:",omitempty"`
	TableClassSummary         *tableClass        `json:",omitempty"`
	StreamSpecification       *streamSpec        `json:",omitempty"`
	LatestStreamArn           string             `json:",omitempty"`
	LatestStreamLabel         string             `json:",omitempty"`
	LocalSecondaryIndexes     []indexDescription `json:",omitempty"`
	GlobalSecondaryIndexes    []indexDescription `json:",omitempty"`
	TableSizeBytes            int
	ItemCount                 int
	DeletionProtectionEnabled bool
}

func (t *table) arn() string {
	return fmt.Sprintf("arn:aws:dynamodb:%s:%s:table/%s", Region, account, t.name)
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

func (t *table) describe(status string) *tableDescription {
	d := &tableDescription{
		TableName: t.name, TableArn: t.arn(), TableId: t.id, TableStatus: status, CreationDateTime: seconds(t.created),
		AttributeDefinitions: t.spec.AttributeDefinitions, KeySchema: t.spec.KeySchema,
		TableSizeBytes: t.bytes, ItemCount: t.items.size, DeletionProtectionEnabled: t.spec.DeletionProtectionEnabled,
	}
	if t.spec.ProvisionedThroughput != nil {
		d.ProvisionedThroughput.throughput = *t.spec.ProvisionedThroughput
	}
	if t.onDemand() {
		d.BillingModeSummary = &billingSummary{"PAY_PER_REQUEST", seconds(t.created)}
	}
	if t.spec.TableClass != "" {
		d.TableClassSummary = &tableClass{t.spec.TableClass}
	}
	if s := t.spec.StreamSpecification; s != nil && s.StreamEnabled {
		d.StreamSpecification = s
		d.LatestStreamLabel = t.created.UTC().Format("2006-01-02T15:04:05.000")
		d.LatestStreamArn = t.arn() + "/stream/" + d.LatestStreamLabel
	}
	for _, ix := range t.indexes {
		one := indexDescription{IndexName: ix.name, KeySchema: ix.spec.KeySchema, Projection: ix.spec.Projection,
			IndexSizeBytes: ix.bytes, ItemCount: ix.entries.size, IndexArn: t.arn() + "/index/" + ix.name}
		if ix.local {
			d.LocalSecondaryIndexes = append(d.LocalSecondaryIndexes, one)
			continue
		}
		one.IndexStatus = status
		one.ProvisionedThroughput = &throughputDescription{}
		if ix.spec.ProvisionedThroughput != nil {
			one.ProvisionedThroughput.throughput = *ix.spec.ProvisionedThroughput
		}
		d.GlobalSecondaryIndexes = append(d.GlobalSecondaryIndexes, one)
	}
	return d
}

func (t *table) onDemand() bool { return t.spec.BillingMode == "PAY_PER_REQUEST" }

func (db *DB) createTable(body []byte) (operation, error) {
	var spec tableSpec
	if err := wire.Decode(body, &spec); err != nil {
		return operation{}, err
	}
	t, err := spec.table()
	if err != nil {
		return operation{}, err
	}
	return onTable(t.name, func(now time.Time) (any, error) {
		if db.tables[t.name] != nil {
			return nil, failure("ResourceInUseException", "Table already exists: %s", t.name)
		}
		db.created++
		t.created, t.id = now, fmt.Sprintf("%08x-0000-4000-8000-%012x", db.created, now.Unix())
		db.tables[t.name] = t
		return map[string]any{"TableDescription": t.describe("CREATING")}, nil
	}), nil
}

// tableOf reads a request that only names a table.
func tableOf(body []byte) (string, error) {
	var in struct{ TableName *string }
	if err := wire.Decode(body, &in); err != nil {
		return "", err
	}
	var c constraints
	return c.tableName(in.TableName), c.err()
}

// existing is the table of that name, or the error of operations on tables themselves.
func (db *DB) existing(name string) (*table, error) {
	if t := db.tables[name]; t != nil {
		return t, nil
	}
	return nil, failure("ResourceNotFoundException", "Requested resource not found: Table: %s not found", name)
}

// describing is an operation that names a table and says something about it.
func (db *DB) describing(body []byte, say func(*table) any) (operation, error) {
	name, err := tableOf(body)
	if err != nil {
		return operation{}, err
	}
	return onTable(name, func(time.Time) (any, error) {
		t, err := db.existing(name)
		if err != nil {
			return nil, err
		}
		return say(t), nil
	}), nil
}

func (db *DB) describeTable(body []byte) (operation, error) {
	return db.describing(body, func(t *table) any { return map[string]any{"Table": t.describe("ACTIVE")} })
}

// names are the names of the tables, in order.
func (db *DB) names() []string { return slices.Sorted(maps.Keys(db.tables)) }

func (db *DB) deleteTable(body []byte) (operation, error) {
	name, err := tableOf(body)
	if err != nil {
		return operation{}, err
	}
	return onTable(name, func(time.Time) (any, error) {
		t, err := db.existing(name)
		switch {
		case err != nil:
			return nil, err
		case t.spec.DeletionProtectionEnabled:
			return nil, validation("Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.")
		}
		delete(db.tables, name)
		return map[string]any{"TableDescription": t.describe("DELETING")}, nil
	}), nil
}

func (db *DB) listTables(body []byte) (operation, error) {
	var in struct {
		ExclusiveStartTableName string
		Limit                   *int
	}
	if err := wire.Decode(body, &in); err != nil {
		return operation{}, err
	}
	limit := 100
	var c constraints
	if in.Limit != nil {
		limit = *in.Limit
		c.between("limit", fmt.Sprintf("'%d'", limit), "value", limit, 1, 100)
	}
	if err := c.err(); err != nil {
		return operation{}, err
	}
	return onTable("", func(time.Time) (any, error) {
		names := db.names()
		first, found := slices.BinarySearch(names, in.ExclusiveStartTableName)
		if found {
			first++
		}
		names = names[first:]
		answer := map[string]any{"TableNames": names}
		if len(names) > limit {
			answer["TableNames"], answer["LastEvaluatedTableName"] = names[:limit], names[limit-1]
		}
		return answer, nil
	}), nil
}

// attributes are the attributes that a table's keys may use.
func (spec *tableSpec) attributes() map[string]attr.Type {
	types := map[string]attr.Type{}
	for _, d := range spec.AttributeDefinitions {
		types[d.AttributeName] = attr.Type(d.AttributeType)
	}
	return types
}
