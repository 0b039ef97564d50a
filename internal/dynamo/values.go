package dynamo

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Item is an item as the SDK knows it.
type Item = map[string]types.AttributeValue

// Text is a value of type S.
func Text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// Number is a value of type N.
func Number[T int | int64](n T) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(int64(n), 10)}
}

// Millis is a time in epoch milliseconds.
func Millis(t time.Time) types.AttributeValue { return Number(t.UnixMilli()) }

// Flag is a value of type BOOL.
func Flag(b bool) types.AttributeValue { return &types.AttributeValueMemberBOOL{Value: b} }

// List is a value of type L.
func List(l ...types.AttributeValue) types.AttributeValue {
	return &types.AttributeValueMemberL{Value: l}
}

// Kind is the name of a value's type, as DynamoDB calls it.
func Kind(v types.AttributeValue) string {
	return strings.TrimPrefix(fmt.Sprintf("%T", v), "*types.AttributeValueMember")
}

// Clip cuts a text to at most n bytes, between characters.
func Clip(s string, n int) string {
	if len(s) > n {
		s = s[:n]
	}
	return strings.ToValidUTF8(s, "")
}
