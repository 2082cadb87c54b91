package validation

import "fmt"

// checkMaxApplications applies V25: each child of a queue with maxapplications has
// maxapplications from 1 to that of the queue, because 0 means unlimited (CFG-51).
func (r *Report) checkMaxApplications(q *Queue) {
	bound := q.MaxApplications
	if bound == 0 {
		return
	}
	for _, c := range q.Children {
		switch n := c.MaxApplications; {
		case r.IsMisread(&c.MaxApplications):
		case n == 0:
			r.Add(c.Subject, r.applicationsAt(c.Queue), "V25",
				fmt.Sprintf("maxapplications is unlimited below %s, which has %d", q.path(), bound),
				fmt.Sprintf("set it to a number from 1 to %d", bound))
		case n > bound:
			r.Add(c.Subject, r.applicationsAt(c.Queue), "V25",
				fmt.Sprintf("maxapplications %d is more than the %d of %s", n, bound, q.path()), "")
		}
	}
}

// applicationsAt returns the position of maxapplications of a queue or a limit, or that of the queue or limit.
func (r *Report) applicationsAt(part any) Position {
	if r.isSet(part, "maxapplications") {
		return r.At(part, "maxapplications")
	}
	return r.At(part)
}
