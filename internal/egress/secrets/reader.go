// Package secrets puts secrets of AWS Secrets Manager into the headers of requests. A secret is read when it is first needed
// and kept as long as the process lives; it is read again when a remote refuses it. Only the header holds any part of a
// secret: troubles are single words.
package secrets

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/landfall-dev/landfall/internal/awscall"
)

const (
	// readTimeout bounds one read, repetitions by the SDK included.
	readTimeout = 3 * time.Second
	// pause is the time between reads of a secret that cannot be read or used.
	pause = time.Second
)

// Trouble says in one word why there is no secret. The words are stable, because they are part of the codes on rows.
type Trouble string

const (
	// Missing: there is no secret of that name, or it is about to be deleted.
	Missing Trouble = "secret_missing"
	// Forbidden: the function's role may not read it, or not decrypt it.
	Forbidden Trouble = "secret_forbidden"
	// Unread: Secrets Manager did not answer in time, or could not.
	Unread Trouble = "secret_unread"
	// Invalid: it is not text, lacks the member that is asked for, or cannot be the value of a header.
	Invalid Trouble = "secret_invalid"
)

// Client reads secrets, as *secretsmanager.Client does.
type Client interface {
	GetSecretValue(context.Context, *secretsmanager.GetSecretValueInput, ...func(*secretsmanager.Options)) (*secretsmanager.GetSecretValueOutput, error)
}

// Reader reads secrets and keeps them. Make one with [NewReader] for the whole process; it may be used from several
// goroutines at once. At most one read of a secret is under way at a time; all callers share it.
type Reader struct {
	client Client

	mu    sync.Mutex
	known map[string]*known // by name
}

// known is the state of one secret.
type known struct {
	text    string        // as it was last read; "" if it was never read
	trouble Trouble       // of the last read
	begun   int           // reads
	ended   int           // reads; at most one is under way
	at      time.Time     // when the last read began
	reading chan struct{} // nil unless a read is under way; closed when it has ended
}

// NewReader returns a Reader without secrets.
func NewReader(client Client) *Reader { return &Reader{client: client, known: map[string]*known{}} }

// text is the secret as it was last read, however long ago.
func (r *Reader) text(ctx context.Context, name string) (string, Trouble) {
	r.mu.Lock()
	text := r.get(name).text
	r.mu.Unlock()
	if text != "" {
		return text, ""
	}
	return r.again(ctx, name)
}

// begun is the number of reads of the secret that have begun.
func (r *Reader) begun(name string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.get(name).begun
}

// again reads a secret of which no usable value is known, unless a read is under way or has just ended.
func (r *Reader) again(ctx context.Context, name string) (string, Trouble) {
	r.mu.Lock()
	k := r.get(name)
	after := k.begun
	if k.reading != nil || after > 0 && time.Since(k.at) < pause {
		after--
	}
	r.mu.Unlock()
	return r.after(ctx, name, after)
}

// after is the secret as found by a read that was not among the first so many: one that another caller began, or a new
// one. It waits until ctx ends; the read itself goes on for other callers.
func (r *Reader) after(ctx context.Context, name string, reads int) (string, Trouble) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.get(name)
	for k.ended <= reads {
		if k.reading == nil {
			k.begun, k.at, k.reading = k.begun+1, time.Now(), make(chan struct{})
			go r.read(context.WithoutCancel(ctx), name, k)
		}
		if !r.wait(ctx, k.reading) {
			return "", Unread
		}
	}
	if k.trouble != "" {
		return "", k.trouble
	}
	return k.text, ""
}

// get is the state of a secret. The lock is held.
func (r *Reader) get(name string) *known {
	if r.known[name] == nil {
		r.known[name] = &known{}
	}
	return r.known[name]
}

// wait reports whether a read ended in time. The lock is held, but released during the wait.
func (r *Reader) wait(ctx context.Context, reading <-chan struct{}) bool {
	r.mu.Unlock()
	defer r.mu.Lock()
	select {
	case <-reading:
		return true
	case <-ctx.Done():
		return false
	}
}

func (r *Reader) read(ctx context.Context, name string, k *known) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	out, err := r.client.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: &name})
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err != nil:
		k.trouble = troubleOf(err)
	case out.SecretString == nil || *out.SecretString == "": // a binary one
		k.text, k.trouble = "", Invalid
	default:
		k.text, k.trouble = *out.SecretString, ""
	}
	k.ended = k.begun
	close(k.reading)
	k.reading = nil
}

// troubleOf classifies the service's errors
// (https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_GetSecretValue.html).
func troubleOf(err error) Trouble {
	switch code := awscall.Code(err); {
	case code == "ResourceNotFoundException", code == "InvalidRequestException":
		return Missing
	case slices.Contains([]string{"AccessDeniedException", "DecryptionFailure"}, code):
		return Forbidden
	}
	return Unread
}
