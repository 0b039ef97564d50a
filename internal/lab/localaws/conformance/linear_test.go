package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// step is one operation on a claimable item: it was free or held by a worker before, and is so after.
type step struct {
	worker int
	kind   string // claim, settle, read
}

type result struct {
	ok     bool // of claim and settle
	holder int  // of read: 0 for none
}

// claims is the model: an item that one worker at a time holds.
var claims = porcupine.Model{
	Init: func() any { return 0 },
	Step: func(state, input, output any) (bool, any) {
		holder, in, out := state.(int), input.(step), output.(result)
		switch {
		case in.kind == "read":
			return out.holder == holder, holder
		case in.kind == "claim" && out.ok:
			return holder == 0, in.worker
		case in.kind == "claim":
			return holder != 0, holder
		case out.ok:
			return holder == in.worker, 0
		}
		return holder != in.worker, holder
	},
}

func TestClaimsAreLinearizable(t *testing.T) {
	t.Parallel()
	c := Client()
	table := Table(t, c, Schema{Key: "pk"})
	const workers, rounds = 16, 30
	put(t, c, table, Of("pk", "row", "holder", 0))
	var mu sync.Mutex
	var history []porcupine.Operation
	start := time.Now()
	do := func(worker int, kind string) {
		op := porcupine.Operation{ClientId: worker, Input: step{worker, kind}, Call: time.Since(start).Nanoseconds()}
		out, err := perform(t.Context(), c, table, worker, kind)
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			return
		}
		op.Output, op.Return = out, time.Since(start).Nanoseconds()
		mu.Lock()
		history = append(history, op)
		mu.Unlock()
	}
	var group sync.WaitGroup
	for worker := 1; worker <= workers; worker++ {
		group.Go(func() {
			for i := range rounds {
				do(worker, "claim")
				if i%3 == 0 {
					do(worker, "read")
				}
				do(worker, "settle")
			}
		})
	}
	group.Wait()
	if verdict := porcupine.CheckOperationsTimeout(claims, history, time.Minute); verdict != porcupine.Ok {
		t.Errorf("%d operations: %s", len(history), verdict)
	}
}

// perform does an operation as a claim does it: a plain conditional update, or, every other worker, a transaction.
func perform(ctx context.Context, c *dynamodb.Client, table string, worker int, kind string) (result, error) {
	key := Of("pk", "row")
	if kind == "read" {
		out, err := c.GetItem(ctx, &dynamodb.GetItemInput{TableName: &table, Key: key, ConsistentRead: aws.Bool(true)})
		if err != nil {
			return result{}, err
		}
		var holder int
		_, err = fmt.Sscan(out.Item["holder"].(*types.AttributeValueMemberN).Value, &holder)
		return result{holder: holder}, err
	}
	values := Of(":from", 0, ":to", worker)
	if kind == "settle" {
		values = Of(":from", worker, ":to", 0)
	}
	change, condition := aws.String("SET holder = :to"), aws.String("holder = :from")
	var err error
	if worker%2 == 0 {
		_, err = c.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{{Update: &types.Update{
			TableName: &table, Key: key, UpdateExpression: change, ConditionExpression: condition, ExpressionAttributeValues: values}}}})
	} else {
		_, err = c.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: &table, Key: key, UpdateExpression: change, ConditionExpression: condition, ExpressionAttributeValues: values})
	}
	var failed *types.ConditionalCheckFailedException
	var cancelled *types.TransactionCanceledException
	switch {
	case err == nil:
		return result{ok: true}, nil
	case errors.As(err, &failed):
		return result{}, nil
	case errors.As(err, &cancelled) && aws.ToString(cancelled.CancellationReasons[0].Code) == "ConditionalCheckFailed":
		return result{}, nil
	}
	return result{}, err
}
