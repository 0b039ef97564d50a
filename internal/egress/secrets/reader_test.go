package secrets

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/smithy-go"
)

// vault is a Secrets Manager with one secret.
type vault struct {
	takes time.Duration // for a read

	mu    sync.Mutex
	text  *string
	err   error
	reads int
}

func (v *vault) GetSecretValue(ctx context.Context, in *secretsmanager.GetSecretValueInput, _ ...func(*secretsmanager.Options)) (*secretsmanager.GetSecretValueOutput, error) {
	v.mu.Lock()
	v.reads++
	text, err := v.text, v.err // as it was when the read began
	v.mu.Unlock()
	timer := time.NewTimer(v.takes)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if *in.SecretId != "partner" {
		return nil, &smithy.GenericAPIError{Code: "ResourceNotFoundException"}
	}
	return &secretsmanager.GetSecretValueOutput{SecretString: text}, err
}

func (v *vault) put(text string, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.text, v.err = &text, err
}

func (v *vault) count() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.reads
}

func newVault(text string, takes time.Duration) (*vault, *Header) {
	v := &vault{text: &text, takes: takes}
	return v, &Header{Name: "Authorization", Scheme: "Bearer", Secret: "partner", Reader: NewReader(v)}
}

func TestSecretIsReadOnceForAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v, h := newVault("one", 100*time.Millisecond)
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				if value, trouble := h.value(t.Context()); value != "Bearer one" || trouble != "" {
					t.Errorf("%q %s", value, trouble)
				}
			})
		}
		all.Wait()
		time.Sleep(24 * time.Hour)
		if value, _ := h.value(t.Context()); value != "Bearer one" || v.count() != 1 {
			t.Errorf("%q after %d reads", value, v.count())
		}
	})
}

func TestManyRefusalsShareOneRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v, h := newVault("one", 100*time.Millisecond)
		refused, _ := h.value(t.Context())
		var all sync.WaitGroup
		reads := h.Reader.begun("partner")
		for i := range 50 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * 10 * time.Millisecond)
				if h.changed(t.Context(), refused, reads) {
					t.Errorf("%d: changed", i)
				}
			})
		}
		all.Wait()
		if v.count() != 2 {
			t.Errorf("%d reads for 50 refusals of requests that were made at once, want one after the first of all", v.count()-1)
		}
	})
}

// A read that began before the request may have read what the request has.
func TestOnlyAReadAfterTheRequestProvesASecretUnchanged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v, h := newVault("one", 100*time.Millisecond)
		refused, _ := h.value(t.Context())
		if v.put("two", nil); !h.changed(t.Context(), refused, h.Reader.begun("partner")) {
			t.Error("refused right after the first read: not changed")
		}
		refused, _ = h.value(t.Context())
		go h.changed(t.Context(), refused, h.Reader.begun("partner")) // has begun to read when the next request is made
		synctest.Wait()
		reads := h.Reader.begun("partner")
		v.put("three", nil)
		if !h.changed(t.Context(), refused, reads) || v.count() != 4 {
			t.Errorf("refused while another read is under way: not changed after %d reads", v.count())
		}
	})
}

// A send that began before a rotation may be refused after another one has read the new secret.
func TestRefusedSecretThatTheCacheHasReplacedIsChanged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v, h := newVault("one", 100*time.Millisecond)
		slow, _ := h.value(t.Context())
		time.Sleep(time.Minute)
		v.put("two", nil)
		reads := h.Reader.begun("partner")
		if !h.changed(t.Context(), slow, reads) {
			t.Error("the first to be refused: not changed")
		}
		if !h.changed(t.Context(), slow, reads) || v.count() != 2 {
			t.Errorf("the second: not changed, or read again: %d reads", v.count())
		}
		if value, _ := h.value(t.Context()); value != "Bearer two" {
			t.Errorf("the next request has %q", value)
		}
	})
}

// A rotated other member, or the same value put again, leaves the refused value what it was.
func TestRotationOfAnotherMemberChangesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v, h := newVault(`{"key": "one", "other": "a"}`, 0)
		h.Member = "key"
		refused, _ := h.value(t.Context())
		v.put(`{"other": "b", "key": "one"}`, nil)
		if h.changed(t.Context(), refused, h.Reader.begun("partner")) {
			t.Error("changed")
		}
	})
}

func TestSecretThatCannotBeReadIsReadAgainAfterAPause(t *testing.T) {
	t.Parallel()
	api := func(code string) error {
		return fmt.Errorf("read: %w", &smithy.GenericAPIError{Code: code, Message: "hunter2"})
	}
	for _, tc := range []struct {
		err  error
		want Trouble
	}{
		{api("ResourceNotFoundException"), Missing},
		{api("InvalidRequestException"), Missing},
		{api("AccessDeniedException"), Forbidden},
		{api("DecryptionFailure"), Forbidden},
		{api("ThrottlingException"), Unread},
		{api("InternalServiceError"), Unread},
		{errors.New("hunter2"), Unread},
	} {
		synctest.Test(t, func(t *testing.T) {
			v, h := newVault("one", 0)
			v.put("", tc.err)
			for range 10 {
				if value, trouble := h.value(t.Context()); value != "" || trouble != tc.want {
					t.Errorf("%v: %q, %s, want %s", tc.err, value, trouble, tc.want)
				}
			}
			if v.count() != 1 {
				t.Errorf("%v: %d reads at once", tc.err, v.count())
			}
			v.put("one", nil)
			time.Sleep(pause)
			if value, trouble := h.value(t.Context()); value != "Bearer one" || trouble != "" {
				t.Errorf("%v, but mended: %q, %s", tc.err, value, trouble)
			}
			v.put("", tc.err)
			if !h.changed(t.Context(), "Bearer one", h.Reader.begun("partner")) {
				t.Errorf("%v: a refused secret that cannot be read again counts as unchanged", tc.err)
			}
			if value, _ := h.value(t.Context()); value != "Bearer one" {
				t.Errorf("%v: what was known is forgotten: %q", tc.err, value)
			}
		})
	}
}

func TestWaitForASecretEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v, h := newVault("one", 2*time.Second)
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, trouble := h.value(ctx); trouble != Unread || time.Since(began) != time.Second {
			t.Errorf("%s after %v", trouble, time.Since(began))
		}
		// The caller that gave up has not ended the read for others.
		if value, _ := h.value(t.Context()); value != "Bearer one" || time.Since(began) != 2*time.Second || v.count() != 1 {
			t.Errorf("%q after %v and %d reads", value, time.Since(began), v.count())
		}
		v, h = newVault("one", time.Hour)
		began = time.Now()
		if _, trouble := h.value(t.Context()); trouble != Unread || time.Since(began) != readTimeout || v.count() != 1 {
			t.Errorf("%s after %v", trouble, time.Since(began))
		}
	})
}

func TestSecretThatAHeaderCannotCarryIsInvalid(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ text, member, want string }{
		{text: "a", want: "Bearer a"},
		{text: "a b\tc~!", want: "Bearer a b\tc~!"},
		{text: "a\n"}, {text: "\na"}, {text: " a"}, {text: "a\r\nX-Admin: 1"}, {text: "a\x00"}, {text: "a\x7f"}, {text: "é"}, {text: "\xff"},
		{text: strings.Repeat("x", maxValue), want: "Bearer " + strings.Repeat("x", maxValue)},
		{text: strings.Repeat("x", maxValue+1)},
		{text: `{"key": "a"}`, want: `Bearer {"key": "a"}`},
		{text: `{"key": "a", "more": [1]}`, member: "key", want: "Bearer a"},
		{text: `{"Key": "a"}`, member: "key"},
		{text: `{"key": ""}`, member: "key"},
		{text: `{"key": 1}`, member: "key"},
		{text: `{"key": "a\n"}`, member: "key"},
		{text: `{"key": null}`, member: "key"},
		{text: `["key"]`, member: "key"},
		{text: `key`, member: "key"},
		{text: `{"key": "a"} x`, member: "key"},
		{text: `null`, member: "key"},
	} {
		synctest.Test(t, func(t *testing.T) {
			v, h := newVault(tc.text, 0)
			h.Member = tc.member
			want := Trouble("")
			if tc.want == "" {
				want = Invalid
			}
			if value, trouble := h.value(t.Context()); value != tc.want || trouble != want {
				t.Errorf("%.40q: %q, %s", tc.text, value, trouble)
			}
			v.put(`{"key": "mended"}`, nil)
			time.Sleep(pause)
			if _, trouble := h.value(t.Context()); trouble != "" {
				t.Errorf("%.40q, but mended: %s", tc.text, trouble)
			}
		})
	}
	v, h := newVault("", 0)
	v.text = nil // a binary secret
	if value, trouble := h.value(t.Context()); value != "" || trouble != Invalid {
		t.Errorf("a secret without text: %q, %s", value, trouble)
	}
	h.Secret = "another"
	if value, trouble := h.value(t.Context()); value != "" || trouble != Missing {
		t.Errorf("another secret: %q, %s", value, trouble)
	}
	h.Scheme, h.Secret = "", "partner"
	v.text = aws.String("raw")
	h.Reader = NewReader(v)
	if value, _ := h.value(t.Context()); value != "raw" {
		t.Errorf("without a scheme: %q", value)
	}
}

func FuzzSecret(f *testing.F) {
	for _, text := range []string{"a", "a\n", `{"key": "a"}`, `{"key": "a\r\nb"}`, "\x7f", `{"key":`, "é"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, h := range []Header{{}, {Member: "key", Scheme: "Bearer"}} {
			value, ok := h.of(text)
			for _, b := range []byte(value) {
				if b < ' ' && b != '\t' || b > '~' {
					t.Errorf("%q: %q", text, value)
				}
			}
			if ok != (value != "") {
				t.Errorf("%q: %q, %v", text, value, ok)
			}
		}
	})
}
