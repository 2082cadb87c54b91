// Package plan computes the effects of a new configuration before it is put in force: the
// changes of the configuration (diff.Compare), and their effects on the applications and
// allocations of a server (State). The server makes the plan; without one, the command compares two files.
//
// Invariant: a plan changes nothing, neither files nor the server (CFG-126).
package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/diff"
	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// Plan are the effects of a new configuration (CFG-127). Its JSON names are a public interface
// and stay; quantities are in base units, thousandths of a core for vcore.
type Plan struct {
	Impact         bool            `json:"impact"` // the configurations differ
	Summary        string          `json:"summary"`
	Change         diff.Change     `json:"change"`
	StateKnown     bool            `json:"stateKnown"` // the state of a server was read; false: the lists below are empty
	RefusedChanges []RefusedChange `json:"refused"`
	OverMax        []QueueOverMax  `json:"overMax"`

	OverLimit  []OverLimit  `json:"overLimit"`
	OverQuota  []OverQuota  `json:"overQuota"`
	LostAccess []LostAccess `json:"lostAccess"`

	Leaves []LeafTemplate `json:"leaves"`

	Warnings validation.Problems `json:"warnings"` // of the new configuration; set by the caller of Compute
}

// RefusedChange is a queue whose type the server would not change: a leaf with applications cannot
// become a parent, nor a parent a leaf while queues below it hold applications. The server would
// refuse the whole configuration (CFG-103).
type RefusedChange struct {
	Partition    string   `json:"partition"`
	Queue        string   `json:"queue"`
	From         string   `json:"from"`
	To           string   `json:"to"`
	Applications []string `json:"applications"` // all applications in and below the queue, sorted
}

// LostAccess is an application whose user would lose submit access to its queue. The application
// goes on; a new one of the user would be rejected, or placed in another queue.
type LostAccess struct {
	Partition   string   `json:"partition"`
	Application string   `json:"application"`
	User        string   `json:"user"`
	Groups      []string `json:"groups"`
	Queue       string   `json:"queue"`
}

// State is the state of a running server, by partition name.
type State map[string]*Partition

// Partition is the state of one partition of a running server.
type Partition struct {
	Capacity     map[string]resources.Quantity            // of the registered nodes, of which percents are (QUO-64)
	Leaf         map[string]bool                          // by queue path; false: a parent
	Dynamic      map[string]DynamicLeaf                   // the dynamic leaves, by path
	AboveMax     map[string]time.Duration                 // how long a queue has been above its enforced max, by path
	Allocated    map[string]map[string]resources.Quantity // by queue path, then resource
	Applications []Application                            // the active ones
	Usage        []Usage                                  // at least of users and groups with applications
	Workloads    []Workload                               // asks and allocations of the active applications
}

// NewPartition returns the state of an empty partition.
func NewPartition() *Partition {
	return &Partition{
		Leaf: map[string]bool{}, Dynamic: map[string]DynamicLeaf{}, AboveMax: map[string]time.Duration{},
		Allocated: map[string]map[string]resources.Quantity{},
	}
}

// Application is an active application.
type Application struct {
	ID    string
	Queue string
	User  security.User
}

// Compute compares two configurations. state is the state of the server where old is in force;
// nil: unknown. Only the named partitions are compared; none named: all.
func Compute(old, new *configs.Config, state State, partitions ...string) Plan {
	return ComputeAndYield(func() {}, old, new, state, partitions...)
}

// ComputeAndYield is Compute that calls yield for each queue, user, group and application. yield may end it by a panic.
func ComputeAndYield(yield func(), old, new *configs.Config, state State, partitions ...string) Plan {
	old, new = onlyPartitions(old, partitions), onlyPartitions(new, partitions)
	p := Plan{
		Change: diff.CompareAndYield(old, new, yield), StateKnown: state != nil, RefusedChanges: []RefusedChange{},
		OverMax: []QueueOverMax{}, OverLimit: []OverLimit{}, OverQuota: []OverQuota{}, LostAccess: []LostAccess{},
		Leaves: []LeafTemplate{}, Warnings: validation.Problems{},
	}
	p.Impact, p.Summary = !p.Change.IsEmpty(), p.Change.Summary()
	for i := range p.Change.Partitions {
		c := &p.Change.Partitions[i]
		// A created partition may exist on the server: it drains there, and would be taken back (CFG-112).
		if s := state[c.Partition]; s != nil && c.Kind != diff.Removed {
			before, after := queueTreeOf(old, c.Partition), queueTreeOf(new, c.Partition)
			p.listRefused(yield, c.Partition, after, s)
			p.listOverMax(yield, c, enforcement{old, before}, enforcement{new, after}, s)
			p.listLeaves(yield, c.Partition, before, after, s)
			p.listOverLimit(yield, c, before, after, s)
			p.listOverQuota(yield, c, after, s)
			p.listLostAccess(yield, before, after, c.Partition, s)
		}
	}
	return p
}

// CheckPartition is an error if neither configuration has a partition.
func CheckPartition(name string, old, new *configs.Config) error {
	names := []string{name}
	if len(onlyPartitions(old, names).Partitions)+len(onlyPartitions(new, names).Partitions) == 0 {
		return fmt.Errorf("neither configuration has partition %q", name)
	}
	return nil
}

// onlyPartitions is a configuration with the named partitions only; none named: all.
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

// listRefused lists the queues that change their type while they hold applications. Their present type
// is that of the server, because dynamic and draining queues are in no configuration.
func (p *Plan) listRefused(yield func(), partition string, new queueTree, s *Partition) {
	held := map[string][]string{} // the applications in and below each queue that changes its type
	for path, q := range new {
		if leaf, exists := s.Leaf[path]; exists && leaf == q.Parent {
			held[path] = nil
		}
	}
	for _, a := range s.Applications {
		yield()
		for path := a.Queue; path != ""; path = pathAbove(path) {
			if ids, changes := held[path]; changes {
				held[path] = append(ids, a.ID)
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(held)) {
		ids := held[path]
		if len(ids) == 0 {
			continue
		}
		slices.Sort(ids)
		r := RefusedChange{Partition: partition, Queue: path, From: "leaf", To: "parent", Applications: ids}
		if !s.Leaf[path] {
			r.From, r.To = r.To, r.From
		}
		p.RefusedChanges = append(p.RefusedChanges, r)
	}
}

// pathAbove is the path of the queue above; empty: there is none.
func pathAbove(path string) string { return path[:max(0, strings.LastIndexByte(path, '.'))] }

// listLostAccess lists the applications whose users have submit access before the change and not after it.
func (p *Plan) listLostAccess(yield func(), old, new queueTree, partition string, s *Partition) {
	for _, a := range s.Applications {
		yield()
		if old.admits(a.Queue, a.User) && !new.admits(a.Queue, a.User) {
			p.LostAccess = append(p.LostAccess,
				LostAccess{partition, a.ID, a.User.Name, append([]string{}, a.User.Groups...), a.Queue})
		}
	}
	slices.SortFunc(p.LostAccess, func(a, b LostAccess) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Queue, b.Queue),
			cmp.Compare(a.Application, b.Application))
	})
}

// queueTree are the configured queues of a partition by path.
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

// admits reports whether an access list of a queue on the path allows the user to submit
// (ACL-7, ACL-15). Queues that are not configured have no access list.
func (t queueTree) admits(path string, u security.User) bool {
	for path != "" {
		if q := t[path]; q != nil && (q.SubmitACL.Allows(u) || q.AdminACL.Allows(u)) {
			return true
		}
		path = pathAbove(path)
	}
	return false
}

// String is a line of text about the refused change. It names at most 10 applications.
func (r RefusedChange) String() string {
	const most = 10
	ids := r.Applications[:min(most, len(r.Applications))]
	words := strings.Join(ids, ", ")
	if n := len(r.Applications) - len(ids); n > 0 {
		words += fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("%s %s cannot become a %s: it holds %s", r.From, r.Queue, r.To, words)
}

// String is a line of text about the lost access.
func (l LostAccess) String() string {
	return fmt.Sprintf("user %s loses submit access to %s, where application %s is", l.User, l.Queue, l.Application)
}
