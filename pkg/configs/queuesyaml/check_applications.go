package queuesyaml

import "fmt"

// checkMaxApplications applies V25: each child of a queue with maxapplications has
// maxapplications from 1 to that of the queue, because 0 means unlimited (CFG-51).
func (r *report) checkMaxApplications(q *queueDraft) {
	bound := q.maxApplications.n
	if bound == 0 {
		return
	}
	for _, c := range q.children {
		switch n := c.maxApplications; {
		case !n.ok:
		case n.n == 0:
			r.add(c, positionOr(n.position, c.position), "V25",
				fmt.Sprintf("maxapplications is unlimited below %s, which has %d", q.path(), bound),
				fmt.Sprintf("set it to a number from 1 to %d", bound))
		case n.n > bound:
			r.add(c, n.position, "V25",
				fmt.Sprintf("maxapplications %d is more than the %d of %s", n.n, bound, q.path()), "")
		}
	}
}

// positionOr is the position of a value if it is written, and otherwise that of the mapping that lacks it.
func positionOr(written, missing position) position {
	if written == (position{}) {
		return missing
	}
	return written
}
