package setup

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/invoke"
	"github.com/landfall-dev/landfall/internal/observe"
	"github.com/landfall-dev/landfall/internal/routefn"
	"github.com/landfall-dev/landfall/internal/routesqs"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/routingdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

// queueTimeout bounds one request to SQS. A forward that takes longer may have been accepted.
const queueTimeout = 5 * time.Second

// Routing is what the route function works with. It lives as long as the process.
type Routing struct {
	Config *config.Config
	Router *routing.Router
	// Ingress maps the names of ingress queues to their groups.
	Ingress map[string]string
	Logger  *slog.Logger
}

// LoadRouting is [Load] for the route function.
func LoadRouting(ctx context.Context, name string) (*Routing, error) {
	cfg, err := config.Load(configPath())
	if err != nil {
		return nil, err
	}
	sdk, err := awsconfig.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("set up the AWS SDK: %w", err)
	}
	return NewRouting(cfg, Clients{
		DynamoDB: dynamodb.NewFromConfig(sdk, func(o *dynamodb.Options) {
			o.HTTPClient = awshttp.NewBuildableClient().WithTimeout(storeTimeout)
		}),
		SQS: sqs.NewFromConfig(sdk, func(o *sqs.Options) {
			o.HTTPClient = awshttp.NewBuildableClient().WithTimeout(queueTimeout)
		}),
		Lambda: invoke.New(sdk),
	}, observe.NewLogger(os.Stdout, name, os.Getenv("AWS_LAMBDA_LOG_LEVEL")))
}

// Clients are the clients that routing needs.
type Clients struct {
	DynamoDB *dynamodb.Client
	SQS      *sqs.Client
	Lambda   routesqs.Invoker
}

// NewRouting wires the router. The names of tables and queues come from the environment.
func NewRouting(cfg *config.Config, clients Clients, logger *slog.Logger) (*Routing, error) {
	functions := &routefn.Functions{Invoke: clients.Lambda}
	specs, err := groups(cfg, functions)
	if err != nil {
		return nil, err
	}
	queues := routesqs.NewQueues(clients.SQS)
	prefix := cmp.Or(os.Getenv(schema.QueuePrefixEnv), schema.QueuePrefix)
	r := &Routing{Config: cfg, Ingress: map[string]string{}, Logger: logger}
	for group := range cfg.Groups {
		r.Ingress[schema.IngressQueue(prefix, group)] = group
	}
	r.Router = &routing.Router{
		Receipts: routingdb.NewReceipts(clients.DynamoDB, cmp.Or(os.Getenv(schema.ReceiptsTableEnv), schema.ReceiptsTable)),
		Groups: &routingdb.Groups{
			Specs: specs, Queues: queues, Log: logger,
			Control: routingdb.NewControl(clients.DynamoDB, cmp.Or(os.Getenv(schema.ControlTableEnv), schema.ControlTable)),
			Function: func(r routingdb.Route) (routing.Function, error) {
				return functions.Get(routefn.Spec{Kind: routefn.Kind(r.Kind), Argument: r.Argument})
			},
		},
		Ingress: &routesqs.Ingress{Client: clients.SQS, URL: queues.URL},
		Forwarder: &routesqs.Forwarder{
			Client: clients.SQS, URL: queues.URL, Functions: clients.Lambda,
			IsIngress: func(queue string) bool { return r.Group(queue) != "" },
		},
		DeadLetters: &routesqs.DeadLetters{
			Client: clients.SQS, URL: queues.URL,
			Queue: func(group string) string { return schema.DeadLetterQueue(prefix, group) },
		},
	}
	return r, nil
}

// Group returns the group of an ingress queue, by its name or ARN; "" for any other queue.
func (r *Routing) Group(queue string) string {
	return r.Ingress[queue[strings.LastIndexByte(queue, ':')+1:]]
}

// groups are the groups of the configuration as the domain sees them.
func groups(cfg *config.Config, functions *routefn.Functions) (map[string]routingdb.Spec, error) {
	if len(cfg.Groups) == 0 {
		return nil, fmt.Errorf("%s: no groups; the route function needs at least one", configPath())
	}
	specs := map[string]routingdb.Spec{}
	for _, name := range cfg.GroupNames() {
		g := cfg.Groups[name]
		function, err := functions.Get(routefn.Spec{Kind: routefn.Kind(g.Route.Kind), Argument: g.Route.Argument})
		if err != nil {
			return nil, fmt.Errorf("group %s: route: %w", name, err)
		}
		specs[name] = routingdb.Spec{Policy: g.Policy(), Function: function, Consumers: g.Members()}
	}
	return specs, nil
}

// Observer returns the observer of one invocation; the caller flushes it.
func (r *Routing) Observer(requestID string) *observe.Observer {
	return observe.New(observe.Config{
		Groups: r.Config.GroupNames(), LogSuccesses: r.Config.LogSuccesses,
		Logger: r.Logger, Metrics: os.Stdout, Namespace: os.Getenv(schema.MetricsNamespaceEnv), RequestID: requestID,
	})
}
