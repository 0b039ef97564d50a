package landfallcdk_test

import (
	"crypto/sha256"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"

	"github.com/landfall-dev/landfall/infra/landfallcdk"
	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/schema"
)

// many destinations, with names as long as they may be.
func many(n int) string {
	var yaml strings.Builder
	yaml.WriteString("destinations:\n")
	for i := range n {
		name := fmt.Sprintf("%03d-%s", i, strings.Repeat("x", 59))
		fmt.Fprintf(&yaml, "  %q: {http: \"https://api.example.com/%d\", deduplicates: never}\n", name, i)
	}
	return yaml.String()
}

func TestWriterPoliciesFitIntoIAMsLimits(t *testing.T) {
	for n, policies := range map[int]int{1: 1, 40: 1, 140: 3} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			p := props(t, many(n))
			p.Stage = landfallcdk.Dev
			got := synth(t, p)
			if made := len(got.all("IAM::ManagedPolicy")); made != policies {
				t.Errorf("%d writer policies, want %d", made, policies)
			}
			keys := map[string]bool{}
			for id, r := range got.all("IAM::ManagedPolicy") {
				document := text(t, r.Properties["PolicyDocument"])
				const longest = 400 // of a table's ARN: its name has up to 255 characters
				const ownKey = 600  // what a table's own key adds
				if size := len(document) + longest + ownKey; size > 6144 {
					t.Errorf("%s may have %d bytes, IAM allows 6144", id, size)
				}
				got.want(r, map[string]string{
					"PolicyDocument.Statement.0.Action": `"dynamodb:PutItem"`, "PolicyDocument.Statement.1": "null",
					"PolicyDocument.Statement.0.Resource":                            `{"Fn::GetAtt":["LandfallOutboxED842621","Arn"]}`,
					"PolicyDocument.Statement.0.Condition.Null.dynamodb:LeadingKeys": `"false"`,
				})
				condition := r.Properties.at("PolicyDocument.Statement.0.Condition.ForAllValues:StringLike").(map[string]any)
				for _, key := range list(condition["dynamodb:LeadingKeys"]) {
					if keys[key] || !strings.HasSuffix(key, "#*") {
						t.Errorf("leading key %s is there twice, or covers other destinations", key)
					}
					keys[key] = true
				}
			}
			if len(keys) != n {
				t.Errorf("%d leading keys for %d destinations", len(keys), n)
			}
			for id, r := range got.all("IAM::Policy") {
				if size := len(text(t, r.Properties["PolicyDocument"])); size > 4000 {
					t.Errorf("%s has %d bytes and grows with the destinations", id, size)
				}
			}
		})
	}
}

// TestLargestStackFitsIntoCloudFormation makes as much as there can be.
func TestLargestStackFitsIntoCloudFormation(t *testing.T) {
	got := synth(t, props(t, "parallelism: 100\n"+many(landfallcdk.MaxDestinations)))
	if n := len(got.Resources); n > 500 {
		t.Errorf("%d resources, CloudFormation allows 500", n)
	}
	if n := len(got.all("CloudWatch::Alarm")); n != 3*landfallcdk.MaxDestinations+15 {
		t.Errorf("%d alarms", n)
	}
}

func TestWriterPolicyLeavesOutRetiredDestinations(t *testing.T) {
	got := synth(t, props(t, twoDestinations+
		`  old: {http: "https://old.example.com/", deduplicates: never, retired: true}`))
	_, policy := got.one("IAM::ManagedPolicy", "LandfallWriterPolicy")
	got.want(policy, map[string]string{
		"PolicyDocument.Statement.0.Condition": `{"ForAllValues:StringLike":{"dynamodb:LeadingKeys":["charge#*","mail#*"]},"Null":{"dynamodb:LeadingKeys":"false"}}`,
	})
	for id := range got.all("CloudWatch::Alarm") {
		if strings.HasPrefix(id, "LandfallDueAgeold") {
			t.Errorf("%s watches a retired destination", id)
		}
	}

	got = synth(t, props(t, `{destinations: {old: {http: "https://old.example.com/", deduplicates: never, retired: true}}}`))
	if n := len(got.all("IAM::ManagedPolicy")); n != 0 {
		t.Errorf("%d writer policies, though there is nothing to write", n)
	}
}

func TestWrongPropsAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*landfallcdk.Props)
		want   string
	}{
		"no configuration":      {func(p *landfallcdk.Props) { p.ConfigFile = "" }, "name a landfall.yaml"},
		"no such configuration": {func(p *landfallcdk.Props) { p.ConfigFile = "/nowhere/landfall.yaml" }, "/nowhere/landfall.yaml"},
		"an unknown key": {func(p *landfallcdk.Props) {
			p.ConfigFile = write(t, "landfall.yaml", "destinations:\n  a: {htpt: https://a.example.com/, deduplicates: never}\n")
		}, "landfall.yaml:2:"},
		"no YAML":          {func(p *landfallcdk.Props) { p.ConfigFile = write(t, "landfall.yaml", "\x00\xff{{{") }, "landfall.yaml"},
		"no JSON":          {func(p *landfallcdk.Props) { p.ConfigFile = write(t, "landfall.json", "{") }, "landfall.json"},
		"no functions":     {func(p *landfallcdk.Props) { p.Dist = t.TempDir() }, "run make build GOARCH_LAMBDA=arm64"},
		"other processors": {func(p *landfallcdk.Props) { p.Dist = dist(t, elf.EM_X86_64) }, "is built for EM_X86_64, but the functions run on arm64"},
		"other architecture": {func(p *landfallcdk.Props) { p.Architecture = awslambda.Architecture_X86_64() },
			"run make build GOARCH_LAMBDA=amd64"},
		"a script for a program": {func(p *landfallcdk.Props) {
			if err := os.WriteFile(filepath.Join(p.Dist, "dispatch", "bootstrap"), []byte("#!/bin/sh\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}, "is not a Linux program"},
		"a folder for a program": {func(p *landfallcdk.Props) {
			p.Dist = filepath.Dir(filepath.Dir(write(t, "x", "")))
			if err := os.MkdirAll(filepath.Join(p.Dist, "dispatch", "bootstrap"), 0o755); err != nil {
				t.Fatal(err)
			}
		}, "bootstrap"},
		"stage":              {func(p *landfallcdk.Props) { p.Stage = "staging" }, `stage "staging": allowed are dev, prod`},
		"memory":             {func(p *landfallcdk.Props) { p.MemoryMiB = 64 }, "128 to 10240"},
		"negative threshold": {func(p *landfallcdk.Props) { p.Thresholds.DueAge = -1 }, "threshold"},
		"too many resources": {func(p *landfallcdk.Props) {
			p.ConfigFile = write(t, "landfall.yaml", many(landfallcdk.MaxDestinations+1))
		}, "CloudFormation allows a stack 500"},
	} {
		t.Run(name, func(t *testing.T) {
			p := props(t, twoDestinations)
			c.change(&p)
			if _, err := landfallcdk.NewLandfall(newStack(t), "Landfall", p); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want something about %q", err, c.want)
			}
		})
	}
}

func TestSecondLandfallInAStackIsRefused(t *testing.T) {
	stack := newStack(t)
	landfall(t, stack, props(t, twoDestinations))
	if _, err := landfallcdk.NewLandfall(stack, "Other", props(t, twoDestinations)); err == nil || !strings.Contains(err.Error(), "a stack of its own") {
		t.Errorf("got %v", err)
	}
}

// TestEachFunctionHasItsConfiguration looks into the assets before they are zipped.
func TestEachFunctionHasItsConfiguration(t *testing.T) {
	app := awscdk.NewApp(&awscdk.AppProps{Outdir: jsii.String(t.TempDir())})
	stack := awscdk.NewStack(app, jsii.String("Landfall"), nil)
	landfall(t, stack, props(t, twoDestinations))
	hash := read(t, stack).Outputs["LandfallConfig"].Value
	assets, err := filepath.Glob(filepath.Join(*app.Synth(nil).Directory(), "asset.*", "bootstrap"))
	if err != nil || len(assets) == 0 {
		t.Fatalf("no assets: %v", err)
	}
	for _, program := range assets {
		if info, err := os.Stat(program); err != nil || info.Mode().Perm()&0o111 == 0 {
			t.Errorf("%s cannot be run: %v", program, err)
		}
		cfg, err := config.Load(filepath.Join(filepath.Dir(program), schema.ConfigFile))
		if err != nil || len(cfg.Destinations) != 2 {
			t.Errorf("%s has the configuration %v: %v", program, cfg, err)
		}
		resolved, err := os.ReadFile(filepath.Join(filepath.Dir(program), schema.ConfigFile))
		if sum := fmt.Sprintf("%x", sha256.Sum256(resolved)); err != nil || sum != hash {
			t.Errorf("%s has a configuration with the hash %s, and the stack says %v: %v", program, sum, hash, err)
		}
	}
}

// TestRouteReadsNoDestinations, whose headers, targets and secrets it does not need; the others read the whole.
func TestRouteReadsNoDestinations(t *testing.T) {
	app := awscdk.NewApp(&awscdk.AppProps{Outdir: jsii.String(t.TempDir())})
	stack := awscdk.NewStack(app, jsii.String("Landfall"), nil)
	p := props(t, everything)
	route := filepath.Join(p.Dist, "route", "bootstrap")
	program, err := os.ReadFile(route)
	if err != nil {
		t.Fatal(err)
	}
	program = append(program, "route"...)
	if err := os.WriteFile(route, program, 0o755); err != nil {
		t.Fatal(err)
	}
	landfall(t, stack, p)
	assets, err := filepath.Glob(filepath.Join(*app.Synth(nil).Directory(), "asset.*", "bootstrap"))
	if err != nil || len(assets) != 2 { // the other three are alike
		t.Fatalf("%d assets, want 2: %v", len(assets), err)
	}
	for _, asset := range assets {
		built, err := os.ReadFile(asset)
		if err != nil {
			t.Fatal(err)
		}
		resolved, err := os.ReadFile(filepath.Join(filepath.Dir(asset), schema.ConfigFile))
		if err != nil {
			t.Fatal(err)
		}
		cfg, err := config.Load(filepath.Join(filepath.Dir(asset), schema.ConfigFile))
		if err != nil || len(cfg.Groups) != 2 {
			t.Fatalf("%s: %v, %v", asset, cfg, err)
		}
		isRoute := slices.Equal(built, program)
		if told := strings.Contains(string(resolved), "api.example.com") || strings.Contains(string(resolved), "charge-key"); told == isRoute || isRoute != (len(cfg.Destinations) == 0) {
			t.Errorf("route: %v, its configuration:\n%s", isRoute, resolved)
		}
	}
}
