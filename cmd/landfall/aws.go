package main

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/landfall-dev/landfall/internal/schema"
)

// dynamoDB is a client as the environment, the profile and the global flags say.
func (a *app) dynamoDB(ctx context.Context) (*dynamodb.Client, error) {
	options := []func(*awsconfig.LoadOptions) error{awsconfig.WithAppID("landfall-cli")}
	if a.region != "" {
		options = append(options, awsconfig.WithRegion(a.region))
	}
	cfg, err := awsconfig.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("configure the AWS SDK: %w", err)
	}
	if cfg.Region == "" {
		return nil, badInput(fmt.Errorf("no AWS region: set --region or AWS_REGION"))
	}
	return dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) {
		if a.endpoint != "" {
			o.BaseEndpoint = aws.String(a.endpoint)
		}
	}), nil
}

func outboxTable() string { return cmp.Or(os.Getenv(schema.OutboxTableEnv), schema.OutboxTable) }
