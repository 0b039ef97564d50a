package streams

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/lab/localaws/wire"
)

// Limits of GetRecords. https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_GetRecords.html
const (
	maxRecords   = 1000
	maxBytes     = 1 << 20
	iteratorLife = 15 * time.Minute
)

// iterator is a place in a shard: before the record from, or the first one after it. 0 is the oldest there is.
type iterator struct {
	shard  string
	from   uint64
	issued int64 // epoch ms
}

const iteratorVersion = "|1|"

func (i iterator) encode(arn string) string {
	return arn + iteratorVersion + base64.StdEncoding.EncodeToString(fmt.Append(nil, i.shard, " ", i.from, " ", i.issued))
}

func decodeIterator(text string) (arn string, i iterator, err error) {
	arn, rest, _ := strings.Cut(text, iteratorVersion)
	plain, err := base64.StdEncoding.DecodeString(rest)
	if err == nil {
		_, err = fmt.Sscan(string(plain), &i.shard, &i.from, &i.issued)
	}
	if err != nil {
		return "", i, wire.Validation("Invalid ShardIterator")
	}
	return arn, i, nil
}

// shard is the stream and the shard, as of now.
func (s *Service) shard(now time.Time, arn, id string) (*Stream, *shard, error) {
	st, err := s.stream(now, arn)
	if err != nil {
		return nil, nil, err
	}
	at := slices.IndexFunc(st.shards, func(sh *shard) bool { return sh.id == id })
	if at < 0 {
		return nil, nil, failure("ResourceNotFoundException", "Requested resource not found: Shard: %s in Stream: %s not found", id, arn)
	}
	return st, st.shards[at], nil
}

type iteratorInput struct {
	StreamArn         string
	ShardID           string `json:"ShardId"`
	ShardIteratorType string
	SequenceNumber    string
}

var iteratorTypes = []string{"AFTER_SEQUENCE_NUMBER", "LATEST", "AT_SEQUENCE_NUMBER", "TRIM_HORIZON"}

func (s *Service) getShardIterator(in *iteratorInput) (operation, error) {
	var c wire.Constraints
	c.Required("streamArn", in.StreamArn != "")
	c.Required("shardId", in.ShardID != "")
	c.Required("shardIteratorType", in.ShardIteratorType != "")
	c.Enum("shardIteratorType", in.ShardIteratorType, iteratorTypes...)
	if err := c.Err(); err != nil {
		return operation{}, err
	}
	seq, err := in.sequence()
	if err != nil {
		return operation{}, err
	}
	return operation{in.StreamArn, func(now time.Time, _ faults.Fault) wire.Outcome {
		_, sh, err := s.shard(now, in.StreamArn, in.ShardID)
		if err != nil {
			return wire.Outcome{Err: err}
		}
		i := iterator{shard: sh.id, issued: now.UnixMilli()}
		switch in.ShardIteratorType {
		case "LATEST":
			i.from = s.seq + 1
		case "AT_SEQUENCE_NUMBER":
			i.from = seq
		case "AFTER_SEQUENCE_NUMBER":
			i.from = seq + 1
		}
		if err := sh.readable(i, seq); err != nil {
			return wire.Outcome{Err: err}
		}
		return wire.Outcome{Answer: fields{"ShardIterator": i.encode(in.StreamArn)}}
	}}, nil
}

// sequence is the sequence number that the type of the iterator wants, 0 if it wants none.
func (in *iteratorInput) sequence() (uint64, error) {
	if !strings.HasSuffix(in.ShardIteratorType, "_SEQUENCE_NUMBER") {
		return 0, nil
	}
	digits, ok := strings.CutPrefix(in.SequenceNumber, "1")
	seq, err := strconv.ParseUint(digits, 10, 63)
	if !ok || err != nil || number(seq) != in.SequenceNumber {
		return 0, wire.Validation("Invalid SequenceNumber")
	}
	return seq, nil
}

// readable is an error unless what follows a place in the shard is still there. seq is what was asked for, if anything.
func (sh *shard) readable(i iterator, seq uint64) error {
	if seq != 0 && (seq < sh.first || !sh.closed.IsZero() && seq > sh.last) {
		return wire.Validation("Invalid SequenceNumber: it is not in the range of the shard %s", sh.id)
	}
	if i.from != 0 && i.from <= sh.trimmed {
		return failure("TrimmedDataAccessException", "The operation attempted to read past the oldest stream record in the shard %s: records are kept for 24 hours", sh.id)
	}
	return nil
}

type recordsInput struct {
	ShardIterator string
	Limit         *int
}

func (s *Service) getRecords(in *recordsInput) (operation, error) {
	var c wire.Constraints
	c.Required("shardIterator", in.ShardIterator != "")
	limit := limited(&c, in.Limit, maxRecords)
	if err := c.Err(); err != nil {
		return operation{}, err
	}
	arn, i, err := decodeIterator(in.ShardIterator)
	return operation{arn, func(now time.Time, f faults.Fault) wire.Outcome {
		if issued := time.UnixMilli(i.issued); now.Sub(issued) >= iteratorLife {
			return wire.Outcome{Err: failure("ExpiredIteratorException", "The shard iterator has expired: it was created at %s, and lives for 15 minutes", issued.UTC().Format(time.RFC3339))}
		}
		st, sh, err := s.shard(now, arn, i.shard)
		if err == nil {
			err = sh.readable(i, 0)
		}
		if err != nil {
			return wire.Outcome{Err: err}
		}
		start := sh.since(i.from)
		list := st.page(sh.records[start:], limit, now.Add(-f.Late))
		next := start + len(list) - min(f.Duplicates, len(list))
		if next > start {
			i.from = sh.records[next-1].seq + 1
		}
		answer := fields{"Records": list[min(f.Lost, len(list)):]}
		if next < len(sh.records) || sh.closed.IsZero() {
			i.issued = now.UnixMilli()
			answer["NextShardIterator"] = i.encode(arn)
		}
		return wire.Outcome{Answer: answer, Billed: 1}
	}}, err
}

// page is what one answer holds of records that follow each other: none that came after a time.
func (st *Stream) page(list []record, limit int, until time.Time) []Record {
	page, bytes := []Record{}, 0
	for _, r := range list[:min(limit, len(list))] {
		told := st.tell(r)
		bytes += told.DynamoDB.SizeBytes
		if len(page) > 0 && bytes > maxBytes || r.at.After(until) {
			break
		}
		page = append(page, told)
	}
	return page
}
