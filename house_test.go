package landfall_test

import (
	"strings"
	"testing"

	"github.com/landfall-dev/landfall/internal/lab/figures"
)

// maxEmbedded is the bound on embedded struct fields outside tests. A lock, a report, a policy or a client is reached
// through a named field; what remains embedded is a value that its holder is.
const maxEmbedded = 40

func TestFewStructFieldsAreEmbedded(t *testing.T) {
	t.Parallel()
	measured, err := figures.Measure(".")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(measured.Embedded); n >= maxEmbedded {
		t.Errorf("%d embedded fields, want fewer than %d:\n%s", n, maxEmbedded, strings.Join(measured.Embedded, "\n"))
	}
}
