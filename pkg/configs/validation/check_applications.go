package validation

import "fmt"

// checkMaxApplications applies V25: each child of a queue with maxapplications has
// maxapplications from 1 to that of the queue, because 0 means unlimited (CFG-51).
func (r *Report) checkMaxApplications(q *QueueDraft) {
	bound := q.MaxApplications.N
	if bound == 0 {
		return
	}
	for _, c := range q.Children {
		switch n := c.MaxApplications; {
		case !n.OK:
		case n.N == 0:
			r.Add(c, positionOr(n.Position, c.Position), "V25",
				fmt.Sprintf("maxapplications is unlimited below %s, which has %d", q.path(), bound),
				fmt.Sprintf("set it to a number from 1 to %d", bound))
		case n.N > bound:
			r.Add(c, n.Position, "V25",
				fmt.Sprintf("maxapplications %d is more than the %d of %s", n.N, bound, q.path()), "")
		}
	}
}

// positionOr is the position of a value if it is written, and otherwise that of the mapping that lacks it.
func positionOr(written, missing Position) Position {
	if written == (Position{}) {
		return missing
	}
	return written
}
