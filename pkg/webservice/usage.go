package webservice

import (
	"net/http"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// What users and groups use, queue by queue (behaviour.md 8, 11.4). It is added up from the
// applications that are there: whoever has none is unknown. A group is known when a limit
// makes applications count for it.

type userBody struct {
	UserName string            `json:"userName"`
	Groups   map[string]string `json:"groups,omitempty"` // by application: the group it counts for
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

// members are the applications of each holder, in the order of queues and names.
type members map[objects.Holder][]*scheduler.ApplicationView

func (m members) gather(q *scheduler.QueueView, groups bool) {
	for a := range q.Applications.All() {
		h := objects.Holder{Group: groups, Name: a.User.Name}
		if groups {
			h.Name = a.LimitGroup
		}
		if h.Name != "" {
			m[h] = append(m[h], a)
		}
	}
	for child := range q.Children.All() {
		m.gather(child, groups)
	}
}

// names are those of all holders, sorted.
func (m members) names() []string {
	all := make([]string, 0, len(m))
	for h := range m {
		all = append(all, h.Name)
	}
	slices.Sort(all)
	return all
}

// usage finds whom the request is about, all users or groups or the one that it names.
func (s *service) usage(r *http.Request, groups bool) (*scheduler.Snapshot, members, error) {
	snap, err := s.snapshot(r)
	if err != nil {
		return nil, nil, err
	}
	m := members{}
	m.gather(snap.Root, groups)
	return snap, m, nil
}

func (s *service) users(r *http.Request) (any, error) {
	snap, m, err := s.usage(r, false)
	if err != nil {
		return nil, err
	}
	all := make([]userBody, 0, len(m))
	for _, name := range m.names() {
		all = append(all, viewUser(snap, name, m))
	}
	return all, nil
}

func (s *service) user(r *http.Request) (any, error) {
	name, err := parameter(r, "user")
	if err != nil {
		return nil, err
	}
	snap, m, err := s.usage(r, false)
	if err != nil {
		return nil, err
	}
	if m[objects.Holder{Name: name}] == nil {
		return nil, notFound("User")
	}
	return viewUser(snap, name, m), nil
}

func (s *service) groups(r *http.Request) (any, error) {
	snap, m, err := s.usage(r, true)
	if err != nil {
		return nil, err
	}
	all := make([]groupBody, 0, len(m))
	for _, name := range m.names() {
		all = append(all, viewGroup(snap, name, m))
	}
	return all, nil
}

func (s *service) group(r *http.Request) (any, error) {
	name, err := parameter(r, "group")
	if err != nil {
		return nil, err
	}
	snap, m, err := s.usage(r, true)
	if err != nil {
		return nil, err
	}
	if m[objects.Holder{Group: true, Name: name}] == nil {
		return nil, notFound("Group")
	}
	return viewGroup(snap, name, m), nil
}

func viewUser(snap *scheduler.Snapshot, name string, m members) userBody {
	h := objects.Holder{Name: name}
	v := userBody{UserName: name, Groups: map[string]string{}, Queues: viewUsage(snap.Root, h)}
	for _, a := range m[h] {
		if a.LimitGroup != "" {
			v.Groups[string(a.ID)] = a.LimitGroup
		}
	}
	return v
}

func viewGroup(snap *scheduler.Snapshot, name string, m members) groupBody {
	h := objects.Holder{Group: true, Name: name}
	v := groupBody{GroupName: name, Queues: viewUsage(snap.Root, h)}
	for _, a := range m[h] {
		v.Applications = append(v.Applications, string(a.ID))
	}
	slices.Sort(v.Applications)
	return v
}

// viewUsage is what h uses in q and below; nil when it has no application there.
func viewUsage(q *scheduler.QueueView, h objects.Holder) *usageBody {
	v, used, ok := addUsage(q, h)
	if !ok {
		return nil
	}
	v.ResourceUsage = quantitiesOf(used.All())
	return v
}

func addUsage(q *scheduler.QueueView, h objects.Holder) (v *usageBody, used resources.Amounts, ok bool) {
	v = &usageBody{QueuePath: string(q.Path)}
	for a := range q.Applications.All() {
		if h.Group && a.LimitGroup != h.Name || !h.Group && a.User.Name != h.Name {
			continue
		}
		ok = true
		used = used.Add(a.Allocated).Add(a.Placeholders)
		if a.State == objects.Running {
			v.RunningApplications = append(v.RunningApplications, string(a.ID))
		}
	}
	for child := range q.Children.All() {
		child, more, below := addUsage(child, h)
		if !below {
			continue
		}
		ok = true
		child.ResourceUsage = quantitiesOf(more.All())
		used = used.Add(more)
		v.RunningApplications = append(v.RunningApplications, child.RunningApplications...)
		v.Children = append(v.Children, *child)
	}
	slices.Sort(v.RunningApplications)
	for l := range q.Limits.All() {
		if l.Holder == h {
			v.MaxResources, v.MaxApplications = quantitiesOf(l.Max.All()), l.MaxRunning
		}
	}
	return v, used, ok
}
