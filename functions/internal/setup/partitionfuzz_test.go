package setup_test

import (
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/landfall-dev/landfall/functions/internal/setup"
)

func FuzzParsePartition(f *testing.F) {
	for _, sample := range []string{"dispatch.json", "reconcile.json"} {
		event, err := os.ReadFile("../../../events/" + sample)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(event)
	}
	f.Add([]byte(`{"part": 3, "of": 4}`))
	f.Add([]byte(`{"part": 3, "of": 4, "Part": 1}`))
	f.Add([]byte(`{"Records": [{"eventSource": "aws:sqs"}]}`))
	f.Fuzz(func(t *testing.T, event []byte) {
		partition, err := setup.ParsePartition(event)
		switch {
		case err != nil:
			if !errors.Is(err, setup.ErrEvent) || partition != (setup.Partition{}) {
				t.Errorf("%q: %+v, %v", event, partition, err)
			}
		case !json.Valid(event):
			t.Errorf("%q is not JSON and was accepted: %+v", event, partition)
		case partition != (setup.Partition{}) && (partition.Part < 0 || partition.Part >= partition.Of):
			t.Errorf("%q: part %d of %d", event, partition.Part, partition.Of)
		}
	})
}
