package webservice

import (
	"bytes"
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/canopy-scheduler/canopy/internal/cpushare"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// The usage of users and groups, queue by queue, added up from the applications in one pass over the
// queues (LIM-31). As in YuniKorn, a user or a group that a limit names is listed without an application
// too; another group is listed when a wildcard limit makes applications count for it.

type userBody struct {
	UserName string            `json:"userName"`
	Groups   map[string]string `json:"groups,omitempty"` // by application: the group whose limit it counts against
	Queues   *usageBody        `json:"queues,omitempty"`
}

type groupBody struct {
	GroupName    string     `json:"groupName"`
	Applications []string   `json:"applications,omitempty"`
	Queues       *usageBody `json:"queues,omitempty"`
}

type usageBody struct {
	QueuePath           string      `json:"queuePath"`
	ResourceUsage       quantities  `json:"resourceUsage,omitempty"`
	RunningApplications []string    `json:"runningApplications,omitempty"`
	MaxResources        quantities  `json:"maxResources,omitempty"`
	MaxApplications     uint64      `json:"maxApplications,omitempty"`
	Children            []usageBody `json:"children,omitempty"`
}

// usages is the usage of all users, or of all groups, in a snapshot.
type usages struct {
	groups  bool                   // usage of groups; else of users
	byName  map[string]*queueUsage // by name: the usage in root, with the queues below
	encoded [][]byte               // the JSON of each, in name order; made on the first use
	once    sync.Once
	apps    map[string][]*scheduler.ApplicationView // by name, sorted by queue and ID
}

// queueUsage is the usage of one user or group in one queue, with the queues below.
type queueUsage struct {
	body usageBody
	used resources.Amounts
}

// sumQueue returns the usage in q and below it, by name.
func (u *usages) sumQueue(q *scheduler.QueueView, slot *cpushare.Slot) map[string]*queueUsage {
	slot.Yield()
	nodes := map[string]*queueUsage{}
	of := func(name string) *queueUsage {
		if name == "" {
			return nil
		}
		n := nodes[name]
		if n == nil {
			n = &queueUsage{body: usageBody{QueuePath: string(q.Path)}}
			nodes[name] = n
		}
		return n
	}
	for a := range q.Applications.All() {
		name := u.userOrGroup(a)
		n := of(name)
		if n == nil {
			continue
		}
		u.apps[name] = append(u.apps[name], a)
		n.used = n.used.Add(a.Allocated).Add(a.Placeholders)
		if a.State == objects.Running {
			n.body.RunningApplications = append(n.body.RunningApplications, string(a.ID))
		}
	}
	for child := range q.Children.All() {
		for name, below := range u.sumQueue(child, slot) {
			n := of(name)
			n.used = n.used.Add(below.used)
			n.body.RunningApplications = append(n.body.RunningApplications, below.body.RunningApplications...)
			n.body.Children = append(n.body.Children, below.body)
		}
	}
	for _, rule := range q.LimitRules {
		names := rule.Users
		if u.groups {
			names = rule.Groups
		}
		for _, name := range names {
			if name != limits.Wildcard {
				of(name)
			}
		}
	}
	for name, n := range nodes {
		slices.Sort(n.body.RunningApplications)
		n.body.ResourceUsage = quantitiesOf(n.used.All())
		if rule, ok := u.rule(q.LimitRules, name); ok {
			n.body.MaxResources, n.body.MaxApplications = quantitiesOf(rule.MaxResources.All()), rule.MaxApplications
		}
	}
	return nodes
}

// userOrGroup is the user or the group that the application counts for; empty: none.
func (u *usages) userOrGroup(a *scheduler.ApplicationView) string {
	if u.groups {
		return a.LimitGroup
	}
	return a.User.Name
}

func (u *usages) rule(rules []limits.Limit, name string) (limits.Limit, bool) {
	if u.groups {
		return limits.ForGroup(rules, name)
	}
	return limits.ForUser(rules, name)
}

// usage returns the usage of all users or groups in the partition in the path.
func (s *service) usage(r *http.Request, groups bool) (*usages, error) {
	l, err := s.partition(r)
	if err != nil {
		return nil, err
	}
	on := &s.userUsages
	if groups {
		on = &s.groupUsages
	}
	return on.get(r.Context(), &s.snapshots, l, func(_ context.Context, snap *scheduler.Snapshot, _ *usages) (*usages, bool, error) {
		u := &usages{groups: groups, apps: map[string][]*scheduler.ApplicationView{}}
		slot := cpushare.Readers.Acquire()
		defer slot.Release()
		u.byName = u.sumQueue(snap.Root, slot)
		return u, true, nil
	})
}

// usagePieces is the JSON list of all usages in name order. It is encoded once.
func usagePieces[T any](u *usages, view func(name string, n *queueUsage) T) pieces {
	u.once.Do(func() {
		e := newEncoder()
		for _, name := range slices.Sorted(maps.Keys(u.byName)) {
			u.encoded = append(u.encoded, bytes.Clone(e.piece(view(name, u.byName[name]))))
		}
	})
	return func(yield func([]byte) bool) {
		before := []byte("[")
		for _, text := range u.encoded {
			if !yield(before) || !yield(text) {
				return
			}
			before = []byte(",")
		}
		if before[0] == '[' && !yield(before) {
			return
		}
		yield([]byte("]"))
	}
}

func (s *service) users(r *http.Request) (any, error) {
	u, err := s.usage(r, false)
	if err != nil {
		return nil, err
	}
	return usagePieces(u, u.viewUser), nil
}

func (s *service) user(r *http.Request) (any, error) {
	name, err := parameter(r, "user")
	if err != nil {
		return nil, err
	}
	u, err := s.usage(r, false)
	if err != nil {
		return nil, err
	}
	if u.byName[name] == nil {
		return nil, notFound("User")
	}
	return u.viewUser(name, u.byName[name]), nil
}

func (s *service) groups(r *http.Request) (any, error) {
	u, err := s.usage(r, true)
	if err != nil {
		return nil, err
	}
	return usagePieces(u, u.viewGroup), nil
}

func (s *service) group(r *http.Request) (any, error) {
	name, err := parameter(r, "group")
	if err != nil {
		return nil, err
	}
	u, err := s.usage(r, true)
	if err != nil {
		return nil, err
	}
	if u.byName[name] == nil {
		return nil, notFound("Group")
	}
	return u.viewGroup(name, u.byName[name]), nil
}

func (u *usages) viewUser(name string, n *queueUsage) userBody {
	v := userBody{UserName: name, Groups: map[string]string{}, Queues: &n.body}
	for _, a := range u.apps[name] {
		if a.LimitGroup != "" {
			v.Groups[string(a.ID)] = a.LimitGroup
		}
	}
	return v
}

func (u *usages) viewGroup(name string, n *queueUsage) groupBody {
	v := groupBody{GroupName: name, Queues: &n.body}
	for _, a := range u.apps[name] {
		v.Applications = append(v.Applications, string(a.ID))
	}
	slices.Sort(v.Applications)
	return v
}
