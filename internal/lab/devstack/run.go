package devstack

import "fmt"

// run takes one invocation through a process: an idle one if there is one, else a new one. A process
// that turns out to have died while it was idle costs nothing but the attempt: it never saw the
// invocation.
func (s *Stack) run(p *pool, inv *invocation) (Result, error) {
	for {
		env, warm, err := s.acquire(p)
		if err != nil {
			return Result{}, err
		}
		if failure, ok := env.awaitReady(inv.id); !ok {
			return failure, nil
		}
		s.track(inv.id, env)
		if env.deliver(inv) {
			result := env.finish(inv)
			s.settle(inv.id, env)
			return result, nil
		}
		s.settle(inv.id, env)
		if !warm { // every process would
			return env.exitFault(inv.id), nil
		}
	}
}

// acquire returns the environment that was used last, or else starts one, if the function's
// concurrency has room for it.
func (s *Stack) acquire(p *pool) (env *environment, warm bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.killing {
		return nil, false, ErrStopped
	}
	if n := len(p.idle); n > 0 {
		env, p.idle = p.idle[n-1], p.idle[:n-1]
		return env, true, nil
	}
	if len(p.environments) >= p.function.Concurrency {
		return nil, false, ErrThrottled
	}
	api, err := newRuntimeAPI()
	if err != nil {
		return nil, false, err
	}
	env = &environment{pool: p, api: api, out: s.out, exited: make(chan struct{})}
	p.environments[env] = struct{}{}
	s.processes.Go(func() {
		env.supervise(s.region)
		s.mu.Lock()
		p.retire(env)
		s.mu.Unlock()
		close(env.exited)
	})
	return env, false, nil
}

func (s *Stack) track(requestID string, env *environment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running[requestID] = env
}

// settle notes the end of an invocation. Its process, if it is still there, is free for the next one.
func (s *Stack) settle(requestID string, env *environment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, requestID)
	env.pool.release(env)
}

// Kill kills the process that runs the invocation, as a crash would, and returns when it is dead:
// nothing that it had not done by then will happen. The invocation ends with Runtime.ExitError, the
// next one gets a new process. ErrNotRunning if there is no such invocation (any more).
func (s *Stack) Kill(requestID string) error {
	s.mu.Lock()
	env := s.running[requestID]
	s.mu.Unlock()
	if env == nil {
		return fmt.Errorf("kill %s: %w", requestID, ErrNotRunning)
	}
	env.kill()
	<-env.exited
	return nil
}
