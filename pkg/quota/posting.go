package quota

import "github.com/canopy-scheduler/canopy/pkg/resources"

// The methods that change what a queue counts. Only the ledger of package objects calls them. Where several
// queues of a path change and something follows from each, the caller calls them queue by queue.

// Post counts an allocation of v in q (sign 1), or no longer (sign -1).
func (q *Queue) Post(v resources.Vector, sign int) {
	q.boundCount += int32(sign)
	addSigned(&q.allocated, v, sign)
}

// PostBound counts a pending ask of v, which PostPending has counted, as an allocation in q.
func (q *Queue) PostBound(v resources.Vector) {
	q.boundCount++
	q.pending.Move(v, &q.allocated)
}

// PostPending counts a pending ask of v in every queue from q to root (sign 1), or no longer (sign -1) (QUE-41).
func (q *Queue) PostPending(v resources.Vector, sign int) {
	for ; q != nil; q = q.parent {
		addSigned(&q.pending, v, sign)
	}
}

// PostNominated counts an ask of v as nominated in every queue from q to root (sign 1), or no longer (sign -1).
func (q *Queue) PostNominated(v resources.Vector, sign int) {
	for ; q != nil; q = q.parent {
		addSigned(&q.nominated, v, sign)
	}
}

// PostPreempting counts an allocation of v as preempting in q, overdue or not (sign 1), or no longer (sign -1)
// (QUE-43).
func (q *Queue) PostPreempting(v resources.Vector, overdue bool, sign int) {
	if q.releases == nil {
		q.releases = &releases{}
	}
	if overdue {
		addSigned(&q.releases.overdue, v, sign)
		return
	}
	addSigned(&q.releases.expected, v, sign)
}

// PostRunning adds n to the number of running applications of q.
func (q *Queue) PostRunning(n int) { q.running += n }

// PostCapacity replaces the resources of a node in the capacity of root. It reports whether the sum stays within 64
// bits; otherwise nothing changes.
func (q *Queue) PostCapacity(was, now resources.Vector) (ok bool) {
	var remaining resources.Vector
	remaining.Difference(q.capacity, was, nil)
	if remaining.Overflows(now, nil) {
		return false
	}
	remaining.Add(now)
	q.capacity = remaining
	return true
}

// PostDeficit counts in the deficit of root by how much the allocations of a node exceed its total (sign 1), or no
// longer (sign -1).
func (q *Queue) PostDeficit(allocated, total resources.Vector, sign resources.Quantity) {
	for k, n := range allocated {
		if excess := n - total.At(resources.Index(k)); excess > 0 {
			for len(q.deficit) <= k {
				q.deficit = append(q.deficit, 0)
			}
			q.deficit[k] += sign * excess
		}
	}
}

func addSigned(total *resources.Vector, v resources.Vector, sign int) {
	if sign < 0 {
		total.Sub(v)
		return
	}
	total.Add(v)
}

// Post adds v to what the user or group of x uses (sign 1), or subtracts it (sign -1).
func (x *Account) Post(v resources.Vector, sign int) { addSigned(&x.allocated, v, sign) }

// PostRunning adds n to the number of running applications of x.
func (x *Account) PostRunning(n int) { x.running += n }
