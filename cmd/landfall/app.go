package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/config/yamlconfig"
)

// Exit codes.
const (
	exitOK    = 0
	exitNo    = 1 // the answer is no, or what was asked for failed
	exitUsage = 2 // the command line or its input is wrong
)

// app is one run of the command line: where it reads and writes, and the flags that all commands have. A command is
// a method that returns a *cobra.Command, in a file of its own, whose RunE is made with [app.do].
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer

	config   string
	endpoint string
	output   format
	region   string
	stack    string

	began bool // the command line was understood
}

// run runs the command line and returns the exit code. It is main without the process.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, output: table}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	var bad *inputError
	switch {
	case !a.began:
		fmt.Fprintf(stderr, "landfall: %v\nRun '%s --help' for what is possible.\n", err, cmd.CommandPath())
		return exitUsage
	case errors.As(err, &bad):
		fmt.Fprintln(stderr, bad)
		return exitUsage
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "interrupted:", err)
		return exitNo
	default:
		fmt.Fprintln(stderr, err)
		return exitNo
	}
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "landfall",
		Short: "Get external effects landed, and know for each one whether it did",
		Long: `Landfall gets an application's external effects landed, and knows for each one whether it did.

Exit codes: 0 done; 1 the answer is no, or it failed; 2 the command line or its input is wrong.`,
		Args:              cobra.NoArgs,
		RunE:              needsCommand,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	flags := root.PersistentFlags()
	flags.StringVar(&a.config, "config", "landfall.yaml", "configuration: landfall.yaml, or a resolved .json")
	flags.StringVar(&a.endpoint, "endpoint-url", "", "URL of the AWS API (default $AWS_ENDPOINT_URL, else AWS itself)")
	flags.Var(&a.output, "output", "table or json")
	flags.StringVar(&a.region, "region", "", "AWS region (default $AWS_REGION, else the profile's)")
	flags.StringVar(&a.stack, "stack", "", "deployed stack that is meant (default what $LANDFALL_OUTBOX_TABLE and the like name, else landfall-outbox and the like)")
	root.AddCommand(
		a.consumersCommand(),
		a.benchCommand(),
		a.demoCommand(),
		a.destinationsCommand(),
		a.devCommand(),
		a.doctorCommand(),
		a.enqueueCommand(),
		a.groupsCommand(),
		a.initCommand(),
		a.rowsCommand(),
		a.validateCommand(),
		a.versionCommand(),
	)
	return root
}

// do marks that a command began, so that its errors are not taken for errors of the command line.
func (a *app) do(f func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.began = true
		return f(cmd.Context(), args)
	}
}

// needsCommand is what a command does that is only there for its sub-commands.
func needsCommand(cmd *cobra.Command, _ []string) error {
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return fmt.Errorf("a command is missing: %s", strings.Join(names, ", "))
}

// inputError is what is wrong with a command's input rather than with the answer.
type inputError struct{ err error }

func (e *inputError) Error() string { return e.err.Error() }
func (e *inputError) Unwrap() error { return e.err }

func badInput(err error) error { return &inputError{err} }

// loadConfig reads a configuration, of either kind.
func (a *app) loadConfig(path string, checks ...config.Check) (*config.Config, error) {
	cfg, err := yamlconfig.LoadFile(path, checks...)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: name it with --config; landfall init writes one to begin with", err)
	}
	return cfg, err
}

// inSourceTree refuses every other folder.
func inSourceTree() error {
	if _, ok := goWanted("."); !ok {
		return badInput(errors.New("this folder is not Landfall's source tree, which it runs in: change to that"))
	}
	return nil
}

// format is how a command answers.
type format string

const (
	table  format = "table"
	inJSON format = "json"
)

func (f *format) String() string { return string(*f) }
func (f *format) Type() string   { return "format" }

func (f *format) Set(s string) error {
	switch format(s) {
	case table, inJSON:
		*f = format(s)
		return nil
	}
	return errors.New("allowed are table, json")
}

// printJSON writes one document, indented.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

// printTable writes rows in columns. Cells may hold what a stranger chose, so nothing in them reaches the terminal
// but printable characters.
func (a *app) printTable(rows [][]string) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = printable(cell)
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
}
