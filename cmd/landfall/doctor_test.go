package main

import (
	"encoding/json"
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

	"github.com/landfall-dev/landfall/internal/lab/localaws"
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
	*testing.T
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
		T: t, config: doctorConfig, ttl: map[string]string{"landfall-outbox": "expires_at"},
		tables: map[string]*dynamodb.CreateTableInput{
			"outbox": outboxdb.Table("landfall-outbox"), "receipts": routingdb.ReceiptsTable("landfall-receipts"), "control": routingdb.ControlTable("landfall-control"),
		},
		queues: map[string]map[string]string{
			"landfall-dead-couriers": {"MessageRetentionPeriod": strconv.Itoa(14 * day)},
			"landfall-ingress-couriers": {
				"MessageRetentionPeriod": strconv.Itoa(4 * day), "VisibilityTimeout": "100", "RedrivePolicy": redrive(arn, 1000),
			},
			"courier-north": {}, "mail-queue": {},
		},
	}
}

func redrive(arn string, receives int) string {
	return fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":"%d"}`, arn, receives)
}

func (p *patient) outbox() *dynamodb.CreateTableInput { return p.tables["outbox"] }

func (p *patient) ingress() map[string]string { return p.queues["landfall-ingress-couriers"] }

// admit makes everything, where nothing else says where.
func (p *patient) admit() {
	p.Helper()
	if p.endpoint != "" {
		return
	}
	server, err := localaws.Listen("127.0.0.1:0", localaws.New(localaws.Options{}))
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { server.Close() })
	p.endpoint = server.URL
	sdk := aws.Config{Region: "eu-central-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")}
	tables, queues := dynamodb.NewFromConfig(sdk), sqs.NewFromConfig(sdk)
	for _, in := range p.tables {
		if _, err := tables.CreateTable(p.Context(), in); err != nil {
			p.Fatal(err)
		}
	}
	for _, item := range p.control {
		if _, err := tables.PutItem(p.Context(), &dynamodb.PutItemInput{TableName: aws.String("landfall-control"), Item: item}); err != nil {
			p.Fatal(err)
		}
	}
	for table, attribute := range p.ttl {
		in := &dynamodb.UpdateTimeToLiveInput{TableName: &table, TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &attribute, Enabled: aws.Bool(true)}}
		if _, err := tables.UpdateTimeToLive(p.Context(), in); err != nil {
			p.Fatal(err)
		}
	}
	for _, leads := range []bool{false, true} { // what leads to dead letters after these
		for name, attributes := range p.queues {
			if (attributes["RedrivePolicy"] != "") != leads {
				continue
			}
			if _, err := queues.CreateQueue(p.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes}); err != nil {
				p.Fatal(err)
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

// examine is what the doctor finds, and the exit code.
func (p *patient) examine(args ...string) ([]diagnosis, result) {
	p.Helper()
	p.admit()
	got := execute(p.T, "", append(args, "doctor", "--output", "json", "--endpoint-url", p.endpoint, "--config", write(p.T, "landfall.yaml", p.config))...)
	var found []diagnosis
	if err := json.Unmarshal([]byte(got.stdout), &found); err != nil {
		p.Fatalf("%v: %+v", err, got)
	}
	return found, got
}

// TestNothingThatIsBrokenIsCalledSound breaks one thing at a time.
func TestNothingThatIsBrokenIsCalledSound(t *testing.T) {
	t.Parallel()
	yes := &types.AttributeValueMemberBOOL{Value: true}
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	for name, tt := range map[string]struct {
		breaks           func(*patient)
		level            level
		subject, message string
	}{
		"nothing":       {func(*patient) {}, "", "", ""},
		"configuration": {func(p *patient) { p.config = "destinations: {a: {http: \"https://x\"}}" }, isBad, "configuration", "deduplicates: missing"},
		"endpoint":      {func(p *patient) { p.endpoint = "http://127.0.0.1:1" }, isBad, "endpoint", "connection refused"},
		"no table":      {func(p *patient) { delete(p.tables, "receipts") }, isBad, "table landfall-receipts", "there is none of that name"},
		"key":           {func(p *patient) { p.tables["control"] = routingdb.ReceiptsTable("landfall-control") }, isBad, "table landfall-control", "its key is pk (S), not pk (S), sk (S)"},
		"type of key":   {func(p *patient) { p.outbox().AttributeDefinitions[0].AttributeType = "B" }, isBad, "table landfall-outbox", "its key is pk (B)"},
		"no index": {func(p *patient) {
			p.outbox().GlobalSecondaryIndexes, p.outbox().AttributeDefinitions = nil, p.outbox().AttributeDefinitions[:1]
		}, isBad, "table landfall-outbox", "no index lane-index"},
		"other index":   {func(p *patient) { p.outbox().GlobalSecondaryIndexes[0].IndexName = aws.String("lanes") }, isBad, "table landfall-outbox", "no index lane-index"},
		"index":         {func(p *patient) { p.outbox().AttributeDefinitions[2].AttributeType = "S" }, isBad, "table landfall-outbox", "lane (S), lane_at (S), not lane (S), lane_at (N)"},
		"projection":    {func(p *patient) { p.outbox().GlobalSecondaryIndexes[0].Projection.ProjectionType = "ALL" }, isWarning, "table landfall-outbox", "more than keys"},
		"no stream":     {func(p *patient) { p.outbox().StreamSpecification = nil }, isWarning, "table landfall-outbox", "no stream"},
		"stream":        {func(p *patient) { p.outbox().StreamSpecification.StreamViewType = "KEYS_ONLY" }, isBad, "table landfall-outbox", "its stream has KEYS_ONLY"},
		"expiry":        {func(p *patient) { p.ttl["landfall-outbox"] = "completed_at" }, isBad, "table landfall-outbox", "that of the attribute completed_at"},
		"no ingress":    {func(p *patient) { delete(p.queues, "landfall-ingress-couriers") }, isBad, "group couriers", "its ingress queue"},
		"no dead":       {func(p *patient) { delete(p.queues, "landfall-dead-couriers"); delete(p.ingress(), "RedrivePolicy") }, isBad, "group couriers", "its dead-letter queue"},
		"short ingress": {func(p *patient) { p.ingress()["MessageRetentionPeriod"] = "7200" }, isBad, "group couriers", "for 2h0m0s, max_wait is 2h0m0s"},
		"long ingress":  {func(p *patient) { p.ingress()["MessageRetentionPeriod"] = "345601" }, isBad, "group couriers", "more than the 96h0m0s"},
		"visibility":    {func(p *patient) { p.ingress()["VisibilityTimeout"] = "5" }, isBad, "group couriers", "hides a message for 5s"},
		"delay":         {func(p *patient) { p.ingress()["DelaySeconds"] = "5" }, isWarning, "group couriers", "delays every message by 5s"},
		"no redrive":    {func(p *patient) { delete(p.ingress(), "RedrivePolicy") }, isBad, "group couriers", "leads to no dead letters"},
		"other redrive": {func(p *patient) {
			p.queues["x-dead-x"] = nil
			p.ingress()["RedrivePolicy"] = redrive("arn:aws:sqs:us-east-1:000000000000:x-dead-x", 1000)
		}, isBad, "group couriers", "x-dead-x, not to landfall-dead-couriers"},
		"early redrive": {func(p *patient) {
			p.ingress()["RedrivePolicy"] = strings.Replace(p.ingress()["RedrivePolicy"], "1000", "3", 1)
		}, isBad, "group couriers", "after 3 receives"},
		"short dead": {func(p *patient) { p.queues["landfall-dead-couriers"]["MessageRetentionPeriod"] = "3600" }, isBad, "group couriers", "dead letters vanish"},
		"closed dead": {func(p *patient) {
			p.queues["landfall-dead-couriers"]["RedriveAllowPolicy"] = `{"redrivePermission":"denyAll"}`
		}, isBad, "group couriers", "takes no dead letters"},
		"no consumer's":  {func(p *patient) { delete(p.queues, "courier-north") }, isBad, "consumer north of group couriers", "its queue courier-north"},
		"member":         {func(p *patient) { p.says("group#couriers member#east", schema.Target, yes) }, isWarning, "group couriers", "member \"east\" cannot be read"},
		"member's queue": {func(p *patient) { p.says("group#couriers member#east", schema.Target, text("sqs:gone")) }, isBad, "consumer east of group couriers", "its queue gone"},
		"route":          {func(p *patient) { p.says("group#couriers route", schema.RouteKind, text("fastest")) }, isBad, "group couriers", "nobody is picked"},
		"nobody live":    {func(p *patient) { p.says("group#couriers member#north", schema.Draining, yes) }, isWarning, "group couriers", "no live consumer"},
		"paused":         {func(p *patient) { p.says("destination mail", schema.Paused, yes) }, isWarning, "destination mail", "it is paused"},
		"control":        {func(p *patient) { p.says("destination mail", schema.Paused, text("yes")) }, isBad, "destination mail", "it counts as paused"},
		"stray control":  {func(p *patient) { p.says("destination mial", schema.Paused, yes) }, isWarning, "destination \"mial\"", "not in the configuration"},
		"no destination": {func(p *patient) { delete(p.queues, "mail-queue") }, isBad, "destination mail", "its queue mail-queue"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPatient(t)
			tt.breaks(p)
			found, got := p.examine()
			named := tt.level == ""
			for _, d := range found {
				switch {
				case d.Level == tt.level && d.Subject == tt.subject && strings.Contains(d.Message, tt.message):
					if named = true; d.Remedy == "" {
						t.Errorf("%+v: and what to do?", d)
					}
				case d.Level == isOK && d.Subject == tt.subject && !strings.Contains(d.Message, "queue"), d.Level == isWarning || d.Level == isBad && d.Subject != tt.subject:
					if d.Subject != "permissions" { // which are tried on what is broken
						t.Errorf("%+v", d)
					}
				}
			}
			if !named {
				t.Errorf("want %s %s: %s; found %+v", tt.level, tt.subject, tt.message, found)
			}
			if want := map[bool]int{true: exitNo, false: exitOK}[tt.level == isBad]; got.code != want {
				t.Errorf("exit code %d, want %d: %s", got.code, want, got.stderr)
			}
		})
	}
}

func TestOldToolsAreNotCalledSound(t *testing.T) {
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
		e := &examination{}
		e.tools(t.Context(), folder)
		for _, d := range e.findings {
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
