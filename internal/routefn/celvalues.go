package routefn

import (
	"errors"
	"reflect"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/landfall-dev/landfall/internal/routing"
)

// activation gives an expression its variables, each made when it is first asked for.
type activation struct {
	question            routing.Question
	message, attributes ref.Val
	consumers           ref.Val
}

func newActivation(q routing.Question) *activation { return &activation{question: q} }

// ResolveName implements [cel.Activation].
func (a *activation) ResolveName(name string) (any, bool) {
	switch name {
	case "message":
		if a.message == nil {
			a.message = &fields{all: a.question.Message.Fields}
		}
		return a.message, true
	case "attributes":
		if a.attributes == nil {
			a.attributes = attributes(a.question.Message.Attributes)
		}
		return a.attributes, true
	case "consumers":
		if a.consumers == nil {
			all := make([]consumer, len(a.question.Candidates))
			values := make([]ref.Val, len(a.question.Candidates))
			for i := range a.question.Candidates {
				all[i].consumer = &a.question.Candidates[i]
				values[i] = &all[i]
			}
			a.consumers = types.NewRefValList(types.DefaultTypeAdapter, values)
		}
		return a.consumers, true
	case "attempt":
		return types.Int(a.question.Attempt), true
	}
	return nil, false
}

// Parent implements [cel.Activation].
func (a *activation) Parent() cel.Activation { return nil }

// fields are the fields of a message as a CEL map. A missing field is errMissing, which predicates recognise. It does not
// implement [traits.Mapper], whose missing keys have an error of their own.
type fields struct {
	all routing.Fields
	// made are the values that were asked for, in the order of the fields.
	made []ref.Val
}

// attributes are those of a message, likewise.
func attributes(all map[string]string) ref.Val {
	f := make(routing.Fields, 0, len(all))
	for name, text := range all {
		f = append(f, routing.Field{Name: name, Value: routing.Value{Kind: routing.TextValue, Text: text}})
	}
	f.Sort()
	return &fields{all: f}
}

var fieldsType = types.NewMapType(types.StringType, types.DynType)

// Get implements [traits.Indexer].
func (f *fields) Get(index ref.Val) ref.Val {
	name, ok := index.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(index)
	}
	i, found := f.all.Index(string(name))
	if !found {
		return types.WrapErr(errMissing)
	}
	if f.made == nil {
		f.made = make([]ref.Val, len(f.all))
	}
	if f.made[i] == nil {
		f.made[i] = valueOf(f.all[i].Value)
	}
	return f.made[i]
}

// IsSet implements [traits.FieldTester].
func (f *fields) IsSet(field ref.Val) ref.Val { return f.Contains(field) }

// Contains implements [traits.Container].
func (f *fields) Contains(value ref.Val) ref.Val {
	name, ok := value.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(value)
	}
	_, found := f.all.Index(string(name))
	return types.Bool(found)
}

// Size implements [traits.Sizer].
func (f *fields) Size() ref.Val { return types.Int(len(f.all)) }

// Iterator implements [traits.Iterable]: over the names.
func (f *fields) Iterator() traits.Iterator {
	names := make([]string, len(f.all))
	for i, field := range f.all {
		names[i] = field.Name
	}
	return types.NewStringList(types.DefaultTypeAdapter, names).Iterator()
}

// Equal implements [ref.Val]. Messages are not compared as a whole.
func (f *fields) Equal(ref.Val) ref.Val { return types.NoSuchOverloadErr() }

// Type implements [ref.Val].
func (f *fields) Type() ref.Type { return fieldsType }

// Value implements [ref.Val].
func (f *fields) Value() any { return f.all }

// ConvertToNative implements [ref.Val].
func (f *fields) ConvertToNative(reflect.Type) (any, error) {
	return nil, errors.New("the fields of a message are not converted")
}

// ConvertToType implements [ref.Val].
func (f *fields) ConvertToType(t ref.Type) ref.Val {
	if t == types.TypeType {
		return fieldsType
	}
	return types.NoSuchOverloadErr()
}

func valueOf(v routing.Value) ref.Val {
	switch v.Kind {
	case routing.TextValue:
		return types.String(v.Text)
	case routing.IntValue:
		return types.Int(v.Int)
	case routing.FloatValue:
		return types.Double(v.Float)
	case routing.BoolValue:
		return types.Bool(v.Bool)
	}
	return types.NullValue
}

// consumer is a candidate as a CEL object.
type consumer struct{ consumer *routing.Consumer }

// consumerName cannot be written in an expression, so that none can make a consumer.
const consumerName = "@consumer"

var consumerType = types.NewObjectType(consumerName)

// consumerFields are the fields of a consumer. Their names are public.
var consumerFields = map[string]struct {
	is   *types.Type
	from func(*routing.Consumer) ref.Val
}{
	"id":                 {types.StringType, func(c *routing.Consumer) ref.Val { return types.String(c.ID) }},
	"current_in_flight":  {types.IntType, func(c *routing.Consumer) ref.Val { return types.Int(c.CurrentInFlight) }},
	"max_in_flight":      {types.IntType, func(c *routing.Consumer) ref.Val { return types.Int(c.MaxInFlight) }},
	"available_capacity": {types.IntType, func(c *routing.Consumer) ref.Val { return types.Int(c.AvailableCapacity()) }},
	"has_capacity":       {types.BoolType, func(c *routing.Consumer) ref.Val { return types.Bool(c.HasCapacity()) }},
	"buffer_depth":       {types.IntType, func(c *routing.Consumer) ref.Val { return types.Int(c.BufferDepth) }},
	"weight":             {types.IntType, func(c *routing.Consumer) ref.Val { return types.Int(max(1, c.Weight)) }},
	"tags":               {types.NewListType(types.StringType), func(c *routing.Consumer) ref.Val { return types.NewStringList(types.DefaultTypeAdapter, c.Tags) }},
}

// consumerTypes knows consumers beside the types of CEL.
type consumerTypes struct{ *types.Registry }

// FindStructType implements [types.Provider].
func (p consumerTypes) FindStructType(name string) (*types.Type, bool) {
	if name == consumerName {
		return types.NewTypeTypeWithParam(consumerType), true
	}
	return p.Registry.FindStructType(name)
}

// FindStructFieldType implements [types.Provider].
func (p consumerTypes) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	if name != consumerName {
		return p.Registry.FindStructFieldType(name, field)
	}
	f, found := consumerFields[field]
	if !found {
		return nil, false
	}
	return &types.FieldType{
		Type:    f.is,
		IsSet:   func(any) bool { return true },
		GetFrom: func(target any) (any, error) { return f.from(target.(*routing.Consumer)), nil },
	}, true
}

// Get implements [traits.Indexer], for expressions whose types are not known beforehand.
func (c *consumer) Get(index ref.Val) ref.Val {
	name, ok := index.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(index)
	}
	f, found := consumerFields[string(name)]
	if !found {
		return types.NewErr("a consumer has no such field")
	}
	return f.from(c.consumer)
}

// IsSet implements [traits.FieldTester].
func (c *consumer) IsSet(field ref.Val) ref.Val {
	name, ok := field.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(field)
	}
	_, found := consumerFields[string(name)]
	return types.Bool(found)
}

// Equal implements [ref.Val].
func (c *consumer) Equal(other ref.Val) ref.Val {
	o, ok := other.(*consumer)
	return types.Bool(ok && c.consumer.ID == o.consumer.ID)
}

// Type implements [ref.Val].
func (c *consumer) Type() ref.Type { return consumerType }

// Value implements [ref.Val].
func (c *consumer) Value() any { return c.consumer }

// ConvertToNative implements [ref.Val].
func (c *consumer) ConvertToNative(reflect.Type) (any, error) {
	return nil, errors.New("a consumer is not converted")
}

// ConvertToType implements [ref.Val].
func (c *consumer) ConvertToType(t ref.Type) ref.Val {
	if t == types.TypeType {
		return consumerType
	}
	return types.NoSuchOverloadErr()
}
