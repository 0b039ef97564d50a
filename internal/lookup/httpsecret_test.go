package lookup_test

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/landfall-dev/landfall/internal/egress/secrets"
	"github.com/landfall-dev/landfall/internal/lab/egresstest"
	"github.com/landfall-dev/landfall/internal/lookup"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// vault is a Secrets Manager that has one version of a secret after another.
type vault struct{ versions []string }

func (v *vault) GetSecretValue(context.Context, *secretsmanager.GetSecretValueInput, ...func(*secretsmanager.Options)) (*secretsmanager.GetSecretValueOutput, error) {
	text := v.versions[0]
	if len(v.versions) > 1 {
		v.versions = v.versions[1:]
	}
	return &secretsmanager.GetSecretValueOutput{SecretString: &text}, nil
}

// Who is refused has learnt nothing, unless the refusal is of today's secret and a rule says what it means.
func TestRefusalOfARotatedSecretDecidesNothing(t *testing.T) {
	t.Parallel()
	rules := []rule{{Status: []string{"200"}, Then: outbox.AnswerCompleted}, {Status: []string{"403"}, Then: outbox.AnswerNotFound}}
	for _, tc := range []struct {
		name       string
		versions   []string
		want, next outbox.Answer
		requests   int // of the first lookup
	}{
		{"good", []string{"two"}, outbox.Answer{Kind: outbox.AnswerCompleted}, outbox.Answer{Kind: outbox.AnswerCompleted}, 1},
		{"rotated", []string{"one", "two"}, outbox.Answer{Code: "landfall.lookup.http.status_403"}, outbox.Answer{Kind: outbox.AnswerCompleted}, 1},
		{"today's", []string{"one"}, outbox.Answer{Kind: outbox.AnswerNotFound}, outbox.Answer{Kind: outbox.AnswerNotFound}, 1},
		{"no header", []string{"two\n"}, outbox.Answer{Code: "landfall.lookup.http.secret_invalid"}, outbox.Answer{Code: "landfall.lookup.http.secret_invalid"}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			remote := egresstest.Serve(t, func(c *egresstest.Conn) {
				if c.ReadHead().Header.Get("X-Api-Key") != "two" {
					c.Say("HTTP/1.1 403 No\r\n\r\n")
					return
				}
				c.Say("HTTP/1.1 200 OK\r\n\r\n")
			})
			l, err := lookup.NewHTTP(lookup.HTTPOptions{
				AllowPrivate: true, Rules: rules, URL: remote.URL + "/{idempotency_key}",
				Secret: &secrets.Header{Name: "X-Api-Key", Secret: "partner", Reader: secrets.NewReader(&vault{tc.versions})},
			})
			if err != nil {
				t.Fatal(err)
			}
			got := l.Look(t.Context(), row())
			if connections, requests := remote.Take(t); connections != tc.requests || requests != tc.requests {
				t.Errorf("%d requests on %d connections, want %d", requests, connections, tc.requests)
			}
			if next := l.Look(t.Context(), row()); got != tc.want || next != tc.next {
				t.Errorf("%+v, then %+v; want %+v, then %+v", got, next, tc.want, tc.next)
			}
			remote.Close(t)
		})
	}
}
