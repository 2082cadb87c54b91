package limits

import "github.com/canopy-scheduler/canopy/pkg/resources"

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

// Scope holds the class quotas of one queue with the same match, in the order of the document. As for limits, Wildcard
// stands for the users or groups that no quota of the scope names.
type Scope struct {
	Match  Selector
	Quotas []ClassQuota
	names  nameIndex
	forAll int // index of the quota that counts all users together; -1: there is none
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
			out = append(out, Scope{Match: q.Match, names: newNameIndex(0, 0), forAll: -1})
		}
		if q.CountsAllUsers() && out[i].forAll < 0 {
			out[i].forAll = len(out[i].Quotas)
		}
		out[i].names.add(len(out[i].Quotas), q.Users, q.Groups)
		out[i].Quotas = append(out[i].Quotas, q)
	}
	return out
}

// IndexForAll returns the index of the quota that counts all users together; -1: there is none.
func (s *Scope) IndexForAll() int { return s.forAll }

// IndexForUser returns the index of the quota that counts a user: the one that names the user, or else the one with
// the wildcard. -1: there is none.
func (s *Scope) IndexForUser(user string) int {
	if i, ok := s.names.forUser(user); ok {
		return i
	}
	return -1
}

// IndexForGroups returns the index of the quota that counts a user with these groups, and the group that it counts:
// the first that the document names and the user has, or else Wildcard. -1: there is none.
func (s *Scope) IndexForGroups(groups []string) (i int, group string) {
	i, group, ok := s.names.forGroups(groups)
	if !ok {
		return -1, group
	}
	return i, group
}
