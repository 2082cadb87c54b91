package validation

import (
	"fmt"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// checkPartitionLimits applies V9 and V10: the limits of a partition are those of its
// root queue, so both may be written only if they are the same (CFG-32, CFG-53).
func (r *Report) checkPartitionLimits(p *Partition) {
	switch {
	case len(p.Limits) == 0:
	case len(p.Root.Limits) == 0:
		p.Root.Limits = p.Limits
	case !slices.EqualFunc(p.Limits, p.Root.Limits, sameLimit):
		r.Add(p.Subject, r.At(p.Partition, "limits"), "V9", "the partition's limits differ from those of its root queue",
			"keep one of the two; they mean the same")
		r.checkLimits(p.Root, p.Limits)
	}
}

func sameLimit(a, b limits.Limit) bool {
	return a.Description == b.Description && a.Bound().Equal(b.Bound()) && slices.Equal(a.Users, b.Users) &&
		slices.Equal(a.Groups, b.Groups)
}

// checkLimits applies V11 to V19 to the limits of one queue (CFG-54 to CFG-62). A name
// must be unique over all limits of the queue.
func (r *Report) checkLimits(q *Queue, list []limits.Limit) {
	users := limitNames{Report: r, q: q, kind: "user", legal: security.IsUserName, hint: UserNameHint}
	groups := limitNames{Report: r, q: q, kind: "group", legal: security.IsGroupName, hint: GroupNameHint}
	for i := range list {
		l := &list[i]
		if len(l.Users) == 0 && len(l.Groups) == 0 && !r.IsMisread(l) {
			r.Add(q.Subject, r.At(l), "V11", "the limit is for no user and no group", "users: ['*'] is for every user")
		}
		users.checkNames(l, l.Users)
		groups.checkNames(l, l.Groups)
		if star := slices.Index(l.Groups, limits.Wildcard); star >= 0 && len(groups.seen) == 1 {
			r.Add(q.Subject, r.At(l, "groups", star), "V15",
				"a limit for every other group needs a group with a limit of its own", "")
		}
		r.checkLimitSize(q, l)
	}
}

// limitNames are the users, or the groups, named so far by the limits of one queue.
type limitNames struct {
	*Report
	q     *Queue
	kind  string // user or group
	legal func(string) bool
	hint  string
	seen  map[string]bool
}

// checkNames applies V12, V13 and V14 to the names of one more limit.
func (s *limitNames) checkNames(l *limits.Limit, names []string) {
	if s.seen == nil {
		s.seen = make(map[string]bool, len(names))
	}
	for i, name := range names {
		s.Yield()
		add := func(rule, format, hint string) {
			s.Add(s.q.Subject, s.At(l, s.kind+"s", i), rule, fmt.Sprintf(format, s.kind, Quote(name)), hint)
		}
		switch {
		case s.seen[name]:
			add("V13", "%s %s has a limit in this queue already", "")
		case name != limits.Wildcard && !s.legal(name):
			add("V12", "%s name %s is not legal", s.hint)
		case s.seen[limits.Wildcard]:
			add("V14", "%s %s comes after the wildcard", "put the limit with * last")
		}
		s.seen[name] = true
	}
}

// checkLimitSize applies V16 to V19.
func (r *Report) checkLimitSize(q *Queue, l *limits.Limit) {
	if r.isZero(&l.MaxResources, l.MaxResources.All()) {
		r.Add(q.Subject, r.At(l, "maxresources"), "V16", "all maxresources are zero", "at least one must be above zero")
	}
	if l.MaxApplications == 0 && l.MaxResources.IsUnlimited() && !r.IsMisread(l) {
		r.Add(q.Subject, r.At(l), "V17", "the limit has neither maxresources nor maxapplications", "")
	}
	if most := q.MaxApplications; most != 0 && l.MaxApplications > most {
		r.Add(q.Subject, r.applicationsAt(l), "V18",
			fmt.Sprintf("maxapplications %d of the limit is more than the queue's %d", l.MaxApplications, most), "")
	}
	for name, n := range l.MaxResources.All() {
		if most, ok := q.Max.Get(name); ok && n > most {
			r.Add(q.Subject, r.At(l, "maxresources", name), "V19",
				fmt.Sprintf("maxresources %s %s of the limit is more than the queue's max %s",
					name, resources.FormatQuantity(name, n), resources.FormatQuantity(name, most)), "")
		}
	}
}
