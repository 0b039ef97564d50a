package ddb

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/landfall-dev/landfall/internal/lab/localaws/attr"
	"github.com/landfall-dev/landfall/internal/lab/localaws/ddb/expr"
	"github.com/landfall-dev/landfall/internal/lab/localaws/wire"
)

// params are the parameters of a read, a write or a page, each of which looks at its own. They are one type because the
// parameters of expressions, and those that expressions have replaced, are the same everywhere.
type params struct {
	TableName                 *string           `json:",omitempty"`
	ConditionExpression       *string           `json:",omitempty"`
	FilterExpression          *string           `json:",omitempty"`
	KeyConditionExpression    *string           `json:",omitempty"`
	ProjectionExpression      *string           `json:",omitempty"`
	UpdateExpression          *string           `json:",omitempty"`
	ExpressionAttributeNames  map[string]string `json:",omitempty"`
	ExpressionAttributeValues values            `json:",omitempty"`
	ReturnConsumedCapacity    string            `json:",omitempty"`

	// Of reads and pages.
	Keys              []attr.Map `json:",omitempty"` // of one table in a BatchGetItem
	ConsistentRead    bool       `json:",omitempty"`
	ExclusiveStartKey attr.Map   `json:",omitempty"`
	IndexName         *string    `json:",omitempty"`
	Limit             *int       `json:",omitempty"`
	ScanIndexForward  *bool      `json:",omitempty"`
	Segment           *int       `json:",omitempty"`
	Select            string     `json:",omitempty"`
	TotalSegments     *int       `json:",omitempty"`

	// Of writes; Key of the read of one item, too.
	Item                                attr.Map `json:",omitempty"`
	Key                                 attr.Map `json:",omitempty"`
	ReturnValues                        string   `json:",omitempty"`
	ReturnItemCollectionMetrics         string   `json:",omitempty"`
	ReturnValuesOnConditionCheckFailure string   `json:",omitempty"`

	// What expressions have replaced. The object mappers of the SDKs for .NET and Java still send it.
	AttributesToGet     []string                   `json:",omitempty"`
	AttributeUpdates    map[string]attributeUpdate `json:",omitempty"`
	ConditionalOperator string                     `json:",omitempty"`
	Expected            map[string]comparison      `json:",omitempty"`
	KeyConditions       map[string]comparison      `json:",omitempty"`
	QueryFilter         map[string]comparison      `json:",omitempty"`
	ScanFilter          map[string]comparison      `json:",omitempty"`
}

// values are placeholders for values; what is wrong with one is said with its name.
type values attr.Map

// UnmarshalJSON reads them.
func (v *values) UnmarshalJSON(data []byte) error {
	err := (*attr.Map)(v).UnmarshalJSON(data)
	var bad *attr.InvalidError
	if errors.As(err, &bad) {
		return wire.Validation("ExpressionAttributeValues contains invalid value: %s for key %s", bad.Message, bad.Key)
	}
	return err
}

// MarshalJSON writes them.
func (v values) MarshalJSON() ([]byte, error) { return attr.Map(v).MarshalJSON() }

// expressions are those of a request, which share its placeholders. Nothing is parsed after the first error.
type expressions struct {
	text  map[string]*string // by parameter; nil for one that the request may have and has not
	scope *expr.Scope
	err   error
}

// expressions checks what the expressions of a request share, unless err says that it is refused already.
func (p *params) expressions(err error, text map[string]*string) *expressions {
	var given, absent []string
	for _, parameter := range slices.Sorted(maps.Keys(text)) {
		if text[parameter] != nil {
			given = append(given, parameter)
		} else {
			absent = append(absent, parameter)
		}
	}
	names, values := p.ExpressionAttributeNames, p.ExpressionAttributeValues
	err = cmp.Or(err, p.checkLegacy(given),
		checkPlaceholders("ExpressionAttributeNames", '#', names, given, absent),
		checkPlaceholders("ExpressionAttributeValues", ':', values, given, absent))
	for _, k := range slices.Sorted(maps.Keys(names)) {
		err = cmp.Or(err, wire.Forbid(names[k] == "",
			"ExpressionAttributeNames contains invalid value: Empty attribute name for key %s", k),
			wire.Forbid(len(names[k]) > attr.MaxName,
				"ExpressionAttributeNames contains invalid value: Attribute name is too large, must be less than %d bytes for key %s", attr.MaxName+1, k))
	}
	return &expressions{text, &expr.Scope{Names: names, Values: attr.Map(values)}, err}
}

func checkPlaceholders[V any](parameter string, mark byte, declared map[string]V, given, absent []string) error {
	switch {
	case declared == nil:
		return nil
	case len(given) == 0 && len(absent) == 1:
		return wire.Validation("%s can only be specified when using expressions: %s is null", parameter, absent[0])
	case len(given) == 0:
		return wire.Validation("%s can only be specified when using expressions: %s are null",
			parameter, strings.Join(absent, " and "))
	case len(declared) == 0:
		return wire.Validation("%s must not be empty", parameter)
	}
	for _, k := range slices.Sorted(maps.Keys(declared)) {
		if len(k) < 2 || k[0] != mark {
			return wire.Validation("%s contains invalid key: Syntax error; key: \"%s\"", parameter, k)
		}
	}
	return nil
}

// parse parses an expression of the request; nil if it has none, or none that is right.
func parse[T any](e *expressions, parameter string, parser func(string, *expr.Scope) (*T, error)) *T {
	text := e.text[parameter]
	if e.err != nil || text == nil {
		return nil
	}
	parsed, err := parser(*text, e.scope)
	e.err = invalid("Invalid "+parameter+": ", err)
	return parsed
}

// end is what is wrong with the expressions, all of which were parsed.
func (e *expressions) end() error { return cmp.Or(e.err, invalid("", e.scope.Unused())) }
