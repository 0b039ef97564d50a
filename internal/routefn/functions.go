package routefn

import (
	"errors"
	"slices"
	"sync"

	"github.com/landfall-dev/landfall/internal/routing"
)

// MaxCompiled bounds how many functions are kept. The least recently used one is dropped first.
const MaxCompiled = 64

// Functions makes routing functions of specs and keeps them, so that each is compiled once. The zero value
// works for all kinds but Lambda; it is safe for concurrent use. A caller may keep a function after its spec has
// changed.
type Functions struct {
	// Invoke calls Lambda functions.
	Invoke Invoker

	mu sync.Mutex
	// kept is in the order of use, the latest last.
	kept []*kept
}

// kept is a function that was made, or what was wrong with its spec.
type kept struct {
	name     string
	once     sync.Once
	function routing.Function
	err      error
}

// Get is the function of a spec. An error is one of the spec, as [Spec.Validate] reports it.
func (f *Functions) Get(s Spec) (routing.Function, error) {
	k := f.keep(string(s.Kind) + " " + s.Hash())
	k.once.Do(func() { k.function, k.err = f.make(s) })
	return k.function, k.err
}

func (f *Functions) keep(name string) *kept {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.kept, func(k *kept) bool { return k.name == name })
	if i < 0 {
		if len(f.kept) >= MaxCompiled {
			f.kept = slices.Delete(f.kept, 0, 1)
		}
		f.kept = append(f.kept, &kept{name: name})
		return f.kept[len(f.kept)-1]
	}
	k := f.kept[i]
	f.kept = append(slices.Delete(f.kept, i, i+1), k)
	return k
}

func (f *Functions) make(s Spec) (routing.Function, error) {
	if s.Kind == CEL {
		return Compile(s.Argument)
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	if s.Kind == Lambda {
		if f.Invoke == nil {
			return nil, errors.New("routing function lambda: Functions.Invoke is not set")
		}
		return &lambda{hash: s.Hash(), name: s.Argument, invoke: f.Invoke}, nil
	}
	return &builtin{hash: s.Hash(), field: s.Argument, pick: picks[s.Kind]}, nil
}
