package validation

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
func (r *Report) checkPartitionLimits(p *PartitionDraft) {
	switch {
	case len(p.Limits) == 0:
	case len(p.Root.Limits) == 0:
		p.Root.Limits = p.Limits
	case !slices.EqualFunc(p.Limits, p.Root.Limits, sameLimit):
		r.Add(p, p.LimitsAt, "V9", "the partition's limits differ from those of its root queue",
			"keep one of the two; they mean the same")
		r.checkLimits(p.Root, p.Limits)
	}
}

func sameLimit(a, b *LimitDraft) bool {
	sameWord := func(v, w Token) bool { return v.Text == w.Text }
	return a.Description == b.Description && a.MaxApplications.N == b.MaxApplications.N &&
		slices.EqualFunc(a.Users, b.Users, sameWord) && slices.EqualFunc(a.Groups, b.Groups, sameWord) &&
		maps.Equal(a.Max.Texts, b.Max.Texts)
}

// checkLimits applies V11 to V19 to the limits of one queue (CFG-54 to CFG-62). A name
// must be unique over all limits of the queue.
func (r *Report) checkLimits(q *QueueDraft, list []*LimitDraft) {
	users := limitNames{Report: r, q: q, kind: "user", legal: security.IsUserName, hint: UserNameHint}
	groups := limitNames{Report: r, q: q, kind: "group", legal: security.IsGroupName, hint: GroupNameHint}
	for _, l := range list {
		if len(l.Users) == 0 && len(l.Groups) == 0 && !l.Broken {
			r.Add(q, l.Position, "V11", "the limit is for no user and no group", "users: ['*'] is for every user")
		}
		users.checkNames(l.Users)
		groups.checkNames(l.Groups)
		if star := slices.IndexFunc(l.Groups, isWildcard); star >= 0 && len(groups.seen) == 1 {
			r.Add(q, l.Groups[star].Position, "V15",
				"a limit for every other group needs a group with a limit of its own", "")
		}
		r.checkLimitSize(q, l)
	}
}

func isWildcard(w Token) bool { return w.Text == limits.Wildcard }

// limitNames are the users, or the groups, named so far by the limits of one queue.
type limitNames struct {
	*Report
	q     *QueueDraft
	kind  string
	legal func(string) bool
	hint  string
	seen  map[string]bool
}

// checkNames applies V12, V13 and V14 to the names of one more limit.
func (s *limitNames) checkNames(names []Token) {
	if s.seen == nil {
		s.seen = make(map[string]bool, len(names))
	}
	for _, w := range names {
		s.Yield()
		switch {
		case s.seen[w.Text]:
			s.Add(s.q, w.Position, "V13", fmt.Sprintf("%s %s has a limit in this queue already", s.kind, Quote(w.Text)), "")
		case !isWildcard(w) && !s.legal(w.Text):
			s.Add(s.q, w.Position, "V12", fmt.Sprintf("%s name %s is not legal", s.kind, Quote(w.Text)), s.hint)
		case s.seen[limits.Wildcard]:
			s.Add(s.q, w.Position, "V14", fmt.Sprintf("%s %s comes after the wildcard", s.kind, Quote(w.Text)),
				"put the limit with * last")
		}
		s.seen[w.Text] = true
	}
}

// checkLimitSize applies V16 to V19.
func (r *Report) checkLimitSize(q *QueueDraft, l *LimitDraft) {
	if l.Max.isZero() {
		r.Add(q, l.Max.Position, "V16", "all maxresources are zero", "at least one must be above zero")
	}
	if l.MaxApplications.N == 0 && l.MaxApplications.OK && len(l.Max.Texts) == 0 && !l.Broken {
		r.Add(q, l.Position, "V17", "the limit has neither maxresources nor maxapplications", "")
	}
	if most := q.MaxApplications.N; most != 0 && l.MaxApplications.N > most {
		r.Add(q, l.MaxApplications.Position, "V18",
			fmt.Sprintf("maxapplications %d of the limit is more than the queue's %d", l.MaxApplications.N, most), "")
	}
	for _, name := range sortedKeys(l.Max.N) {
		if most, ok := q.Max.N[name]; ok && l.Max.N[name] > most {
			r.Add(q, l.Max.Positions[name], "V19",
				fmt.Sprintf("maxresources %s %s of the limit is more than the queue's max %s",
					name, resources.FormatQuantity(name, l.Max.N[name]), resources.FormatQuantity(name, most)), "")
		}
	}
}
