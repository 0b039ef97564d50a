package setup_test

import (
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/landfall-dev/landfall/functions/internal/setup"
)

func FuzzParseShare(f *testing.F) {
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
		share, err := setup.ParseShare(event)
		switch {
		case err != nil:
			if !errors.Is(err, setup.ErrEvent) || share != (setup.Share{}) {
				t.Errorf("%q: %+v, %v", event, share, err)
			}
		case !json.Valid(event):
			t.Errorf("%q is no JSON and was taken for a schedule's: %+v", event, share)
		case share != (setup.Share{}) && (share.Part < 0 || share.Part >= share.Of):
			t.Errorf("%q: part %d of %d", event, share.Part, share.Of)
		}
	})
}
