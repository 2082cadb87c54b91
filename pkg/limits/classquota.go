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

// ForAll reports whether the quota counts everybody together.
func (q *ClassQuota) ForAll() bool { return len(q.Users)+len(q.Groups) == 0 }

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
	places := map[string]int{}
	for _, q := range quotas {
		match := q.Match.String()
		i, ok := places[match]
		if !ok {
			i = len(out)
			places[match] = i
			out = append(out, Scope{Match: q.Match})
		}
		out[i].Quotas = append(out[i].Quotas, q)
	}
	return out
}

// All is the place of the quota that counts everybody together; -1: there is none.
func (s *Scope) All() int {
	return slices.IndexFunc(s.Quotas, func(q ClassQuota) bool { return q.ForAll() })
}

// OfUser is the place of the quota that counts a user: of the one that names the user, or else
// of that for everybody who is not named. -1: there is none.
func (s *Scope) OfUser(user string) int {
	if i := s.naming(user); i >= 0 {
		return i
	}
	return s.naming(Wildcard)
}

func (s *Scope) naming(user string) int {
	return slices.IndexFunc(s.Quotas, func(q ClassQuota) bool { return slices.Contains(q.Users, user) })
}

// OfGroups is the place of the quota that counts somebody in these groups, and the group it
// counts them as: the first that is named here and that they have, or else Wildcard. -1: there
// is none.
func (s *Scope) OfGroups(groups []string) (i int, group string) {
	wild := -1
	for i := range s.Quotas {
		for _, g := range s.Quotas[i].Groups {
			switch {
			case g == Wildcard:
				wild = i
			case slices.Contains(groups, g):
				return i, g
			}
		}
	}
	return wild, Wildcard
}
