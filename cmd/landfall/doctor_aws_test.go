package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/landfall-dev/landfall/internal/config/yamlconfig"
	"github.com/landfall-dev/landfall/internal/schema"
)

// region is a whole AWS at one address: tables and queues, and what else a test says that there is.
type region struct {
	*testing.T
	behind string // where tables and queues are
	// mappings are those of a source whose ARN contains the key.
	mappings map[string]string
	outputs  map[string]string
	// deny names an operation that nobody may call.
	deny string
	// streamsOff: tables have had a stream, but have none any more.
	streamsOff bool
}

func (r *region) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	target := request.Header.Get("X-Amz-Target")
	switch {
	case r.deny != "" && strings.HasSuffix(target, "."+r.deny):
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, `{"__type": "com.amazon.coral.service#AccessDeniedException", "message": "no"}`)
	case r.streamsOff && strings.HasSuffix(target, ".DescribeTable"):
		answer := httptest.NewRecorder()
		forward(r.T, r.behind, answer, request)
		var described struct{ Table map[string]any }
		if err := json.Unmarshal(answer.Body.Bytes(), &described); err != nil {
			r.Error(err)
		}
		delete(described.Table, "StreamSpecification")
		body, err := json.Marshal(described)
		if err != nil {
			r.Error(err)
		}
		w.Header().Set("X-Amz-Crc32", fmt.Sprint(crc32.ChecksumIEEE(body)))
		w.Write(body)
	case target != "":
		forward(r.T, r.behind, w, request)
	case strings.HasPrefix(request.URL.Path, "/2015-03-31/event-source-mappings"):
		source := request.URL.Query().Get("EventSourceArn")
		for part, mapping := range r.mappings {
			if strings.Contains(source, part) {
				fmt.Fprintf(w, `{"EventSourceMappings": [%s]}`, mapping)
				return
			}
		}
		io.WriteString(w, `{"EventSourceMappings": []}`)
	default:
		body, _ := io.ReadAll(request.Body)
		form, _ := url.ParseQuery(string(body))
		if form.Get("Action") == "GetCallerIdentity" {
			io.WriteString(w, `<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>arn:aws:iam::123456789012:user/ann</Arn></GetCallerIdentityResult></GetCallerIdentityResponse>`)
			return
		}
		var members strings.Builder
		for name, value := range r.outputs {
			fmt.Fprintf(&members, "<member><OutputKey>%s</OutputKey><OutputValue>%s</OutputValue></member>", name, value)
		}
		fmt.Fprintf(w, "<DescribeStacksResponse><DescribeStacksResult><Stacks><member><Outputs>%s</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>", &members)
	}
}

// deployed is a patient in a region where all is well.
func deployed(t *testing.T) (*patient, *region) {
	p := newPatient(t)
	p.admit()
	r := &region{T: t, behind: p.endpoint, mappings: map[string]string{
		"landfall-ingress-couriers": `{"UUID": "q", "State": "Enabled", "BatchSize": 10, "FunctionResponseTypes": ["ReportBatchItemFailures"]}`,
		"landfall-outbox": fmt.Sprintf(`{"UUID": "s", "State": "Enabled", "BatchSize": %d, "MaximumRetryAttempts": %d, "MaximumRecordAgeInSeconds": %d, "BisectBatchOnFunctionError": true,
			"DestinationConfig": {"OnFailure": {"Destination": "arn:aws:sqs:x"}}, "FilterCriteria": {"Filters": [{"Pattern": %q}]}}`,
			schema.StreamBatch, schema.StreamRetries, schema.StreamRecordAge, schema.StreamFilter),
	}, outputs: map[string]string{
		schema.OutboxTableOutput: "landfall-outbox", schema.ReceiptsTableOutput: "landfall-receipts", schema.ControlTableOutput: "landfall-control",
		schema.QueuePrefixOutput: "landfall",
	}}
	cfg, err := yamlconfig.Parse("", []byte(p.config))
	if err != nil {
		t.Fatal(err)
	}
	resolved, err := cfg.Resolved()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(resolved)
	r.outputs[schema.ConfigOutput] = hex.EncodeToString(sum[:])
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	p.endpoint = server.URL
	return p, r
}

// TestNoDeploymentIsCalledSoundThatIsNot breaks what only a stack has.
func TestNoDeploymentIsCalledSoundThatIsNot(t *testing.T) {
	t.Parallel()
	edit := func(source, old, with string) func(*region) {
		return func(r *region) {
			if !strings.Contains(r.mappings[source], old) {
				r.Errorf("%s is not in %s", old, r.mappings[source])
			}
			r.mappings[source] = strings.Replace(r.mappings[source], old, with, 1)
		}
	}
	const queue, stream, routes, changes = "landfall-ingress-couriers", "landfall-outbox", "mapping of group couriers", "mapping of the stream"
	for name, tt := range map[string]struct {
		breaks           func(*region)
		level            level
		subject, message string
	}{
		"nothing":      {func(*region) {}, "", "", ""},
		"no flag":      {edit(queue, `"ReportBatchItemFailures"`, ""), isBad, routes, "ReportBatchItemFailures is off"},
		"off":          {edit(queue, `"Enabled"`, `"Disabled"`), isBad, routes, "it is Disabled"},
		"large":        {edit(queue, "10", "11"), isWarning, routes, "11 messages at a time"},
		"filter":       {edit(queue, `"BatchSize"`, `"FilterCriteria": {"Filters": [{"Pattern": "{}"}]}, "BatchSize"`), isBad, routes, "it has a filter"},
		"two":          {edit(queue, `{"UUID"`, `{"UUID": "x", "State": "Enabled", "FunctionResponseTypes": ["ReportBatchItemFailures"]}, {"UUID"`), isWarning, routes, "there are 2"},
		"none":         {func(r *region) { delete(r.mappings, queue) }, isBad, routes, "there is none"},
		"no stream's":  {func(r *region) { delete(r.mappings, stream) }, isBad, changes, "there is none"},
		"stream's off": {edit(stream, `"Enabled"`, `"Disabled"`), isBad, changes, "it is Disabled"},
		"other filter": {edit(stream, "INSERT", "MODIFY"), isWarning, changes, "its filter"},
		"stream's others": {func(r *region) { // somebody else follows the table, too
			r.outputs[schema.FunctionOutput+"Stream"] = "stream"
			edit(stream, `{"UUID"`, `{"UUID": "x", "State": "Disabled", "FunctionArn": "arn:aws:lambda:us-east-1:123456789012:function:replicate-stream"},
				{"FunctionArn": "arn:aws:lambda:us-east-1:123456789012:function:stream", "UUID"`)(r)
		}, "", "", ""},
		"stream's others alone": {func(r *region) {
			r.outputs[schema.FunctionOutput+"Stream"] = "stream"
			edit(stream, `{"UUID"`, `{"FunctionArn": "arn:aws:lambda:us-east-1:123456789012:function:replicate-stream", "UUID"`)(r)
		}, isBad, changes, "there is none"},
		"no bisecting":  {edit(stream, `"BisectBatchOnFunctionError": true`, `"BisectBatchOnFunctionError": false`), isWarning, changes, "BisectBatchOnFunctionError is off"},
		"retries":       {edit(stream, `"MaximumRetryAttempts": 3`, `"MaximumRetryAttempts": -1`), isWarning, changes, "MaximumRetryAttempts is -1, not 3"},
		"nobody told":   {edit(stream, `"OnFailure": {"Destination": "arn:aws:sqs:x"}`, ""), isWarning, changes, "nobody is told"},
		"other config":  {func(r *region) { r.outputs[schema.ConfigOutput] = "00" }, isWarning, "deployment", "another configuration"},
		"no config":     {func(r *region) { delete(r.outputs, schema.ConfigOutput) }, isWarning, "deployment", "has no output LandfallConfig"},
		"no such stack": {func(r *region) { delete(r.outputs, schema.ReceiptsTableOutput) }, isBad, "table landfall-receipts", "has no output LandfallReceiptsTable"},
		"update":        {func(r *region) { r.deny = "UpdateItem" }, isWarning, "permissions", "you may not dynamodb:UpdateItem on landfall-outbox"},
		"query":         {func(r *region) { r.deny = "Query" }, isWarning, "permissions", "you may not dynamodb:Query on landfall-control: groups"},
		"delete":        {func(r *region) { r.deny = "DeleteItem" }, isWarning, "permissions", "you may not dynamodb:DeleteItem on landfall-control"},
		"describe":      {func(r *region) { r.deny = "DescribeTable" }, isWarning, "table landfall-outbox", "you may not dynamodb:DescribeTable"},
		"queues":        {func(r *region) { r.deny = "GetQueueAttributes" }, isWarning, "group couriers", "you may not look at it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, r := deployed(t)
			tt.breaks(r)
			found, got := p.examine("--stack", "landfall-prod")
			named := tt.level == ""
			for _, d := range found {
				switch {
				case d.Level == tt.level && d.Subject == tt.subject && strings.Contains(d.Message, tt.message):
					named = true
				case d.Level == isOK && d.Subject == tt.subject, tt.level == "" && d.Level != isOK && d.Level != isNotChecked:
					t.Errorf("%+v", d)
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

// TestNoStreamThatIsOffIsExamined turns it off, and leaves the mapping where it was: nothing comes from there.
func TestNoStreamThatIsOffIsExamined(t *testing.T) {
	t.Parallel()
	p, r := deployed(t)
	r.streamsOff = true
	found, _ := p.examine("--stack", "landfall-prod")
	told := false
	for _, d := range found {
		told = told || d.Level == isWarning && d.Subject == "table landfall-outbox" && strings.Contains(d.Message, "it has no stream")
		if d.Subject == "mapping of the stream" {
			t.Errorf("%+v", d)
		}
	}
	if !told {
		t.Errorf("found %+v", found)
	}
}

// TestNothingIsWrittenByTheDoctor looks at the tables after an examination.
func TestNothingIsWrittenByTheDoctor(t *testing.T) {
	t.Parallel()
	p, _ := deployed(t)
	p.examine()
	client := dynamodb.New(dynamodb.Options{Region: "us-east-1", BaseEndpoint: &p.endpoint, Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")})
	for _, table := range []string{"landfall-outbox", "landfall-control", "landfall-receipts"} {
		out, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &table})
		if err != nil || out.Count != 0 {
			t.Errorf("%s: %d items, %v", table, out.Count, err)
		}
	}
}

// TestAwayFromTheDeskNothingIsForgiven examines what an AWS on this machine is not examined for.
func TestAwayFromTheDeskNothingIsForgiven(t *testing.T) {
	t.Parallel()
	p, _ := deployed(t)
	cfg, err := yamlconfig.Parse("", []byte(p.config))
	if err != nil {
		t.Fatal(err)
	}
	sdk := aws.Config{Region: "us-east-1", BaseEndpoint: &p.endpoint, Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")}
	e := &examination{cfg: cfg, at: &account{sdk: sdk}, ingress: map[string]string{}}
	e.account(t.Context())
	said, err := json.Marshal(e.findings)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"ok","subject":"credentials","message":"arn:aws:iam::123456789012:user/ann in us-east-1"`,
		`"warn","subject":"group couriers","message":"its ingress queue hides a message for 1m40s, less than six times`,
		`"warn","subject":"table landfall-control","message":"its time to live is off`,
	} {
		if !strings.Contains(string(said), want) {
			t.Errorf("%s is not in %s", want, said)
		}
	}
	sdk.Credentials = credentials.NewStaticCredentialsProvider("", "", "")
	e = &examination{cfg: cfg, at: &account{sdk: sdk}}
	if e.account(t.Context()); len(e.findings) != 1 || e.findings[0].Level != isBad || e.findings[0].Subject != "credentials" {
		t.Errorf("without credentials: %+v", e.findings)
	}
}

func TestNoFindingIsHiddenInTheText(t *testing.T) {
	t.Parallel()
	got := asText([]diagnosis{{isBad, "configuration", "one\n  two\x1b[2J", "three"}, {isOK, "go", "fine", ""}})
	const want = "bad          configuration: one\n               two?[2J\n             do: three\nok           go: fine\n"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
