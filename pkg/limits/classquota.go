package limits

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Pods is the name under which a class quota limits how many asks and allocations there are.
// Each counts as one, whatever it asks for under that name.
const Pods = "pods"

// ClassQuota bounds what asks of some priority classes may ask for and hold in a queue and
// below it (priority.md S3-4). It counts everybody together; or, with users or groups, each
// of these users on their own and each of these groups as a pool.
type ClassQuota struct {
	Name          string // unique in its queue
	Match         Selector
	Users, Groups []string        // both empty: everybody together
	Hard          resources.Limit // limits something; a quantity may be zero, and forbids then
}

// CountsAllUsers reports whether the quota counts everybody together.
func (q *ClassQuota) CountsAllUsers() bool { return len(q.Users)+len(q.Groups) == 0 }

// Scope is the quotas of one queue that have the same match, in the order of the document. As
// among limits, whoever is named by one of them is not one of the others: Wildcard is.
type Scope struct {
	Match  Selector
	Quotas []ClassQuota
}

// Scopes sorts the quotas of a queue by their match, in the order of the document.
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

// IndexForAll is the place of the quota that counts everybody together; -1: there is none.
func (s *Scope) IndexForAll() int {
	return slices.IndexFunc(s.Quotas, func(q ClassQuota) bool { return q.CountsAllUsers() })
}

// IndexForUser is the place of the quota that counts a user: of the one that names the user, or else
// of that for everybody who is not named. -1: there is none.
func (s *Scope) IndexForUser(user string) int {
	if i := s.indexOfUser(user); i >= 0 {
		return i
	}
	return s.indexOfUser(Wildcard)
}

func (s *Scope) indexOfUser(user string) int {
	return slices.IndexFunc(s.Quotas, func(q ClassQuota) bool { return slices.Contains(q.Users, user) })
}

// IndexForGroups is the place of the quota that counts somebody in these groups, and the group it
// counts them as: the first that is named here and that they have, or else Wildcard. -1: there
// is none.
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
