package devstack

import (
	"hash/fnv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// streamRecord is a record as the function sees it, in JSON, and what the mapping must know of it.
type streamRecord struct {
	sequence string
	at       time.Time
	key      uint32 // hash of the item's key
	text     []byte
}

// streamEventRecord is a record of the event that Lambda makes of a DynamoDB stream
// (https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html#events-sample-dynamodb).
type streamEventRecord struct {
	EventID        string        `json:"eventID"`
	EventName      string        `json:"eventName"`
	EventVersion   string        `json:"eventVersion"`
	EventSource    string        `json:"eventSource"`
	AWSRegion      string        `json:"awsRegion"`
	DynamoDB       streamChange  `json:"dynamodb"`
	UserIdentity   *userIdentity `json:"userIdentity,omitempty"`
	EventSourceARN string        `json:"eventSourceARN"`
}

type userIdentity struct {
	Type        string `json:"type"`
	PrincipalID string `json:"principalId"`
}

type streamChange struct {
	ApproximateCreationDateTime int64 // epoch seconds
	Keys                        map[string]any
	NewImage                    map[string]any `json:",omitempty"`
	OldImage                    map[string]any `json:",omitempty"`
	SequenceNumber              string
	SizeBytes                   int64
	StreamViewType              string
}

// record is a record of the stream for the function.
func (s *stream) record(r types.Record) streamRecord {
	d := r.Dynamodb
	at := aws.ToTime(d.ApproximateCreationDateTime)
	event := streamEventRecord{
		EventID:      aws.ToString(r.EventID),
		EventName:    string(r.EventName),
		EventVersion: aws.ToString(r.EventVersion),
		EventSource:  aws.ToString(r.EventSource),
		AWSRegion:    aws.ToString(r.AwsRegion),
		DynamoDB: streamChange{
			ApproximateCreationDateTime: at.Unix(),
			Keys:                        image(d.Keys),
			NewImage:                    image(d.NewImage),
			OldImage:                    image(d.OldImage),
			SequenceNumber:              aws.ToString(d.SequenceNumber),
			SizeBytes:                   aws.ToInt64(d.SizeBytes),
			StreamViewType:              string(d.StreamViewType),
		},
		EventSourceARN: s.arn,
	}
	if u := r.UserIdentity; u != nil {
		event.UserIdentity = &userIdentity{aws.ToString(u.Type), aws.ToString(u.PrincipalId)}
	}
	key := fnv.New32a()
	key.Write(compact(event.DynamoDB.Keys)) // never fails
	return streamRecord{event.DynamoDB.SequenceNumber, at, key.Sum32(), compact(event)}
}

// image is an item in DynamoDB's JSON.
func image(item map[string]types.AttributeValue) map[string]any {
	m := make(map[string]any, len(item))
	for name, v := range item {
		m[name] = value(v)
	}
	return m
}

func value(v types.AttributeValue) map[string]any {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return map[string]any{"S": v.Value}
	case *types.AttributeValueMemberN:
		return map[string]any{"N": v.Value}
	case *types.AttributeValueMemberB:
		return map[string]any{"B": v.Value}
	case *types.AttributeValueMemberBOOL:
		return map[string]any{"BOOL": v.Value}
	case *types.AttributeValueMemberNULL:
		return map[string]any{"NULL": v.Value}
	case *types.AttributeValueMemberSS:
		return map[string]any{"SS": v.Value}
	case *types.AttributeValueMemberNS:
		return map[string]any{"NS": v.Value}
	case *types.AttributeValueMemberBS:
		return map[string]any{"BS": v.Value}
	case *types.AttributeValueMemberM:
		return map[string]any{"M": image(v.Value)}
	case *types.AttributeValueMemberL:
		list := make([]any, len(v.Value))
		for i, e := range v.Value {
			list[i] = value(e)
		}
		return map[string]any{"L": list}
	}
	return nil
}
