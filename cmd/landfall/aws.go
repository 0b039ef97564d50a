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
	"github.com/aws/smithy-go/logging"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/landfall-dev/landfall/internal/schema"
)

// answerTimeout bounds one request; the SDK makes a few attempts.
const answerTimeout = 10 * time.Second

// account is the AWS that the environment, the profile and the global flags lead to, and the deployment in it.
type account struct {
	sdk     aws.Config
	stack   string            // "" for the one that the environment names
	outputs map[string]string // of the stack
}

// account asks CloudFormation if a stack is named, and nobody else.
func (a *app) account(ctx context.Context) (*account, error) {
	if u, err := url.Parse(a.endpoint); a.endpoint != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return nil, badInput(errors.New("--endpoint-url: want http://host:port or https://host:port"))
	}
	options := []func(*awsconfig.LoadOptions) error{
		awsconfig.WithAppID("landfall-cli"), awsconfig.WithLogger(logging.Nop{}),
		awsconfig.WithHTTPClient(awshttp.NewBuildableClient().WithTimeout(answerTimeout)),
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
		return nil, badInput(errors.New("no AWS region: set --region or AWS_REGION"))
	}
	at := &account{sdk: sdk, stack: a.stack}
	if a.stack != "" {
		at.outputs, err = stackOutputs(ctx, sdk, a.endpoint, a.stack)
	}
	return at, err
}

// named is something that a deployment calls by a name of its own.
type named struct{ output, variable, standard string }

var (
	outboxName   = named{schema.OutboxTableOutput, schema.OutboxTableEnv, schema.OutboxTable}
	receiptsName = named{schema.ReceiptsTableOutput, schema.ReceiptsTableEnv, schema.ReceiptsTable}
	controlName  = named{schema.ControlTableOutput, schema.ControlTableEnv, schema.ControlTable}
	prefixName   = named{schema.QueuePrefixOutput, schema.QueuePrefixEnv, schema.QueuePrefix}
)

// name is the stack's, if one is meant, else the environment's, else the default.
func (at *account) name(n named) (string, error) {
	if at.stack == "" {
		return cmp.Or(os.Getenv(n.variable), n.standard), nil
	}
	if name := at.outputs[n.output]; name != "" {
		return name, nil
	}
	return "", fmt.Errorf("stack %s has no output %s: is there a Landfall in it?", at.stack, n.output)
}

// ourTable is one of Landfall's tables in an account.
type ourTable struct {
	*dynamodb.Client
	name string
	as   named
}

func (at *account) table(ctx context.Context, n named) (*ourTable, error) {
	if _, err := credentialsOf(ctx, at.sdk); err != nil {
		return nil, err
	}
	name, err := at.name(n)
	if err != nil {
		return nil, err
	}
	return &ourTable{dynamodb.NewFromConfig(at.sdk), name, n}, nil
}

// What to do where there is nobody to ask, or nobody who asks.
const (
	seeEndpoint = "see --endpoint-url, AWS_ENDPOINT_URL and --region; for landfall dev, that it runs"
	logIn       = "log in, or set AWS_PROFILE; for landfall dev, export what it prints"
)

// credentialsOf are those that requests are signed with.
func credentialsOf(ctx context.Context, sdk aws.Config) (aws.Credentials, error) {
	found, err := sdk.Credentials.Retrieve(ctx)
	if err != nil {
		return found, fmt.Errorf("no AWS credentials: %s: %w", logIn, err)
	}
	return found, nil
}

// outbox is the outbox table.
func (a *app) outbox(ctx context.Context) (*ourTable, error) {
	at, err := a.account(ctx)
	if err != nil {
		return nil, err
	}
	return at.table(ctx, outboxName)
}

// explain adds what to do where DynamoDB only says that it knows no such table, or nothing at all.
func (t *ourTable) explain(err error) error {
	var missing *types.ResourceNotFoundException
	var unsent *smithyhttp.RequestSendError
	switch {
	case errors.As(err, &missing):
		return fmt.Errorf("no table %s there: set %s or --stack, or the endpoint and region that it is in: %w", t.name, t.as.variable, err)
	case errors.As(err, &unsent):
		return fmt.Errorf("DynamoDB cannot be reached: %s: %w", seeEndpoint, err)
	}
	return err
}
