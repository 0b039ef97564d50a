package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/schema"
)

// rowTable is the outbox table of an account.
type rowTable struct {
	*dynamodb.Client
	name string
}

// outbox is the table that the environment, the profile and the global flags lead to.
func (a *app) outbox(ctx context.Context) (*rowTable, error) {
	if u, err := url.Parse(a.endpoint); a.endpoint != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return nil, badInput(errors.New("--endpoint-url: want http://host:port or https://host:port"))
	}
	options := []func(*awsconfig.LoadOptions) error{awsconfig.WithAppID("landfall-cli")}
	if a.region != "" {
		options = append(options, awsconfig.WithRegion(a.region))
	}
	cfg, err := awsconfig.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("configure the AWS SDK: %w", err)
	}
	if cfg.Region == "" {
		return nil, badInput(errors.New("no AWS region: set --region or AWS_REGION"))
	}
	name := cmp.Or(os.Getenv(schema.OutboxTableEnv), schema.OutboxTable)
	if a.stack != "" {
		outputs, err := stackOutputs(ctx, cfg, a.endpoint, a.stack)
		if err != nil {
			return nil, err
		}
		if name = outputs[schema.OutboxTableOutput]; name == "" {
			return nil, fmt.Errorf("stack %s has no output %s: is there a Landfall in it?", a.stack, schema.OutboxTableOutput)
		}
	}
	client := dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) {
		if a.endpoint != "" {
			o.BaseEndpoint = aws.String(a.endpoint)
		}
	})
	return &rowTable{client, name}, nil
}

// explain adds what to do where DynamoDB only says that it knows no such table.
func (t *rowTable) explain(err error) error {
	var missing *types.ResourceNotFoundException
	if errors.As(err, &missing) {
		return fmt.Errorf("no table %s there: set %s or --stack, or the endpoint and region that it is in: %w", t.name, schema.OutboxTableEnv, err)
	}
	return err
}
