package setup

import (
	"testing"

	"github.com/landfall-dev/landfall/internal/config"
)

func TestEveryKindHasASender(t *testing.T) {
	t.Parallel()
	for _, kind := range config.KindNames() {
		if senders[kind] == nil {
			t.Errorf("kind %s has no sender: add a line to the table of senders", kind)
		}
	}
}
