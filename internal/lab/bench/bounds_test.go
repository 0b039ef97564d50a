package bench

import "fmt"

// problems are the figures above their bounds.
func (c Counted) problems() (list []string) {
	most := func(what string, got, most float64) {
		if got > most {
			list = append(list, fmt.Sprintf("%s: %.4g, want at most %v", what, got, most))
		}
	}
	for _, e := range c.Effects {
		tx := e.Way == InTransaction
		switch {
		case e.Name == OneKB && tx:
			most("write units of 1 KB in a transaction", e.Writes(), 6)
		case e.Name == OneKB:
			most("write units of 1 KB", e.Writes(), 5)
		case e.Name == Webhooks && e.Gzip && tx:
			most("write units of webhooks in a transaction", e.Writes(), 9)
		case e.Name == Webhooks && e.Gzip:
			most("write units of webhooks", e.Writes(), 7.2)
		}
	}
	if p, err := prices(); err != nil {
		list = append(list, err.Error())
	} else {
		for _, e := range c.Effects {
			if e.Name == OneKB && e.Way == InTransaction && e.Gzip {
				dollars := map[int]float64{1: 4.26, fullBatch: 3.85}
				most(fmt.Sprintf("dollars a million of 1 KB in a transaction, without CPU, %d rows an invocation", e.Batch), p.bill("", e, e.Invocations, 0).Total, dollars[e.Batch])
			}
		}
		idle, _ := p.month(c.Idle)
		most("dollars of a month of nothing", idle, 1.25)
	}
	for _, e := range c.Found {
		most("read units of "+e.Name, e.Reads, 0.35)
	}
	for _, d := range c.Deployed {
		most(fmt.Sprintf("wasted claims of %d workers", d.Workers), d.Wasted, 0.01)
	}
	for _, l := range c.Linear {
		most(fmt.Sprintf("loss at %d shards", l.Shards), 1-l.Share, 0.05)
	}
	if l := c.FastPath.At; len(l) == 101 {
		most("read units of an effect on the fast path", c.FastPath.Reads, 0.35)
		most("commit to send, median, ms", l[50], 250)
		most("commit to send, 99th percentile, ms", l[99], 700)
	}
	return list
}
