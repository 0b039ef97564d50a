package outboxdb

import (
	"github.com/landfall-dev/landfall/internal/dynamo"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/schema"
)

// Values that every write of a row may have.
var (
	pending     = dynamo.Text(schema.StatusPending)
	dispatching = dynamo.Text(schema.StatusDispatching)
	neverHeld   = dynamo.Text(noToken)
	zero        = dynamo.Number(0)
	one         = dynamo.Number(1)
)

// requireUnchanged asks that the row is the one that was read. A row in order is fenced on what its
// attributes mean, a broken one on what they are.
func requireUnchanged(w *dynamo.Write, row outbox.Row) {
	w.RequireExists(schema.PK)
	if raw, ok := row.Seen.(seen); ok && row.Unreadable != nil {
		w.RequireIs(schema.Status, raw.status)
		w.RequireIs(schema.Token, raw.token)
		w.RequireIs(schema.AttemptCount, raw.attemptCount)
		w.RequireIs(schema.ResolutionID, raw.resolutionID)
		return
	}
	w.RequireIs(schema.Status, dynamo.Text(string(row.Status)))
	if row.Token == "" {
		w.RequireIsOrAbsent(schema.Token, neverHeld)
	} else {
		w.RequireIs(schema.Token, dynamo.Text(row.Token))
	}
	requireCount(w, schema.AttemptCount, row.AttemptCount)
	if row.ResolutionID == "" {
		w.RequireAbsent(schema.ResolutionID)
	} else {
		w.RequireIs(schema.ResolutionID, dynamo.Text(row.ResolutionID))
	}
}

func requireCount(w *dynamo.Write, attribute string, n int) {
	if n == 0 {
		w.RequireIsOrAbsent(attribute, zero)
	} else {
		w.RequireIs(attribute, dynamo.Number(n))
	}
}
