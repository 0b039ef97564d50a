package routefn

import (
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// costs charges calls by the length of what they are given. The library's own costs do not see the length
// where the types are known only when it runs, as those of a message's fields are, and it joins lists for free:
// joined lists share memory until they are walked, but a list that was doubled thirty times takes too long to walk.
type costs struct{}

// CallCost implements [interpreter.ActualCostEstimator].
func (costs) CallCost(function, _ string, args []ref.Val, _ ref.Val) *uint64 {
	cost := uint64(1)
	switch function {
	case overloads.Size, operators.Index:
	case operators.Add:
		if _, list := args[0].(traits.Lister); list { // filter and map join one element at a time
			args = args[1:]
		}
		cost += lengths(args)
	case overloads.Matches:
		cost += (1 + lengths(args[:1])) * (1 + lengths(args[1:]))
	default:
		cost += lengths(args)
	}
	if cost < uint64(len(small)) {
		return &small[cost]
	}
	large := cost
	return &large
}

// small are the common costs, made once.
var small = func() (all [64]uint64) {
	for i := range all {
		all[i] = uint64(i)
	}
	return all
}()

// lengths is the work of walking values once: an element counts as much as ten bytes.
func lengths(values []ref.Val) (total uint64) {
	for _, value := range values {
		switch v := value.(type) {
		case types.String:
			total += uint64(len(v)) / 10
		case types.Bytes:
			total += uint64(len(v)) / 10
		case traits.Sizer:
			if n, ok := v.Size().(types.Int); ok {
				total += uint64(n)
			}
		}
	}
	return total
}
