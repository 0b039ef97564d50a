package ddb

import (
	"cmp"

	"github.com/landfall-dev/landfall/internal/lab/localaws/attr"
	"github.com/landfall-dev/landfall/internal/lab/localaws/ddb/expr"
	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/lab/localaws/ledger"
	"github.com/landfall-dev/landfall/internal/lab/localaws/wire"
)

// maxPage is how much a query or scan reads for one answer, before its filter. The item that exceeds it is the last
// one: full pages are known to consume 128.5 units, which is more than 1 MB.
const maxPage = 1 << 20

type pageAnswer struct {
	Items            []attr.Map `json:",omitzero"`
	Count            int
	ScannedCount     int
	LastEvaluatedKey attr.Map  `json:",omitempty"`
	ConsumedCapacity *consumed `json:",omitempty"`
}

// page is a Query or Scan that was checked as far as that needs no table.
type page struct {
	in         *params
	table      string
	keys       *expr.Condition // of a query
	filter     *expr.Condition
	projection *expr.Projection
	entered    []string // see expr.Scope
}

// paging is the operation Query, or Scan.
func paging(query bool) func(*DB, *params) (operation, error) {
	return func(db *DB, in *params) (operation, error) {
		p, err := in.page(query)
		return operation{resource: p.table, run: func(j *job) (any, error) { return db.read(j, p, query) }}, err
	}
}

// page checks the parameters.
func (in *params) page(query bool) (*page, error) {
	var c wire.Constraints
	p := &page{in: in, table: tableName(&c, in.TableName)}
	if query && in.Limit != nil { // the service words it differently for the two
		c.Between("Limit", "", "value", *in.Limit, 1, 1<<31-1)
	} else {
		c.Number("limit", in.Limit, 1, 1<<31-1)
	}
	checkCapacity(&c, in.ReturnConsumedCapacity)
	c.Enum("select", in.Select, "SPECIFIC_ATTRIBUTES", "COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES")
	c.Number("totalSegments", in.TotalSegments, 1, 1000000)
	c.Number("segment", in.Segment, 0, 999999)
	e := in.expressions(cmp.Or(c.Err(), in.checkShape(query)), map[string]*string{
		"KeyConditionExpression": in.KeyConditionExpression,
		"FilterExpression":       in.FilterExpression, "ProjectionExpression": in.ProjectionExpression,
	})
	filter := in.ScanFilter
	if query {
		filter = in.QueryFilter
	}
	p.filter = cmp.Or(parse(e, "FilterExpression", expr.ParseCondition), e.comparisons(filter, in.ConditionalOperator))
	p.projection = cmp.Or(parse(e, "ProjectionExpression", expr.ParseProjection), in.legacyProjection())
	if query && in.KeyConditionExpression == nil && len(in.KeyConditions) == 0 {
		return p, cmp.Or(e.err, error(wire.Validation("Either the KeyConditions or KeyConditionExpression parameter "+
			"must be specified in the request.")))
	}
	p.keys = cmp.Or(parse(e, "KeyConditionExpression", expr.ParseCondition), e.comparisons(in.KeyConditions, ""))
	p.entered = e.scope.Entered
	return p, e.end()
}

// checkShape finds parameters that contradict each other.
func (in *params) checkShape(query bool) error {
	segment, total := wire.Given(in.Segment, 0), wire.Given(in.TotalSegments, 0)
	return cmp.Or(
		wire.Forbid(in.Select == "SPECIFIC_ATTRIBUTES" && in.ProjectionExpression == nil && in.AttributesToGet == nil,
			"Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES"),
		wire.Forbid(in.ProjectionExpression != nil && in.Select != "" && in.Select != "SPECIFIC_ATTRIBUTES",
			"Cannot specify the ProjectionExpression when choosing to get %s", in.Select),
		wire.Forbid(in.AttributesToGet != nil && in.Select != "" && in.Select != "SPECIFIC_ATTRIBUTES",
			"Cannot specify the AttributesToGet when choosing to get %s", in.Select),
		wire.Forbid(in.Select == "ALL_PROJECTED_ATTRIBUTES" && in.IndexName == nil,
			"ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName"),
		wire.Forbid(!query && in.Segment != nil && in.TotalSegments == nil,
			"The TotalSegments parameter is required but was not present in the request when Segment parameter is "+
				"present"),
		wire.Forbid(!query && in.Segment == nil && in.TotalSegments != nil,
			"The Segment parameter is required but was not present in the request when parameter TotalSegments is "+
				"present"),
		wire.Forbid(!query && in.Segment != nil && segment >= total,
			"The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: %d is not "+
				"less than TotalSegments: %d", segment, total),
	)
}

// source is what a page is read from: a table or an index.
type source struct {
	table *table
	index *index // nil for the table
	key   keySchema
	order keySchema
	items *store
}

func (db *DB) source(j *job, p *page) (source, error) {
	t, err := db.table(p.table)
	if err == nil {
		err = t.checkPaths(p.entered)
	}
	if err != nil {
		return source{}, err
	}
	if p.in.IndexName == nil {
		return source{t, nil, t.key, t.key, &t.items}, nil
	}
	ix := t.index(*p.in.IndexName)
	if ix == nil {
		return source{}, wire.Validation("The table does not have the specified index: %s", *p.in.IndexName)
	}
	s := source{t, ix, ix.key, ix.order, &ix.items}
	if ix.local {
		return s, nil
	}
	if stale := j.fault.StaleIndex; stale > 0 {
		s.items = ix.asOf(j.now.Add(-min(stale, faults.MaxStale)))
	}
	missing := ix.lacks(p.projection)
	return s, cmp.Or(
		wire.Forbid(p.in.ConsistentRead, "Consistent reads are not supported on global secondary indexes"),
		wire.Forbid(p.in.Select == "ALL_ATTRIBUTES" && ix.keep != nil,
			invalidParameters+"Select type ALL_ATTRIBUTES is not supported for global secondary index %s because its "+
				"projection type is not ALL", ix.name),
		wire.Forbid(missing != "", invalidParameters+"Global secondary index %s does not project [%s]", ix.name, missing),
	)
}

// start is the position that an ExclusiveStartKey stands for.
func (s source) start(key attr.Map) (string, error) {
	if !s.order.within(key) {
		return "", wire.Validation("The provided starting key is invalid: The provided key element does not match the schema")
	}
	return s.order.position(key), wire.Forbid(len(key) != len(s.order.pick(key)), "The provided starting key is invalid")
}

// read answers a Query or Scan.
func (db *DB) read(j *job, p *page, query bool) (any, error) {
	s, err := db.source(j, p)
	if err != nil {
		return nil, err
	}
	span, err := s.span(p, query)
	if err != nil {
		return nil, err
	}
	answer, bytes, fetched := s.collect(p, span)
	cost := ledger.Cost{Table: s.table.name, Read: readUnits(bytes, p.in.ConsistentRead)}
	if s.index != nil {
		cost.Index = s.index.name
	}
	if query {
		if err := db.affordable(s.table, j.now, charge{cost, span.hash}); err != nil {
			return nil, err
		}
	}
	if j.costs = []ledger.Cost{cost}; fetched > 0 {
		j.costs = append(j.costs, ledger.Cost{Table: s.table.name, Read: fetched})
	}
	answer.ConsumedCapacity = db.one(p.in.ReturnConsumedCapacity, j.costs)
	return answer, nil
}

// collect reads a page. fetched is what it costs to fetch from the table what a local index does not have.
func (s source) collect(p *page, sp span) (answer pageAnswer, bytes int, fetched float64) {
	answer.Items = []attr.Map{}
	for e := range s.items.between(sp.low, sp.high, sp.down) {
		bytes += e.item.Size()
		answer.ScannedCount++
		item := e.item
		if s.fetches(p) {
			item = s.table.items.get(s.table.key.position(item))
			fetched += readUnits(item.Size(), p.in.ConsistentRead)
		}
		if p.filter == nil || p.filter.Matches(item) {
			if p.projection != nil {
				item = p.projection.Apply(item)
			}
			answer.Count++
			answer.Items = append(answer.Items, item)
		}
		if bytes > maxPage || p.in.Limit != nil && answer.ScannedCount == *p.in.Limit {
			answer.LastEvaluatedKey = s.order.pick(e.item)
			break
		}
	}
	if p.in.Select == "COUNT" {
		answer.Items = nil
	}
	return answer, bytes, fetched
}

// fetches reports whether a local index has to be completed from the table.
func (s source) fetches(p *page) bool {
	return s.index != nil && s.index.local && s.index.keep != nil &&
		(p.in.Select == "ALL_ATTRIBUTES" || s.index.lacks(p.projection) != "")
}
