package routingtest

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/landfall-dev/landfall/internal/routing"
)

// Fill sets every field of a struct, and of the structs in it, to a value other than zero that no other field has. A slice
// gets one element. Times are whole seconds. It fails for a kind of field that it does not know.
func Fill(t testing.TB, pointer any) {
	t.Helper()
	n := 0
	fill(t, reflect.ValueOf(pointer).Elem(), &n)
}

func fill(t testing.TB, v reflect.Value, n *int) {
	t.Helper()
	if *n++; v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.Unix(1764441600+int64(*n), 0)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprint("text-", *n))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0), n)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i), n)
		}
	default:
		t.Fatalf("Fill does not know how to set a %s", v.Type())
	}
}

// fields makes moves that together set every field of a move, a receipt and a past attempt. A field that no move sets
// fails here: the suite would not notice a store that loses it.
func (h Harness) fields(t *testing.T) {
	h.each(t, "every field of a receipt and of a move is stored", func(b *bench) {
		set := map[string]bool{}
		write := func(m routing.Move) routing.Receipt {
			want, err := m.Apply(b.get())
			if err != nil {
				b.t.Fatalf("%s: %v", m.Kind, err)
			}
			b.same("the receipt that the write returned", want, b.made(m))
			stored := b.get()
			b.same("the stored receipt", want, stored)
			noteFields(set, m)
			noteFields(set, stored)
			for _, past := range stored.History {
				noteFields(set, past)
			}
			return stored
		}
		write(b.move(routing.Extend, write(b.move(routing.Assign, b.get()))))
		extend := b.move(routing.Extend, write(b.move(routing.Reassign, b.get())))
		extend.NotTaken = true
		write(b.move(routing.Accept, write(extend)))

		b.id.Message = "on-delivery"
		assign := b.move(routing.Assign, b.get())
		assign.OnDelivery = true
		write(b.move(routing.Kill, write(b.move(routing.MarkAgain, write(assign)))))

		for _, of := range []reflect.Type{reflect.TypeFor[routing.Move](), reflect.TypeFor[routing.Receipt](), reflect.TypeFor[routing.Past]()} {
			for i := range of.NumField() {
				if name := fieldName(of, i); !set[name] {
					b.t.Errorf("no move of the suite sets %s: add one, so that stores are held to it", name)
				}
			}
		}
	})
}

// noteFields notes the fields that are not zero.
func noteFields(set map[string]bool, of any) {
	v := reflect.ValueOf(of)
	for i := range v.NumField() {
		if !v.Field(i).IsZero() {
			set[fieldName(v.Type(), i)] = true
		}
	}
}

func fieldName(of reflect.Type, i int) string { return of.Name() + "." + of.Field(i).Name }
