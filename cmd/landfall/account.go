package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/doctor"
	"github.com/landfall-dev/landfall/internal/schema"
)

// requestTimeout bounds one request; the SDK makes a few attempts.
const requestTimeout = 10 * time.Second

// account is the AWS account that the environment, the profile and the global flags lead to, and the deployment in it.
type account struct {
	sdk     aws.Config
	stack   string            // "" for the deployment that the environment names
	outputs map[string]string // of the stack
}

// account calls CloudFormation if a stack is named, and nothing else.
func (a *app) account(ctx context.Context) (*account, error) {
	if u, err := url.Parse(a.endpoint); a.endpoint != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return nil, badInputf("--endpoint-url: want http://host:port or https://host:port")
	}
	options := []func(*awsconfig.LoadOptions) error{
		awsconfig.WithAppID("landfall-cli"), awsconfig.WithLogger(logging.Nop{}),
		awsconfig.WithHTTPClient(awshttp.NewBuildableClient().WithTimeout(requestTimeout)),
	}
	if a.region != "" {
		options = append(options, awsconfig.WithRegion(a.region))
	}
	if a.endpoint != "" {
		options = append(options, awsconfig.WithBaseEndpoint(a.endpoint))
	}
	sdk, err := awsconfig.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("configure the AWS SDK: %w", err)
	}
	if sdk.Region == "" {
		return nil, badInputf("no AWS region: set --region or AWS_REGION")
	}
	at := &account{sdk: sdk, stack: a.stack}
	if a.stack != "" {
		at.outputs, err = stackOutputs(ctx, sdk, a.endpoint, a.stack)
	}
	return at, err
}

// named is a table, or the prefix of the queues: the stack's output that names it, the variable, the default.
type named struct{ output, variable, standard string }

var (
	outboxName   = named{schema.OutboxTableOutput, schema.OutboxTableEnv, schema.OutboxTable}
	receiptsName = named{schema.ReceiptsTableOutput, schema.ReceiptsTableEnv, schema.ReceiptsTable}
	controlName  = named{schema.ControlTableOutput, schema.ControlTableEnv, schema.ControlTable}
	prefixName   = named{schema.QueuePrefixOutput, schema.QueuePrefixEnv, schema.QueuePrefix}
)

// name is the stack's name for it if --stack is given, else the environment's, else the default.
func (at *account) name(n named) (string, error) {
	if at.stack == "" {
		return cmp.Or(os.Getenv(n.variable), n.standard), nil
	}
	if name := at.outputs[n.output]; name != "" {
		return name, nil
	}
	return "", fmt.Errorf("stack %s has no output %s: check that Landfall is in this stack", at.stack, n.output)
}

// tableClient reaches one of Landfall's tables.
type tableClient struct {
	db   *dynamodb.Client
	name string
	as   named
	sdk  aws.Config
}

func (at *account) table(ctx context.Context, n named) (*tableClient, error) {
	if _, err := credentialsOf(ctx, at.sdk); err != nil {
		return nil, err
	}
	name, err := at.name(n)
	if err != nil {
		return nil, err
	}
	return &tableClient{dynamodb.NewFromConfig(at.sdk), name, n, at.sdk}, nil
}

// credentialsOf are those that requests are signed with.
func credentialsOf(ctx context.Context, sdk aws.Config) (aws.Credentials, error) {
	found, err := sdk.Credentials.Retrieve(ctx)
	if err != nil {
		return found, fmt.Errorf("no AWS credentials: %s: %w", doctor.LogIn, err)
	}
	return found, nil
}

// outbox is the outbox table.
func (a *app) outbox(ctx context.Context) (*tableClient, error) {
	at, err := a.account(ctx)
	if err != nil {
		return nil, err
	}
	return at.table(ctx, outboxName)
}

// configAndOutbox is the configuration, and the outbox table.
func (a *app) configAndOutbox(ctx context.Context) (*config.Config, *tableClient, error) {
	cfg, err := a.loadConfig()
	if err != nil {
		return nil, nil, err
	}
	table, err := a.outbox(ctx)
	return cfg, table, err
}

// configAndControl is the configuration, and the table of what was changed without a deployment.
func (a *app) configAndControl(ctx context.Context) (*config.Config, *account, *tableClient, error) {
	cfg, err := a.loadConfig()
	if err != nil {
		return nil, nil, nil, err
	}
	at, err := a.account(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	table, err := at.table(ctx, controlName)
	return cfg, at, table, err
}

// explain says what to do if the table does not exist, if DynamoDB does not answer, and if a permission is missing.
func (t *tableClient) explain(err error) error {
	var missing *types.ResourceNotFoundException
	var unsent *smithyhttp.RequestSendError
	var answered smithy.APIError
	switch {
	case errors.As(err, &missing):
		return fmt.Errorf("no table %s in %s: set %s or --stack, or --region and --endpoint-url", t.name, t.db.Options().Region, t.as.variable)
	case errors.As(err, &unsent):
		return fmt.Errorf("DynamoDB cannot be reached: %s: %w", doctor.CheckEndpoint, unsent.Err)
	case errors.As(err, &answered) && answered.ErrorCode() == "AccessDeniedException":
		return fmt.Errorf("table %s: you lack a permission; landfall doctor lists those that you need: %w", t.name, answered)
	}
	return err
}
