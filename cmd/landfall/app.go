package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/config/yamlconfig"
	"github.com/landfall-dev/landfall/internal/doctor"
)

// Exit codes.
const (
	exitOK    = 0
	exitNo    = 1 // the answer is no, or the command failed
	exitUsage = 2 // the command line or its input is wrong
)

// app is one run of the command line: where it reads and writes, and the flags that all commands have. A command is a
// method that returns a *cobra.Command, made with [app.command].
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
	switch text := printableText(doctor.Plain(err)); {
	case !a.began:
		fmt.Fprintf(stderr, "landfall: %s\nRun '%s --help' for usage.\n", strings.TrimSpace(text), cmd.CommandPath())
		return exitUsage
	case errors.As(err, &bad):
		fmt.Fprintln(stderr, text)
		return exitUsage
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "interrupted:", text)
	default:
		fmt.Fprintln(stderr, text)
	}
	return exitNo
}

func (a *app) root() *cobra.Command {
	root := parent("landfall", "Deliver an application's external effects, and know what became of each", `Exit codes: 0 success; 1 the answer is no, or the command failed; 2 the command
line or its input is wrong.`,
		a.benchCommand(), a.consumersCommand(), a.demoCommand(), a.destinationsCommand(), a.devCommand(), a.doctorCommand(),
		a.enqueueCommand(), a.groupsCommand(), a.initCommand(), a.rowsCommand(), a.validateCommand(), a.versionCommand())
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetUsageTemplate(strings.NewReplacer(".FlagUsages", ".FlagUsagesWrapped 80", "more information about", "more about").Replace(root.UsageTemplate()))
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return plainFlagError(err) })
	flags := root.PersistentFlags()
	flags.StringVar(&a.config, "config", "landfall.yaml", "configuration: a landfall.yaml or a resolved .json")
	flags.StringVar(&a.endpoint, "endpoint-url", "", "URL of AWS's API (default: $AWS_ENDPOINT_URL, else AWS)")
	flags.Var(&a.output, "output", "table or json")
	flags.StringVar(&a.region, "region", "", "AWS region (default: $AWS_REGION, else the profile's)")
	flags.StringVar(&a.stack, "stack", "", "stack to use (default: the tables that LANDFALL_*_TABLE name, else landfall-*)")
	illustrate(root)
	return root
}

// command makes a command. Its long description is the short one and more; the errors of args are those of the command
// line, the errors of run are not.
func (a *app) command(use, short, more string, args cobra.PositionalArgs, run func(ctx context.Context, args []string) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Long: long(short, more), Args: args, RunE: a.action(run), DisableFlagsInUseLine: true}
}

// action marks that a command began, so that its errors are not taken for errors of the command line.
func (a *app) action(run func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.began = true
		return run(cmd.Context(), args)
	}
}

// parent makes a command that only has sub-commands.
func parent(use, short, more string, subs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Long: long(short, more), Args: cobra.ArbitraryArgs, SuggestionsMinimumDistance: 2, DisableFlagsInUseLine: true}
	var names []string
	for _, sub := range subs {
		names = append(names, sub.Name())
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		there := strings.Join(names, ", ")
		if len(args) == 0 {
			return fmt.Errorf("missing command: choose one of %s", there)
		}
		if like := cmd.SuggestionsFor(args[0]); len(like) > 0 {
			return fmt.Errorf("unknown command %q: did you mean %s?", args[0], strings.Join(like, " or "))
		}
		return fmt.Errorf("unknown command %q: choose one of %s", args[0], there)
	}
	cmd.AddCommand(subs...)
	return cmd
}

func long(short, more string) string {
	if more == "" {
		return short + "."
	}
	return short + ".\n\n" + more
}

// takes allows from least to most arguments, and asks for the flags that are required.
func takes(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if n := len(args); n < least || n > most {
			want := fmt.Sprintf("%d arguments", most)
			switch {
			case least < most:
				want = fmt.Sprintf("%d to %d arguments", least, most)
			case most == 0:
				want = "no arguments"
			case most == 1:
				want = "1 argument"
			}
			return fmt.Errorf("%s takes %s, but got %d. Usage: %s", cmd.Name(), want, n, cmd.UseLine())
		}
		var missing []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if _, required := f.Annotations[cobra.BashCompOneRequiredFlag]; required && !f.Changed {
				missing = append(missing, "--"+f.Name)
			}
		})
		if len(missing) > 0 {
			return fmt.Errorf("%s needs %s. Usage: %s", cmd.Name(), strings.Join(missing, " and "), cmd.UseLine())
		}
		return nil
	}
}

// wanted says what flags of a type take.
var wanted = map[string]string{
	"bool": "true or false", "duration": "a duration such as 30s or 1h", "format": "table or json", "float64": "a number",
	"int": "a whole number", "int64": "a whole number", "uint64": "a whole number, 0 or more",
}

// plainFlagError says a wrong value of a flag without the words of Go's parsers.
func plainFlagError(err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		if want, known := wanted[invalid.GetFlag().Value.Type()]; known {
			return fmt.Errorf("--%s %.80q: want %s", invalid.GetFlag().Name, invalid.GetValue(), want)
		}
	}
	return err
}

// require marks flags that must be given.
func require(cmd *cobra.Command, flags ...string) {
	for _, name := range flags {
		_ = cmd.MarkFlagRequired(name) // it fails only for a flag that is not defined
	}
}

// inputError is an error of a command's input.
type inputError struct{ err error }

func (e *inputError) Error() string { return e.err.Error() }
func (e *inputError) Unwrap() error { return e.err }

func badInput(err error) error { return &inputError{err} }

func badInputf(format string, args ...any) error { return badInput(fmt.Errorf(format, args...)) }

// loadConfig reads the configuration of --config.
func (a *app) loadConfig() (*config.Config, error) {
	cfg, err := readConfig(a.config)
	if err != nil {
		return nil, badInput(err)
	}
	return cfg, nil
}

// readConfig reads a configuration, a landfall.yaml or a resolved .json.
func readConfig(path string, checks ...config.Check) (*config.Config, error) {
	cfg, err := yamlconfig.LoadFile(path, checks...)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: name it with --config, or write a first one with landfall init", err)
	}
	return cfg, err
}

// inSourceTree refuses every other folder.
func inSourceTree() error {
	if _, ok := doctor.GoWanted("."); !ok {
		return badInputf("run this from Landfall's source tree")
	}
	return nil
}
