package landfall_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/landfall-dev/landfall"

// deps are the packages that those of a pattern are built from, without their tests.
func deps(t *testing.T, patterns ...string) []string {
	t.Helper()
	out, err := exec.Command("go", append([]string{"list", "-deps"}, patterns...)...).Output()
	if err != nil {
		t.Fatalf("go list -deps %v: %v", patterns, err)
	}
	return strings.Fields(string(out))
}

// TestDeployedCodeAndTheLaboratoryAreApart: what is deployed or imported by an application imports nothing of
// internal/lab, and every other internal package is deployed or imported by an application. internal/doctor is the
// command line's, internal/eventsource the CDK app's and the command line's.
func TestDeployedCodeAndTheLaboratoryAreApart(t *testing.T) {
	t.Parallel()
	const lab = module + "/internal/lab"
	deployed := deps(t, "./functions/...", ".", "./consumer")
	for _, pkg := range deployed {
		if strings.HasPrefix(pkg, lab) {
			t.Errorf("a function, the root package or consumer imports %s", pkg)
		}
	}
	out, err := exec.Command("go", "list", "./internal/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := []string{module + "/internal/doctor", module + "/internal/eventsource"}
	for pkg := range strings.FieldsSeq(string(out)) {
		if !strings.HasPrefix(pkg, lab) && !slices.Contains(elsewhere, pkg) && !slices.Contains(deployed, pkg) {
			t.Errorf("no function and no application imports %s: move it to internal/lab", pkg)
		}
	}
}

// TestDomainsImportNoAWS: the two domains know neither AWS nor each other.
func TestDomainsImportNoAWS(t *testing.T) {
	t.Parallel()
	for domain, other := range map[string]string{"outbox": "routing", "routing": "outbox"} {
		for _, pkg := range deps(t, "./internal/"+domain) {
			if strings.Contains(pkg, "aws") || pkg == module+"/internal/"+other {
				t.Errorf("internal/%s imports %s", domain, pkg)
			}
		}
	}
}
