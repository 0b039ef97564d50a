// Package desk is the whole of Landfall on one machine: a local AWS, the tables, the very function binaries
// that are deployed, and their schedules. `landfall dev` and `landfall demo` run it. It is for desks, not
// for production: nothing in it survives the process.
package desk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/devstack"
	"github.com/landfall-dev/landfall/internal/localaws"
	"github.com/landfall-dev/landfall/internal/localaws/ledger"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

// Options say what a desk runs.
type Options struct {
	// Source is a folder of the source tree: the functions are built from it.
	Source string
	// Config is what the functions are given.
	Config *config.Config
	// Folder gets landfall.json. Required.
	Folder string
	// Endpoint of an AWS that runs already, on this machine; "" for one in this process.
	Endpoint string
	// Table is the outbox table. Defaults to schema.OutboxTable.
	Table string
	// Port of the AWS in this process. Defaults to any that is free.
	Port int
	// KeepRequests is how many requests the ledger keeps beside its sums; negative: all of them.
	KeepRequests int
	// Output gets what the functions print, line by line. Defaults to nowhere.
	Output io.Writer
}

// DefaultEvery is the schedules' rate on a desk; deployed, it is a minute.
const DefaultEvery = 5 * time.Second

// Desk is a running desk. It must be stopped.
type Desk struct {
	// Endpoint is the URL of the AWS.
	Endpoint string
	// Stack runs the functions.
	Stack *devstack.Stack
	// Ledger counts what requests cost; nil where the AWS is not in this process.
	Ledger *ledger.Ledger

	table  string
	server *localaws.Server
}

// scheduled are the functions that a schedule starts.
var scheduled = []string{"dispatch", "reconcile"}

// FunctionCaller is what the ledger calls the function of that name.
func FunctionCaller(name string) string { return "landfall-" + name }

// Start builds the functions, then starts everything but the schedules; see [Desk.Schedule].
func Start(ctx context.Context, o Options) (*Desk, error) {
	file, err := writeConfig(o)
	if err != nil {
		return nil, err
	}
	d := &Desk{Endpoint: o.Endpoint, table: cmp.Or(o.Table, schema.OutboxTable)}
	if d.Endpoint == "" {
		account := localaws.New(localaws.Options{KeepEntries: cmp.Or(o.KeepRequests, 1000)})
		if d.server, err = localaws.Listen(fmt.Sprintf("127.0.0.1:%d", o.Port), account); err != nil {
			return nil, err
		}
		d.Endpoint, d.Ledger = d.server.URL, account.Ledger()
	} else if err := Loopback(d.Endpoint); err != nil {
		return nil, err
	}
	if err := d.createTable(ctx); err != nil {
		return nil, errors.Join(err, d.Stop(ctx))
	}
	stack := devstack.Config{Output: o.Output}
	for name, timeout := range timeouts(o.Config) {
		binary, err := devstack.Build(ctx, o.Source, name)
		if err != nil {
			return nil, errors.Join(err, d.Stop(ctx))
		}
		stack.Functions = append(stack.Functions, devstack.Function{
			Name: name, Path: binary, Timeout: timeout,
			Env: map[string]string{
				schema.ConfigEnv: file, schema.OutboxTableEnv: d.table,
				"AWS_ENDPOINT_URL": d.Endpoint, "AWS_SDK_UA_APP_ID": FunctionCaller(name),
			},
		})
	}
	if d.Stack, err = devstack.Start(stack); err != nil {
		return nil, errors.Join(err, d.Stop(ctx))
	}
	return d, nil
}

// createTable makes the outbox table where there is none.
func (d *Desk) createTable(ctx context.Context) error {
	_, err := d.DynamoDB("desk").CreateTable(ctx, outboxdb.Table(d.table))
	var exists *types.ResourceInUseException
	if err != nil && !errors.As(err, &exists) {
		return fmt.Errorf("create table %s: %w", d.table, err)
	}
	return nil
}

// timeouts are the functions', by name: to claim or to ask, to drain, and to answer.
func timeouts(cfg *config.Config) map[string]time.Duration {
	const answer = 10 * time.Second
	var longest time.Duration
	for _, d := range cfg.Destinations {
		longest = max(longest, d.Policy().SendTimeout)
	}
	return map[string]time.Duration{
		"dispatch":  outbox.ClaimFor + longest + outbox.ClaimMargin + answer,
		"reconcile": outbox.ClaimFor + outbox.LookupTimeout + outbox.ClaimMargin + answer/2,
		"stream":    outbox.DeliverFor + longest + outbox.ClaimMargin + answer,
	}
}

func writeConfig(o Options) (string, error) {
	resolved, err := o.Config.Resolved()
	if err != nil {
		return "", err
	}
	file, err := filepath.Abs(filepath.Join(o.Folder, schema.ConfigFile))
	if err != nil {
		return "", fmt.Errorf("write the configuration: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return "", fmt.Errorf("write the configuration: %w", err)
	}
	if err := os.WriteFile(file, resolved, 0o644); err != nil {
		return "", fmt.Errorf("write the configuration: %w", err)
	}
	return file, nil
}

// Schedule starts the schedules of dispatch and reconcile; they end when ctx does.
func (d *Desk) Schedule(ctx context.Context, every time.Duration) error {
	for _, function := range scheduled {
		err := d.Stack.Schedule(ctx, devstack.Schedule{Rule: FunctionCaller(function), Function: function, Every: every, MaxAge: time.Second})
		if err != nil {
			return err
		}
	}
	return nil
}

// SDK is a configuration for clients of the desk's AWS; caller is what the ledger calls them.
func (d *Desk) SDK(caller string) aws.Config {
	return aws.Config{
		Region: devstack.DefaultRegion, BaseEndpoint: aws.String(d.Endpoint), AppID: caller,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	}
}

// DynamoDB is a client of the desk's DynamoDB.
func (d *Desk) DynamoDB(caller string) *dynamodb.Client {
	return dynamodb.NewFromConfig(d.SDK(caller))
}

// Environment is what a program needs to work with the desk, as NAME=value.
func (d *Desk) Environment() []string {
	return []string{
		"AWS_ENDPOINT_URL=" + d.Endpoint, "AWS_REGION=" + devstack.DefaultRegion,
		"AWS_DEFAULT_REGION=" + devstack.DefaultRegion, // for the AWS CLI and boto3
		"AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local",
		schema.OutboxTableEnv + "=" + d.table,
	}
}

// Stop lets the functions finish until ctx ends, then stops everything.
func (d *Desk) Stop(ctx context.Context) error {
	if d.Stack != nil {
		d.Stack.Stop(ctx)
	}
	if d.server != nil {
		return d.server.Close()
	}
	return nil
}

// Loopback refuses an endpoint that is not on this machine: a desk never touches a real AWS.
func Loopback(endpoint string) error {
	u, err := url.Parse(endpoint)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") {
		return errors.New("endpoint: want http://127.0.0.1:<port>")
	}
	if ip := net.ParseIP(u.Hostname()); u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("endpoint %s is not on this machine: only a loopback address is used here, such as http://127.0.0.1:4566", u.Host)
	}
	return nil
}
