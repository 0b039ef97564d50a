package main

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

func TestMain(m *testing.M) {
	code := m.Run()
	jsii.Close()
	os.Exit(code)
}

func TestWrongContextIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		context map[string]any
		want    string
	}{
		"stage":             {map[string]any{"stage": "qa"}, "allowed are dev, prod"},
		"architecture":      {map[string]any{"architecture": "riscv"}, "allowed are arm64, amd64"},
		"memory":            {map[string]any{"memory": "lots"}, "-c memory=lots: want a whole number"},
		"negative memory":   {map[string]any{"memory": "-1"}, "want a whole number"},
		"a list for text":   {map[string]any{"config": []any{"a"}}, "-c config: want text"},
		"missing file":      {map[string]any{"config": "nowhere.yaml"}, "nowhere.yaml"},
		"missing functions": {map[string]any{"config": "../landfall.yaml", "stage": "dev", "dist": "nowhere"}, "run make build"},
		"the example":       {map[string]any{"config": "../landfall.yaml"}, "destinations.charge.http: 127.0.0.1 is the machine itself"},
		"not a key's ARN":   {map[string]any{"encryption_key": "alias/mine"}, "-c encryption_key=alias/mine: want the ARN of a KMS key"},
		"a target's kind":   {map[string]any{"config": "../landfall.yaml", "consumer_targets": "sqs:courier-*,courier"}, `consumer target "courier": want sqs: or lambda:`},
		"any target":        {map[string]any{"config": "../landfall.yaml", "consumer_targets": "sqs:*"}, `consumer target "sqs:*" would let messages be sent to anything`},
		"owned or not":      {map[string]any{"owned_queues": "some"}, "-c owned_queues=some: allowed are true, false"},
		"shared or not":     {map[string]any{"share_concurrency": "perhaps"}, "-c share_concurrency=perhaps: allowed are true, false"},
	} {
		t.Run(name, func(t *testing.T) {
			app := awscdk.NewApp(&awscdk.AppProps{Outdir: jsii.String(t.TempDir()), Context: &c.context})
			if err := addStack(app); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want something about %q", err, c.want)
			}
		})
	}
}

func TestContextSetsNameProtectionAndWarning(t *testing.T) {
	for name, c := range map[string]struct {
		context   map[string]any
		stack     string
		protected bool
		warned    bool // of alarms without a topic
	}{
		"default": {map[string]any{}, "landfall-prod", true, true},
		"dev":     {map[string]any{"stage": "dev"}, "landfall-dev", false, false},
		"all": {map[string]any{
			"stack": "shop-outbox", "alarm_topic": "arn:aws:sns:eu-central-1:123456789012:t", "memory": "256", "share_concurrency": true,
			"owned_queues": "true", "consumer_targets": "sqs:courier-*,lambda:robot", "destination_writer_policies": true,
			"encryption_key": "arn:aws:kms:eu-central-1:123456789012:key/0a1b2c3d-0000-4000-8000-000000000000",
		}, "shop-outbox", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			c.context["config"], c.context["dist"] = deployable(t), dist(t)
			app := awscdk.NewApp(&awscdk.AppProps{Outdir: jsii.String(t.TempDir()), Context: &c.context})
			if err := addStack(app); err != nil {
				t.Fatal(err)
			}
			stack := app.Node().FindChild(jsii.String("Landfall")).(awscdk.Stack)
			if *stack.StackName() != c.stack || *stack.TerminationProtection() != c.protected {
				t.Errorf("%s, protected: %v; want %s, %v", *stack.StackName(), *stack.TerminationProtection(), c.stack, c.protected)
			}
			warned := slices.ContainsFunc(*stack.Node().Metadata(), func(m *constructs.MetadataEntry) bool {
				return *m.Type == "aws:cdk:warning" && strings.Contains(fmt.Sprint(m.Data), "alarm_topic")
			})
			if warned != c.warned {
				t.Errorf("warned of alarms without a topic: %v, want %v", warned, c.warned)
			}
		})
	}
}

// deployable is a configuration that prod accepts, unlike the example.
func deployable(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "landfall.yaml")
	if err := os.WriteFile(path, []byte("destinations:\n  mail: {http: \"https://mail.example.com/\", deduplicates: never}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// dist has files that look like programs for arm64.
func dist(t *testing.T) string {
	t.Helper()
	header := append([]byte("\x7fELF\x02\x01\x01"), make([]byte, 57)...)
	header[16], header[18], header[20], header[52] = byte(elf.ET_EXEC), byte(elf.EM_AARCH64), byte(elf.EV_CURRENT), 64
	folder := t.TempDir()
	for _, name := range []string{"dispatch", "reconcile", "route", "stream"} {
		if err := os.Mkdir(filepath.Join(folder, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name, "bootstrap"), header, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func TestOldOrMissingNodeIsReportedFirst(t *testing.T) {
	for name, c := range map[string]struct{ program, want string }{
		"missing": {"", "needs Node.js 20 or newer"},
		"old":     {"#!/bin/sh\necho v18.20.4\n", "is v18.20.4: the AWS CDK needs Node.js 20 or newer"},
		"other":   {"#!/bin/sh\necho hello\n", "is hello: the AWS CDK needs Node.js"},
		"new":     {"#!/bin/sh\necho v22.11.0\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "node")
			if c.program != "" {
				if err := os.WriteFile(program, []byte(c.program), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			t.Setenv("JSII_NODE", program)
			err := needNode()
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want something about %q", err, c.want)
			}
		})
	}
}
