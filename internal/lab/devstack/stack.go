package devstack

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"
)

// DefaultRegion is the region of a Stack that is given none.
const DefaultRegion = "us-east-1"

// Config says what a Stack runs.
type Config struct {
	// Functions by distinct names.
	Functions []Function

	// Output gets what the functions print, line by line, as "[name] line", one Write per line,
	// never two at a time. It should not block: the functions wait for it. Defaults to io.Discard.
	Output io.Writer

	// Region is in the functions' environment and in every ARN. Defaults to DefaultRegion.
	Region string
}

// Stack runs functions. Start makes one; it must be stopped. Its methods may be called at the same
// time.
type Stack struct {
	region string
	out    *lines
	pools  map[string]*pool // fixed after Start

	ctx    context.Context // done when the stack stops: ends schedules, waiting events, mappings
	cancel context.CancelFunc

	invocations sync.WaitGroup
	background  sync.WaitGroup // schedules and their events, event source mappings
	processes   sync.WaitGroup

	mu       sync.Mutex              // guards what follows, and what changes in the pools
	stopping bool                    // nothing new is admitted
	killing  bool                    // no process is started any more
	running  map[string]*environment // by request id
}

// Start checks the functions and returns a Stack that is ready to invoke them. Processes start when
// they are needed.
func Start(c Config) (*Stack, error) {
	s := &Stack{
		region:  cmp.Or(c.Region, DefaultRegion),
		out:     &lines{w: cmp.Or(c.Output, io.Discard)},
		pools:   make(map[string]*pool),
		running: make(map[string]*environment),
	}
	for _, f := range c.Functions {
		f, err := f.resolve()
		if err != nil {
			return nil, err
		}
		if s.pools[f.Name] != nil {
			return nil, fmt.Errorf("function %s: the name is given twice; names must differ", f.Name)
		}
		s.pools[f.Name] = &pool{function: f, initLimit: initLimit, environments: make(map[*environment]struct{})}
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// Stop ends schedules and event source mappings, refuses new invocations, lets those under way finish until ctx is done, then
// kills every process. When it returns, nothing is left. It may be called more than once.
func (s *Stack) Stop(ctx context.Context) {
	s.mu.Lock()
	s.stopping = true
	s.mu.Unlock()
	s.cancel()
	finished := make(chan struct{})
	go func() {
		s.invocations.Wait()
		close(finished)
	}()
	select {
	case <-finished:
	case <-ctx.Done():
	}

	s.mu.Lock()
	s.killing = true
	for _, p := range s.pools {
		for e := range p.environments {
			e.kill()
		}
	}
	s.mu.Unlock()
	<-finished
	s.background.Wait()
	s.processes.Wait()
}

// Invoke runs a function and waits for its answer, as Lambda's Invoke does: the error says that the
// function was not run (ErrThrottled and the like), Result.FunctionError that it failed. A payload
// is JSON of at most MaxRequest bytes; none stands for {}. When ctx ends, Invoke returns its error;
// the function runs on.
func (s *Stack) Invoke(ctx context.Context, function string, payload []byte) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	p, err := s.check(function, payload)
	if err != nil {
		return Result{}, fmt.Errorf("invoke %s: %w", function, err)
	}
	if len(payload) == 0 {
		payload = []byte("{}")
	}
	inv := &invocation{
		id:      newUUID(),
		payload: payload,
		arn:     fmt.Sprintf("arn:aws:lambda:%s:%s:function:%s", s.region, Account, function),
		trace:   newTrace(time.Now()),
		done:    make(chan struct{}),
	}
	type answer struct {
		result Result
		err    error
	}
	answers := make(chan answer, 1)
	if !s.spawn(&s.invocations, func() {
		result, err := s.run(p, inv)
		answers <- answer{result, err}
	}) {
		return Result{}, fmt.Errorf("invoke %s: %w", function, ErrStopped)
	}
	select {
	case a := <-answers:
		if a.err != nil {
			return Result{}, fmt.Errorf("invoke %s: %w", function, a.err)
		}
		return a.result, nil
	case <-ctx.Done():
		return Result{}, ctx.Err()
	}
}

func (s *Stack) check(function string, payload []byte) (*pool, error) {
	p := s.pools[function]
	switch {
	case p == nil:
		return nil, ErrUnknownFunction
	case len(payload) > MaxRequest:
		return nil, ErrRequestTooLarge
	case len(payload) > 0 && !json.Valid(payload):
		return nil, ErrInvalidRequest
	}
	return p, nil
}

// spawn runs f in a goroutine that Stop waits for; false once the stack is stopping.
func (s *Stack) spawn(group *sync.WaitGroup, f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return false
	}
	group.Go(f)
	return true
}

// launch runs f in the background, until ctx ends or the stack stops; false once it is stopping.
func (s *Stack) launch(ctx context.Context, f func(ctx context.Context)) bool {
	ctx, cancel := context.WithCancel(ctx)
	unhook := context.AfterFunc(s.ctx, cancel)
	end := func() {
		unhook()
		cancel()
	}
	if s.spawn(&s.background, func() {
		defer end()
		f(ctx)
	}) {
		return true
	}
	end()
	return false
}
