package limits

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Pods is the name under which a class quota limits the number of asks and allocations. Each counts as one,
// whatever it requests under that name.
const Pods = "pods"

// ClassQuota bounds what asks of some priority classes may request and hold in a queue and below it (QUO-34). It
// counts all users together, or, with users or groups, each of these users separately and each of these groups as
// a pool (QUO-38).
type ClassQuota struct {
	Name          string // unique in its queue
	Match         Selector
	Users, Groups []string        // both empty: all users together
	Hard          resources.Limit // not unlimited; a quantity of zero forbids the resource
}

// CountsAllUsers reports whether the quota counts all users together.
func (q *ClassQuota) CountsAllUsers() bool { return len(q.Users)+len(q.Groups) == 0 }

// Scope has the class quotas of one queue with the same match, in the order of the document. As for limits,
// Wildcard holds for the users or groups that no quota of the scope names.
type Scope struct {
	Match  Selector
	Quotas []ClassQuota
}

// Scopes groups the class quotas of a queue by their match, in the order of the document.
func Scopes(quotas []ClassQuota) []Scope {
	if len(quotas) == 0 {
		return nil
	}
	var out []Scope
	indexes := map[string]int{}
	for _, q := range quotas {
		match := q.Match.String()
		i, ok := indexes[match]
		if !ok {
			i = len(out)
			indexes[match] = i
			out = append(out, Scope{Match: q.Match})
		}
		out[i].Quotas = append(out[i].Quotas, q)
	}
	return out
}

// IndexForAll is the index of the quota that counts all users together; -1: there is none.
func (s *Scope) IndexForAll() int {
	return slices.IndexFunc(s.Quotas, func(q ClassQuota) bool { return q.CountsAllUsers() })
}

// IndexForUser is the index of the quota that counts a user: the one that names the user, or else the one with
// the wildcard. -1: there is none.
func (s *Scope) IndexForUser(user string) int {
	if i := s.indexOfUser(user); i >= 0 {
		return i
	}
	return s.indexOfUser(Wildcard)
}

func (s *Scope) indexOfUser(user string) int {
	return slices.IndexFunc(s.Quotas, func(q ClassQuota) bool { return slices.Contains(q.Users, user) })
}

// IndexForGroups is the index of the quota that counts a user with these groups, and the group that it counts:
// the first that the document names and the user has, or else Wildcard. -1: there is none.
func (s *Scope) IndexForGroups(groups []string) (i int, group string) {
	wildcard := -1
	for i := range s.Quotas {
		for _, g := range s.Quotas[i].Groups {
			switch {
			case g == Wildcard:
				wildcard = i
			case slices.Contains(groups, g):
				return i, g
			}
		}
	}
	return wildcard, Wildcard
}
