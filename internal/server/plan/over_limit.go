package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/configs/diff"

	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// OverLimit is a user or a group whose usage in a queue exceeds a new limit. Running allocations go on;
// asks of the user or group in the queue wait until the usage is below the limit.
type OverLimit struct {
	Partition string             `json:"partition"`
	Queue     string             `json:"queue"`
	User      string             `json:"user,omitempty"`
	Group     string             `json:"group,omitempty"` // if User is empty: the group that applications count for now
	Resource  string             `json:"resource"`        // "applications": number of running applications
	Used      resources.Quantity `json:"used"`
	Limit     resources.Quantity `json:"limit"`
	By        resources.Quantity `json:"by"`
}

// runningApplications is the OverLimit.Resource for max applications.
const runningApplications = "applications"

// String is a line of text about the exceeded limit.
func (o OverLimit) String() string {
	holder := "user " + o.User
	if o.Group != "" {
		holder = "group " + o.Group
	}
	return fmt.Sprintf("%s is over the new limit in %s by %s: %s used, and %s allowed", holder, o.Queue,
		resources.FormatNamedQuantity(o.Resource, o.By), resources.FormatQuantity(o.Resource, o.Used),
		resources.FormatQuantity(o.Resource, o.Limit))
}

// Usage is the usage of a user or a group in a queue and below it.
type Usage struct {
	Queue       string
	User, Group string // exactly one is set
	Resources   map[string]resources.Quantity
	Running     int // number of running applications
}

// bound is the limit of a queue itself for the user or group of u. Limits of the queues above are compared with the
// usage in those queues.
func (u *Usage) bound(x *limits.Index) limits.Bound {
	r, _ := x.ForUser(u.User)
	if u.Group != "" {
		r, _ = x.ForGroup(u.Group)
	}
	return r.Bound()
}

// limitsOf are the limits of a queue; nil: it is not configured, or has none.
func (t queueTree) limitsOf(path string) *limits.Index {
	if q := t[path]; q != nil {
		return limits.NewIndex(q.Limits)
	}
	return nil
}

// listOverLimit lists the users and groups whose usage exceeds a limit that changes.
func (p *Plan) listOverLimit(yield func(), c *diff.PartitionChange, old, new queueTree, s *Partition) {
	changed := map[string][2]*limits.Index{} // by queue, before and after
	for i := range c.Limits {
		if path := c.Limits[i].Queue; i == 0 || path != c.Limits[i-1].Queue {
			changed[path] = [2]*limits.Index{old.limitsOf(path), new.limitsOf(path)}
		}
	}
	for i := range s.Usage {
		yield()
		u := &s.Usage[i]
		of, ok := changed[u.Queue]
		if !ok {
			continue
		}
		was, is := u.bound(of[0]), u.bound(of[1])
		over := func(resource string, used, most resources.Quantity) {
			p.OverLimit = append(p.OverLimit,
				OverLimit{c.Partition, u.Queue, u.User, u.Group, resource, used, most, used - most})
		}
		for name, most := range is.MaxResources.All() {
			before, had := was.MaxResources.Get(name)
			if n := u.Resources[name]; n > most && (!had || before != most) {
				over(name, n, most)
			}
		}
		if most := is.MaxApplications; most != 0 && most != was.MaxApplications && uint64(u.Running) > most {
			over(runningApplications, resources.Quantity(u.Running), resources.Quantity(most))
		}
	}
	slices.SortStableFunc(p.OverLimit, func(a, b OverLimit) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Queue, b.Queue),
			cmp.Compare(a.Group, b.Group), cmp.Compare(a.User, b.User))
	})
}
