package doctor

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/landfall-dev/landfall/internal/config/yamlconfig"
	"github.com/landfall-dev/landfall/internal/eventsource"
	"github.com/landfall-dev/landfall/internal/schema"
)

// region is a whole AWS at one address: tables and queues, and what else a test says that there is.
type region struct {
	t      *testing.T
	behind http.Handler // where tables and queues are
	// mappings are those of a source whose ARN contains the key.
	mappings map[string]string
	outputs  map[string]string
	// deny names an operation that is denied.
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
		r.behind.ServeHTTP(answer, request)
		var described struct{ Table map[string]any }
		if err := json.Unmarshal(answer.Body.Bytes(), &described); err != nil {
			r.t.Error(err)
		}
		delete(described.Table, "StreamSpecification")
		body, err := json.Marshal(described)
		if err != nil {
			r.t.Error(err)
		}
		w.Header().Set("X-Amz-Crc32", fmt.Sprint(crc32.ChecksumIEEE(body)))
		w.Write(body)
	case target != "":
		r.behind.ServeHTTP(w, request)
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
		io.WriteString(w, `<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>arn:aws:iam::123456789012:user/ann</Arn></GetCallerIdentityResult></GetCallerIdentityResponse>`)
	}
}

// deployed is a patient in a region where all is well.
func deployed(t *testing.T) (*patient, *region) {
	p := newPatient(t)
	p.admit()
	tables, err := url.Parse(p.endpoint)
	if err != nil {
		t.Fatal(err)
	}
	r := &region{t: t, behind: &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(tables) }}, mappings: map[string]string{
		"landfall-ingress-couriers": `{"UUID": "q", "State": "Enabled", "BatchSize": 10, "FunctionResponseTypes": ["ReportBatchItemFailures"]}`,
		"landfall-outbox": fmt.Sprintf(`{"UUID": "s", "State": "Enabled", "BatchSize": %d, "MaximumRetryAttempts": %d, "MaximumRecordAgeInSeconds": %d, "BisectBatchOnFunctionError": true,
			"DestinationConfig": {"OnFailure": {"Destination": "arn:aws:sqs:x"}}, "FilterCriteria": {"Filters": [{"Pattern": %q}]}}`,
			eventsource.StreamBatch, eventsource.StreamRetries, eventsource.StreamRecordAge, eventsource.StreamFilter),
	}, outputs: map[string]string{}}
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

// TestBrokenDeploymentIsReported breaks what only a stack has.
func TestBrokenDeploymentIsReported(t *testing.T) {
	t.Parallel()
	edit := func(source, old, with string) func(*region) {
		return func(r *region) {
			if !strings.Contains(r.mappings[source], old) {
				r.t.Errorf("%s is not in %s", old, r.mappings[source])
			}
			r.mappings[source] = strings.Replace(r.mappings[source], old, with, 1)
		}
	}
	const queue, stream, routes, changes = "landfall-ingress-couriers", "landfall-outbox", "mapping of group couriers", "mapping of the stream"
	for name, tt := range map[string]struct {
		breaks func(*region)
		want   expectation
	}{
		"nothing":      {func(*region) {}, expectation{}},
		"no flag":      {edit(queue, `"ReportBatchItemFailures"`, ""), expectation{Bad, routes, "ReportBatchItemFailures is off"}},
		"off":          {edit(queue, `"Enabled"`, `"Disabled"`), expectation{Bad, routes, "it is Disabled"}},
		"large":        {edit(queue, "10", "11"), expectation{Warning, routes, "11 messages at a time"}},
		"filter":       {edit(queue, `"BatchSize"`, `"FilterCriteria": {"Filters": [{"Pattern": "{}"}]}, "BatchSize"`), expectation{Bad, routes, "it has a filter"}},
		"two":          {edit(queue, `{"UUID"`, `{"UUID": "x", "State": "Enabled", "FunctionResponseTypes": ["ReportBatchItemFailures"]}, {"UUID"`), expectation{Warning, routes, "there are 2"}},
		"none":         {func(r *region) { delete(r.mappings, queue) }, expectation{Bad, routes, "it does not exist"}},
		"no stream's":  {func(r *region) { delete(r.mappings, stream) }, expectation{Bad, changes, "it does not exist"}},
		"stream's off": {edit(stream, `"Enabled"`, `"Disabled"`), expectation{Bad, changes, "it is Disabled"}},
		"other filter": {edit(stream, "INSERT", "MODIFY"), expectation{Warning, changes, "its filter does not select new rows"}},
		"stream's others": {func(r *region) { // another function follows the table, too
			r.outputs[schema.FunctionOutput+"Stream"] = "stream"
			edit(stream, `{"UUID"`, `{"UUID": "x", "State": "Disabled", "FunctionArn": "arn:aws:lambda:us-east-1:123456789012:function:replicate-stream"},
				{"FunctionArn": "arn:aws:lambda:us-east-1:123456789012:function:stream", "UUID"`)(r)
		}, expectation{}},
		"stream's others alone": {func(r *region) {
			r.outputs[schema.FunctionOutput+"Stream"] = "stream"
			edit(stream, `{"UUID"`, `{"FunctionArn": "arn:aws:lambda:us-east-1:123456789012:function:replicate-stream", "UUID"`)(r)
		}, expectation{Bad, changes, "it does not exist"}},
		"no bisecting":  {edit(stream, `"BisectBatchOnFunctionError": true`, `"BisectBatchOnFunctionError": false`), expectation{Warning, changes, "BisectBatchOnFunctionError is off"}},
		"retries":       {edit(stream, `"MaximumRetryAttempts": 3`, `"MaximumRetryAttempts": -1`), expectation{Warning, changes, "MaximumRetryAttempts is -1, not 3"}},
		"no on-failure": {edit(stream, `"OnFailure": {"Destination": "arn:aws:sqs:x"}`, ""), expectation{Warning, changes, "no on-failure destination"}},
		"other config":  {func(r *region) { r.outputs[schema.ConfigOutput] = "00" }, expectation{Warning, "deployment", "another configuration"}},
		"no config":     {func(r *region) { delete(r.outputs, schema.ConfigOutput) }, expectation{Warning, "deployment", "has no output LandfallConfig"}},
		"update":        {func(r *region) { r.deny = "UpdateItem" }, expectation{Warning, "permissions", "you may not dynamodb:UpdateItem on landfall-outbox"}},
		"query":         {func(r *region) { r.deny = "Query" }, expectation{Warning, "permissions", "you may not dynamodb:Query on landfall-control: groups"}},
		"delete":        {func(r *region) { r.deny = "DeleteItem" }, expectation{Warning, "permissions", "you may not dynamodb:DeleteItem on landfall-control"}},
		"describe":      {func(r *region) { r.deny = "DescribeTable" }, expectation{Warning, "table landfall-outbox", "you may not dynamodb:DescribeTable"}},
		"queues":        {func(r *region) { r.deny = "GetQueueAttributes" }, expectation{Warning, "group couriers", "you may not read it"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, r := deployed(t)
			tt.breaks(r)
			tt.want.check(t, Examine(t.Context(), inStack(p, r)))
		})
	}
}

// inStack is the patient as a deployed stack.
func inStack(p *patient, r *region) Installation {
	in := p.installation()
	in.Stack, in.Outputs = "landfall-prod", r.outputs
	return in
}

// TestMappingOfStreamThatIsOffIsSkipped turns the stream off and leaves the mapping: nothing comes from there.
func TestMappingOfStreamThatIsOffIsSkipped(t *testing.T) {
	t.Parallel()
	p, r := deployed(t)
	r.streamsOff = true
	found := Examine(t.Context(), inStack(p, r))
	told := false
	for _, d := range found {
		told = told || d.Level == Warning && d.Subject == "table landfall-outbox" && strings.Contains(d.Message, "it has no stream")
		if d.Subject == "mapping of the stream" {
			t.Errorf("%+v", d)
		}
	}
	if !told {
		t.Errorf("found %+v", found)
	}
}

// TestExaminationWritesNothing looks at the tables after an examination.
func TestExaminationWritesNothing(t *testing.T) {
	t.Parallel()
	p, _ := deployed(t)
	Examine(t.Context(), p.installation())
	client := dynamodb.NewFromConfig(p.sdk())
	for _, table := range []string{"landfall-outbox", "landfall-control", "landfall-receipts"} {
		out, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &table})
		if err != nil || out.Count != 0 {
			t.Errorf("%s: %d items, %v", table, out.Count, err)
		}
	}
}

// TestProductionIsExaminedMoreStrictly examines what an AWS on this machine is excused from.
func TestProductionIsExaminedMoreStrictly(t *testing.T) {
	t.Parallel()
	p, _ := deployed(t)
	in := p.installation()
	in.Local = false
	found := Examine(t.Context(), in)
	for _, want := range []expectation{
		{OK, "credentials", "arn:aws:iam::123456789012:user/ann in eu-central-1"},
		{Warning, "group couriers", "its ingress queue hides a message for 1m40s, less than 6 times"},
		{Warning, "table landfall-control", "its time to live is off"},
	} {
		if !slices.ContainsFunc(found, func(f Finding) bool {
			return f.Level == want.level && f.Subject == want.subject && strings.Contains(f.Message, want.message)
		}) {
			t.Errorf("want %+v; found %+v", want, found)
		}
	}
	in.SDK.Credentials = credentials.NewStaticCredentialsProvider("", "", "")
	if found := Examine(t.Context(), in); len(found) != 1 || found[0].Level != Bad || found[0].Subject != "credentials" {
		t.Errorf("without credentials: %+v", found)
	}
}

func TestMissingNameOfATableIsReported(t *testing.T) {
	t.Parallel()
	p, r := deployed(t)
	in := inStack(p, r)
	in.Receipts = Name{Err: errors.New("stack landfall-prod has no output LandfallReceiptsTable")}
	expectation{Bad, "table landfall-receipts", "has no output LandfallReceiptsTable"}.check(t, Examine(t.Context(), in))
}
