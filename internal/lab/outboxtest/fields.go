package outboxtest

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/landfall-dev/landfall/internal/outbox"
)

// fields holds a store to keep every field. Rows, claims and settlements are filled by reflection, so that a field that
// is added to them is part of the suite at once.
func (h Harness) fields(t *testing.T) {
	h.each(t, "every field of a row, a claim and a settlement is kept", func(b *bench) {
		f := filler{b: b, read: map[string]bool{}, matters: map[string]bool{}}
		f.put()
		f.claim(func(c *outbox.Claim) {
			c.At, c.From = b.now.Add(-time.Minute), nil // the row is due by Due only
		})
		f.settle(func(s *outbox.Settlement) {
			s.From, s.Status, s.Lane = nil, outbox.StatusOutcomeUnknown, lane(outbox.UnknownLane)
			s.Certain, s.LookedUp, s.NewBudget, s.ExpiresAt = false, false, false, time.Time{}
		})
		f.settle(func(s *outbox.Settlement) {
			s.Status, s.Lane, s.LaneAt, s.ExpiresAt = outbox.StatusPending, lane(outbox.DueLane), b.now, time.Time{}
		})
		f.claim(func(c *outbox.Claim) { c.At = b.now })
		f.settle(func(s *outbox.Settlement) {
			s.From, s.Status, s.Lane, s.LaneAt = nil, outbox.StatusCompleted, outbox.Lane{}, time.Time{}
			s.Certain, s.LookedUp, s.NewBudget = false, false, false
		})
		f.complete(outbox.Row{}, f.read, "was not read back from the store", "Unreadable", "Seen")
		f.complete(outbox.Claim{}, f.matters, "makes no difference to Claim.Apply")
		f.complete(outbox.Settlement{}, f.matters, "makes no difference to Settlement.Apply")
	})
}

// filler fills values, each field with something else, and writes them.
type filler struct {
	b *bench
	n int
	// read are the fields of a row that were read back with a value, matters those of claims and settlements whose
	// absence leads to another row.
	read, matters map[string]bool
}

func (f *filler) put() {
	row := outbox.Row{}
	f.fill(&row)
	row.Status, row.Lane, row.LaneAt = outbox.StatusPending, lane(outbox.DueLane), f.b.now
	// A new row was never claimed, and only a row that has ended expires.
	row.Token, row.ClaimedBy, row.ClaimedAt, row.Until, row.Window, row.MaybeSince = "", "", time.Time{}, time.Time{}, 0, time.Time{}
	row.ExpiresAt = time.Time{}
	f.b.put(row)
	f.stored(row)
}

func (f *filler) claim(change func(*outbox.Claim)) {
	stored := f.b.get()
	c := outbox.Claim{From: &stored}
	f.fill(&c)
	c.Due = f.b.now
	change(&c)
	want, err := c.Apply(stored)
	if err != nil {
		f.b.t.Fatal(err)
	}
	f.without(c, want, func(v any) (outbox.Row, error) { return v.(outbox.Claim).Apply(stored) })
	got, err := f.b.subject.Store.Claim(f.b.t.Context(), c)
	if err != nil {
		f.b.t.Fatal(err)
	}
	f.b.same("the row that the claim returned", want, got)
	f.stored(want)
}

func (f *filler) settle(change func(*outbox.Settlement)) {
	stored := f.b.get()
	s := outbox.Settlement{From: &stored}
	f.fill(&s)
	s.Token = stored.Token
	change(&s)
	want, err := s.Apply(stored)
	if err != nil {
		f.b.t.Fatal(err)
	}
	f.without(s, want, func(v any) (outbox.Row, error) { return v.(outbox.Settlement).Apply(stored) })
	f.b.settled(s)
	f.stored(want)
}

// stored compares the stored row with what it must be, and notes which fields have a value.
func (f *filler) stored(want outbox.Row) {
	f.b.t.Helper()
	got := f.b.get()
	f.b.same("the stored row", want, got)
	leaves(reflect.ValueOf(&got).Elem(), "", func(path string, v reflect.Value) {
		f.read[path] = f.read[path] || !v.IsZero()
	})
}

// without applies the write once without each of its fields, and notes which of them made a difference.
func (f *filler) without(write any, want outbox.Row, apply func(any) (outbox.Row, error)) {
	all := reflect.New(reflect.TypeOf(write)).Elem()
	all.Set(reflect.ValueOf(write))
	leaves(all, "", func(path string, v reflect.Value) {
		was := reflect.ValueOf(v.Interface())
		if v.IsZero() {
			return
		}
		v.SetZero()
		got, err := apply(all.Interface())
		v.Set(was)
		if err != nil || !reflect.DeepEqual(got, want) {
			f.matters[all.Type().Name()+"."+path] = true
		}
	})
}

// complete fails for each field of the value's type that is not noted.
func (f *filler) complete(value any, noted map[string]bool, problem string, except ...string) {
	v := reflect.New(reflect.TypeOf(value)).Elem()
	leaves(v, "", func(path string, _ reflect.Value) {
		if !noted[path] && !noted[v.Type().Name()+"."+path] && !slices.Contains(except, path) {
			f.b.t.Errorf("%s.%s %s", v.Type().Name(), path, problem)
		}
	})
}

// leaves visits the fields of a struct, and those of structs within it. The ID names the row and is no part of it.
func leaves(v reflect.Value, path string, visit func(path string, v reflect.Value)) {
	for i := range v.NumField() {
		field, name := v.Field(i), path+v.Type().Field(i).Name
		switch field.Interface().(type) {
		case outbox.ID:
		case time.Time:
			visit(name, field)
		default:
			if field.Kind() == reflect.Struct {
				leaves(field, name+".", visit)
			} else {
				visit(name, field)
			}
		}
	}
}

// fill gives each field a value of its own; times are ahead, and pointers and interfaces stay as they are.
func (f *filler) fill(value any) {
	v := reflect.ValueOf(value).Elem()
	v.FieldByName("ID").Set(reflect.ValueOf(f.b.id))
	leaves(v, "", func(path string, v reflect.Value) {
		f.n++
		switch v.Interface().(type) {
		case time.Time:
			v.Set(reflect.ValueOf(f.b.now.Add(time.Duration(f.n) * time.Minute).Truncate(time.Second)))
			return
		case outbox.Window:
			v.SetInt(int64(f.n) * int64(time.Second))
			return
		}
		switch v.Kind() {
		case reflect.String:
			v.SetString(fmt.Sprint(path, f.n))
		case reflect.Int, reflect.Int64:
			v.SetInt(int64(f.n))
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Slice:
			v.SetBytes(fmt.Append(nil, path, f.n))
		case reflect.Map:
			v.Set(reflect.ValueOf(map[string]string{path: path}))
		case reflect.Pointer, reflect.Interface:
		default:
			f.b.t.Fatalf("%s is of type %s: teach the suite to fill it", path, v.Type())
		}
	})
}
