package ddb

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/localaws/wire"
)

// The parameters of CreateTable, which DescribeTable answers with.
type (
	attributeDefinition struct{ AttributeName, AttributeType string }
	keyElement          struct{ AttributeName, KeyType string }
	projectionSpec      struct {
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
		ProvisionedThroughput *throughput      `json:",omitempty"`
		OnDemandThroughput    map[string]int64 `json:",omitempty"`
		WarmThroughput        map[string]int64 `json:",omitempty"`
	}
	sseSpec struct {
		Enabled        bool
		SSEType        string
		KMSMasterKeyId string
	}
	streamSpec struct {
		StreamEnabled  bool
		StreamViewType string `json:",omitempty"`
	}
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
		OnDemandThroughput        map[string]int64
		SSESpecification          *sseSpec
		TableClass                string
		Tags                      []tag
		WarmThroughput            map[string]int64

		ResourcePolicy                     any    // refused
		GlobalTableSettingsReplicationMode string // refused
	}
)

func tableARN(name string) string {
	return fmt.Sprintf("arn:aws:dynamodb:%s:%s:table/%s", Region, account, name)
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// fields is a JSON object.
type fields map[string]any

// describe is what DescribeTable says of the table.
func (t *table) describe(status string) fields {
	d := fields{
		"TableName": t.name, "TableArn": tableARN(t.name), "TableId": t.id, "TableStatus": status,
		"CreationDateTime":     seconds(t.created),
		"AttributeDefinitions": t.spec.AttributeDefinitions, "KeySchema": t.spec.KeySchema,
		"ProvisionedThroughput": t.spec.ProvisionedThroughput.describe(),
		"TableSizeBytes":        t.items.bytes, "ItemCount": len(t.items.entries),
		"DeletionProtectionEnabled": t.spec.DeletionProtectionEnabled,
	}
	if t.spec.onDemand() {
		d["BillingModeSummary"] = fields{"BillingMode": t.spec.BillingMode,
			"LastUpdateToPayPerRequestDateTime": seconds(t.created)}
	}
	if s := t.spec.SSESpecification; s != nil && s.Enabled {
		d["SSEDescription"] = fields{"Status": "ENABLED", "SSEType": cmp.Or(s.SSEType, "KMS"), "KMSMasterKeyArn": s.arn()}
	}
	describeLimits(d, t.spec.OnDemandThroughput, t.spec.WarmThroughput)
	if t.spec.TableClass != "" {
		d["TableClassSummary"] = fields{"TableClass": t.spec.TableClass}
	}
	if s := t.stream; s != nil {
		d["StreamSpecification"], d["LatestStreamLabel"], d["LatestStreamArn"] = t.spec.StreamSpecification, s.Label, s.ARN
	}
	for _, ix := range t.indexes {
		kind, one := "LocalSecondaryIndexes", fields{
			"IndexName": ix.name, "IndexArn": tableARN(t.name) + "/index/" + ix.name, "KeySchema": ix.spec.KeySchema,
			"Projection":     ix.spec.Projection,
			"IndexSizeBytes": ix.items.bytes, "ItemCount": len(ix.items.entries),
		}
		if !ix.local {
			kind = "GlobalSecondaryIndexes"
			describeLimits(one, ix.spec.OnDemandThroughput, ix.spec.WarmThroughput)
			one["IndexStatus"], one["ProvisionedThroughput"] = status, ix.spec.ProvisionedThroughput.describe()
		}
		list, _ := d[kind].([]fields)
		d[kind] = append(list, one)
	}
	return d
}

func (p *throughput) describe() fields {
	if p == nil {
		p = &throughput{}
	}
	return fields{
		"NumberOfDecreasesToday": 0, "ReadCapacityUnits": p.ReadCapacityUnits, "WriteCapacityUnits": p.WriteCapacityUnits,
	}
}

// describeLimits adds what is kept of a table's or an index's throughput on demand.
func describeLimits(d fields, onDemand, warm map[string]int64) {
	if onDemand != nil {
		d["OnDemandThroughput"] = onDemand
	}
	if warm != nil {
		d["WarmThroughput"] = fields{"Status": "ACTIVE", "ReadUnitsPerSecond": warm["ReadUnitsPerSecond"], "WriteUnitsPerSecond": warm["WriteUnitsPerSecond"]}
	}
}

func (s *sseSpec) arn() string {
	if strings.HasPrefix(s.KMSMasterKeyId, "arn:") {
		return s.KMSMasterKeyId
	}
	return fmt.Sprintf("arn:aws:kms:%s:%s:key/%s", Region, account, cmp.Or(s.KMSMasterKeyId, "alias/aws/dynamodb"))
}

func (spec *tableSpec) onDemand() bool { return spec.BillingMode == "PAY_PER_REQUEST" }

func (db *DB) createTable(spec *tableSpec) (operation, error) {
	t, err := spec.table()
	return operation{resource: t.name, run: func(j *job) (any, error) {
		if db.tables[t.name] != nil {
			return nil, failure("ResourceInUseException", "Table already exists: %s", t.name)
		}
		db.created++
		t.created, t.id = j.now, fmt.Sprintf("%08x-0000-4000-8000-%012x", db.created, j.now.Unix())
		db.tables[t.name] = t
		if s := spec.StreamSpecification; s != nil && s.StreamEnabled {
			t.stream = db.Streams.Open(j.now, t.source(s.StreamViewType))
		}
		return fields{"TableDescription": t.describe("CREATING")}, nil
	}}, err
}

type tableInput struct{ TableName *string }

// onExisting is an operation on a table as such. It consumes nothing.
func (db *DB) onExisting(in *tableInput, run func(*job, *table) (any, error)) (operation, error) {
	var c wire.Constraints
	name := tableName(&c, in.TableName)
	return operation{resource: name, run: func(j *job) (any, error) {
		t := db.tables[name]
		if t == nil {
			return nil, failure("ResourceNotFoundException", "Requested resource not found: Table: %s not found", name)
		}
		return run(j, t)
	}}, c.Err()
}

func (db *DB) describeTable(in *tableInput) (operation, error) {
	return db.onExisting(in, func(_ *job, t *table) (any, error) { return fields{"Table": t.describe("ACTIVE")}, nil })
}

func (db *DB) deleteTable(in *tableInput) (operation, error) {
	return db.onExisting(in, func(j *job, t *table) (any, error) {
		if t.spec.DeletionProtectionEnabled {
			return nil, wire.Validation("Resource cannot be deleted as it is currently protected against deletion. " +
				"Disable deletion protection first.")
		}
		delete(db.tables, t.name)
		t.stream.Close(j.now)
		return fields{"TableDescription": t.describe("DELETING")}, nil
	})
}

// names are the names of the tables, in order.
func (db *DB) names() []string { return slices.Sorted(maps.Keys(db.tables)) }

type listInput struct {
	ExclusiveStartTableName string
	Limit                   *int
}

func (db *DB) listTables(in *listInput) (operation, error) {
	var c wire.Constraints
	c.Number("limit", in.Limit, 1, 100)
	limit := wire.Given(in.Limit, 100)
	return operation{run: func(*job) (any, error) {
		names := db.names()
		first, found := slices.BinarySearch(names, in.ExclusiveStartTableName)
		if found {
			first++
		}
		names = names[first:]
		if len(names) <= limit {
			return fields{"TableNames": append([]string{}, names...)}, nil
		}
		return fields{"TableNames": names[:limit], "LastEvaluatedTableName": names[limit-1]}, nil
	}}, c.Err()
}
