package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/landfall-dev/landfall/internal/doctor"
	"github.com/landfall-dev/landfall/internal/lab/localaws"
	"github.com/landfall-dev/landfall/internal/lab/loopback"
)

// TestDoctorAnswersNoIfSomethingIsBad on an AWS without tables, with a configuration that is not valid.
func TestDoctorAnswersNoIfSomethingIsBad(t *testing.T) {
	t.Parallel()
	server, err := loopback.Listen("127.0.0.1:0", localaws.New(localaws.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	args := []string{"doctor", "--endpoint-url", server.URL, "--config", write(t, "landfall.yaml", "destinations: {a: {http: https://x}}\n")}
	got := execute(t, "", args...)
	for _, want := range []string{"bad          configuration: ", "bad          table landfall-outbox: it does not exist here", "not checked  tools: "} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("%q is not in\n%s", want, got.stdout)
		}
	}
	if got.code != exitNo || !strings.HasPrefix(got.stderr, "findings: 4 bad, ") {
		t.Errorf("exit code %d: %s", got.code, got.stderr)
	}
	var found []doctor.Finding
	if got := execute(t, "", append(args, "--output", "json")...); json.Unmarshal([]byte(got.stdout), &found) != nil || len(found) < 5 {
		t.Errorf("as JSON: %+v", got)
	}
}

func TestFindingsAreIndentedAndPrintable(t *testing.T) {
	t.Parallel()
	got := findingsText([]doctor.Finding{{Level: doctor.Bad, Subject: "configuration", Message: "one\n  two\x1b[2J", Remedy: "three"}, {Level: doctor.OK, Subject: "go", Message: "fine"}})
	const want = "bad          configuration: one\n               two?[2J\n             do: three\nok           go: fine\n"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
