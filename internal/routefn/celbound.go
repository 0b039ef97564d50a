package routefn

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"

	"github.com/landfall-dev/landfall/internal/routing"
)

// bound tells without running an expression how much it can cost at most, roughly and too high. Counting the
// cost as it runs takes as long as the running; most questions do not need it.
type bound struct {
	nodes, loops uint64
	// literal is the length of the longest list or map in the source, text that of the source.
	literal, text uint64
	// grows says that it joins lists or texts, so that lengths are not bounded by those of the question.
	grows bool
}

// mayCost is up to which bound the cost is not counted. Bounds are at least ten times too high.
const mayCost = 10 * MaxCost

func boundOf(a *cel.Ast, source string) bound {
	root := ast.NavigateAST(a.NativeRep())
	b := bound{nodes: uint64(ast.NodeCount(a.NativeRep())), text: uint64(len(source))}
	for _, loop := range ast.MatchDescendants(root, ast.KindMatcher(ast.ComprehensionKind)) {
		b.loops++
		if loop.AsComprehension().AccuVar() != accumulator {
			b.grows = true
		}
	}
	for _, list := range ast.MatchDescendants(root, ast.KindMatcher(ast.ListKind)) {
		b.literal = max(b.literal, uint64(list.AsList().Size()))
	}
	for _, m := range ast.MatchDescendants(root, ast.KindMatcher(ast.MapKind)) {
		b.literal = max(b.literal, uint64(m.AsMap().Size()))
	}
	for _, join := range ast.MatchDescendants(root, ast.FunctionMatcher(operators.Add)) {
		if to := join.AsCall().Args()[0]; to.Kind() != ast.IdentKind || to.AsIdent() != accumulator {
			b.grows = true
		}
	}
	return b
}

// accumulator is what filter and map add an element to at a time. No source can name it.
const accumulator = "@result"

// small reports whether a question cannot cost too much: every node, in as many nested loops as there are,
// over the longest list, with the longest text twice.
func (b bound) small(q routing.Question) bool {
	if b.grows {
		return false
	}
	list, text := max(b.literal, uint64(len(q.Candidates)), uint64(len(q.Message.Fields)), uint64(len(q.Message.Attributes)), 1), b.text
	for _, f := range q.Message.Fields {
		text = max(text, uint64(len(f.Value.Text)), uint64(len(f.Name)))
	}
	for name, value := range q.Message.Attributes {
		text = max(text, uint64(len(value)), uint64(len(name)))
	}
	for i := range q.Candidates {
		list = max(list, uint64(len(q.Candidates[i].Tags)))
	}
	cost := b.nodes * (1 + text/5)
	for range b.loops + 1 {
		if cost > mayCost {
			return false
		}
		cost *= list
	}
	return cost <= mayCost
}
