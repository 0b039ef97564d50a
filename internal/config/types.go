package config

import (
	"fmt"
	"net/textproto"
	"regexp"
	"strings"
	"time"

	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/schema"
)

// Bounds of texts, in bytes, and of numbers of headers.
const (
	maxURL         = 8000
	maxHeaderValue = 8000
	maxHeaders     = 100
)

// Patterns of names that AWS gives. Each source stands beside it.
const (
	// A queue by name, in the stage's own account and region, or by ARN
	// (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-queues.html).
	queuePattern         = `^(arn:aws[a-z-]*:sqs:[a-z0-9-]{1,32}:[0-9]{12}:)?([A-Za-z0-9_-]{1,80}|[A-Za-z0-9_-]{1,75}[.]fifo)$`
	standardQueuePattern = `^(arn:aws[a-z-]*:sqs:[a-z0-9-]{1,32}:[0-9]{12}:)?[A-Za-z0-9_-]{1,80}$`
	// A function by name, with or without a version or an alias, or by ARN
	// (https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html).
	functionPattern = `^(arn:aws[a-z-]*:lambda:[a-z0-9-]+:[0-9]{12}:function:)?[A-Za-z0-9_-]{1,64}(:([$]LATEST|[A-Za-z0-9_-]{1,128}))?$`
	// A secret by name (those that other services made have a !), or by ARN, which ends in six characters of the
	// service's own (https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_CreateSecret.html).
	secretPattern = `^([A-Za-z0-9/_+=.@!-]{1,512}|arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:[A-Za-z0-9/_+=.@!-]{1,512}-[A-Za-z0-9]{6})$`
	headerPattern = "^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$" // RFC 9110, token
	pointerText   = `^(/([^~/]|~[01])*)+$`                // RFC 6901
)

var (
	queueName    = regexp.MustCompile(queuePattern)
	functionName = regexp.MustCompile(functionPattern)
	secretName   = regexp.MustCompile(secretPattern)
	headerName   = regexp.MustCompile(headerPattern)
	pointer      = regexp.MustCompile(pointerText)
)

var boolean = Type{Form: Boolean, Want: "true or false"}

func integer(least, most int64) Type {
	return Type{Form: Integer, Want: "a whole number, such as 4", Min: least, Max: most}
}

func number(least, most int64) Type {
	return Type{Form: Number, Want: "a number, such as 4 or 1.5", Min: least, Max: most}
}

func duration(unit string, least, most Duration) Type {
	return Type{
		Form: DurationForm, Want: "a duration, such as 30s", Unit: unit, Min: int64(least), Max: int64(most), Define: "duration",
		Schema: `{"description": "Such as 30s, 1h30m or 7d.", "type": "string", "minLength": 2,
			"pattern": "^([0-9]+d)?(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))*$",
			"not": {"pattern": "^[0.]+(d|ns|us|µs|μs|ms|s|m|h)$"}}`,
	}
}

func oneOf(words ...string) Type {
	return Type{Words: words, Want: strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]}
}

// bounded is any text of 1 to most bytes.
func bounded(want string, most int) Type {
	return Type{
		Want: want, Schema: fmt.Sprintf(`{"minLength": 1, "maxLength": %d}`, most),
		Check: func(text string) string {
			if len(text) > most {
				return fmt.Sprintf("%d bytes are too many; the maximum is %d", len(text), most)
			}
			return ""
		},
	}
}

func mapping(t *Table) Type {
	return Type{Form: Mapping, Want: "keys with values (key: value)", Keys: t}
}

// named is a mapping from names that a person chooses.
func named(t *Table) Type {
	of := mapping(t)
	return Type{Form: Map, Want: "keys with values (key: value)", Of: &of, Names: &nameType}
}

// NameType is what destinations, groups and consumers are called.
var nameType = Type{
	Want: "a name", Define: "name", Schema: `{"pattern": "^` + schema.NamePattern + `$"}`,
	Check: func(name string) string {
		if outbox.ValidateDestination(name) != nil {
			return fmt.Sprintf("%s cannot be a name; write 1 to 63 lower-case letters, digits and hyphens, not beginning with a hyphen", Quote(name))
		}
		return ""
	},
}

var queueType = Type{
	Want: "the name or ARN of a queue", Define: "queue", Schema: `{"description": "The name or ARN of a queue.", "pattern": "` + queuePattern + `"}`,
	Check: func(text string) string {
		if !queueName.MatchString(text) {
			return Quote(text) + " is not an SQS queue; write its name or its ARN"
		}
		return ""
	},
}

var functionType = Type{
	Want: "the name or ARN of a function", Define: "function",
	Schema: `{"description": "The name, with or without :alias, or ARN of a function of AWS Lambda.", "pattern": "` + functionPattern + `"}`,
	Check: func(text string) string {
		if !functionName.MatchString(text) {
			return Quote(text) + " is not a Lambda function; write its name (at most 64 letters, digits, _ and -, then :alias if needed) or its ARN"
		}
		return ""
	},
}

var pointerType = Type{
	Want: "a JSON pointer, such as /charge/id", Define: "pointer",
	Schema: `{"description": "A JSON pointer, such as /charge/id.", "pattern": "^(/([^~/]|~[01])*)+$"}`,
	Check: func(text string) string {
		if !pointer.MatchString(text) {
			return Quote(text) + " is not a JSON pointer; write /name/..., with ~1 for / and ~0 for ~ inside a name"
		}
		return ""
	},
}

// headerType is the name of a header that an answer has, ownHeader of one that requests are given.
var (
	headerType = Type{
		Want: "the name of a header", Define: "header_name", Schema: "{\"pattern\": \"" + headerPattern + "\"}",
		Check: func(name string) string {
			if !headerName.MatchString(name) {
				return Quote(name) + " is not a header name; write letters, digits and hyphens, at most 100"
			}
			return ""
		},
	}
	ownHeader = Type{
		Want: headerType.Want, Define: headerType.Define, Schema: headerType.Schema,
		Check: func(name string) string {
			if wrong := headerType.Check(name); wrong != "" {
				return wrong
			}
			if why, found := reserved[textproto.CanonicalMIMEHeaderKey(name)]; found {
				return fmt.Sprintf("%s cannot be set: %s", name, why)
			}
			return ""
		},
	}
	canonicalHeader = func() Type {
		t := ownHeader
		t.Canonical = textproto.CanonicalMIMEHeaderKey
		return t
	}()
	headersType = Type{
		Form: Map, Want: "names and values, such as {X-Tenant: acme}", Max: maxHeaders, Names: &canonicalHeader, Masked: true,
		Of: &Type{Want: "text", Masked: true, Check: badHeaderValue,
			Schema: fmt.Sprintf(`{"minLength": 1, "maxLength": %d, "pattern": "^[!-~]([\\t -~]*[!-~])?$"}`, maxHeaderValue)},
	}
)

// reserved headers are written by HTTP itself, hop by hop, or by Landfall from the row.
var reserved = map[string]string{
	"Connection":          "it belongs to the connection",
	"Content-Length":      "it follows from the payload",
	"Content-Type":        "it comes from the row",
	"Expect":              "a send is one request and one answer",
	"Host":                "it comes from the URL",
	"Keep-Alive":          "it belongs to the connection",
	"Proxy-Authenticate":  "it belongs to the connection",
	"Proxy-Authorization": "it belongs to the connection",
	"Proxy-Connection":    "it belongs to the connection",
	"Te":                  "it belongs to the connection",
	"Traceparent":         "it comes from the row",
	"Trailer":             "it belongs to the connection",
	"Transfer-Encoding":   "it belongs to the connection",
	"Upgrade":             "it belongs to the connection",
}

// badHeaderValue never repeats the value: it may be a credential.
func badHeaderValue(v string) string {
	bad := len(v) > maxHeaderValue || v != strings.Trim(v, " \t")
	for _, b := range []byte(v) {
		bad = bad || (b < ' ' || b > '~') && b != '\t'
	}
	if !bad {
		return ""
	}
	return fmt.Sprintf("invalid value; write visible ASCII, spaces and tabs, without spaces at the ends, at most %d bytes", maxHeaderValue)
}

// windowType is for how long a remote deduplicates.
var windowType = Type{
	Form: WindowForm, Want: "never, always or a duration, such as 24h", Unit: "h", Max: int64(maxWindow),
	Schema: `{"anyOf": [{"enum": ["never", "always"]}, {"$ref": "#/$defs/duration"}]}`,
}

const maxWindow = 3650 * day

func badWindow(w Window) string {
	switch {
	case w == Window(outbox.Never) || w == Window(outbox.Always):
	case w < 0 || w > Window(maxWindow):
		return fmt.Sprintf("%v is too long; the maximum is %v, or write always", Duration(w), maxWindow)
	case time.Duration(w)%time.Second != 0:
		return fmt.Sprintf("%v is not a number of whole seconds; rows store it in seconds", w)
	}
	return ""
}
