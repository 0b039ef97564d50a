// Package setup prepares the functions for their first event: configuration, tables, SDK clients, senders. Only their mains
// use it; it decides nothing about a row.
package setup

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/landfall-dev/landfall/internal/clock"
	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/observe"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

// storeTimeout bounds one request to DynamoDB, so that a repetition still fits into the 5 s within which a claim must be
// answered for the row to be sent ([outbox.SkewMargin]).
const storeTimeout = 2 * time.Second

// Function is what every function works with.
type Function struct {
	Config       *config.Config
	Destinations []outbox.Destination
	Store        *outboxdb.Store
	Controls     *outboxdb.Gate
	Logger       *slog.Logger
	name         string
	stalls       outbox.Stalls
	clock        clock.Watch
}

// Load reads the configuration and makes the clients of the named function. Call it once, when the process starts.
func Load(ctx context.Context, name string) (*Function, error) {
	cfg, err := config.Load(configPath())
	if err != nil {
		return nil, err
	}
	sdk, err := awsconfig.LoadDefaultConfig(ctx, awsconfig.WithHTTPClient(awshttp.NewBuildableClient().WithTimeout(storeTimeout)))
	if err != nil {
		return nil, fmt.Errorf("set up the AWS SDK: %w", err)
	}
	all, err := destinations(cfg, newRemotes(sdk))
	if err != nil {
		return nil, err
	}
	logger := observe.NewLogger(os.Stdout, name, os.Getenv("AWS_LAMBDA_LOG_LEVEL"))
	f := &Function{Config: cfg, Destinations: all, Logger: logger, name: name}
	tables := dynamodb.NewFromConfig(sdk, func(o *dynamodb.Options) { o.APIOptions = append(o.APIOptions, f.clock.Option) })
	f.Store = outboxdb.New(tables, cmp.Or(os.Getenv(schema.OutboxTableEnv), schema.OutboxTable))
	controls := outboxdb.NewControls(tables, cmp.Or(os.Getenv(schema.ControlTableEnv), schema.ControlTable))
	f.Controls = &outboxdb.Gate{Reader: controls, Logger: logger}
	return f, nil
}

// configPath is the path of the configuration: beside the binary, unless a variable says otherwise.
func configPath() string {
	if path := os.Getenv(schema.ConfigEnv); path != "" {
		return path
	}
	return filepath.Join(os.Getenv("LAMBDA_TASK_ROOT"), schema.ConfigFile)
}

// Observer returns the observer of one invocation; the caller flushes it.
func (f *Function) Observer(requestID string) *observe.Observer {
	return observe.New(observe.Config{
		Function: f.name, Destinations: f.Config.Names(), LogSuccesses: f.Config.LogSuccesses,
		Logger: f.Logger, Metrics: os.Stdout, Namespace: os.Getenv(schema.MetricsNamespaceEnv), RequestID: requestID,
	})
}
