// Package plan says what a new configuration would do before it is put in force: what it
// changes, and what that means for the work of a running server. The change itself is
// configs.Diff's; how a running server is asked is in server.go, and the rest is arithmetic
// on the two. Printing is the commands' business.
//
// The rule that must hold: nothing is changed anywhere.
package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// Plan is what a new configuration would do. Its JSON form is for other programs, so names
// stay; quantities are in base units, thousandths of a core for vcore.
type Plan struct {
	Impact         bool            `json:"impact"` // something changes that is in force
	Summary        string          `json:"summary"`
	Change         configs.Change  `json:"change"`
	StateKnown     bool            `json:"stateKnown"` // a running server told of its work; else what follows is not known
	RefusedChanges []RefusedChange `json:"refused"`
	OverMax        []OverMax       `json:"overMax"`

	OverLimit  []OverLimit  `json:"overLimit"`
	OverQuota  []OverQuota  `json:"overQuota"`
	LostAccess []LostAccess `json:"lostAccess"`

	Warnings configs.Problems `json:"warnings"` // of the new configuration; Of knows of none
}

// RefusedChange is a queue whose type a server does not change: a leaf with applications cannot
// become a parent, nor a parent a leaf while queues below hold some. As long as there is
// one, the whole configuration is refused.
type RefusedChange struct {
	Partition    string   `json:"partition"`
	Queue        string   `json:"queue"`
	From         string   `json:"from"`
	To           string   `json:"to"`
	Applications []string `json:"applications"` // all of them, in order
}

// LostAccess is an application whose user could not submit it to its queue any more. It goes on;
// the next one like it is rejected, or goes elsewhere.
type LostAccess struct {
	Partition   string   `json:"partition"`
	Application string   `json:"application"`
	User        string   `json:"user"`
	Groups      []string `json:"groups"`
	Queue       string   `json:"queue"`
}

// State is the work of a running server, by partition.
type State map[string]*Partition

// Partition is the work in one partition.
type Partition struct {
	Leaf         map[string]bool                          // by queue path; false: a parent
	Allocated    map[string]map[string]resources.Quantity // by queue path, then resource
	Applications []Application                            // active ones
	Usage        []Usage                                  // of users and groups
	Workloads    []Workload                               // asks and allocations
}

// Application is an active application.
type Application struct {
	ID    string
	Queue string
	User  security.User
}

// Compute compares two configurations. state is the work of the server where old is in force;
// nil: no server was asked. Only partitions named count; none named: all.
func Compute(old, new *configs.Config, state State, partitions ...string) Plan {
	old, new = onlyPartitions(old, partitions), onlyPartitions(new, partitions)
	p := Plan{Change: configs.Diff(old, new), StateKnown: state != nil, RefusedChanges: []RefusedChange{}, OverMax: []OverMax{}, OverLimit: []OverLimit{}, OverQuota: []OverQuota{}, LostAccess: []LostAccess{}, Warnings: configs.Problems{}}
	p.Impact, p.Summary = !p.Change.IsEmpty(), p.Change.Summary()
	for i := range p.Change.Partitions {
		c := &p.Change.Partitions[i]
		// One that is created may be there already: it drains, and comes back.
		if s := state[c.Partition]; s != nil && c.Kind != configs.Removed {
			before, after := queueTreeOf(old, c.Partition), queueTreeOf(new, c.Partition)
			p.listRefused(c.Partition, after, s)
			p.listOverMax(c, enforcement{old, before}, enforcement{new, after}, s)
			p.listOverLimit(c, before, after, s)
			p.listOverQuota(c, after, s)
			p.listLostAccess(before, after, c.Partition, s)
		}
	}
	return p
}

// onlyPartitions is a configuration without the partitions that are not named.
func onlyPartitions(c *configs.Config, partitions []string) *configs.Config {
	if c == nil || len(partitions) == 0 {
		return c
	}
	out := c.EmptyCopy()
	for _, p := range c.Partitions {
		if slices.Contains(partitions, p.Name) {
			out.Partitions = append(out.Partitions, p)
		}
	}
	return out
}

// listRefused lists the queues that change their type while they hold applications. What they are
// now the server says: a dynamic queue, or one that drains, is in no configuration.
func (p *Plan) listRefused(partition string, new queueTree, s *Partition) {
	for _, path := range slices.Sorted(maps.Keys(new)) {
		leaf, exists := s.Leaf[path]
		if !exists || leaf != new[path].Parent {
			continue
		}
		r := RefusedChange{Partition: partition, Queue: path, From: "leaf", To: "parent"}
		if !leaf {
			r.From, r.To = r.To, r.From
		}
		for _, a := range s.Applications {
			if a.Queue == path || strings.HasPrefix(a.Queue, path+".") {
				r.Applications = append(r.Applications, a.ID)
			}
		}
		if len(r.Applications) > 0 {
			slices.Sort(r.Applications)
			p.RefusedChanges = append(p.RefusedChanges, r)
		}
	}
}

// listLostAccess lists the applications whose users had submit access and have it no more.
func (p *Plan) listLostAccess(old, new queueTree, partition string, s *Partition) {
	for _, a := range s.Applications {
		if old.admits(a.Queue, a.User) && !new.admits(a.Queue, a.User) {
			p.LostAccess = append(p.LostAccess, LostAccess{partition, a.ID, a.User.Name, append([]string{}, a.User.Groups...), a.Queue})
		}
	}
	slices.SortFunc(p.LostAccess, func(a, b LostAccess) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Application, b.Application))
	})
}

// queueTree is the queues of a partition by path.
type queueTree map[string]*configs.Queue

func queueTreeOf(c *configs.Config, partition string) queueTree {
	t := queueTree{}
	if c == nil {
		return t
	}
	for i := range c.Partitions {
		if c.Partitions[i].Name == partition {
			t.add(&c.Partitions[i].Root, c.Partitions[i].Root.Name)
		}
	}
	return t
}

func (t queueTree) add(q *configs.Queue, path string) {
	t[path] = q
	for i := range q.Children {
		t.add(&q.Children[i], path+"."+q.Children[i].Name)
	}
}

// admits reports whether the lists along a path let somebody submit (behaviour.md 9.2).
// Queues that are not configured have none.
func (t queueTree) admits(path string, u security.User) bool {
	for path != "" {
		if q := t[path]; q != nil && (q.SubmitACL.Allows(u) || q.AdminACL.Allows(u)) {
			return true
		}
		path = path[:max(0, strings.LastIndexByte(path, '.'))]
	}
	return false
}

// String is the refusal in words.
func (r RefusedChange) String() string {
	const most = 10
	ids := r.Applications[:min(most, len(r.Applications))]
	words := strings.Join(ids, ", ")
	if n := len(r.Applications) - len(ids); n > 0 {
		words += fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("%s %s cannot become a %s: it holds %s", r.From, r.Queue, r.To, words)
}

// String is the loss in words.
func (l LostAccess) String() string {
	return fmt.Sprintf("user %s loses submit access to %s, where application %s is", l.User, l.Queue, l.Application)
}
