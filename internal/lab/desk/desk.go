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
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/landfall-dev/landfall/internal/bounded"
	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/lab/devstack"
	"github.com/landfall-dev/landfall/internal/lab/localaws"
	"github.com/landfall-dev/landfall/internal/lab/localaws/ledger"
	"github.com/landfall-dev/landfall/internal/lab/loopback"
	"github.com/landfall-dev/landfall/internal/schema"
)

// Options say what a desk runs. It builds the functions from the source tree, in which it runs.
type Options struct {
	// Config is what the functions are given.
	Config *config.Config
	// Folder gets landfall.json. Required.
	Folder string
	// Endpoint of an AWS that runs already, on this machine; "" for one in this process.
	Endpoint string
	// Prefix is what the names of tables and queues begin with, but for queues that the configuration names. Defaults
	// to schema.QueuePrefix.
	Prefix string
	// Port of the AWS in this process. Defaults to any that is free.
	Port int
	// KeepRequests is how many requests the ledger keeps beside its sums; negative: all of them.
	KeepRequests int
	// Functions to run besides Landfall's own: those that the configuration names. They get Landfall's environment too.
	Functions []devstack.Function
	// Output gets what the functions print, line by line. Defaults to nowhere.
	Output io.Writer
}

// Desk is a running desk. It must be stopped.
type Desk struct {
	// Endpoint is the URL of the AWS.
	Endpoint string
	// Prefix is what the names of tables and queues begin with.
	Prefix string
	// Stack runs the functions.
	Stack *devstack.Stack
	// Ledger counts what requests cost; nil where the AWS is not in this process.
	Ledger *ledger.Ledger

	config *config.Config
	server *loopback.Server
	lambda atomic.Pointer[devstack.Stack] // what serve knows of Stack
	made   []string                       // queues
	end    context.CancelFunc             // of what runs until the desk stops
}

// streamConcurrency is enough for all batches that the stream's mapping has at once, ten for each of four shards. For the others
// it would only mean that a slow machine, where scheduled runs overlap, becomes slower.
const streamConcurrency = 40

// FunctionCaller is what the ledger calls the function of that name.
func FunctionCaller(name string) string { return "landfall-" + name }

// Start builds the functions, then starts everything but what triggers them; see [Desk.Begin].
func Start(ctx context.Context, o Options) (*Desk, error) {
	file, err := writeConfig(o)
	if err != nil {
		return nil, err
	}
	running, end := context.WithCancel(context.WithoutCancel(ctx))
	d := &Desk{Endpoint: o.Endpoint, Prefix: cmp.Or(o.Prefix, schema.QueuePrefix), config: o.Config, end: end}
	if d.Endpoint == "" {
		account := localaws.New(localaws.Options{KeepEntries: cmp.Or(o.KeepRequests, 1000)})
		if d.server, err = loopback.Listen(fmt.Sprintf("127.0.0.1:%d", o.Port), d.serve(account)); err != nil {
			end()
			return nil, err
		}
		d.Endpoint, d.Ledger = d.server.URL, account.Ledger()
		go expire(running, account)
	} else if err := Loopback(d.Endpoint); err != nil {
		end()
		return nil, err
	}
	if err := d.start(ctx, o, file); err != nil {
		return nil, errors.Join(err, d.Stop(ctx))
	}
	return d, nil
}

// expire deletes what has outlived its time to live, every minute until ctx ends.
func expire(ctx context.Context, account *localaws.Account) {
	for bounded.Pause(ctx, time.Minute) {
		account.ReapExpired()
	}
}

func (d *Desk) start(ctx context.Context, o Options, file string) error {
	if err := d.createTables(ctx); err != nil {
		return err
	}
	if err := d.createQueues(ctx); err != nil {
		return err
	}
	stack := devstack.Config{Output: o.Output, Functions: slices.Clone(o.Functions)}
	for name, timeout := range d.config.Timeouts() {
		binary, err := devstack.Build(ctx, ".", name)
		if err != nil {
			return err
		}
		f := devstack.Function{Name: name, Path: binary, Timeout: timeout}
		if name == "stream" {
			f.Concurrency = streamConcurrency
		}
		stack.Functions = append(stack.Functions, f)
	}
	for i, f := range stack.Functions {
		env := map[string]string{
			schema.ConfigEnv: file, "AWS_ENDPOINT_URL": d.Endpoint, "AWS_SDK_UA_APP_ID": FunctionCaller(f.Name),
		}
		maps.Copy(env, d.names())
		maps.Copy(env, f.Env)
		stack.Functions[i].Env = env
	}
	var err error
	if d.Stack, err = devstack.Start(stack); err == nil {
		d.lambda.Store(d.Stack)
	}
	return err
}

// serve is the whole AWS of the desk: an account, and Lambda once the stack runs.
func (d *Desk) serve(account http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if stack := d.lambda.Load(); stack != nil && strings.HasPrefix(r.URL.Path, devstack.InvokePath) {
			stack.ServeHTTP(w, r)
			return
		}
		account.ServeHTTP(w, r)
	})
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

// SQS is a client of the desk's SQS.
func (d *Desk) SQS(caller string) *sqs.Client { return sqs.NewFromConfig(d.SDK(caller)) }

// Environment is what a program needs to work with the desk, as NAME=value.
func (d *Desk) Environment() []string {
	all := []string{
		"AWS_ENDPOINT_URL=" + d.Endpoint, "AWS_REGION=" + devstack.DefaultRegion,
		"AWS_DEFAULT_REGION=" + devstack.DefaultRegion, // for the AWS CLI and boto3
		"AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local",
	}
	names := d.names()
	for _, variable := range slices.Sorted(maps.Keys(names)) {
		all = append(all, variable+"="+names[variable])
	}
	return all
}

// Stop lets the functions finish until ctx ends, then stops everything.
func (d *Desk) Stop(ctx context.Context) error {
	d.end()
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
		return errors.New("invalid endpoint: want http://127.0.0.1:<port>")
	}
	if ip := net.ParseIP(u.Hostname()); u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("endpoint %s is not on this machine: use a loopback address such as http://127.0.0.1:4566", u.Host)
	}
	return nil
}
