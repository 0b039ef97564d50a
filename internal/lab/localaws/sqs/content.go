package sqs

import (
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/landfall-dev/landfall/internal/lab/localaws/wire"
)

// maxMessage is how many bytes a message has at most, with its attributes, and all messages of a batch together.
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html
const maxMessage = 1 << 20

// maxAttributes is how many attributes a message has at most.
const maxAttributes = 10

// content is what a sender puts into a message.
type content struct {
	body       string
	attributes map[string]attribute
	trace      string // the system attribute AWSTraceHeader
	group      string
	dedup      string
}

// attribute is a message attribute as it travels.
type attribute struct {
	DataType         string
	StringValue      *string  `json:",omitempty"`
	BinaryValue      []byte   `json:",omitempty"`
	StringListValues []string `json:",omitempty"`
	BinaryListValues [][]byte `json:",omitempty"`
}

// size is how many bytes of the limit a message uses up.
func (c *content) size() int {
	n := len(c.body)
	for name, a := range c.attributes {
		n += len(name) + len(a.DataType) + len(a.value())
	}
	return n
}

func (a attribute) binary() bool { return strings.HasPrefix(a.DataType, "Binary") }

func (a attribute) value() string {
	if a.binary() {
		return string(a.BinaryValue)
	}
	return wire.Given(a.StringValue, "")
}

func sum(text string) string {
	h := md5.Sum([]byte(text))
	return hex.EncodeToString(h[:])
}

// sumOf is the checksum over attributes that clients check; empty if there are none.
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-message-metadata.html#sqs-attributes-md5-message-digest-calculation
func sumOf(attributes map[string]attribute) string {
	if len(attributes) == 0 {
		return ""
	}
	var b []byte
	part := func(s string) {
		b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
		b = append(b, s...)
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		a := attributes[name]
		part(name)
		part(a.DataType)
		kind := byte(1)
		if a.binary() {
			kind = 2
		}
		b = append(b, kind)
		part(a.value())
	}
	return sum(string(b))
}

// unfit is whether a text has a character that no message may have.
func unfit(text string) bool {
	return !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool {
		return r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF
	})
}

const fitting = "Valid unicode characters are #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF"

// check is what is wrong with a message by itself, whatever queue it is for.
func (c *content) check() error {
	if c.body == "" {
		return missing("MessageBody")
	}
	if unfit(c.body) {
		return failure("InvalidMessageContents", "Invalid characters found. "+fitting)
	}
	if len(c.attributes) > maxAttributes {
		return invalid("Number of message attributes [%d] exceeds the allowed maximum [%d].", len(c.attributes), maxAttributes)
	}
	for _, name := range slices.Sorted(maps.Keys(c.attributes)) {
		if err := checkAttribute(name, c.attributes[name]); err != nil {
			return err
		}
	}
	return nil
}

var (
	attributeType = regexp.MustCompile(`^(String|Number|Binary)(\.[A-Za-z0-9_.-]+)?$`)
	decimal       = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$`)
)

func checkAttribute(name string, a attribute) error {
	if err := checkAttributeName(name); err != nil {
		return err
	}
	switch {
	case a.DataType == "":
		return invalid("The message attribute '%s' must contain a non-empty message attribute type.", name)
	case len(a.DataType) > 256:
		return invalid("Message (user) attribute types must be shorter than 256 Bytes")
	case !attributeType.MatchString(a.DataType):
		return invalid("The type of message (user) attribute '%s' is invalid. You must use only the following supported type prefixes: Binary, Number, String.", name)
	case len(a.StringListValues) > 0 || len(a.BinaryListValues) > 0:
		return failure("UnsupportedOperation", "Message attribute list values in message attribute '%s' are not supported.", name)
	case a.StringValue != nil && a.BinaryValue != nil:
		return invalid("Message (user) attribute '%s' has multiple values.", name)
	case a.value() == "":
		kind, _, _ := strings.Cut(a.DataType, ".")
		return invalid("Message (user) attribute '%s' must contain a non-empty value of type '%s'.", name, kind)
	case a.binary():
		return nil
	case unfit(a.value()):
		return invalid("Invalid binary character was found in message (user) attribute '%s'. %s", name, fitting)
	case strings.HasPrefix(a.DataType, "Number") && !decimal.MatchString(a.value()):
		return invalid("Can't cast the value of message (user) attribute '%s' to a number.", name)
	}
	return nil
}

func checkAttributeName(name string) error {
	lower := strings.ToLower(name)
	switch {
	case name == "":
		return invalid("The request must contain non-empty message (user) attribute names.")
	case len(name) > 256:
		return invalid("Message (user) attribute names must be shorter than 256 Bytes")
	case strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.", r)
	}):
		return invalid("Message (user) attributes name can only contain upper and lower score characters, digits, periods, hyphens and underscores.")
	case strings.HasPrefix(lower, "aws.") || strings.HasPrefix(lower, "amazon."):
		return invalid("Message (user) attribute names must not begin with 'AWS.' or 'Amazon.', which are reserved.")
	case strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".") || strings.Contains(name, ".."):
		return invalid("Invalid message (user) attribute name '%s': it must not begin or end with a period, or have two of them in a row.", name)
	}
	return nil
}
