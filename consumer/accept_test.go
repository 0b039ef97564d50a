package consumer_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamodbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/landfall-dev/landfall/consumer"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/schema"
)

// secrets returns what no error and no log line may contain.
func secrets(t *testing.T, msg types.Message) []string {
	t.Helper()
	e, err := routing.ParseEnvelope(*msg.MessageAttributes[routing.EnvelopeAttribute].StringValue)
	if err != nil {
		t.Fatal(err)
	}
	return []string{e.Token, e.Handle, *msg.Body}
}

// TestAcceptAndDeclineFollowTheReceipt: their errors, the stored state, and what is left in the ingress queue.
func TestAcceptAndDeclineFollowTheReceipt(t *testing.T) {
	t.Parallel()
	type do func(context.Context, types.Message) error
	for _, c := range []struct {
		name    string
		before  func(w *workplace, id string, msg types.Message)
		decline bool
		want    error
		state   string
		ingress string // visible + in flight
	}{
		{name: "accept", state: "accepted", ingress: "0+0"},
		{name: "accept again", before: func(w *workplace, _ string, msg types.Message) { w.must(w.Accept(w.Context(), msg)) }, state: "accepted", ingress: "0+0"},
		{name: "decline", decline: true, state: "declined", ingress: "1+0"},
		{name: "decline again", decline: true, before: func(w *workplace, _ string, msg types.Message) { w.must(w.Decline(w.Context(), msg)) }, state: "declined", ingress: "1+0"},
		{name: "accept a message that moved on", before: func(w *workplace, id string, _ types.Message) { w.moveOn(id) }, want: consumer.ErrStale, state: "pending", ingress: "0+1"},
		{name: "decline a message that moved on", decline: true, before: func(w *workplace, id string, _ types.Message) { w.moveOn(id) }, want: consumer.ErrStale, state: "pending", ingress: "0+1"},
		{name: "accept after decline", before: func(w *workplace, _ string, msg types.Message) { w.must(w.Decline(w.Context(), msg)) }, want: consumer.ErrStale, state: "declined", ingress: "1+0"},
		{name: "decline after accept", decline: true, before: func(w *workplace, _ string, msg types.Message) { w.must(w.Accept(w.Context(), msg)) }, want: consumer.ErrAccepted, state: "accepted", ingress: "0+0"},
		{name: "accept where delivery is acceptance", before: func(w *workplace, id string, _ types.Message) {
			w.change(id, schema.OnDelivery, &dynamodbtypes.AttributeValueMemberBOOL{Value: true})
		}, state: "accepted", ingress: "0+0"},
		{name: "decline where delivery is acceptance", decline: true, before: func(w *workplace, id string, _ types.Message) {
			w.change(id, schema.OnDelivery, &dynamodbtypes.AttributeValueMemberBOOL{Value: true})
		}, want: consumer.ErrAccepted, state: "pending", ingress: "0+1"},
		{name: "accept a message that another consumer accepted", before: func(w *workplace, id string, _ types.Message) {
			w.moveOn(id)
			w.change(id, schema.State, &dynamodbtypes.AttributeValueMemberS{Value: schema.StateAccepted})
		}, want: consumer.ErrStale, state: "accepted", ingress: "0+1"},
		{name: "accept a dead message", before: func(w *workplace, id string, _ types.Message) {
			w.change(id, schema.State, &dynamodbtypes.AttributeValueMemberS{Value: schema.StateDead})
		}, want: consumer.ErrStale, state: "dead", ingress: "0+1"},
		{name: "accept a message without a receipt", before: func(w *workplace, id string, _ types.Message) {
			_, err := w.Receipts.DeleteItem(w.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(schema.ReceiptsTable), Key: receiptKey(id)})
			w.must(err)
		}, want: consumer.ErrNoReceipt, ingress: "0+1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorkplace(t)
			id := w.send("the body")
			msg := w.copy()
			if c.before != nil {
				c.before(w, id, msg)
			}
			answer := do(w.Accept)
			if c.decline {
				answer = w.Decline
			}
			err := answer(t.Context(), msg)
			if !errors.Is(err, c.want) || w.state(id) != c.state || w.counts(w.Ingress) != c.ingress || w.log.Len() > 0 {
				t.Errorf("%v, state %q, ingress %s, log %s; want %v, %q, %s", err, w.state(id), w.counts(w.Ingress), w.log.String(), c.want, c.state, c.ingress)
			}
			for _, secret := range secrets(t, msg) {
				if err != nil && strings.Contains(err.Error(), secret) {
					t.Errorf("the error contains a secret: %v", err)
				}
			}
			if err != nil && !strings.Contains(err.Error(), id) {
				t.Errorf("the error does not name the message: %v", err)
			}
		})
	}
}

// TestInvalidEnvelopeIsRefused, and no error quotes it.
func TestInvalidEnvelopeIsRefused(t *testing.T) {
	t.Parallel()
	text := func(s string) map[string]types.MessageAttributeValue {
		return map[string]types.MessageAttributeValue{"landfall": {DataType: aws.String("String"), StringValue: &s}}
	}
	e := routing.Envelope{ID: routing.ID{Group: "couriers", Message: "m"}, Attempt: 1, Token: "secret", Deadline: time.UnixMilli(1), Handle: "secret"}
	of := func(group, message string) string {
		e := e
		e.Group, e.Message = group, message
		return e.Text()
	}
	w := newWorkplace(t)
	for name, c := range map[string]struct {
		attributes map[string]types.MessageAttributeValue
		want       error
	}{
		"none":             {nil, consumer.ErrNoEnvelope},
		"others":           {map[string]types.MessageAttributeValue{"Landfall": text(e.Text())["landfall"]}, consumer.ErrNoEnvelope},
		"binary":           {map[string]types.MessageAttributeValue{"landfall": {DataType: aws.String("Binary"), BinaryValue: []byte(e.Text())}}, consumer.ErrEnvelope},
		"no JSON":          {text("secret"), consumer.ErrEnvelope},
		"without a token":  {text(strings.Replace(e.Text(), `"token":"secret"`, `"token":""`, 1)), consumer.ErrEnvelope},
		"impossible group": {text(of("../secret", "m")), consumer.ErrEnvelope},
		"impossible id":    {text(of("couriers", "a secret")), consumer.ErrEnvelope},
		"a very long id":   {text(of("couriers", strings.Repeat("m", 129))), consumer.ErrEnvelope},
		"unknown message":  {text(e.Text()), consumer.ErrNoReceipt},
	} {
		msg := types.Message{MessageId: aws.String("sqs-1"), Body: aws.String("secret"), MessageAttributes: c.attributes}
		for _, answer := range []func(context.Context, types.Message) error{w.Accept, w.Decline} {
			if err := answer(t.Context(), msg); !errors.Is(err, c.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: %v, want %v", name, err, c.want)
			}
		}
	}
}

// losesAnswers is a network that loses the first answers to an operation after it took effect.
type losesAnswers struct {
	client    aws.HTTPClient
	operation string
	answers   int
}

func (l *losesAnswers) Do(r *http.Request) (*http.Response, error) {
	out, err := l.client.Do(r)
	if err == nil && strings.HasSuffix(r.Header.Get("X-Amz-Target"), "."+l.operation) && l.answers > 0 {
		l.answers--
		_ = out.Body.Close()
		return nil, errors.New("connection reset")
	}
	return out, err
}

// TestAcceptSurvivesLostAnswers: the SDK repeats the write, which recognises itself. A failure of the ingress queue is
// logged and does not fail Accept.
func TestAcceptSurvivesLostAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		operation string
		answers   int
		state     string
		works     bool
		log       string
	}{
		{"UpdateItem", 1, "accepted", true, ""},
		{"UpdateItem", 99, "accepted", false, ""},
		{"GetQueueUrl", 99, "accepted", true, "the router does it later"},
		{"DeleteMessageBatch", 1, "accepted", true, ""},
		{"DeleteMessageBatch", 99, "accepted", true, "come back"},
	} {
		t.Run(fmt.Sprint(c.operation, c.answers), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorkplace(t)
				table, queues := w.Receipts.Options(), w.Queues.Options()
				network := &losesAnswers{table.HTTPClient, c.operation, c.answers}
				table.HTTPClient, queues.HTTPClient = network, network
				w.Consumer = consumer.New(dynamodb.New(table), sqs.New(queues), w.config())
				id := w.send("the body")
				msg := w.copy()
				err := w.Accept(t.Context(), msg)
				if (err == nil) != c.works || w.state(id) != c.state || !strings.Contains(w.log.String(), c.log) || (c.log == "") != (w.log.Len() == 0) {
					t.Errorf("%v, state %q, log %s", err, w.state(id), w.log.String())
				}
				for _, secret := range secrets(t, msg) {
					if strings.Contains(w.log.String()+fmt.Sprint(err), secret) {
						t.Errorf("a secret leaked: %v, %s", err, w.log.String())
					}
				}
				network.answers = 0
				if err := w.Accept(t.Context(), msg); err != nil {
					t.Errorf("again: %v", err)
				}
			})
		})
	}
}

// TestLogOmitsARefusedHandle, which the error of SQS quotes.
func TestLogOmitsARefusedHandle(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(*workplace, types.Message) error{
		"accept":  func(w *workplace, msg types.Message) error { return w.Accept(w.Context(), msg) },
		"decline": func(w *workplace, msg types.Message) error { return w.Decline(w.Context(), msg) },
	} {
		w := newWorkplace(t)
		w.send("the body")
		msg := w.copy()
		e, err := routing.ParseEnvelope(*msg.MessageAttributes["landfall"].StringValue)
		w.must(err)
		e.Handle = "the-handle"
		msg.MessageAttributes["landfall"] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: aws.String(e.Text())}
		if err := do(w, msg); err != nil || w.log.Len() == 0 || strings.Contains(w.log.String(), e.Handle) {
			t.Errorf("%s: %v, log %s", name, err, w.log.String())
		}
	}
}

// TestEnvironmentSelectsTheDeployment: its receipts table and its ingress queue.
func TestEnvironmentSelectsTheDeployment(t *testing.T) {
	w := newWorkplace(t)
	w.send("x")
	msg := w.copy()
	t.Setenv(schema.ReceiptsTableEnv, "orders-receipts")
	t.Setenv(schema.QueuePrefixEnv, "orders")
	cfg := w.config()
	cfg.ReceiptsTable = ""
	if err := consumer.New(w.Receipts, w.Queues, cfg).Accept(t.Context(), msg); err == nil || errors.Is(err, consumer.ErrStale) {
		t.Errorf("accepted in another table: %v", err)
	}
	cfg = w.config()
	cfg.QueuePrefix = ""
	if err := consumer.New(w.Receipts, w.Queues, cfg).Accept(t.Context(), msg); err != nil || w.counts(w.Ingress) != "0+1" {
		t.Errorf("%v, another deployment's ingress queue holds %s", err, w.counts(w.Ingress))
	}
}

// TestPackageImportsNoRouter, and nothing that is only for development.
func TestPackageImportsNoRouter(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, heavy := range []string{"cel-go", "protobuf", "cobra", "internal/routefn", "internal/routesqs", "internal/lab/localaws", "service/lambda", "aws-lambda-go/lambda\n"} {
		if strings.Contains(string(out), heavy) {
			t.Errorf("the package depends on %s", heavy)
		}
	}
}

// recorded keeps the updates that a consumer asks for.
type recorded struct {
	consumer.ReceiptsClient
	updates []*dynamodb.UpdateItemInput
}

func (r *recorded) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, options ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	r.updates = append(r.updates, in)
	return r.ReceiptsClient.UpdateItem(ctx, in, options...)
}

// TestConsumersAskForNoMoreThanTheirPolicyAllows: the policy of a single consumer lists what they may name and be told.
func TestConsumersAskForNoMoreThanTheirPolicyAllows(t *testing.T) {
	t.Parallel()
	w := newWorkplace(t)
	r := &recorded{ReceiptsClient: w.Receipts}
	c := consumer.New(r, w.Queues, w.config())
	w.send("one")
	w.must(c.Accept(t.Context(), w.copy()))
	w.send("two")
	w.must(c.Decline(t.Context(), w.copy()))
	named := map[string]bool{}
	for _, in := range r.updates {
		if in.ReturnValues != dynamodbtypes.ReturnValueNone {
			t.Errorf("it asks for %s", in.ReturnValues)
		}
		for name := range in.Key {
			named[name] = true
		}
		for _, word := range regexp.MustCompile(`[#:]?\b[a-z_]{2,}\b`).FindAllString(*in.UpdateExpression+" "+*in.ConditionExpression, -1) {
			if full, ok := in.ExpressionAttributeNames[word]; ok {
				word = full
			}
			if word != "attribute_not_exists" && word[0] != ':' {
				named[word] = true
			}
		}
	}
	if got := slices.Sorted(maps.Keys(named)); len(r.updates) != 2 || !slices.Equal(got, schema.ConsumerAttributes) {
		t.Errorf("%d updates name %q, the policy allows %q", len(r.updates), got, schema.ConsumerAttributes)
	}
}
