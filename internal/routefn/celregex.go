package routefn

import (
	"regexp"
	"regexp/syntax"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"
)

// patterns allows regular expressions only where they are written in the source, so that no message brings one
// along, and only up to a size. The library's own limit (as of v0.32.0) panics on repetitions such as a{2}.
type patterns struct{}

// Name implements [cel.ASTValidator].
func (patterns) Name() string { return "landfall.validator.patterns" }

// Validate implements [cel.ASTValidator].
func (patterns) Validate(_ *cel.Env, _ cel.ValidatorConfig, a *ast.AST, issues *cel.Issues) {
	for _, match := range ast.MatchDescendants(ast.NavigateAST(a), ast.FunctionMatcher(overloads.Matches)) {
		args := match.AsCall().Args()
		pattern := args[len(args)-1]
		text, written := "", false
		if pattern.Kind() == ast.LiteralKind {
			text, written = pattern.AsLiteral().Value().(string)
		}
		if !written {
			issues.ReportErrorAtID(pattern.ID(), "the pattern of matches must be written here, as a text")
			continue
		}
		if size := patternSize(text); size > maxRegex {
			issues.ReportErrorAtID(pattern.ID(), "the pattern is too large: %d steps, want at most %d", size, maxRegex)
		}
	}
}

// patternSize is the length of a pattern's program; that of an invalid one is 0, and reported elsewhere.
func patternSize(pattern string) int {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0
	}
	return len(program.Inst)
}

// searches compiles each pattern once, and searches no text that is too long for it.
var searches = cel.OptimizeRegex(searched(overloads.Matches), searched(overloads.MatchesString))

func searched(overload string) *interpreter.RegexOptimization {
	return &interpreter.RegexOptimization{
		Function: overloads.Matches, OverloadID: overload, RegexIndex: 1,
		Factory: func(call interpreter.InterpretableCall, pattern string) (interpreter.InterpretableCall, error) {
			compiled, err := regexp.Compile(pattern)
			if err != nil {
				return nil, err
			}
			longest := maxSearch / max(1, patternSize(pattern))
			return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), func(args ...ref.Val) ref.Val {
				text, ok := args[0].(types.String)
				if !ok {
					return types.MaybeNoSuchOverloadErr(args[0])
				}
				if len(text) > longest {
					return types.NewErr("a text of %d bytes is too long for the pattern: at most %d", len(text), longest)
				}
				return types.Bool(compiled.MatchString(string(text)))
			}), nil
		},
	}
}
