package ddb

import (
	"cmp"
	"maps"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/localaws/attr"
	"github.com/landfall-dev/landfall/internal/lab/localaws/ledger"
)

// The rules are those of
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html and, for indexes,
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html#GSI.ThroughputConsiderations.Writes

const (
	writeUnit = 1 << 10 // bytes
	readUnit  = 4 << 10
)

func writeUnits(bytes int) float64 { return float64(max(1, (bytes+writeUnit-1)/writeUnit)) }

// readUnits is what reading so many bytes costs: half, if not consistent. Nothing costs as much as something.
func readUnits(bytes int, consistent bool) float64 {
	units := float64(max(1, (bytes+readUnit-1)/readUnit))
	if consistent {
		return units
	}
	return units / 2
}

// charge is a cost and the hash key of the partition that bears it.
type charge struct {
	cost ledger.Cost
	hash attr.Value
}

// charges is what a change consumes. A transaction pays twice for the table (factor 2), not for its indexes.
func (c change) charges(factor float64) []charge {
	item, t := c.item(), c.table
	units := factor * writeUnits(max(c.old.Size(), c.new.Size()))
	list := []charge{{ledger.Cost{Table: t.name, Write: units}, item[t.key[0].name]}}
	for _, ix := range t.indexes {
		goes, comes, replaced := ix.effect(c)
		for _, e := range []attr.Map{goes, comes} {
			if e != nil {
				units := writeUnits(max(replaced, e.Size()))
				list = append(list, charge{ledger.Cost{Table: t.name, Index: ix.name, Write: units}, e[ix.key[0].name]})
			}
		}
	}
	return list
}

// costsOf adds up charges to one table and each of its indexes.
func costsOf(charges []charge) []ledger.Cost {
	var list []ledger.Cost
	for _, c := range charges {
		if last := len(list) - 1; last >= 0 && list[last].Index == c.cost.Index && list[last].Table == c.cost.Table {
			list[last].Write += c.cost.Write
			list[last].Read += c.cost.Read
			continue
		}
		list = append(list, c.cost)
	}
	return list
}

// What one partition gives in a second.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html
const (
	partitionWrites = 1000
	partitionReads  = 3000
)

// spending is what the partitions of a table, and of its indexes, gave in the current second.
type spending struct {
	second int64
	units  map[string]ledger.Cost
}

// spend takes charges from their partitions, or, if one of them has not enough left, from none and says false. The
// back-pressure of an index throttles the write to its table.
func (s *spending) spend(now time.Time, charges []charge) bool {
	if second := now.Unix(); second != s.second || s.units == nil {
		s.second, s.units = second, map[string]ledger.Cost{}
	}
	after := map[string]ledger.Cost{}
	for _, c := range charges {
		partition := c.cost.Index + "/" + string(partition(c.hash))
		spent, ok := after[partition]
		if !ok {
			spent = s.units[partition]
		}
		if spent.Write > 0 && spent.Write+c.cost.Write > partitionWrites || spent.Read > 0 && spent.Read+c.cost.Read > partitionReads {
			return false
		}
		after[partition] = ledger.Cost{Read: spent.Read + c.cost.Read, Write: spent.Write + c.cost.Write}
	}
	maps.Copy(s.units, after)
	return true
}

// consumed is the ConsumedCapacity of one table in an answer, or a part of it: that of the table itself or of an index.
type consumed struct {
	TableName              string `json:",omitempty"`
	CapacityUnits          float64
	ReadCapacityUnits      float64              `json:",omitempty"`
	WriteCapacityUnits     float64              `json:",omitempty"`
	Table                  *consumed            `json:",omitempty"`
	LocalSecondaryIndexes  map[string]*consumed `json:",omitempty"`
	GlobalSecondaryIndexes map[string]*consumed `json:",omitempty"`
}

func (u *consumed) add(c ledger.Cost, split bool) {
	u.CapacityUnits += c.Read + c.Write
	if split {
		u.ReadCapacityUnits += c.Read
		u.WriteCapacityUnits += c.Write
	}
}

// consumption is what an answer says of costs, by table in the order of their first cost: nothing unless asked for.
// Transactions tell reads and writes apart.
func (db *DB) consumption(asked string, costs []ledger.Cost, split bool) []*consumed {
	if asked != "TOTAL" && asked != "INDEXES" {
		return nil
	}
	var list []*consumed
	byTable := map[string]*consumed{}
	for _, c := range costs {
		sum := byTable[c.Table]
		if sum == nil {
			sum = &consumed{
				TableName:             c.Table,
				LocalSecondaryIndexes: map[string]*consumed{}, GlobalSecondaryIndexes: map[string]*consumed{},
			}
			byTable[c.Table] = sum
			list = append(list, sum)
		}
		sum.add(c, split)
		if asked == "INDEXES" {
			db.part(sum, c).add(c, split)
		}
	}
	return list
}

// part is the part of a table's consumption that a cost belongs to.
func (db *DB) part(sum *consumed, c ledger.Cost) *consumed {
	sum.Table = cmp.Or(sum.Table, &consumed{})
	if c.Index == "" {
		return sum.Table
	}
	group := sum.GlobalSecondaryIndexes
	if t := db.tables[c.Table]; t != nil {
		if ix := t.index(c.Index); ix != nil && ix.local {
			group = sum.LocalSecondaryIndexes
		}
	}
	group[c.Index] = cmp.Or(group[c.Index], &consumed{})
	return group[c.Index]
}

// one is the consumption of an operation on a single table.
func (db *DB) one(asked string, costs []ledger.Cost) *consumed {
	if list := db.consumption(asked, costs, false); len(list) > 0 {
		return list[0]
	}
	return nil
}
