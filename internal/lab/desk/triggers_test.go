package desk

import (
	"testing"
	"time"

	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/google/go-cmp/cmp"

	"github.com/landfall-dev/landfall/internal/lab/devstack"
)

// The stack's template is held to the same numbers.
func TestMappingOfTheDeskIsTheDeployedOne(t *testing.T) {
	t.Parallel()
	want := devstack.StreamMapping{
		Filters:          []string{`{"eventName":["INSERT"],"dynamodb":{"NewImage":{"status":{"S":["pending"]}}}}`},
		StartingPosition: streamtypes.ShardIteratorTypeTrimHorizon, BatchSize: 10, ParallelizationFactor: 10,
		BisectBatchOnFunctionError: true, MaximumRetryAttempts: 3, MaximumRecordAge: 5 * time.Minute,
	}
	if diff := cmp.Diff(want, streamMapping()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
