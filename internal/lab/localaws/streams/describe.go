package streams

import (
	"slices"
	"strings"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/lab/localaws/wire"
)

// maxListed is how many streams or shards an answer holds.
const maxListed = 100

type fields map[string]any

type listInput struct {
	TableName               string
	ExclusiveStartStreamArn string
	Limit                   *int
}

func (s *Service) listStreams(in *listInput) (operation, error) {
	var c wire.Constraints
	limit := limited(&c, in.Limit, maxListed)
	return operation{in.TableName, func(now time.Time, _ faults.Fault) wire.Outcome {
		list := slices.DeleteFunc(s.live(now), func(st *Stream) bool {
			return in.TableName != "" && st.source.Table != in.TableName || st.ARN <= in.ExclusiveStartStreamArn
		})
		answer := fields{}
		if len(list) > limit {
			list = list[:limit]
			answer["LastEvaluatedStreamArn"] = list[limit-1].ARN
		}
		found := []fields{}
		for _, st := range list {
			found = append(found, fields{"StreamArn": st.ARN, "StreamLabel": st.Label, "TableName": st.source.Table})
		}
		answer["Streams"] = found
		return wire.Outcome{Answer: answer}
	}}, c.Err()
}

type describeInput struct {
	StreamArn             string
	ExclusiveStartShardID string `json:"ExclusiveStartShardId"`
	Limit                 *int
	ShardFilter           *struct {
		Type    string
		ShardID string `json:"ShardId"`
	}
}

func (s *Service) describeStream(in *describeInput) (operation, error) {
	var c wire.Constraints
	c.Required("streamArn", in.StreamArn != "")
	limit := limited(&c, in.Limit, maxListed)
	if f := in.ShardFilter; f != nil && f.Type != "CHILD_SHARDS" {
		return operation{}, wire.Validation("ShardFilter: Type %q is not CHILD_SHARDS", f.Type)
	}
	return operation{in.StreamArn, func(now time.Time, _ faults.Fault) wire.Outcome {
		st, err := s.stream(now, in.StreamArn)
		if err != nil {
			return wire.Outcome{Err: err}
		}
		return wire.Outcome{Answer: fields{"StreamDescription": st.describe(in, limit)}}
	}}, c.Err()
}

func (st *Stream) describe(in *describeInput, limit int) fields {
	status := "ENABLED"
	if !st.closed.IsZero() {
		status = "DISABLED"
	}
	d := fields{
		"StreamArn": st.ARN, "StreamLabel": st.Label, "StreamStatus": status, "StreamViewType": st.source.View,
		"CreationRequestDateTime": float64(st.opened.UnixMilli()) / 1000, "TableName": st.source.Table, "KeySchema": st.source.KeySchema,
	}
	list := []fields{}
	for _, sh := range slices.SortedFunc(slices.Values(st.shards), func(x, y *shard) int { return strings.Compare(x.id, y.id) }) {
		if sh.id <= in.ExclusiveStartShardID || in.ShardFilter != nil && sh.parent != in.ShardFilter.ShardID {
			continue
		}
		if len(list) == limit {
			d["LastEvaluatedShardId"] = list[limit-1]["ShardId"]
			break
		}
		span := fields{"StartingSequenceNumber": number(sh.first)}
		if !sh.closed.IsZero() {
			span["EndingSequenceNumber"] = number(sh.last)
		}
		one := fields{"ShardId": sh.id, "SequenceNumberRange": span}
		if sh.parent != "" {
			one["ParentShardId"] = sh.parent
		}
		list = append(list, one)
	}
	d["Shards"] = list
	return d
}
