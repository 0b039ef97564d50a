package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// leastNode is the oldest release of Node.js that the CDK still supports.
const leastNode = 20

// needNode reports a missing or old Node.js. The CDK's own runtime would only report that it could not start.
func needNode() error {
	const remedy = "the AWS CDK needs Node.js %d or newer: https://nodejs.org (22 is recommended)"
	program := "node"
	if other := os.Getenv("JSII_NODE"); other != "" {
		program = other // as the CDK's runtime does
	}
	out, err := exec.Command(program, "--version").Output()
	if err != nil {
		return fmt.Errorf("run %s --version: %w; "+remedy, program, err, leastNode)
	}
	version := strings.TrimSpace(string(out))
	major, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	if n, err := strconv.Atoi(major); err != nil || n < leastNode {
		return fmt.Errorf("%s is %s: "+remedy, program, version, leastNode)
	}
	return nil
}
