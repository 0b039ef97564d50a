package outbox

import (
	"fmt"
	"time"
)

// overdue is how late a due row may be before an audit objects: many sweeps, and one outage of a minute.
const overdue = 15 * time.Minute

// Audit says what keeps a row from ever ending by itself, or "" if nothing does. Sweeps find rows through
// their lanes; what slips through that net (I6) is found by looking at every row.
func Audit(policies map[string]Policy, row Row, now time.Time) string {
	p, configured := policies[row.Destination]
	p = p.WithDefaults()
	switch {
	case row.Status.Terminal() && row.Unreadable == nil:
		return ""
	case row.Unreadable != nil:
		return row.Unreadable.Error()
	case !configured:
		return "its destination is not in the configuration: no lane of it is walked"
	case row.Lane.Shard >= p.Shards:
		return fmt.Sprintf("it is in lane number %d, and the destination has %d: shards may only grow", row.Lane.Shard, p.Shards)
	case (row.Status == StatusPending || row.Status == StatusDispatching) && !p.Retired && later(row.LaneAt, row.Until).Add(overdue).Before(now):
		return "it has been due for more than " + overdue.String() + ": is the sweep running?"
	}
	return ""
}
