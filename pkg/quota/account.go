package quota

import (
	"fmt"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/persistent"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Account holds the usage of a user or a group in and below a queue, and the limit for it. It exists
// while a limit applies to an application there (LIM-31), and is removed with its last member.
type Account struct {
	queue           *Queue
	userOrGroup     UserOrGroup
	limit           resources.Limit       // on resources
	max             resources.LimitVector // limit, dense
	maxApplications uint64                // applications that may run; 0: any number
	allocated       resources.Vector
	running         int              // number of running applications
	members         []*Application   // in no order
	fit             feasibility.Mask // the shapes that are within max, without those of applications that may not start

	Recorded bool // for the caller: the account is in a list of changed accounts
}

// Membership is the membership of an application in an account.
type Membership struct {
	account *Account
	index   int // in Account.members
}

// Account returns the account of m.
func (m Membership) Account() *Account { return m.account }

func newAccount(q *Queue, h UserOrGroup, limit *limits.Limit, names *resources.NameTable) *Account {
	return &Account{queue: q, userOrGroup: h, limit: limit.MaxResources, max: names.LimitVector(limit.MaxResources),
		maxApplications: limit.MaxApplications}
}

// Queue returns the queue that has the limit.
func (x *Account) Queue() *Queue { return x.queue }

// UserOrGroup returns the user or group of the limit.
func (x *Account) UserOrGroup() UserOrGroup { return x.userOrGroup }

// Allocated returns what the applications of the user or group use. Read-only.
func (x *Account) Allocated() resources.Vector { return x.allocated }

// Running returns how many of these applications the limit counts as running.
func (x *Account) Running() int { return x.running }

// Members returns the applications of the user or group, in no order. Read-only.
func (x *Account) Members() []*Application { return x.members }

// LimitsResources reports whether the limit also bounds resources.
func (x *Account) LimitsResources() bool { return len(x.max) > 0 }

// LimitsApplications reports whether the limit has max applications.
func (x *Account) LimitsApplications() bool { return x.maxApplications > 0 }

// Current returns the present account of the user or group in the queue of x; nil: there is none. It differs from x
// after all accounts were built again.
func (x *Account) Current() *Account { return x.queue.accounts[x.userOrGroup] }

func (x *Account) add(a *Application, used resources.Vector) {
	x.allocated.Add(used)
	if a.countedInLimits {
		x.running++
	}
	a.memberships = append(a.memberships, Membership{x, len(x.members)})
	x.members = append(x.members, a)
}

// remove removes the member at an index; the last member gets that index.
func (x *Account) remove(at int) {
	end := len(x.members) - 1
	last := x.members[end]
	x.members[at], x.members[end] = last, nil
	x.members = x.members[:end]
	for i := range last.memberships {
		if last.memberships[i].account == x {
			last.memberships[i].index = at
		}
	}
	if end == 0 {
		delete(x.queue.accounts, x.userOrGroup)
	}
}

// Accounts returns the accounts in q, by user or group; nil: none. Read-only.
func (q *Queue) Accounts() map[UserOrGroup]*Account { return q.accounts }

// DropAccounts removes the accounts of q, after limits changed. The members must lose their memberships and join again.
func (q *Queue) DropAccounts() { q.accounts = nil }

// AtMaxApplications reports whether no further application of x may start.
func (x *Account) AtMaxApplications() bool {
	return x.maxApplications > 0 && uint64(x.running) >= x.maxApplications
}

// allows reports whether an ask of shape s is within the limit of x.
func (x *Account) allows(s *feasibility.Shape) bool {
	return !(s.Variant() != MaxAppsUnchecked && x.AtMaxApplications()) && x.max.Allows(x.allocated, s.Vector())
}

// Refit computes the shapes that are within the limit of x, after its usage changed. It reports whether they changed;
// the masks of all members may then have changed. count is the number of known resources; buffer is overwritten.
func (x *Account) Refit(shapes *feasibility.Table, count int, buffer *feasibility.Mask) (changed bool) {
	shapes.AddResources(count)
	shapes.SetAll(buffer)
	for i := range x.max {
		k, left := x.max.Remaining(i, x.allocated)
		shapes.DropExceeding(*buffer, k, left)
	}
	if x.AtMaxApplications() {
		shapes.DropVariant(*buffer, MaxAppsQueuesAndLimits)
		shapes.DropVariant(*buffer, MaxAppsLimitsOnly)
	}
	if buffer.Equal(x.fit) {
		return false
	}
	x.fit.CopyFrom(*buffer)
	return true
}

// FitShape sets the slot of a new shape in the mask of x if it is within the limit.
func (x *Account) FitShape(s *feasibility.Shape) { x.fit.Set(s.Slot(), x.allows(s)) }

// CheckFit checks the mask of x against each of the shapes.
func (x *Account) CheckFit(shapes *feasibility.Table) error {
	for s := range shapes.Slots {
		if x.fit.Has(s.Slot()) != x.allows(s) {
			return fmt.Errorf("the mask of %s in queue %s is wrong for shape %v", x.userOrGroup, x.queue.path, s.Vector())
		}
	}
	return nil
}

// CheckMemberships checks that the accounts of a list a as their member, and that there are as many as limits apply to
// a.
func (a *Application) CheckMemberships() error {
	for _, m := range a.memberships {
		if m.index >= len(m.account.members) || m.account.members[m.index] != a || m.account.Current() != m.account {
			return fmt.Errorf("it is not a member of an account that it has: %s in queue %s", m.account.userOrGroup,
				m.account.queue.path)
		}
	}
	if want := a.LimitCount(); want != len(a.memberships) {
		return fmt.Errorf("%d limits apply to it, it is a member of %d accounts", want, len(a.memberships))
	}
	return nil
}

// LimitUsage is a copy of an account. It is immutable.
type LimitUsage struct {
	UserOrGroup     UserOrGroup
	Max             resources.Limit // missing: unlimited
	Allocated       resources.Amounts
	MaxApplications uint64 // 0: any number
	Running         int
	Applications    int // applications of the user or group in the queue, running or not
}

// Usage returns a copy of x.
func (x *Account) Usage(names Names) *LimitUsage {
	return &LimitUsage{x.userOrGroup, x.limit, names.Amounts(x.allocated), x.maxApplications, x.running, len(x.members)}
}

// LimitUsages returns the users and groups with a limit in q and an application in or below it, users
// first, by name.
func (q *Queue) LimitUsages(names Names) persistent.List[LimitUsage] {
	out := make([]*LimitUsage, 0, len(q.accounts))
	for _, x := range q.accounts {
		out = append(out, x.Usage(names))
	}
	slices.SortFunc(out, (*LimitUsage).Compare)
	return persistent.ListOf(out...)
}

// Compare orders users before groups, each by name.
func (l *LimitUsage) Compare(other *LimitUsage) int { return l.UserOrGroup.Compare(other.UserOrGroup) }
