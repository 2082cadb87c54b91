package queuesyaml

import (
	"fmt"
	"maps"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// checkPartitionLimits applies V9 and V10: the limits of a partition are those of its
// root queue, so both may be written only if they are the same (CFG-32, CFG-53).
func (r *report) checkPartitionLimits(p *partitionDraft) {
	switch {
	case len(p.limits) == 0:
	case len(p.root.limits) == 0:
		p.root.limits = p.limits
	case !slices.EqualFunc(p.limits, p.root.limits, sameLimit):
		r.add(p, p.limitsAt, "V9", "the partition's limits differ from those of its root queue",
			"keep one of the two; they mean the same")
		r.checkLimits(p.root, p.limits)
	}
}

func sameLimit(a, b *limitDraft) bool {
	sameWord := func(v, w token) bool { return v.text == w.text }
	return a.description == b.description && a.maxApplications.n == b.maxApplications.n &&
		slices.EqualFunc(a.users, b.users, sameWord) && slices.EqualFunc(a.groups, b.groups, sameWord) &&
		maps.Equal(a.max.texts, b.max.texts)
}

// checkLimits applies V11 to V19 to the limits of one queue (CFG-54 to CFG-62). A name
// must be unique over all limits of the queue.
func (r *report) checkLimits(q *queueDraft, list []*limitDraft) {
	users := limitNames{report: r, q: q, kind: "user", legal: security.IsUserName, hint: userNameHint}
	groups := limitNames{report: r, q: q, kind: "group", legal: security.IsGroupName, hint: groupNameHint}
	for _, l := range list {
		if len(l.users) == 0 && len(l.groups) == 0 && !l.broken {
			r.add(q, l.position, "V11", "the limit is for no user and no group", "users: ['*'] is for every user")
		}
		users.checkNames(l.users)
		groups.checkNames(l.groups)
		if star := slices.IndexFunc(l.groups, isWildcard); star >= 0 && len(groups.seen) == 1 {
			r.add(q, l.groups[star].position, "V15",
				"a limit for every other group needs a group with a limit of its own", "")
		}
		r.checkLimitSize(q, l)
	}
}

func isWildcard(w token) bool { return w.text == limits.Wildcard }

// limitNames are the users, or the groups, named so far by the limits of one queue.
type limitNames struct {
	*report
	q     *queueDraft
	kind  string
	legal func(string) bool
	hint  string
	seen  map[string]bool
}

// checkNames applies V12, V13 and V14 to the names of one more limit.
func (s *limitNames) checkNames(names []token) {
	if s.seen == nil {
		s.seen = make(map[string]bool, len(names))
	}
	for _, w := range names {
		switch {
		case s.seen[w.text]:
			s.add(s.q, w.position, "V13", fmt.Sprintf("%s %s has a limit in this queue already", s.kind, quote(w.text)), "")
		case !isWildcard(w) && !s.legal(w.text):
			s.add(s.q, w.position, "V12", fmt.Sprintf("%s name %s is not legal", s.kind, quote(w.text)), s.hint)
		case s.seen[limits.Wildcard]:
			s.add(s.q, w.position, "V14", fmt.Sprintf("%s %s comes after the wildcard", s.kind, quote(w.text)),
				"put the limit with * last")
		}
		s.seen[w.text] = true
	}
}

// checkLimitSize applies V16 to V19.
func (r *report) checkLimitSize(q *queueDraft, l *limitDraft) {
	if l.max.isZero() {
		r.add(q, l.max.position, "V16", "all maxresources are zero", "at least one must be above zero")
	}
	if l.maxApplications.n == 0 && l.maxApplications.ok && len(l.max.texts) == 0 && !l.broken {
		r.add(q, l.position, "V17", "the limit has neither maxresources nor maxapplications", "")
	}
	if most := q.maxApplications.n; most != 0 && l.maxApplications.n > most {
		r.add(q, l.maxApplications.position, "V18",
			fmt.Sprintf("maxapplications %d of the limit is more than the queue's %d", l.maxApplications.n, most), "")
	}
	for _, name := range sortedKeys(l.max.n) {
		if most, ok := q.max.n[name]; ok && l.max.n[name] > most {
			r.add(q, l.max.positions[name], "V19",
				fmt.Sprintf("maxresources %s %s of the limit is more than the queue's max %s",
					name, resources.FormatQuantity(name, l.max.n[name]), resources.FormatQuantity(name, most)), "")
		}
	}
}
