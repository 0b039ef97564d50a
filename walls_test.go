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
	elsewhere := []string{module + "/internal/doctor", module + "/internal/eventsource", module + "/internal/config/yamlconfig"}
	for _, pkg := range append(deps(t, elsewhere...), deployed...) {
		if strings.HasPrefix(pkg, lab) {
			t.Errorf("a function, the root package, consumer or one of %v imports %s", elsewhere, pkg)
		}
	}
	out, err := exec.Command("go", "list", "./internal/...").Output()
	if err != nil {
		t.Fatal(err)
	}
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

// TestRootPackageBringsFewModules: what an application that writes rows takes in, which must be neither a YAML parser
// nor anything that only functions and the command line need.
func TestRootPackageBringsFewModules(t *testing.T) {
	t.Parallel()
	const most = 7 // the AWS SDK's core, its client of DynamoDB with what that needs, and smithy-go
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if .Module}}{{.Module.Path}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := slices.DeleteFunc(strings.Fields(string(out)), func(path string) bool { return path == module })
	slices.Sort(modules)
	if modules = slices.Compact(modules); len(modules) > most {
		t.Errorf("the root package brings %d modules, at most %d are allowed: %v", len(modules), most, modules)
	}
	for _, path := range modules {
		for _, banned := range []string{"goccy", "aws-lambda-go", "cobra", "cel-go"} {
			if strings.Contains(path, banned) {
				t.Errorf("the root package brings %s", path)
			}
		}
	}
}

// TestFunctionsReadResolvedConfigurationsAlone: the parser of landfall.yaml stays with the command line and the
// infrastructure. (CEL brings another, which is not ours to leave out.)
func TestFunctionsReadResolvedConfigurationsAlone(t *testing.T) {
	t.Parallel()
	for _, pkg := range deps(t, "./functions/...", "./consumer") {
		if strings.Contains(pkg, "goccy") || strings.HasSuffix(pkg, "/yamlconfig") {
			t.Errorf("a function or consumer imports %s", pkg)
		}
	}
}
