package outboxdb

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/dynamo"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/schema"
)

// MaxPayload bounds a payload before compression, in bytes.
const MaxPayload = 1 << 20

// putPayload adds the payload to an item that is otherwise complete: as text if it is text, so that people
// and other programs can read it; compressed if that saves the whole item a write unit.
func putPayload(item dynamo.Item, row outbox.Row) {
	plain := stored(row)
	item[schema.Payload] = plain
	saving := units(item)
	if saving <= 1 {
		return
	}
	item[schema.Payload] = &types.AttributeValueMemberB{Value: compress(row.Payload)}
	item[schema.PayloadEncoding] = dynamo.Text(schema.PayloadGzip)
	if saving -= units(item); saving <= 0 {
		item[schema.Payload] = plain
		delete(item, schema.PayloadEncoding)
	}
}

func stored(row outbox.Row) types.AttributeValue {
	if row.Binary || !utf8.Valid(row.Payload) {
		return &types.AttributeValueMemberB{Value: row.Payload}
	}
	return dynamo.Text(string(row.Payload))
}

// compress makes the same bytes of the same bytes: its header holds no time.
func compress(payload []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // fails only for levels that do not exist
	_, _ = w.Write(payload)                               // a buffer takes everything
	_ = w.Close()
	return b.Bytes()
}

// decompress undoes gzip, up to MaxPayload bytes.
func decompress(b []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, errors.New("is not gzip")
	}
	payload, err := io.ReadAll(io.LimitReader(r, MaxPayload+1))
	switch {
	case len(payload) > MaxPayload:
		return nil, fmt.Errorf("has more than %d bytes when decompressed", MaxPayload)
	case err != nil:
		return nil, errors.New("is damaged gzip")
	}
	return payload, nil
}

// readPayload reads the exact bytes to send.
func readPayload(r *dynamo.Reader) (payload []byte, binary bool) {
	encoding := r.Text(schema.PayloadEncoding)
	switch v := r.Item[schema.Payload].(type) {
	case nil:
		r.Failf(schema.Payload, "is missing")
	case *types.AttributeValueMemberS:
		if encoding != "" {
			r.Failf(schema.Payload, "is of type S, though %s says that it is encoded: want B", schema.PayloadEncoding)
		}
		return []byte(v.Value), false
	case *types.AttributeValueMemberB:
		switch encoding {
		case "":
			return v.Value, true
		case schema.PayloadGzip:
			plain, err := decompress(v.Value)
			if err != nil {
				r.Failf(schema.Payload, "%v", err)
			}
			return plain, !utf8.Valid(plain)
		default:
			r.Failf(schema.PayloadEncoding, "is unknown: want %q, or no such attribute", schema.PayloadGzip)
		}
	default:
		r.Failf(schema.Payload, "is of type %s, want S or B", dynamo.Kind(v))
	}
	return nil, false
}
