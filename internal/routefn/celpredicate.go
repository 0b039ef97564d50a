package routefn

import (
	"errors"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// errMissing is a field or attribute that the message does not have.
var errMissing = errors.New("no such field")

// holds is the name of the function around every predicate. No source can name it.
const holds = "@holds"

// predicateGuard declares holds: false if a missing field keeps the predicate from having a value. Any other
// failure stays one.
var predicateGuard = cel.Function(holds, cel.Overload("landfall_holds", []*cel.Type{cel.BoolType}, cel.BoolType,
	cel.OverloadIsNonStrict(),
	cel.UnaryBinding(func(value ref.Val) ref.Val {
		if failure, ok := value.(*types.Err); ok && errors.Is(failure.Unwrap(), errMissing) {
			return types.False
		}
		return value
	})))

// guardPredicates puts holds around what decides: the conditions of ?: (filter, map and exists_one are made
// of it), and what exists and all ask of each element.
func guardPredicates(env *cel.Env, a *cel.Ast) (*cel.Ast, *cel.Issues) {
	guard, err := cel.NewStaticOptimizer(predicates{})
	if err != nil {
		return nil, cel.ErrorAsIssues(err)
	}
	return guard.Optimize(env, a)
}

type predicates struct{}

// Optimize implements [cel.ASTOptimizer].
func (predicates) Optimize(ctx *cel.OptimizerContext, a *ast.AST) *ast.AST {
	ast.PostOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.CallKind:
			if call := e.AsCall(); call.FunctionName() == operators.Conditional {
				args := call.Args()
				e.SetKindCase(ctx.NewCall(operators.Conditional, ctx.NewCall(holds, args[0]), args[1], args[2]))
			}
		case ast.ComprehensionKind:
			step := e.AsComprehension().LoopStep()
			if step.Kind() != ast.CallKind {
				return
			}
			name, args := step.AsCall().FunctionName(), step.AsCall().Args()
			if (name == operators.LogicalOr || name == operators.LogicalAnd) && len(args) == 2 {
				step.SetKindCase(ctx.NewCall(name, args[0], ctx.NewCall(holds, args[1])))
			}
		}
	}))
	return a
}
