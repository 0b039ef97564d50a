// Infra is the CDK app that deploys Landfall. `cdk` runs it from the root of the repository; see cdk.json and
// docs/deploy.md. The app only reads the context. Package landfallcdk makes the stack.
package main

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/jsii-runtime-go"

	"github.com/landfall-dev/landfall/infra/landfallcdk"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "landfall:", err)
		os.Exit(1)
	}
}

func run() error {
	if err := needNode(); err != nil {
		return err
	}
	defer jsii.Close()
	app := awscdk.NewApp(nil)
	if err := addStack(app); err != nil {
		return err
	}
	app.Synth(nil)
	return nil
}

// addStack makes the stack that the context (`cdk -c key=value`) asks for.
func addStack(app awscdk.App) error {
	c := &settings{app: app}
	stage := landfallcdk.Stage(c.text("stage", string(landfallcdk.Prod)))
	props := landfallcdk.Props{
		ConfigFile:                c.text("config", "landfall.yaml"),
		ConsumerTargets:           c.list("consumer_targets"),
		DestinationWriterPolicies: c.choice("destination_writer_policies"),
		Dist:                      c.text("dist", landfallcdk.DefaultDist),
		GroupPoliciesOnly:         c.choice("group_policies_only"),
		MemoryMiB:                 c.number("memory"),
		OwnedQueues:               c.choice("owned_queues"),
		ShareConcurrency:          c.choice("share_concurrency"),
		Stage:                     stage,
	}
	switch arch := c.text("architecture", "arm64"); arch {
	case "arm64":
		props.Architecture = awslambda.Architecture_ARM_64()
	case "amd64", "x86_64":
		props.Architecture = awslambda.Architecture_X86_64()
	default:
		return fmt.Errorf("architecture %q: allowed are arm64, amd64", arch)
	}
	name := c.text("stack", "landfall-"+string(stage))
	topic, key := c.text("alarm_topic", ""), c.text("encryption_key", "")
	if key != "" && !keyARN.MatchString(key) {
		return fmt.Errorf("-c encryption_key=%s: want the ARN of a KMS key, arn:aws:kms:REGION:ACCOUNT:key/ID", key)
	}
	if c.err != nil {
		return c.err
	}
	stack := awscdk.NewStack(app, jsii.String("Landfall"), &awscdk.StackProps{
		Description:           jsii.String("Landfall: external effects landed, and known to have"),
		StackName:             jsii.String(name),
		TerminationProtection: jsii.Bool(stage == landfallcdk.Prod),
	})
	if topic != "" {
		props.AlarmTopic = awssns.Topic_FromTopicArn(stack, jsii.String("AlarmTopic"), jsii.String(topic))
	} else if stage == landfallcdk.Prod {
		awscdk.Annotations_Of(stack).AddWarningV2(jsii.String("landfall:alarms"), jsii.String("The alarms notify no one: set a topic with -c alarm_topic=ARN."), nil)
	}
	if key != "" {
		props.EncryptionKey = awskms.Key_FromKeyArn(stack, jsii.String("EncryptionKey"), jsii.String(key))
	}
	_, err := landfallcdk.NewLandfall(stack, "Landfall", props)
	return err
}

// keyARN is the ARN of a key, and not of an alias, which IAM's policies cannot name.
var keyARN = regexp.MustCompile(`^arn:[a-z-]+:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]+$`)

// settings reads the context and keeps the first error.
type settings struct {
	app awscdk.App
	err error
}

func (s *settings) text(key, otherwise string) string {
	switch v := s.app.Node().TryGetContext(jsii.String(key)).(type) {
	case nil:
		return otherwise
	case string:
		return v
	case bool, float64:
		return fmt.Sprint(v)
	default:
		s.fail("-c %s: want text, got %T", key, v)
		return otherwise
	}
}

// list is text with commas between the items.
func (s *settings) list(key string) []string {
	text := s.text(key, "")
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

func (s *settings) number(key string) int {
	text := s.text(key, "0")
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		s.fail("-c %s=%s: want a whole number", key, text)
	}
	return n
}

func (s *settings) choice(key string) bool {
	text := s.text(key, "false")
	if text != "true" && text != "false" {
		s.fail("-c %s=%s: allowed are true, false", key, text)
	}
	return text == "true"
}

func (s *settings) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
}
