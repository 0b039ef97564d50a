package dynamo

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Bounds of the numbers that are read. They are powers of ten, so that a pattern in a JSON Schema can state them.
const (
	// MaxMillis and MaxSeconds end in the year 5138. Later times are mistakes: nanoseconds, for one.
	MaxMillis  = 1e14 - 1
	MaxSeconds = 1e11 - 1
	// MaxCount bounds counters.
	MaxCount = 1e9 - 1
)

// Reader reads the attributes of an item and collects what is wrong with them, without their values.
type Reader struct {
	Item     Item
	problems []string
}

// Failf notes what is wrong with an attribute.
func (r *Reader) Failf(attribute, format string, args ...any) {
	const enough = 8 // an item may have any number of problems
	if len(r.problems) < enough {
		r.problems = append(r.problems, attribute+" "+fmt.Sprintf(format, args...))
	}
}

// Need notes that an attribute is missing, unless it is there.
func (r *Reader) Need(attribute string, there bool) {
	if !there {
		r.Failf(attribute, "is missing")
	}
}

// FailLike notes what another reader found, as problems of one attribute.
func (r *Reader) FailLike(attribute string, of *Reader) {
	for _, problem := range of.problems {
		r.Failf(attribute, "has an element whose %s", problem)
	}
}

// Err is nil if nothing was wrong; what names the item.
func (r *Reader) Err(what string) error {
	if len(r.problems) == 0 {
		return nil
	}
	return errors.New(what + " cannot be read: " + strings.Join(r.problems, "; "))
}

// wrongType notes an attribute that is not of the type that it has to be of.
func (r *Reader) wrongType(name string, v types.AttributeValue, want string) {
	r.Failf(name, "is of type %s, want %s", Kind(v), want)
}

// Text reads a text; "" if it is absent.
func (r *Reader) Text(name string) string {
	switch v := r.Item[name].(type) {
	case nil:
	case *types.AttributeValueMemberS:
		return v.Value
	default:
		r.wrongType(name, v, "S")
	}
	return ""
}

// Flag reads a flag; false if it is absent.
func (r *Reader) Flag(name string) bool {
	switch v := r.Item[name].(type) {
	case nil:
	case *types.AttributeValueMemberBOOL:
		return v.Value
	default:
		r.wrongType(name, v, "BOOL")
	}
	return false
}

// Whole reads a whole number within bounds; ok is false if it is absent.
func (r *Reader) Whole(name string, least, most int64) (n int64, ok bool) {
	switch v := r.Item[name].(type) {
	case nil:
	case *types.AttributeValueMemberN:
		n, err := strconv.ParseInt(v.Value, 10, 64)
		if err == nil && n >= least && n <= most {
			return n, true
		}
		r.Failf(name, "is not a whole number from %d to %d", least, most)
	default:
		r.wrongType(name, v, "N")
	}
	return 0, false
}

// Count reads a counter; 0 if it is absent.
func (r *Reader) Count(name string) int {
	n, _ := r.Whole(name, 0, MaxCount)
	return int(n)
}

// Millis reads a time; zero if it is absent.
func (r *Reader) Millis(name string) time.Time {
	ms, ok := r.Whole(name, 0, MaxMillis)
	if !ok {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// List reads a list; nil if it is absent.
func (r *Reader) List(name string) []types.AttributeValue {
	switch v := r.Item[name].(type) {
	case nil:
	case *types.AttributeValueMemberL:
		return v.Value
	default:
		r.wrongType(name, v, "L")
	}
	return nil
}

// Texts reads a map of texts; nil if it is absent.
func (r *Reader) Texts(name string) map[string]string {
	switch v := r.Item[name].(type) {
	case nil:
	case *types.AttributeValueMemberM:
		texts := make(map[string]string, len(v.Value))
		for key, value := range v.Value {
			s, ok := value.(*types.AttributeValueMemberS)
			if !ok {
				r.Failf(name, "has a value of type %s, want S", Kind(value))
				continue
			}
			texts[key] = s.Value
		}
		return texts
	default:
		r.wrongType(name, v, "M")
	}
	return nil
}
