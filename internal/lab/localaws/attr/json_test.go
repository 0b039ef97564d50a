package attr

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestItemKeepsItsValueThroughJSON(t *testing.T) {
	t.Parallel()
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	numbers, _ := NewSet(TypeN, []Value{NumberOf(10), NumberOf(-2), NumberOf(9)})
	binaries, _ := NewSet(TypeB, []Value{Binary(all), Binary("")})
	item := Map{
		"s": String("ü \" \\ \n \x00 \u2028 😀"), "empty": String(""), "n": NumberOf(-42), "b": Binary(all),
		"t": Bool(true), "f": Bool(false), "null": Null{}, "l": List{String("a"), List{}, Map{}}, "m": Map{"": String("no name")},
		"ns": numbers, "bs": binaries,
	}
	text, err := json.Marshal(item)
	if err != nil {
		t.Fatal(err)
	}
	var back Map
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if !Equal(item, back) {
		t.Error(cmp.Diff(item, back, cmp.AllowUnexported(Number{})))
	}
}

func TestBadValueIsRefused(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return strings.Repeat(`{"L":[`, n) + strings.Repeat(`]}`, n) }
	for _, c := range []struct{ value, message string }{
		{`{}`, "Supplied AttributeValue is empty"},
		{`{"S":null}`, "Supplied AttributeValue is empty"},
		{`{"X":"a"}`, "Supplied AttributeValue is empty"},
		{`{"S":"a","N":"1"}`, "more than one datatypes"},
		{`{"NULL":false}`, "must have the value of true"},
		{`{"N":"x"}`, "cannot be converted to a numeric value"},
		{`{"N":""}`, "cannot be converted to a numeric value"},
		{`{"SS":[]}`, "An string set  may not be empty"},
		{`{"NS":[]}`, "An number set  may not be empty"},
		{`{"BS":[]}`, "Binary sets should not be empty"},
		{`{"SS":["a","b","a"]}`, "[a, b, a] contains duplicates"},
		{`{"NS":["1","1.0"]}`, "contains duplicates"},
		{`{"S":1}`, "cannot unmarshal number"},
		{`{"S":{}}`, "cannot unmarshal object"},
		{`{"BOOL":"true"}`, "cannot unmarshal string"},
		{`{"SS":"a"}`, "cannot unmarshal string"},
		{`{"B":"***"}`, "base64"},
		{`"a"`, "cannot unmarshal string"},
		{`["a"]`, "cannot unmarshal array"},
		{deep(33), "Nesting Levels"},
	} {
		var m Map
		err := json.Unmarshal([]byte(`{"a":`+c.value+`}`), &m)
		if err == nil || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%.60s: %v, want %q", c.value, err, c.message)
		}
	}
	var m Map
	if err := json.Unmarshal([]byte(`{"a":`+deep(32)+`}`), &m); err != nil || Depth(m["a"]) != 32 {
		t.Errorf("32 levels: %v", err)
	}
}

func TestInvalidValueIsReportedWithItsName(t *testing.T) {
	t.Parallel()
	var m Map
	var invalid *InvalidError
	if err := json.Unmarshal([]byte(`{"fine":{"S":"a"},"outer":{"M":{"inner":{"N":"x"}}}}`), &m); !errors.As(err, &invalid) || invalid.Key != "outer" {
		t.Errorf("%v", err)
	}
}

func TestSizesAreAsPublished(t *testing.T) {
	t.Parallel()
	set, _ := NewSet(TypeS, []Value{String("ab"), String("c")})
	for _, c := range []struct {
		v    Value
		size int
	}{
		{String(""), 0}, {String("aü"), 3}, {Binary("abc"), 3}, {Bool(true), 1}, {Null{}, 1},
		{NumberOf(0), 1}, {NumberOf(1), 2}, {NumberOf(12), 2}, {NumberOf(123), 3}, {NumberOf(1200), 2}, {NumberOf(-12), 3},
		{List{}, 3}, {List{String("ab"), NumberOf(1)}, 3 + 2 + 1 + 2 + 1}, {Map{}, 3}, {Map{"key": String("ab")}, 3 + 3 + 2 + 1}, {set, 3},
	} {
		if got := Size(c.v); got != c.size {
			t.Errorf("Size(%v) = %d, want %d", c.v, got, c.size)
		}
	}
	for text, size := range map[string]int{ // measured on the service
		"0042": 2, "1010": 3, "0.0000001": 2, "1E125": 2, "1E-100": 2, "1.5": 3, "1.234": 4, "3.14159": 5, "100.5": 4, "0.15": 2, "-0.15": 3, "-42": 3, "-1E125": 3, "-0": 1,
		"1234567890123456789": 11, "12345678901234567890123456789012345678": 20,
	} {
		if n, err := ParseNumber(text); err != nil || Size(n) != size {
			t.Errorf("Size(%s) = %d, %v; want %d", text, Size(n), err, size)
		}
	}
	if got := (Map{"pk": String("abc"), "n": NumberOf(7)}).Size(); got != 2+3+1+2 {
		t.Errorf("size of an item = %d", got)
	}
}

func FuzzDecodedItemIsNotLost(f *testing.F) {
	for _, seed := range []string{
		`{"a":{"S":"x\u0000\ud83d\ude00"},"b":{"N":"-1.50e3"},"c":{"B":"AAE="},"d":{"NS":["3","2"]}}`,
		`{"l":{"L":[{"M":{"x":{"NULL":true}}},{"BOOL":false}]}}`, `{"a":{"S":"`, `{"a":{"L":[{}]}}`, `null`, `{"a":{"SS":["é","e"]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var m, again Map
		if m.UnmarshalJSON(data) != nil { // called directly, it must bear text that is no JSON, too
			return
		}
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &again); err != nil || !Equal(m, again) {
			t.Fatalf("%q became %q: %v", data, text, err)
		}
		if m.Size() != again.Size() {
			t.Fatalf("size %d became %d", m.Size(), again.Size())
		}
	})
}
