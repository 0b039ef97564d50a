package setup

import (
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/egress/secrets"
	"github.com/landfall-dev/landfall/internal/invoke"
)

// remotes makes the clients that senders and lookups share, each when the first of them needs it.
type remotes struct {
	secrets func() *secrets.Reader
	invoker func() *invoke.Invoker
}

func newRemotes(sdk aws.Config) remotes {
	return remotes{
		secrets: sync.OnceValue(func() *secrets.Reader { return secrets.NewReader(secretsmanager.NewFromConfig(sdk)) }),
		invoker: sync.OnceValue(func() *invoke.Invoker { return invoke.New(sdk) }),
	}
}

// header is nil where there is no secret.
func (r remotes) header(s *config.Secret) *secrets.Header {
	if s == nil {
		return nil
	}
	h := &secrets.Header{Name: s.Header, Secret: s.Name, Member: s.Member, Reader: r.secrets()}
	if s.Scheme != config.NoScheme {
		h.Scheme = s.Scheme
	}
	return h
}
