package setup

import (
	"context"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/egress/secrets"
	"github.com/landfall-dev/landfall/internal/invoke"
	"github.com/landfall-dev/landfall/internal/routesqs"
)

// remotes makes the clients that senders and lookups share, each when the first of them needs it.
type remotes struct {
	secrets func() *secrets.Reader
	invoker func() *invoke.Invoker
	sqs     func() queues
}

// queues is where messages are sent, and how queues are found by name.
type queues struct {
	client *sqs.Client
	url    func(ctx context.Context, queue string) (string, error)
}

func newRemotes(sdk aws.Config) remotes {
	return remotes{
		secrets: sync.OnceValue(func() *secrets.Reader { return secrets.NewReader(secretsmanager.NewFromConfig(sdk)) }),
		invoker: sync.OnceValue(func() *invoke.Invoker { return invoke.New(sdk) }),
		sqs: sync.OnceValue(func() queues {
			client := sqs.NewFromConfig(sdk, func(o *sqs.Options) {
				o.HTTPClient = awshttp.NewBuildableClient() // the send timeout bounds a request, not the one of tables
			})
			return queues{client, routesqs.NewQueues(client).URL}
		}),
	}
}

// header is nil without a secret.
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
