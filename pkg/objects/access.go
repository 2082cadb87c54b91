package objects

import (
	"fmt"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// MaySubmit reports whether u has submit access to q: the submitacl or the adminacl of q or of a
// queue above allows it (ACL-7). No user has access to the recovery queue (ACL-10). Dynamic queues
// have no lists of their own (ACL-9).
func (q *Queue) MaySubmit(u security.User) bool {
	_, ok := q.Grant(u)
	return ok
}

// Grant is an access list that gives a user submit access to a queue.
type Grant struct {
	Queue QueuePath // the queue that has the list: the queue itself, or one above it
	Admin bool      // the adminacl; otherwise the submitacl
	List  security.ACL
}

// Grant finds the list that gives u submit access to q, from q upwards. ok is false if there is
// none, as for the recovery queue.
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

// SubmitDenyReason returns why u may not submit to the queue at path, or to its lowest existing
// ancestor; empty: u may. Placement rules call it (ACL-11).
func (p *Partition) SubmitDenyReason(path string, u security.User) string {
	q := p.root.closestTo(QueuePath(path))
	if q.MaySubmit(u) {
		return ""
	}
	return q.refusal(QueuePath(path), u)
}

// ClosestQueue is the queue at path or its lowest existing ancestor.
func ClosestQueue(p *Partition, path QueuePath) *Queue { return p.root.closestTo(path) }

// closestTo is the queue at path or its lowest existing ancestor. Requires: q is root.
func (q *Queue) closestTo(path QueuePath) *Queue {
	for _, name := range path.Parts()[1:] {
		child, ok := q.byName[name]
		if !ok {
			break
		}
		q = child
	}
	return q
}

// Longer lists are shortened in a refusal.
const (
	maxListsNamed  = 4
	maxGroupsNamed = 8
)

// refusal is the reason that names the lists of q and of the queues above, none of which has u
// (ACL-14). wanted is the requested queue, q or one below it.
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
	return fmt.Sprintf("user %s has no submit access to %s%s (submitacl of %s%s)", u.Name, q.path, below, asked,
		groupsOf(u))
}

// groupsOf names the groups of u; it is empty if there are none, or only one with the name of the
// user.
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
