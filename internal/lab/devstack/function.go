package devstack

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

// Defaults and bounds of a Function, as Lambda has them
// (https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html), but for
// DefaultConcurrency: Lambda's own would fill a desk.
const (
	DefaultTimeout     = 3 * time.Second
	MaxTimeout         = 15 * time.Minute
	DefaultMemory      = 128
	MaxMemory          = 10240
	DefaultConcurrency = 10
)

// initLimit bounds the time from the start of a process to its first request for an invocation
// (https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html). It does not
// count towards the function's timeout.
const initLimit = 10 * time.Second

// Function is one Lambda function to run.
type Function struct {
	// Concurrency bounds the processes, and so the invocations at the same time; one more is
	// ErrThrottled. Defaults to DefaultConcurrency.
	Concurrency int

	// Env is added to the environment. The variables that Lambda reserves are refused, as it
	// refuses them.
	Env map[string]string

	// Memory, in MB: the function learns it, and it is not enforced. Defaults to DefaultMemory.
	Memory int

	// Name is 1 to 64 letters, digits, hyphens and underscores.
	Name string

	// Path is the executable. Its folder is the function's task root and working directory.
	Path string

	// Timeout bounds one invocation; then the process is killed. Defaults to DefaultTimeout.
	Timeout time.Duration
}

var functionName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// resolve fills in the defaults and refuses what could not run.
func (f Function) resolve() (Function, error) {
	if !functionName.MatchString(f.Name) {
		return f, fmt.Errorf("function %q: a name is 1 to 64 letters, digits, hyphens and underscores", f.Name)
	}
	f.Timeout = cmp.Or(f.Timeout, DefaultTimeout)
	f.Memory = cmp.Or(f.Memory, DefaultMemory)
	f.Concurrency = cmp.Or(f.Concurrency, DefaultConcurrency)
	switch {
	case f.Timeout < time.Millisecond || f.Timeout > MaxTimeout:
		return f, fmt.Errorf("function %s: timeout %v is not within 1ms to %v", f.Name, f.Timeout, MaxTimeout)
	case f.Memory < DefaultMemory || f.Memory > MaxMemory:
		return f, fmt.Errorf("function %s: memory %d is not within %d to %d MB", f.Name, f.Memory, DefaultMemory, MaxMemory)
	case f.Concurrency < 0:
		return f, fmt.Errorf("function %s: concurrency %d is negative", f.Name, f.Concurrency)
	}
	if err := checkVariables(f.Env); err != nil {
		return f, fmt.Errorf("function %s: %w", f.Name, err)
	}
	f.Env = maps.Clone(f.Env)
	path, err := executable(f.Path)
	if err != nil {
		return f, fmt.Errorf("function %s: %w", f.Name, err)
	}
	f.Path = path
	return f, nil
}

// executable returns the absolute path of a file that can be run.
func executable(path string) (string, error) {
	if path == "" {
		return "", errors.New("path is missing: give the path of an executable")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("resolve path: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("executable not found; build it first: %w", err)
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
		return "", fmt.Errorf("%s is not an executable file", path)
	}
	return path, nil
}

// pool is a function with its processes. The Stack's lock guards what changes.
type pool struct {
	function  Function
	initLimit time.Duration

	environments map[*environment]struct{} // all that live
	idle         []*environment            // of these, the ones that wait for an invocation
}

// retire forgets an environment whose process is gone.
func (p *pool) retire(e *environment) {
	delete(p.environments, e)
	p.idle = slices.DeleteFunc(p.idle, func(other *environment) bool { return other == e })
}

// release keeps an environment for the next invocation, unless its process is gone already.
func (p *pool) release(e *environment) {
	if _, lives := p.environments[e]; lives {
		p.idle = append(p.idle, e)
	}
}
