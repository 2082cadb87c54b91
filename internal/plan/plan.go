// Package plan says what a new configuration would do before it is put in force: what it
// changes, and what that means for the work of a running server. The change itself is
// configs.Diff's; how a running server is asked is in fetch.go, and the rest is arithmetic
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
	Impact  bool           `json:"impact"` // something changes that is in force
	Summary string         `json:"summary"`
	Change  configs.Change `json:"change"`
	Asked   bool           `json:"asked"` // a running server told of its work; else what follows is not known
	Refused []Refusal      `json:"refused"`
	Over    []Over         `json:"overMax"`

	OverLimit []OverLimit `json:"overLimit"`
	OverQuota []OverQuota `json:"overQuota"`
	Lost      []Lost      `json:"lostAccess"`

	Warnings configs.Problems `json:"warnings"` // of the new configuration; Of knows of none
}

// Refusal is a queue whose type a server does not change: a leaf with applications cannot
// become a parent, nor a parent a leaf while queues below hold some. As long as there is
// one, the whole configuration is refused.
type Refusal struct {
	Partition    string   `json:"partition"`
	Queue        string   `json:"queue"`
	From         string   `json:"from"`
	To           string   `json:"to"`
	Applications []string `json:"applications"` // all of them, in order
}

// Lost is an application whose user could not submit it to its queue any more. It goes on;
// the next one like it is rejected, or goes elsewhere.
type Lost struct {
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
	Work         []Work                                   // asks and allocations
}

// Application is an active application.
type Application struct {
	ID    string
	Queue string
	User  security.User
}

// Of compares two configurations. state is the work of the server where old is in force;
// nil: no server was asked. Only partitions named count; none named: all.
func Of(old, new *configs.Config, state State, partitions ...string) Plan {
	old, new = only(old, partitions), only(new, partitions)
	p := Plan{Change: configs.Diff(old, new), Asked: state != nil, Refused: []Refusal{}, Over: []Over{}, OverLimit: []OverLimit{}, OverQuota: []OverQuota{}, Lost: []Lost{}, Warnings: configs.Problems{}}
	p.Impact, p.Summary = !p.Change.IsEmpty(), p.Change.Summary()
	for i := range p.Change.Partitions {
		c := &p.Change.Partitions[i]
		// One that is created may be there already: it drains, and comes back.
		if s := state[c.Partition]; s != nil && c.Kind != configs.Removed {
			before, after := treeOf(old, c.Partition), treeOf(new, c.Partition)
			p.refuse(c.Partition, after, s)
			p.measure(c, enforcement{old, before}, enforcement{new, after}, s)
			p.limit(c, before, after, s)
			p.quotas(c, after, s)
			p.lose(before, after, c.Partition, s)
		}
	}
	return p
}

// only is a configuration without the partitions that are not named.
func only(c *configs.Config, partitions []string) *configs.Config {
	if c == nil || len(partitions) == 0 {
		return c
	}
	out := c.WithoutLists()
	for _, p := range c.Partitions {
		if slices.Contains(partitions, p.Name) {
			out.Partitions = append(out.Partitions, p)
		}
	}
	return out
}

// refuse lists the queues that change their type while they hold applications. What they are
// now the server says: a dynamic queue, or one that drains, is in no configuration.
func (p *Plan) refuse(partition string, new tree, s *Partition) {
	for _, path := range slices.Sorted(maps.Keys(new)) {
		leaf, there := s.Leaf[path]
		if !there || leaf != new[path].Parent {
			continue
		}
		r := Refusal{Partition: partition, Queue: path, From: "leaf", To: "parent"}
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
			p.Refused = append(p.Refused, r)
		}
	}
}

// lose lists the applications whose users had submit access and have it no more.
func (p *Plan) lose(old, new tree, partition string, s *Partition) {
	for _, a := range s.Applications {
		if old.admits(a.Queue, a.User) && !new.admits(a.Queue, a.User) {
			p.Lost = append(p.Lost, Lost{partition, a.ID, a.User.Name, append([]string{}, a.User.Groups...), a.Queue})
		}
	}
	slices.SortFunc(p.Lost, func(a, b Lost) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Application, b.Application))
	})
}

// tree is the queues of a partition by path.
type tree map[string]*configs.Queue

func treeOf(c *configs.Config, partition string) tree {
	t := tree{}
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

func (t tree) add(q *configs.Queue, path string) {
	t[path] = q
	for i := range q.Children {
		t.add(&q.Children[i], path+"."+q.Children[i].Name)
	}
}

// admits reports whether the lists along a path let somebody submit (behaviour.md 9.2).
// Queues that are not configured have none.
func (t tree) admits(path string, u security.User) bool {
	for path != "" {
		if q := t[path]; q != nil && (q.Submit.Allows(u) || q.Admin.Allows(u)) {
			return true
		}
		path = path[:max(0, strings.LastIndexByte(path, '.'))]
	}
	return false
}

// String is the refusal in words.
func (r Refusal) String() string {
	const most = 10
	ids := r.Applications[:min(most, len(r.Applications))]
	words := strings.Join(ids, ", ")
	if n := len(r.Applications) - len(ids); n > 0 {
		words += fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("%s %s cannot become a %s: it holds %s", r.From, r.Queue, r.To, words)
}

// String is the loss in words.
func (l Lost) String() string {
	return fmt.Sprintf("user %s loses submit access to %s, where application %s is", l.User, l.Queue, l.Application)
}
