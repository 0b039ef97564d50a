package doctor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"

	"github.com/landfall-dev/landfall/internal/config/yamlconfig"
	"github.com/landfall-dev/landfall/internal/lab/localaws"
	"github.com/landfall-dev/landfall/internal/lab/loopback"
	"github.com/landfall-dev/landfall/internal/outboxdb"
	"github.com/landfall-dev/landfall/internal/routingdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

const doctorConfig = `
destinations:
  jobs: {group: couriers}
  mail: {sqs: mail-queue, deduplicates: never}
groups:
  couriers: {accept: explicit, route: least_loaded, max_wait: 2h, consumers: {north: {sqs: courier-north}}}
`

// patient is a deployment before the doctor: tables and queues as they are made.
type patient struct {
	t        *testing.T
	tables   map[string]*dynamodb.CreateTableInput
	ttl      map[string]string
	queues   map[string]map[string]string
	config   string
	endpoint string
	control  []map[string]types.AttributeValue // items
}

func newPatient(t *testing.T) *patient {
	const day = 24 * 3600
	arn := "arn:aws:sqs:us-east-1:000000000000:landfall-dead-couriers"
	return &patient{
		t: t, config: doctorConfig, ttl: map[string]string{"landfall-outbox": "expires_at"},
		tables: map[string]*dynamodb.CreateTableInput{
			"outbox": outboxdb.Table("landfall-outbox"), "receipts": routingdb.ReceiptsTable("landfall-receipts"), "control": routingdb.ControlTable("landfall-control"),
		},
		queues: map[string]map[string]string{
			"landfall-dead-couriers": {"MessageRetentionPeriod": strconv.Itoa(14 * day)},
			"landfall-ingress-couriers": {
				"MessageRetentionPeriod": strconv.Itoa(4 * day), "VisibilityTimeout": "100", "RedrivePolicy": redrivePolicy(arn, 1000),
			},
			"courier-north": {}, "mail-queue": {},
		},
	}
}

func redrivePolicy(arn string, receives int) string {
	return fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":"%d"}`, arn, receives)
}

func (p *patient) outbox() *dynamodb.CreateTableInput { return p.tables["outbox"] }

func (p *patient) ingress() map[string]string { return p.queues["landfall-ingress-couriers"] }

// admit makes everything, where nothing else says where.
func (p *patient) admit() {
	p.t.Helper()
	if p.endpoint != "" {
		return
	}
	server, err := loopback.Listen("127.0.0.1:0", localaws.New(localaws.Options{}))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { server.Close() })
	p.endpoint = server.URL
	tables, queues := dynamodb.NewFromConfig(p.sdk()), sqs.NewFromConfig(p.sdk())
	for _, in := range p.tables {
		if _, err := tables.CreateTable(p.t.Context(), in); err != nil {
			p.t.Fatal(err)
		}
	}
	for _, item := range p.control {
		if _, err := tables.PutItem(p.t.Context(), &dynamodb.PutItemInput{TableName: aws.String("landfall-control"), Item: item}); err != nil {
			p.t.Fatal(err)
		}
	}
	for table, attribute := range p.ttl {
		in := &dynamodb.UpdateTimeToLiveInput{TableName: &table, TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &attribute, Enabled: aws.Bool(true)}}
		if _, err := tables.UpdateTimeToLive(p.t.Context(), in); err != nil {
			p.t.Fatal(err)
		}
	}
	for _, leads := range []bool{false, true} { // what leads to dead letters after these
		for name, attributes := range p.queues {
			if (attributes["RedrivePolicy"] != "") != leads {
				continue
			}
			if _, err := queues.CreateQueue(p.t.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes}); err != nil {
				p.t.Fatal(err)
			}
		}
	}
}

// says writes a control item, "pk sk", with one attribute.
func (p *patient) says(key, attribute string, value types.AttributeValue) {
	pk, sk, _ := strings.Cut(key, " ")
	p.control = append(p.control, map[string]types.AttributeValue{
		schema.PK: &types.AttributeValueMemberS{Value: pk}, schema.SK: &types.AttributeValueMemberS{Value: sk}, attribute: value,
	})
}

// sdk reaches the patient; the region is not that of localaws's ARNs, which do not matter here.
func (p *patient) sdk() aws.Config {
	return aws.Config{Region: "eu-central-1", BaseEndpoint: &p.endpoint, Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")}
}

// installation is the patient as an AWS on this machine, without a stack.
func (p *patient) installation() Installation {
	p.t.Helper()
	p.admit()
	cfg, err := yamlconfig.Parse("", []byte(p.config))
	if err != nil {
		p.t.Fatal(err)
	}
	return Installation{
		Config: cfg, SDK: p.sdk(), Local: true,
		Outbox: Name{Value: "landfall-outbox"}, Receipts: Name{Value: "landfall-receipts"}, Control: Name{Value: "landfall-control"},
		QueuePrefix: Name{Value: "landfall"},
	}
}

// expectation is the finding that a test wants; with level "" it wants no trouble at all.
type expectation struct {
	level            Level
	subject, message string
}

// check reports an expected finding that is missing, a finding without a remedy, and a subject called ok in spite of it.
func (want expectation) check(t *testing.T, found []Finding) {
	t.Helper()
	named := want.level == ""
	for _, f := range found {
		matches := f.Level == want.level && f.Subject == want.subject && strings.Contains(f.Message, want.message)
		troubled := f.Level == Warning || f.Level == Bad
		switch named = named || matches; {
		case troubled && f.Remedy == "":
			t.Errorf("%+v has no remedy", f)
		case f.Level == OK && f.Subject == want.subject && !strings.Contains(f.Message, "queue"), // which another check looks at
			troubled && f.Subject != want.subject && f.Subject != "permissions" && !strings.Contains(f.Message, "you may not"):
			t.Errorf("found %+v, want %+v", f, want)
		}
	}
	if !named {
		t.Errorf("want %+v; found %+v", want, found)
	}
}

// TestBrokenInstallationIsReported breaks one thing at a time.
func TestBrokenInstallationIsReported(t *testing.T) {
	t.Parallel()
	yes := &types.AttributeValueMemberBOOL{Value: true}
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	for name, tt := range map[string]struct {
		breaks func(*patient)
		want   expectation
	}{
		"nothing":     {func(*patient) {}, expectation{}},
		"endpoint":    {func(p *patient) { p.endpoint = "http://127.0.0.1:1" }, expectation{Bad, "endpoint", "connection refused"}},
		"no table":    {func(p *patient) { delete(p.tables, "receipts") }, expectation{Bad, "table landfall-receipts", "it does not exist here"}},
		"key":         {func(p *patient) { p.tables["control"] = routingdb.ReceiptsTable("landfall-control") }, expectation{Bad, "table landfall-control", "its key is pk (S), not pk (S), sk (S)"}},
		"type of key": {func(p *patient) { p.outbox().AttributeDefinitions[0].AttributeType = "B" }, expectation{Bad, "table landfall-outbox", "its key is pk (B)"}},
		"no index": {func(p *patient) {
			p.outbox().GlobalSecondaryIndexes, p.outbox().AttributeDefinitions = nil, p.outbox().AttributeDefinitions[:1]
		}, expectation{Bad, "table landfall-outbox", "no index lane-index"}},
		"other index":   {func(p *patient) { p.outbox().GlobalSecondaryIndexes[0].IndexName = aws.String("lanes") }, expectation{Bad, "table landfall-outbox", "no index lane-index"}},
		"index":         {func(p *patient) { p.outbox().AttributeDefinitions[2].AttributeType = "S" }, expectation{Bad, "table landfall-outbox", "lane (S), lane_at (S), not lane (S), lane_at (N)"}},
		"projection":    {func(p *patient) { p.outbox().GlobalSecondaryIndexes[0].Projection.ProjectionType = "ALL" }, expectation{Warning, "table landfall-outbox", "projects more than keys"}},
		"no stream":     {func(p *patient) { p.outbox().StreamSpecification = nil }, expectation{Warning, "table landfall-outbox", "no stream"}},
		"stream":        {func(p *patient) { p.outbox().StreamSpecification.StreamViewType = "KEYS_ONLY" }, expectation{Bad, "table landfall-outbox", "its stream has KEYS_ONLY"}},
		"expiry":        {func(p *patient) { p.ttl["landfall-outbox"] = "completed_at" }, expectation{Bad, "table landfall-outbox", "on for the attribute completed_at"}},
		"no ingress":    {func(p *patient) { delete(p.queues, "landfall-ingress-couriers") }, expectation{Bad, "group couriers", "its ingress queue"}},
		"no dead":       {func(p *patient) { delete(p.queues, "landfall-dead-couriers"); delete(p.ingress(), "RedrivePolicy") }, expectation{Bad, "group couriers", "its dead-letter queue"}},
		"short ingress": {func(p *patient) { p.ingress()["MessageRetentionPeriod"] = "7200" }, expectation{Bad, "group couriers", "for 2h0m0s, max_wait is 2h0m0s"}},
		"long ingress":  {func(p *patient) { p.ingress()["MessageRetentionPeriod"] = "345601" }, expectation{Bad, "group couriers", "more than the 96h0m0s"}},
		"visibility":    {func(p *patient) { p.ingress()["VisibilityTimeout"] = "5" }, expectation{Bad, "group couriers", "hides a message for 5s"}},
		"delay":         {func(p *patient) { p.ingress()["DelaySeconds"] = "5" }, expectation{Warning, "group couriers", "delays every message by 5s"}},
		"no redrive":    {func(p *patient) { delete(p.ingress(), "RedrivePolicy") }, expectation{Bad, "group couriers", "has no dead-letter queue"}},
		"other redrive": {func(p *patient) {
			p.queues["x-dead-x"] = nil
			p.ingress()["RedrivePolicy"] = redrivePolicy("arn:aws:sqs:us-east-1:000000000000:x-dead-x", 1000)
		}, expectation{Bad, "group couriers", "x-dead-x, not to landfall-dead-couriers"}},
		"early redrive": {func(p *patient) {
			p.ingress()["RedrivePolicy"] = strings.Replace(p.ingress()["RedrivePolicy"], "1000", "3", 1)
		}, expectation{Bad, "group couriers", "after 3 receives"}},
		"short dead": {func(p *patient) { p.queues["landfall-dead-couriers"]["MessageRetentionPeriod"] = "3600" }, expectation{Bad, "group couriers", "dead letters vanish"}},
		"closed dead": {func(p *patient) {
			p.queues["landfall-dead-couriers"]["RedriveAllowPolicy"] = `{"redrivePermission":"denyAll"}`
		}, expectation{Bad, "group couriers", "accepts no dead letters"}},
		"no consumer's":  {func(p *patient) { delete(p.queues, "courier-north") }, expectation{Bad, "consumer north of group couriers", "its queue courier-north"}},
		"member":         {func(p *patient) { p.says("group#couriers member#east", schema.Target, yes) }, expectation{Warning, "group couriers", "member \"east\" cannot be read"}},
		"member's queue": {func(p *patient) { p.says("group#couriers member#east", schema.Target, text("sqs:gone")) }, expectation{Bad, "consumer east of group couriers", "its queue gone"}},
		"route":          {func(p *patient) { p.says("group#couriers route", schema.RouteKind, text("fastest")) }, expectation{Bad, "group couriers", "picks no consumer"}},
		"none live":      {func(p *patient) { p.says("group#couriers member#north", schema.Draining, yes) }, expectation{Warning, "group couriers", "no live consumer"}},
		"paused":         {func(p *patient) { p.says("destination mail", schema.Paused, yes) }, expectation{Warning, "destination mail", "it was paused by someone"}},
		"control":        {func(p *patient) { p.says("destination mail", schema.Paused, text("yes")) }, expectation{Bad, "destination mail", "it counts as paused"}},
		"stray control":  {func(p *patient) { p.says("destination mial", schema.Paused, yes) }, expectation{Warning, "destination \"mial\"", "not in the configuration"}},
		"no destination": {func(p *patient) { delete(p.queues, "mail-queue") }, expectation{Bad, "destination mail", "its queue mail-queue"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPatient(t)
			tt.breaks(p)
			tt.want.check(t, Examine(t.Context(), p.installation()))
		})
	}
}

func TestOldToolsAreReported(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	put := func(name, content string) {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	levels := func() (all string) {
		for _, d := range Tools(t.Context(), folder) {
			all += d.Subject + " " + string(d.Level) + ", "
		}
		return all
	}
	if got := levels(); got != "tools not checked, " {
		t.Error(got)
	}
	put("go.mod", "module example.com/other\n\ngo 1.25\n")
	if got := levels(); got != "tools not checked, " {
		t.Error(got)
	}
	put("go.mod", "module "+module+"\n\ngo 99.1\n")
	if got := levels(); got != "go bad, package.json bad, " {
		t.Error(got)
	}
	put("go.mod", "module "+module+"\n\ngo 1.2\n")
	put("package.json", `{"engines": {"node": ">=999"}, "devDependencies": {"aws-cdk": "2.1.0"}}`)
	if got := levels(); !strings.HasPrefix(got, "go ok, node ") || strings.Contains(got, "node ok") || !strings.HasSuffix(got, "cdk warn, ") {
		t.Error(got) // without any node there is a warning
	}
	put("node_modules/aws-cdk/package.json", `{"version": "2.0.9"}`)
	if got := levels(); !strings.HasSuffix(got, "cdk warn, ") {
		t.Error(got)
	}
	put("node_modules/aws-cdk/package.json", `{"version": "2.1.0"}`)
	if got := levels(); !strings.HasSuffix(got, "cdk ok, ") {
		t.Error(got)
	}
}

func TestPlainErrorHasOperationCodeAndMessage(t *testing.T) {
	t.Parallel()
	answered := &smithy.OperationError{ServiceID: "SQS", OperationName: "GetQueueUrl", Err: fmt.Errorf("https response error, RequestID: 1, %w", &smithy.GenericAPIError{Code: "Missing", Message: "no queue"})}
	unsent := &smithy.OperationError{ServiceID: "SQS", OperationName: "GetQueueUrl", Err: errors.New("connection refused")}
	for _, tt := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("find queue n: %w", answered), "find queue n: SQS GetQueueUrl: Missing: no queue"},
		{fmt.Errorf("find queue n: %w", unsent), "find queue n: operation error SQS: GetQueueUrl, connection refused"},
		{errors.New("other"), "other"},
	} {
		if got := Plain(tt.err); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
