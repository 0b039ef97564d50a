package landfallcdk

import (
	"testing"

	"github.com/landfall-dev/landfall/internal/config"
)

func TestEveryKindHasAGrant(t *testing.T) {
	granted := map[string]bool{}
	for _, of := range sendsTo {
		granted[of.kind] = true
	}
	for _, kind := range config.KindNames() {
		if !granted[kind] {
			t.Errorf("kind %s has no grant: add a line to the table sendsTo", kind)
		}
	}
}
