package routing

import (
	"fmt"
	"slices"
	"time"
)

// MoveKind is what a write does to a receipt.
type MoveKind string

// The moves. Accept and Decline are made by consumers, and Accept by the router where delivery counts as
// acceptance; the others are the router's.
const (
	// Assign writes the first attempt.
	Assign MoveKind = "assign"
	// Reassign moves the message on to another consumer.
	Reassign MoveKind = "reassign"
	// Extend moves the deadline, because no other consumer is left.
	Extend MoveKind = "extend"
	// MarkAgain says that the attempt is forwarded by another invocation, too.
	MarkAgain MoveKind = "again"
	// Accept ends the attempt well.
	Accept MoveKind = "accept"
	// Decline ends the attempt, so that the message moves on at once.
	Decline MoveKind = "decline"
	// Kill gives the message up.
	Kill MoveKind = "kill"
)

// Move is one conditional write on a receipt.
type Move struct {
	ID
	Kind MoveKind
	// From is the receipt as it was read, its State "" if there was none. The condition is that the attempt is
	// still that one; for Reassign and Extend also that its state and marks are. Accept
	// and Decline need no more of it than Attempt and Token.
	From Receipt
	// Token is random and new; it names the attempt that Assign and Reassign write, and the write itself
	// for Extend and Kill.
	Token string
	// At is the time of the write.
	At time.Time

	// Consumer, OnDelivery and Deadline are those of the attempt to write; Extend needs the deadline.
	Consumer   string
	OnDelivery bool
	Deadline   time.Time
	// NotTaken says of Extend that the consumer demonstrably did not take the forward: it is forwarded once more then
	// as if the deadline had never been moved.
	NotTaken bool
	// End is why Reassign leaves the consumer, and Seen when that was seen.
	End  End
	Seen time.Time
	// Reason is why Kill gives up.
	Reason Reason
}

// RefusedError is a move that was refused and changed nothing.
type RefusedError struct {
	// Receipt is the receipt as it is; its State is "" if there is none.
	Receipt Receipt
}

func (e *RefusedError) Error() string {
	if e.Receipt.State == "" {
		return "refused: there is no receipt"
	}
	return fmt.Sprintf("refused: attempt %d is %s", e.Receipt.Attempt, e.Receipt.State)
}

// AcceptMove is the acceptance of an attempt by its consumer. It may be repeated; it is refused once the
// attempt is over: rerouted, declined or dead.
func AcceptMove(id ID, attempt int, token string, at time.Time) Move {
	return Move{ID: id, Kind: Accept, From: Receipt{ID: id, Attempt: attempt, Token: token}, At: at}
}

// DeclineMove is the consumer's word that it does not accept. It may be repeated; it is refused once the
// attempt is over: accepted, rerouted or dead, and where delivery counts as acceptance.
func DeclineMove(id ID, attempt int, token string, at time.Time) Move {
	return Move{ID: id, Kind: Decline, From: Receipt{ID: id, Attempt: attempt, Token: token}, At: at}
}

// Apply is the meaning of a move: the receipt that it makes of r, or a [RefusedError]. A move whose answer was
// lost may be applied again: it finds itself and is granted again, unchanged.
func (m Move) Apply(r Receipt) (Receipt, error) {
	switch {
	case m.Repeats(r):
		return r, nil
	case !m.admits(r):
		return Receipt{}, &RefusedError{Receipt: r}
	}
	r.ID, r.ExpiresAt = m.ID, m.expiresAt()
	switch m.Kind {
	case Assign:
		return m.attempt(r), nil
	case Reassign:
		r.History = append(slices.Clone(r.History), Past{
			Consumer: r.Consumer, End: m.End, AssignedAt: r.AssignedAt, Deadline: r.Deadline, EndedAt: m.Seen,
		})
		return m.attempt(r), nil
	case Extend:
		r.Deadline, r.Mark = m.Deadline, m.Token
		if r.Extensions++; m.NotTaken {
			r.Extensions = 0
		}
	case MarkAgain:
		r.Again = true
	case Accept:
		r.State, r.EndedAt = Accepted, m.At
	case Decline:
		r.State, r.EndedAt = Declined, m.At
	case Kill:
		r.State, r.EndedAt, r.Mark, r.Reason = Dead, m.At, m.Token, m.Reason
	}
	return r, nil
}

// attempt is r with the move's attempt under way.
func (m Move) attempt(r Receipt) Receipt {
	return Receipt{
		ID: r.ID, State: Pending, Attempt: r.Attempt + 1, Token: m.Token, Consumer: m.Consumer, OnDelivery: m.OnDelivery,
		AssignedAt: m.At, Deadline: m.Deadline, History: r.History, ExpiresAt: r.ExpiresAt,
	}
}

func (m Move) expiresAt() time.Time { return m.At.Add(Retention).Truncate(time.Second) }

// Repeats reports whether r shows that this very move took effect before.
func (m Move) Repeats(r Receipt) bool {
	switch m.Kind {
	case Assign, Reassign: // and nothing since
		return r.State == Pending && r.Token == m.Token && r.Mark == "" && !r.Again
	case Extend:
		return r.State == Pending && m.sameAttempt(r) && r.Mark == m.Token
	case MarkAgain:
		return r.State == Pending && m.sameAttempt(r) && r.Again
	case Accept:
		return r.State == Accepted && m.sameAttempt(r)
	case Decline:
		return r.State == Declined && m.sameAttempt(r)
	case Kill:
		return r.State == Dead && r.Mark == m.Token
	}
	return false
}

// admits is the table of legal moves.
func (m Move) admits(r Receipt) bool {
	pending := r.State == Pending && m.sameAttempt(r)
	declined := r.State == Declined && m.sameAttempt(r)
	switch m.Kind {
	case Assign:
		return r.State == ""
	case Reassign: // marked again, it may have been delivered, whatever a refusal says
		return r.same(m.From) && (pending && !r.Again || declined)
	case Extend:
		return r.same(m.From) && pending
	case MarkAgain:
		return pending && r.OnDelivery
	case Accept:
		return pending
	case Decline: // a consumer that delivery makes the owner has no say, and a copy of the message
		return pending && !r.OnDelivery
	case Kill:
		if m.From.State == "" {
			return r.State == ""
		}
		return pending || declined
	}
	return false
}

func (m Move) sameAttempt(r Receipt) bool {
	return m.From.Token != "" && r.Token == m.From.Token && r.Attempt == m.From.Attempt
}
