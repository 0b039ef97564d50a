package desk

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/google/go-cmp/cmp"

	"github.com/landfall-dev/landfall/internal/lab/devstack"
	"github.com/landfall-dev/landfall/internal/lab/localaws"
	"github.com/landfall-dev/landfall/internal/outboxdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

func TestExpiredItemsAreDeletedWithinMinutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		account := localaws.New(localaws.Options{})
		client := dynamodb.NewFromConfig(account.Config("test"))
		table := outboxdb.Table("rows")
		key := map[string]types.AttributeValue{schema.PK: &types.AttributeValueMemberS{Value: "d#k"}}
		item := maps.Clone(key)
		item[schema.ExpiresAt] = &types.AttributeValueMemberN{Value: strconv.FormatInt(time.Now().Unix(), 10)}
		_, made := client.CreateTable(t.Context(), table)
		_, enabled := client.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{TableName: table.TableName,
			TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String(schema.ExpiresAt), Enabled: aws.Bool(true)}})
		_, put := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: table.TableName, Item: item})
		if err := errors.Join(made, enabled, put); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		expire(ctx, account)
		got, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: table.TableName, Key: key})
		if err != nil || got.Item != nil {
			t.Errorf("%v, %v", got.Item, err)
		}
	})
}

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
