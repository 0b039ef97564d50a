package routingsim

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/lab/sim/stage/stagedb"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/routingdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

// unasked is called when a receipt changed without a move: another program broke it, or the process that read it then ended it.
func (l *law) unasked(before, after stagedb.Item) {
	l.stage.Events++
	pk := after[schema.PK].(*types.AttributeValueMemberS).Value
	group, message, _ := strings.Cut(pk, schema.Separator)
	id := routing.ID{Group: group, Message: message}
	r, was, is := l.record(id), decoded(id, before), decoded(id, after)
	if is.State == unreadable {
		l.stage.Note(0, "a foreign hand breaks the receipt of %s, which was %q", id, r.state)
		l.stage.Happened["a receipt was broken"]++
		r.spoilt = true // some moves are possible still
		return
	}
	l.stage.Note(0, "the broken receipt of %s is ended: %s %s", id, is.State, is.Reason)
	l.stage.Must(was.State == unreadable, "I11", "%s is ended without a move, and its receipt can be read", id)
	l.stage.Must(is.State == routing.Dead && is.Reason == routingdb.ReasonInvalid, "I11", "%s cannot be read, and is now %s: %q", id, is.State, is.Reason)
	r.state, r.reason = is.State, is.Reason
	l.stage.Happened["a broken receipt was ended"]++
}
