package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var update = flag.Bool("update", false, "write docs/cli.md")

const cliPage = "../../docs/cli.md"

// TestPageOfTheCommandLineIsUpToDate: docs/cli.md has every command and flag as the command line has them. Write it with
// go test ./cmd/landfall -run Page -update
func TestPageOfTheCommandLineIsUpToDate(t *testing.T) {
	t.Setenv("USER", "$USER") // the default of --by
	want := page((&app{output: table}).root())
	if *update {
		if err := os.WriteFile(cliPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(cliPage); err != nil || string(got) != want {
		t.Errorf("docs/cli.md is out of date (%v): run go test ./cmd/landfall -run Page -update", err)
	}
}

func TestEveryCommandIsDocumented(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, cmd := range commands((&app{output: table}).root()) {
		path := cmd.CommandPath()
		known[path] = true
		if _, parent := examples[path]; !parent && !cmd.HasSubCommands() {
			t.Errorf("%s has no example", path)
		}
		if !cmd.HasSubCommands() && !strings.Contains(cmd.Long, "\n") {
			t.Errorf("%s does not say what it prints or does beyond %q", path, cmd.Long)
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s --%s has no description", path, f.Name)
			}
		})
		var help strings.Builder
		cmd.SetOut(&help)
		if err := cmd.Help(); err != nil {
			t.Error(err)
		}
		for line := range strings.Lines(help.String()) {
			if len(strings.TrimSuffix(line, "\n")) > 80 {
				t.Errorf("%s --help is wider than 80 columns: %s", path, line)
			}
		}
	}
	for path := range examples {
		if !known[path] {
			t.Errorf("there is an example of %s, but no such command", path)
		}
	}
}

// commands are a command and all below it, in the order of their names.
func commands(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, sub := range cmd.Commands() {
		all = append(all, commands(sub)...)
	}
	return all
}

// page writes docs/cli.md.
func page(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString(`# Command line

Every command of ` + "`landfall`" + `, as ` + "`--help`" + ` describes it. This page is generated: edit the texts in cmd/landfall and run
` + "`go test ./cmd/landfall -run Page -update`" + `.

Answers go to standard output, warnings and errors to standard error. With ` + "`--output json`" + `, an answer is one JSON document;
control characters and those that change the direction of text are escaped in it, and are "?" in tables.

| exit code | meaning |
|---|---|
| 0 | success |
| 1 | the answer is no, or the command failed |
| 2 | the command line or its input is wrong |

## Flags of all commands

`)
	flagTable(&b, root.PersistentFlags())
	for _, cmd := range commands(root)[1:] {
		if cmd.HasSubCommands() {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n", cmd.CommandPath())
		for line := range strings.SplitSeq(cmd.Long, "\n") {
			if strings.HasPrefix(line, "  ") {
				line = "  " + line // a block of code
			}
			fmt.Fprintln(&b, line)
		}
		fmt.Fprintf(&b, "\nUsage:\n\n    %s\n", cmd.UseLine())
		if cmd.LocalNonPersistentFlags().HasFlags() {
			fmt.Fprintln(&b)
			flagTable(&b, cmd.LocalNonPersistentFlags())
		}
		fmt.Fprintf(&b, "\nExample:\n\n  %s\n", strings.ReplaceAll(cmd.Example, "\n", "\n  "))
	}
	return b.String()
}

func flagTable(b *strings.Builder, flags *pflag.FlagSet) {
	b.WriteString("| flag | value | default | description |\n|---|---|---|---|\n")
	flags.VisitAll(func(f *pflag.Flag) {
		standard := f.DefValue
		if slices.Contains([]string{"false", "[]", "0", "0s"}, standard) {
			standard = ""
		}
		fmt.Fprintf(b, "| `--%s` | %s | %s | %s |\n", f.Name, f.Value.Type(), cmp.Or(standard, "-"), strings.ReplaceAll(f.Usage, "|", `\|`))
	})
}
