package setup

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/egress"
	"github.com/landfall-dev/landfall/internal/outbox"
)

func TestRulesReachTheSenderAndTheLookupWhole(t *testing.T) {
	t.Parallel()
	yes := true
	from := []config.Rule{
		{Status: config.Statuses{"404", "5xx"}, Test: config.Test{Contains: "c"}, Then: "unknown"},
		{Header: &config.HeaderRule{Name: "X-A", Test: config.Test{OneOf: []string{"a", "b"}}}, Then: "retryable"},
		{Pointer: "/a", Test: config.Test{Equals: "e"}, Then: "permanent"},
		{Pointer: "/b", Test: config.Test{Exists: &yes}, Then: "completed"},
	}
	want := []egress.Rule[outbox.OutcomeKind]{
		{Status: []string{"404", "5xx"}, Test: egress.Test{Contains: "c"}, Then: outbox.KindUnknown},
		{Header: "X-A", HeaderTest: egress.Test{OneOf: []string{"a", "b"}}, Then: outbox.KindRetryable},
		{Pointer: "/a", Test: egress.Test{OneOf: []string{"e"}}, Then: outbox.KindPermanent},
		{Pointer: "/b", Test: egress.Test{Exists: &yes}, Then: outbox.KindCompleted},
	}
	if diff := cmp.Diff(want, rules(from, outcomes)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(outcomes) != 4 || len(answers) != 4 || answers["not_found"] != outbox.AnswerNotFound {
		t.Errorf("words: %v, %v", outcomes, answers)
	}
}
