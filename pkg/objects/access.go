package objects

import (
	"fmt"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// MaySubmit reports whether u has submit access to q: the submitacl or the adminacl of q
// or of a queue above it allows u (behaviour.md 9.2). Nobody has it to the recovery
// queue. Queues that were created for applications have no lists of their own.
func (q *Queue) MaySubmit(u security.User) bool {
	_, ok := q.Grant(u)
	return ok
}

// Grant is the list that gives somebody submit access to a queue.
type Grant struct {
	Queue QueuePath // whose list it is: the queue itself, or one above it
	Admin bool      // the adminacl; else the submitacl
	List  security.ACL
}

// Grant finds the list that gives u submit access to q, from q upwards. ok is false when
// none does, as for the recovery queue, which no list opens.
func (q *Queue) Grant(u security.User) (g Grant, ok bool) {
	if q.path == placement.RecoveryQueue {
		return Grant{}, false
	}
	for ; q != nil; q = q.parent {
		if q.conf.SubmitACL.Allows(u) {
			return Grant{q.path, false, q.conf.SubmitACL}, true
		}
		if q.conf.AdminACL.Allows(u) {
			return Grant{q.path, true, q.conf.AdminACL}, true
		}
	}
	return Grant{}, false
}

// SubmitDenyReason answers placement rules: why u may not submit to the queue at path, or to the
// lowest existing queue above it; empty: u may.
func (p *Partition) SubmitDenyReason(path string, u security.User) string {
	q := p.closestExisting(QueuePath(path))
	if q.MaySubmit(u) {
		return ""
	}
	return q.refusal(QueuePath(path), u)
}

// closestExisting is the queue at path or, where there is none, the lowest one above it.
func (p *Partition) closestExisting(path QueuePath) *Queue {
	q := p.root
	for _, name := range path.Parts()[1:] {
		child, ok := q.byName[name]
		if !ok {
			break
		}
		q = child
	}
	return q
}

// Longer lists in a refusal are cut: it must stay readable.
const (
	maxListsNamed  = 4
	maxGroupsNamed = 8
)

// refusal names the lists that do not have u: that of q, and those above. wanted is the
// queue that u wanted, at q or below it.
func (q *Queue) refusal(wanted QueuePath, u security.User) string {
	below := ""
	if wanted != q.path {
		below = fmt.Sprintf(", below which %s would be created", wanted)
	}
	var lists []string
	for up := q; up != nil; up = up.parent {
		lists = append(lists, string(up.path))
	}
	asked := strings.Join(lists, ", ")
	if len(lists) > maxListsNamed {
		asked = fmt.Sprintf("%s and of all %d queues above it", q.path, len(lists)-1)
	}
	return fmt.Sprintf("user %s has no submit access to %s%s (submitacl of %s%s)", u.Name, q.path, below, asked, groupsOf(u))
}

// osGroups names the groups of u, unless there is nothing to know about them.
func groupsOf(u security.User) string {
	switch {
	case len(u.Groups) == 0 || slices.Equal(u.Groups, []string{u.Name}):
		return ""
	case len(u.Groups) > maxGroupsNamed:
		return fmt.Sprintf("; groups of %s: %s and %d more", u.Name,
			strings.Join(u.Groups[:maxGroupsNamed], ", "), len(u.Groups)-maxGroupsNamed)
	}
	return fmt.Sprintf("; groups of %s: %s", u.Name, strings.Join(u.Groups, ", "))
}
