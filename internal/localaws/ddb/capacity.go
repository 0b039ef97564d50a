package ddb

import (
	"time"

	"github.com/landfall-dev/landfall/internal/localaws/ddb/attr"
	"github.com/landfall-dev/landfall/internal/localaws/ledger"
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

// cost is what a change consumes. A transaction pays twice for the table, not for its indexes.
func (c change) cost(factor float64) []ledger.Cost {
	bytes := max(c.old.Size(), c.new.Size())
	costs := []ledger.Cost{{Table: c.table.name, Write: factor * writeUnits(bytes)}}
	for _, ix := range c.table.indexes {
		if units := ix.writeUnits(ix.entry(c.old), ix.entry(c.new)); units > 0 {
			costs = append(costs, ledger.Cost{Table: c.table.name, Index: ix.name, Write: units})
		}
	}
	return costs
}

// refused is what a write consumes that its condition forbids.
func (c change) refused(factor float64) []ledger.Cost {
	return []ledger.Cost{{Table: c.table.name, Write: factor * writeUnits(c.old.Size())}}
}

func (ix *index) writeUnits(old, entry attr.Map) float64 {
	switch {
	case old == nil && entry == nil:
		return 0
	case old == nil:
		return writeUnits(entry.Size())
	case entry == nil:
		return writeUnits(old.Size())
	case ix.position(old) != ix.position(entry):
		return writeUnits(old.Size()) + writeUnits(entry.Size())
	case attr.Equal(old, entry):
		return 0
	}
	return writeUnits(max(old.Size(), entry.Size()))
}

// spending is what the partition keys of a table consumed in the current second.
type spending struct {
	second int64
	units  map[spender]float64
}

type spender struct {
	index string
	key   string // encoded partition key
	write bool
}

// What one partition gives in a second.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html
const (
	partitionWrites = 1000
	partitionReads  = 3000
)

// charge adds units to what spenders consumed, or, if one of them would exceed its limit, to none and says false.
func (s *spending) charge(now time.Time, bill map[spender]float64) bool {
	if second := now.Unix(); second != s.second || s.units == nil {
		s.second, s.units = second, map[spender]float64{}
	}
	for who, units := range bill {
		limit := float64(partitionReads)
		if who.write {
			limit = partitionWrites
		}
		if s.units[who]+units > limit && s.units[who] > 0 {
			return false
		}
	}
	for who, units := range bill {
		s.units[who] += units
	}
	return true
}

// bill is what a change consumes, by partition key. The back-pressure of an index throttles the write to its table.
func (c change) bill(factor float64) map[spender]float64 {
	item := c.new
	if item == nil {
		item = c.old
	}
	bill := map[spender]float64{}
	if item != nil {
		bill[spender{"", string(partition(item[c.table.key.hash.name])), true}] = factor * writeUnits(max(c.old.Size(), c.new.Size()))
	}
	for _, ix := range c.table.indexes {
		old, entry := ix.entry(c.old), ix.entry(c.new)
		if old != nil && entry != nil && ix.position(old) == ix.position(entry) {
			bill[spender{ix.name, string(partition(entry[ix.key.hash.name])), true}] += ix.writeUnits(old, entry)
			continue
		}
		for _, e := range []attr.Map{old, entry} {
			if e != nil {
				bill[spender{ix.name, string(partition(e[ix.key.hash.name])), true}] += writeUnits(e.Size())
			}
		}
	}
	return bill
}

// consumed is the ConsumedCapacity of one table in an answer.
type consumed struct {
	TableName              string
	CapacityUnits          float64
	ReadCapacityUnits      *float64          `json:",omitempty"`
	WriteCapacityUnits     *float64          `json:",omitempty"`
	Table                  *units            `json:",omitempty"`
	LocalSecondaryIndexes  map[string]*units `json:",omitempty"`
	GlobalSecondaryIndexes map[string]*units `json:",omitempty"`
}

type units struct {
	CapacityUnits      float64
	ReadCapacityUnits  *float64 `json:",omitempty"`
	WriteCapacityUnits *float64 `json:",omitempty"`
}

func (u *units) add(c ledger.Cost, split bool) {
	u.CapacityUnits += c.Read + c.Write
	if split {
		u.ReadCapacityUnits = plus(u.ReadCapacityUnits, c.Read)
		u.WriteCapacityUnits = plus(u.WriteCapacityUnits, c.Write)
	}
}

// plus counts only what there is some of: an answer has no zero of the other kind.
func plus(sum *float64, n float64) *float64 {
	if n == 0 {
		return sum
	}
	if sum != nil {
		n += *sum
	}
	return &n
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
			sum = &consumed{TableName: c.Table}
			byTable[c.Table] = sum
			list = append(list, sum)
		}
		total := units{sum.CapacityUnits, sum.ReadCapacityUnits, sum.WriteCapacityUnits}
		total.add(c, split)
		sum.CapacityUnits, sum.ReadCapacityUnits, sum.WriteCapacityUnits = total.CapacityUnits, total.ReadCapacityUnits, total.WriteCapacityUnits
		if asked == "INDEXES" {
			db.part(sum, c).add(c, split)
		}
	}
	return list
}

// part is the part of a table's consumption that a cost belongs to.
func (db *DB) part(sum *consumed, c ledger.Cost) *units {
	if sum.Table == nil {
		sum.Table = &units{}
	}
	if c.Index == "" {
		return sum.Table
	}
	group := &sum.GlobalSecondaryIndexes
	if t := db.tables[c.Table]; t != nil {
		if ix := t.index(c.Index); ix != nil && ix.local {
			group = &sum.LocalSecondaryIndexes
		}
	}
	if *group == nil {
		*group = map[string]*units{}
	}
	if (*group)[c.Index] == nil {
		(*group)[c.Index] = &units{}
	}
	return (*group)[c.Index]
}

// one is the consumption of an operation on a single table.
func (db *DB) one(asked string, costs []ledger.Cost) *consumed {
	if list := db.consumption(asked, costs, false); len(list) > 0 {
		return list[0]
	}
	return nil
}
