package routefn

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/landfall-dev/landfall/internal/routing"
)

// Limits of CEL functions. A function of everyday size over a group of everyday size comes nowhere near.
const (
	// MaxSourceBytes bounds the source.
	MaxSourceBytes = 8 << 10
	// maxNodes bounds the expression, macros expanded, maxDepth how deeply it is nested, and
	// maxComprehensions how deeply its exists, all, filter and map are nested or chained.
	maxNodes          = 1000
	maxDepth          = 60
	maxComprehensions = 4
	// maxRegex bounds the program of a regular expression, which must be written in the source.
	maxRegex = 300
	// maxSearch bounds the length of a text that is searched, in bytes, times the length of the pattern's program: a
	// search cannot be interrupted, and takes up to 70 ns for each step.
	maxSearch = 4_000_000
	// MaxCost bounds the work of one evaluation, and with it the memory: copying and joining are charged by
	// length.
	MaxCost = 200_000
	// celTimeout bounds the time of one evaluation.
	celTimeout = 250 * time.Millisecond
)

// SourceError is what is wrong with the source of a CEL function.
type SourceError struct {
	// Line and Column count from 1; both are 0 if the trouble has no place.
	Line, Column int
	Text         string
}

func (e *SourceError) Error() string {
	if e.Line == 0 {
		return "cel: " + e.Text
	}
	return fmt.Sprintf("cel: line %d, column %d: %s", e.Line, e.Column, e.Text)
}

// celFunction is a compiled expression.
type celFunction struct {
	hash     string
	programs *celPrograms
}

// celPrograms are an expression that counts its cost, and one that does not, for questions that are small.
type celPrograms struct {
	counted, uncounted cel.Program
	bound              bound
}

// Compile makes a function of a CEL expression. It knows
//
//	message     the fields of the message: message.tier, message["customer-id"]
//	attributes  its attributes, all text
//	consumers   the candidates, ordered by id: id, current_in_flight, max_in_flight, available_capacity,
//	            has_capacity, buffer_depth, tags, weight
//	attempt     from 1
//
// and its value is the consumer to pick: its id, the consumer itself, or a list of either, of which the first
// counts. null, "" and the empty list pick no consumer. Numbers of different types compare by value. A condition (of ?:,
// exists, all, exists_one, filter and map) in which a missing field makes the difference is false; anywhere
// else a missing field is a failure.
//
// Errors are [*SourceError], joined if there are several.
func Compile(source string) (routing.Function, error) {
	programs, err := compile(source)
	if err != nil {
		return nil, err
	}
	return &celFunction{hash: Spec{Kind: CEL, Argument: source}.Hash(), programs: programs}, nil
}

// CheckCEL reports what [Compile] would.
func CheckCEL(source string) error {
	_, err := compile(source)
	return err
}

func compile(source string) (programs *celPrograms, err error) {
	defer func() { // the library has panicked on valid sources before
		if recover() != nil {
			programs, err = nil, &SourceError{Text: "the expression cannot be compiled; write it in another way"}
		}
	}()
	if strings.TrimSpace(source) == "" {
		return nil, &SourceError{Text: "the source is empty"}
	}
	if len(source) > MaxSourceBytes {
		return nil, &SourceError{Text: fmt.Sprintf("the source has %d bytes, want at most %d", len(source), MaxSourceBytes)}
	}
	env, err := environment()
	if err != nil {
		return nil, fmt.Errorf("make the CEL environment: %w", err)
	}
	checked, issues := env.Compile(source)
	if issues.Err() != nil {
		return nil, sourceErrors(issues)
	}
	if !picksConsumer(checked.OutputType()) {
		return nil, &SourceError{Line: 1, Column: 1, Text: fmt.Sprintf(
			"the value is of type %s, want a consumer, its id, a list of either, or null", checked.OutputType())}
	}
	guarded, issues := guardPredicates(env, checked)
	if issues.Err() != nil {
		return nil, sourceErrors(issues)
	}
	options := []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize), cel.InterruptCheckFrequency(16), searches}
	uncounted, err := env.Program(guarded, options...)
	if err != nil {
		return nil, &SourceError{Text: err.Error()}
	}
	counted, err := env.Program(guarded, append(options, cel.CostTracking(costs{}), cel.CostLimit(MaxCost))...)
	if err != nil {
		return nil, &SourceError{Text: err.Error()}
	}
	return &celPrograms{counted: counted, uncounted: uncounted, bound: boundOf(guarded, source)}, nil
}

// environment is made once: it is expensive and never changes.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	registry, err := types.NewRegistry()
	if err != nil {
		return nil, err
	}
	return cel.NewEnv(
		cel.CustomTypeProvider(consumerTypes{registry}),
		cel.CustomTypeAdapter(registry),
		cel.Variable("message", cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable("attributes", cel.MapType(cel.StringType, cel.StringType)),
		cel.Variable("consumers", cel.ListType(consumerType)),
		cel.Variable("attempt", cel.IntType),
		predicateGuard,
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.ParserExpressionSizeLimit(MaxSourceBytes),
		cel.ParserRecursionLimit(maxDepth),
		cel.ExpressionNestingDepthLimit(maxDepth),
		cel.ExpressionNodeLimit(maxNodes),
		cel.ExtendedValidations(),
		cel.ASTValidators(cel.ValidateComprehensionNestingLimit(maxComprehensions), patterns{}),
	)
})

func picksConsumer(t *cel.Type) bool {
	one := func(t *cel.Type) bool {
		return t.IsExactType(cel.StringType) || t.IsExactType(consumerType) || t.IsExactType(cel.DynType)
	}
	return one(t) || t.IsExactType(cel.NullType) || t.Kind() == types.ListKind && one(t.Parameters()[0])
}

// sourceErrors are the first few errors, each with its place.
func sourceErrors(issues *cel.Issues) error {
	const few = 5
	var errs []error
	for _, e := range issues.Errors() {
		if len(errs) == few {
			errs = append(errs, &SourceError{Text: fmt.Sprintf("and %d more", len(issues.Errors())-few)})
			break
		}
		at := &SourceError{Text: e.Message}
		if e.Location != nil && e.Location.Line() > 0 {
			at.Line, at.Column = e.Location.Line(), e.Location.Column()+1
		}
		errs = append(errs, at)
	}
	return errors.Join(errs...)
}

func (f *celFunction) Hash() string { return f.hash }

func (f *celFunction) Select(ctx context.Context, q routing.Question) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, celTimeout)
	defer cancel()
	program := f.programs.counted
	if f.programs.bound.small(q) {
		program = f.programs.uncounted
	}
	value, _, err := program.ContextEval(ctx, newActivation(q))
	if err != nil {
		failure := routing.Crashed
		if ctx.Err() != nil {
			failure = routing.TimedOut
		}
		return "", &routing.EvaluationError{Failure: failure, Function: f.hash, Cause: err}
	}
	id, err := picked(value)
	if err != nil {
		return "", &routing.EvaluationError{Failure: routing.Crashed, Function: f.hash, Cause: err}
	}
	return id, nil
}

// picked returns the id that a value picks, "" for no consumer.
func picked(value ref.Val) (string, error) {
	switch v := value.(type) {
	case types.String:
		return string(v), nil
	case *consumer:
		return v.consumer.ID, nil
	case types.Null:
		return "", nil
	case traits.Lister:
		if v.Size() == types.IntZero {
			return "", nil
		}
		first := v.Get(types.IntZero)
		if _, nested := first.(traits.Lister); !nested {
			return picked(first)
		}
	}
	return "", fmt.Errorf("its value is a %s, want a consumer, its id, a list of either, or null", value.Type().TypeName())
}
