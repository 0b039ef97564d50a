package figures

import (
	"slices"
	"strings"
	"testing"
)

func TestAddCountsLinesEmbeddedFieldsAndFunctions(t *testing.T) {
	t.Parallel()
	const source = `package p

type inner struct{}

type outer struct {
	inner
	named inner
}

func (outer) f() {
}
`
	f := Figures{Lines: map[string]int{}}
	for _, name := range []string{"internal/outbox/a.go", "internal/lab/sim/stage/a.go", "a.go"} {
		if err := f.add(name, []byte(source)); err != nil {
			t.Fatal(err)
		}
	}
	for _, room := range []string{"internal/outbox", "internal/lab/sim", "."} {
		if f.Lines[room] != 11 {
			t.Errorf("room %s has %d lines, want 11", room, f.Lines[room])
		}
	}
	if want := []string{"internal/outbox/a.go:6:2", "internal/lab/sim/stage/a.go:6:2", "a.go:6:2"}; !slices.Equal(f.Embedded, want) {
		t.Errorf("embedded %q, want %q", f.Embedded, want)
	}
	if len(f.Functions) != 3 || f.Functions[0] != (Function{Name: "f", Position: "internal/outbox/a.go:10:1", Lines: 2}) {
		t.Errorf("functions %+v", f.Functions)
	}

	var printed strings.Builder
	f.Write(&printed, []string{"example.com/a"}, true)
	for _, line := range []string{"      22  deployed", "      11  internal/lab\n", "       3  embedded", "example.com/a", "a.go:6:2"} {
		if !strings.Contains(printed.String(), line) {
			t.Errorf("no %q in:\n%s", line, &printed)
		}
	}
}
