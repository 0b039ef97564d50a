package sender_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/google/go-cmp/cmp"

	"github.com/landfall-dev/landfall/internal/egress/secrets"
	"github.com/landfall-dev/landfall/internal/lab/egresstest"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/sender"
)

// vault is a Secrets Manager that has one version of a secret after another, an empty one if it fails.
type vault struct {
	mu       sync.Mutex
	versions []string
	reads    int
}

func (v *vault) GetSecretValue(context.Context, *secretsmanager.GetSecretValueInput, ...func(*secretsmanager.Options)) (*secretsmanager.GetSecretValueOutput, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.reads++
	text := v.versions[0]
	if len(v.versions) > 1 {
		v.versions = v.versions[1:]
	}
	if text == "" {
		return nil, errors.New("hunter2")
	}
	return &secretsmanager.GetSecretValueOutput{SecretString: &text}, nil
}

func TestRefusalOfARotatedSecretIsRetryable(t *testing.T) {
	t.Parallel()
	retryable := func(code string) outbox.Outcome { return outbox.Retryable("landfall.http."+code, 0) }
	override := map[int]outbox.OutcomeKind{401: outbox.KindPermanent, 403: outbox.KindUnknown}
	for _, tc := range []struct {
		name     string
		status   int // of a request with another secret than the last version
		versions []string
		statuses map[int]outbox.OutcomeKind
		want     outbox.Outcome
		reads    int
		requests int
		next     outbox.Outcome // of one more send
	}{
		{"good", 401, []string{"two"}, nil, outbox.Completed(""), 1, 1, outbox.Completed("")},
		{"rotated, 401", 401, []string{"one", "two"}, nil, retryable("status_401"), 2, 1, outbox.Completed("")},
		{"rotated, 403", 403, []string{"one", "two"}, nil, retryable("status_403"), 2, 1, outbox.Completed("")},
		{"rotated, of another meaning", 403, []string{"one", "two"}, override, outbox.Unknown("", "landfall.http.status_403"), 2, 1, outbox.Completed("")},
		{"rotated, refused for good", 401, []string{"one", "two"}, override, outbox.Permanent("landfall.http.status_401"), 2, 1, outbox.Completed("")},
		{"rotated, but the remote's answer is another", 400, []string{"one", "two"}, nil, outbox.Permanent("landfall.http.status_400"), 1, 1, outbox.Permanent("landfall.http.status_400")},
		{"unreadable once refused", 401, []string{"one", "", "two"}, nil, retryable("status_401"), 2, 1, retryable("status_401")},
		{"unreadable", 401, []string{""}, nil, unsent(retryable("secret_unread")), 1, 0, unsent(retryable("secret_unread"))},
		{"no header", 401, []string{"two\n"}, nil, unsent(retryable("secret_invalid")), 1, 0, unsent(retryable("secret_invalid"))},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			remote := egresstest.Serve(t, func(c *egresstest.Conn) {
				req := c.ReadHead()
				status := 200
				if req.Header.Get("Authorization") != "Bearer two" {
					status = tc.status
				}
				c.Say(fmt.Sprintf("HTTP/1.1 %d -\r\nContent-Length: 0\r\n\r\n", status))
			})
			v := &vault{versions: tc.versions}
			h := &secrets.Header{Name: "Authorization", Scheme: "Bearer", Secret: "partner", Reader: secrets.NewReader(v)}
			s := newHTTP(t, sender.HTTPOptions{URL: remote.URL, Secret: h, Statuses: tc.statuses, Headers: map[string]string{"Authorization": "fixed"}})
			got := s.Send(t.Context(), order(""))
			if connections, requests := remote.Take(t); requests != tc.requests || connections != tc.requests {
				t.Errorf("%d requests on %d connections, want %d", requests, connections, tc.requests)
			}
			if v.reads != tc.reads {
				t.Errorf("%d reads of the secret, want %d", v.reads, tc.reads)
			}
			if diff := cmp.Diff([]outbox.Outcome{tc.want, tc.next}, []outbox.Outcome{got, s.Send(t.Context(), order(""))}); diff != "" {
				t.Errorf("outcomes (-want +got):\n%s", diff)
			}
			remote.Close(t)
		})
	}
}

func TestRefusalOfAnUnchangedSecretIsPermanentUnlessItSaysWhen(t *testing.T) {
	t.Parallel()
	for _, status := range []int{401, 403} {
		code := fmt.Sprintf("landfall.http.status_%d", status)
		for header, want := range map[string]outbox.Outcome{"": outbox.Permanent(code), "Retry-After: 7\r\n": outbox.Retryable(code, 7*time.Second)} {
			remote := egresstest.Serve(t, says(fmt.Sprintf("HTTP/1.1 %d No\r\n%s\r\n", status, header)))
			v := &vault{versions: []string{"one"}}
			h := &secrets.Header{Name: "X-Api-Key", Secret: "partner", Reader: secrets.NewReader(v)}
			got := newHTTP(t, sender.HTTPOptions{URL: remote.URL, Secret: h}).Send(t.Context(), order("{}"))
			remote.Close(t)
			if got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
			if n := bytes.Count(remote.Raw(), []byte("X-Api-Key: one\r\n")); n != 1 || remote.Requests() != 1 {
				t.Errorf("the secret went out %d times in %d requests", n, remote.Requests())
			}
		}
	}
}
