package offline

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// checkLimit compares the effective limit of a group, or of a user: the minimum of the limit of
// the user and that of the group that the user counts for (LIM-6, LIM-11).
func (p *Partition) checkLimit(r *Result, a *Assertion) error {
	path := p.limitsOf(objects.QueuePath(a.Limit.Queue))
	group, bound := a.Limit.Group, limits.Bound{}
	if a.Limit.User != "" {
		bound = path.UserBound(a.Limit.User)
		group, _ = path.ResolveGroup(a.Limit.Groups)
	}
	if group != "" {
		bound = bound.Tighten(path.GroupBound(group))
	}
	e := &a.Expect
	what := a.Limit.Queue + " " + a.Limit.holder()
	for _, x := range e.MaxResources {
		n, limited := bound.MaxResources.Get(x.Resource)
		r.compare(what+" maxresources "+x.Resource, x.String(), formatExpected(x.Resource, n, limited))
	}
	if e.MaxApplications != nil {
		r.compare(what+" maxapplications", fmt.Sprint(*e.MaxApplications), fmt.Sprint(bound.MaxApplications))
	}
	if e.Group != nil {
		r.compare(what+" group", fmt.Sprintf("%q", *e.Group), fmt.Sprintf("%q", group))
	}
	return nil
}

// limitsOf are the limits of the queues along path, the lowest first. A queue that is not
// configured has no limits of its own.
func (p *Partition) limitsOf(path objects.QueuePath) limits.Path {
	q := &p.conf.Root
	out := limits.Path{limits.NewIndex(q.Limits)}
	for _, name := range path.Parts()[1:] {
		q = childOf(q, name)
		if q == nil {
			break
		}
		out = append(limits.Path{limits.NewIndex(q.Limits)}, out...)
	}
	return out
}

func childOf(q *configs.Queue, name string) *configs.Queue {
	for i := range q.Children {
		if q.Children[i].Name == name {
			return &q.Children[i]
		}
	}
	return nil
}
