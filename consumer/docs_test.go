package consumer_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/landfall-dev/landfall/consumer"
	"github.com/landfall-dev/landfall/internal/config/yamlconfig"
	"github.com/landfall-dev/landfall/internal/routefn"
	"github.com/landfall-dev/landfall/internal/routing"
)

var routingPage = sync.OnceValues(func() (string, error) {
	text, err := os.ReadFile("../docs/routing.md")
	return string(text), err
})

// blocks returns the code blocks of the page in a language.
func blocks(t *testing.T, language string) (found []string) {
	t.Helper()
	page, err := routingPage()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(page, -1) {
		found = append(found, m[1])
	}
	if len(found) == 0 {
		t.Fatalf("the page has no code block in %s", language)
	}
	return found
}

// TestSchemaAndCodeAcceptTheSameEnvelopes.
func TestSchemaAndCodeAcceptTheSameEnvelopes(t *testing.T) {
	t.Parallel()
	public := jsonschema.NewCompiler().MustCompile("../docs/schema/envelope.schema.json")
	fits := func(text string) bool {
		document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		return err == nil && public.Validate(document) == nil
	}
	good := routing.Envelope{ID: routing.ID{Group: "couriers", Message: "m-1"}, Attempt: 1, Token: "t", Deadline: time.UnixMilli(1764441645123), Handle: "h"}
	if !fits(good.Text()) || !fits(blocks(t, "json")[0]) {
		t.Error("a good envelope does not fit")
	}
	var members map[string]any
	if err := json.Unmarshal([]byte(good.Text()), &members); err != nil {
		t.Fatal(err)
	}
	page, err := routingPage()
	if err != nil || len(members) != len(public.Properties) || len(members) != len(public.Required) {
		t.Errorf("%d members, %d in the schema, %v", len(members), len(public.Properties), err)
	}
	w := newWorkplace(t)
	for name := range members {
		if public.Properties[name] == nil || !strings.Contains(page, "| `"+name+"` |") {
			t.Errorf("%s is not in the schema or not on the page", name)
		}
		for _, value := range []any{nil, "", 0, -1, 1.5, true, []any{}, "a b", int64(1e15), strings.Repeat("m", 129)} {
			broken := map[string]any{}
			for name, v := range members {
				broken[name] = v
			}
			if broken[name] = value; value == true {
				delete(broken, name)
			}
			text, err := json.Marshal(broken)
			if err != nil {
				t.Fatal(err)
			}
			if taken := !isEnvelopeError(w, string(text)); taken != fits(string(text)) {
				t.Errorf("%s = %v: taken %v, fits %v", name, value, taken, !taken)
			}
		}
	}
}

// TestExamplesOfThePageWork: configurations are valid, expressions pick the consumer that the page names.
func TestExamplesOfThePageWork(t *testing.T) {
	t.Parallel()
	for _, text := range blocks(t, "yaml") {
		if _, err := yamlconfig.Parse("landfall.yaml", []byte(text)); err != nil {
			t.Error(err)
		}
	}
	candidates := []routing.Consumer{
		{ID: "north", ConsumerState: routing.ConsumerState{MaxInFlight: 9, BufferDepth: 4, Tags: []string{"eu", "fast"}}},
		{ID: "south", ConsumerState: routing.ConsumerState{MaxInFlight: 9, BufferDepth: 2, Tags: []string{"us"}}},
	}
	picks := []string{"south", "north", "south"}
	for i, source := range blocks(t, "cel") {
		function, err := routefn.Compile(source)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		message := routing.Message{ID: "m", Fields: routing.ParseFields([]byte(`{"region": "us", "tier": "gold"}`))}
		if got, err := function.Select(t.Context(), routing.Question{Message: message, Attempt: 1, Candidates: candidates}); err != nil || got != picks[i] {
			t.Errorf("%s picks %q, %v; want %s", source, got, err, picks[i])
		}
	}
	for _, text := range blocks(t, "json") {
		if !json.Valid([]byte(text)) {
			t.Errorf("not JSON: %s", text)
		}
	}
}

// TestExpressionsOfThePageMatchTheCode: they name the same attributes.
func TestExpressionsOfThePageMatchTheCode(t *testing.T) {
	t.Parallel()
	page, err := routingPage()
	if err != nil {
		t.Fatal(err)
	}
	w := newWorkplace(t)
	w.send("x")
	heard := &listener{ReceiptsClient: w.Receipts}
	c := consumer.New(heard, w.Queues, w.config())
	w.must(c.Accept(t.Context(), w.copy()))
	w.send("y")
	w.must(c.Decline(t.Context(), w.copy()))
	for i, state := range []string{"accepted", "declined"} {
		_, section, _ := strings.Cut(page, "### "+[]string{"Accept", "Decline"}[i]+"\n")
		for _, part := range []string{"UpdateExpression", "ConditionExpression"} {
			said := regexp.MustCompile("\\| " + part + " \\| `([^`]+)`").FindStringSubmatch(section)
			if said == nil {
				t.Fatalf("%s: no %s", state, part)
			}
			in := heard.inputs[i]
			sent := *in.UpdateExpression
			if part == "ConditionExpression" {
				sent = *in.ConditionExpression
			}
			for name, attribute := range in.ExpressionAttributeNames {
				if strings.Contains(sent, name) != regexp.MustCompile(`[^:\w]`+attribute).MatchString(" "+said[1]) {
					t.Errorf("%s: %s is not in both, %q and %q of the page", state, attribute, sent, said[1])
				}
			}
		}
	}
}

// listener records the updates of a table.
type listener struct {
	consumer.ReceiptsClient
	inputs []*dynamodb.UpdateItemInput
}

func (l *listener) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	l.inputs = append(l.inputs, in)
	return l.ReceiptsClient.UpdateItem(ctx, in, o...)
}

// isEnvelopeError reports whether Accept refuses a text as an envelope. A valid one is refused for its missing receipt.
func isEnvelopeError(w *workplace, text string) bool {
	w.Helper()
	err := w.Accept(w.Context(), types.Message{MessageAttributes: map[string]types.MessageAttributeValue{
		"landfall": {DataType: aws.String("String"), StringValue: &text},
	}})
	if errors.Is(err, consumer.ErrEnvelope) == errors.Is(err, consumer.ErrNoReceipt) {
		w.Fatalf("%s: %v", text, err)
	}
	return errors.Is(err, consumer.ErrEnvelope)
}
