package setup_test

import (
	"errors"
	"os"
	"testing"

	"github.com/landfall-dev/landfall/functions/internal/setup"
)

func TestEventOfAnotherShapeIsRefused(t *testing.T) {
	t.Parallel()
	sample := func(name string) string {
		event, err := os.ReadFile("../../../events/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(event)
	}
	for event, want := range map[string]*setup.Partition{
		sample("dispatch.json"):   {},
		sample("reconcile.json"):  {},
		`{"part": 0, "of": 1}`:    {Part: 0, Of: 1},
		`{"part": 3, "of": 4}`:    {Part: 3, Of: 4},
		"":                        nil,
		"null":                    nil,
		"{}":                      nil,
		"[]":                      nil,
		"7":                       nil,
		`"Scheduled Event"`:       nil,
		`{"part": 4, "of": 4}`:    nil,
		`{"part": -1, "of": 4}`:   nil,
		`{"part": 0, "of": 0}`:    nil,
		`{"part": 0}`:             nil,
		`{"of": 4}`:               nil,
		`{"part": 0.5, "of": 4}`:  nil,
		`{"part": "0", "of": 4}`:  nil,
		`{"part":0,"of":4,"x":1}`: nil,
		`{"part":0,"of":4} {}`:    nil,
		`{"part":1e99,"of":4}`:    nil,
		`{"Records": [{"eventSource": "aws:sqs"}]}`:               nil,
		`{"detail-type": "Scheduled Event"}`:                      nil,
		`{"detail-type": "Object Created", "source": "aws.s3"}`:   nil,
		`{"detail-type": "Scheduled Event", "source": "mine"}`:    nil,
		`{"detail-type": 7, "source": "aws.events", "part": 0}`:   nil,
		`{"detail-type": "Scheduled Event", "source": "aws.event`: nil,
	} {
		partition, err := setup.ParsePartition([]byte(event))
		switch {
		case want == nil && !errors.Is(err, setup.ErrEvent):
			t.Errorf("%s: %v, %v; want ErrEvent", event, partition, err)
		case want != nil && (err != nil || partition != *want):
			t.Errorf("%s: %v, %v; want %v", event, partition, err, *want)
		}
	}
}
