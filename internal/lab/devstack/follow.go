package devstack

import (
	"context"
	"fmt"
)

// FollowStream is a mapping without a stack: it does what [Stack.MapStream] does, but calls f, a function of this
// process, where that invokes m.Function. An error of f fails the batch. It returns when ctx has ended and the
// batches under way are settled.
func FollowStream(ctx context.Context, m StreamMapping, f func(ctx context.Context, event []byte) error) error {
	st, err := openStream(ctx, m.withDefaults())
	if err != nil {
		return fmt.Errorf("follow stream of %s: %w", m.Table, err)
	}
	st.invoke = func(ctx context.Context, event []byte) (Result, error) {
		if err := f(ctx, event); err != nil {
			return fault("", "", "%v", err), nil
		}
		return Result{}, nil
	}
	st.say = func(string, ...any) {}
	st.run(ctx)
	return nil
}
