package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/sim/stage"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// table is where the rows of a world are.
type table interface {
	open(p *process) access
	// row is the row as it is stored, false if there is none. The world's mutex is held.
	row(id outbox.ID) (outbox.Row, bool)
	// delete is what the time to live does. The world's mutex is held.
	delete(id outbox.ID)
	// spoil makes a row unreadable. The world's mutex is held.
	spoil(id outbox.ID, d *stage.Dice)
}

// store is all that processes, applications and people ask of a table.
type store interface {
	outbox.Store
	Put(ctx context.Context, row outbox.Row) error
}

// operation is one write that a process asks for; it may be applied more than once.
type operation struct {
	by         *process
	claim      *outbox.Claim
	settlement *outbox.Settlement
	put        *outbox.Row
	// shown says that the row showed it after it was last tried.
	shown bool
	// result is the row as a claim made it, wrote when the table answered last.
	result outbox.Row
	wrote  time.Time
}

func (o *operation) id() outbox.ID {
	switch {
	case o.claim != nil:
		return o.claim.ID
	case o.settlement != nil:
		return o.settlement.ID
	}
	return o.put.ID
}

func (o *operation) String() string {
	switch {
	case o.claim != nil:
		return fmt.Sprintf("claim %s by %s%s", o.claim.ID, stage.Marked(o.claim.Token), from(o.claim.From))
	case o.settlement != nil:
		s := o.settlement
		return fmt.Sprintf("settle %s as %s under %s%s", s.ID, s.Status, stage.Marked(s.Token), from(s.From))
	}
	return fmt.Sprintf("put %s", o.put.ID)
}

func from(row *outbox.Row) string {
	if row == nil {
		return ""
	}
	return fmt.Sprintf(" from %s %s", row.Status, stage.Marked(row.Token))
}
