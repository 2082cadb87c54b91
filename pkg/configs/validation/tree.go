package validation

import (
	"fmt"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
)

// Tree is the configuration of a document that was read, and perhaps not checked yet. Its values are those of Config;
// Sources has their positions. A value that could not be read was reported, and is zero.
//
// Until Finish, the properties of a queue are its own, and a max or a guarantee may have nothing but zeroes.
type Tree struct {
	Config     configs.Config
	Partitions []*Partition // of Config, in the same order
	Classes    []priorities.Class
	Budgets    []budgets.Budget
	Empty      bool // the document has no value, perhaps comments
}

// Partition is a partition of the tree.
type Partition struct {
	*configs.Partition
	*Subject
	Root   *Queue
	Limits []limits.Limit // written in the partition itself
}

// PathPrefix returns the beginning of paths inside the partition: its name in brackets, or nothing
// for the partition default.
func (p *Partition) PathPrefix() string {
	if p.Name == configs.DefaultPartition {
		return ""
	}
	return "[" + p.Name + "]"
}

// RuleSubject returns the subject of a placement rule: level 1 is the rule itself, 2 its parent, and so on.
func (p *Partition) RuleSubject(index, level int) *Subject {
	return NewSubject(fmt.Sprintf("%splacementrules[%d]%s", p.PathPrefix(), index, strings.Repeat(".parent", level-1)))
}

// Queue is a queue of the tree, with the queues above and below it.
type Queue struct {
	*configs.Queue
	*Subject
	Partition *Partition
	Above     *Queue // nil: this is root
	Level     int    // root is 1
	Children  []*Queue

	propertyCount   int                            // inherited ones included; set by checkQueueProperties
	quotaByMatch    map[string]*limits.ClassQuota  // the quotas for all users; set by checkClassQuotas
	childByName     map[string]*Queue              // set by child
	effectiveLimits map[limitHolder]effectiveLimit // nil: no limits, or no children; set by checkInheritedLimits
}

// NewQueue returns the place of q in the tree, below another queue. above is nil for the root of p.
func NewQueue(q *configs.Queue, p *Partition, above *Queue) *Queue {
	if above == nil {
		return &Queue{Queue: q, Subject: NewSubject(p.PathPrefix() + configs.RootQueue), Partition: p, Level: 1}
	}
	return &Queue{Queue: q, Subject: &Subject{above.Subject, q.Name}, Partition: p, Above: above, Level: above.Level + 1}
}

// isParent reports whether the queue is a parent: by the flag, by having children, or as
// root (CFG-30).
func (q *Queue) isParent() bool { return q.Above == nil || q.Parent || len(q.Children) > 0 }

// child returns the child of that name, or nil.
func (q *Queue) child(name string) *Queue {
	if q.childByName == nil {
		q.childByName = make(map[string]*Queue, len(q.Children))
		for _, c := range q.Children {
			q.childByName[c.Name] = c
		}
	}
	return q.childByName[name]
}

// Subject names a part of the document, for Problem.Path. nil: the document itself.
type Subject struct {
	above *Subject // of a queue below another one
	name  string
}

// NewSubject returns a subject with its whole name, such as "partition a".
func NewSubject(name string) *Subject { return &Subject{name: name} }

// path returns the name or, of a queue, the full path in lower case. The name of a queue that is too long is
// shortened, a missing one replaced by a question mark.
func (s *Subject) path() string {
	if s == nil {
		return ""
	}
	name := s.name
	switch {
	case s.above == nil:
		return name
	case name == "":
		name = "?"
	case len(name) > configs.MaxQueueNameLength:
		name = strings.ToValidUTF8(name[:configs.MaxQueueNameLength], "") + "..."
	}
	return s.above.path() + "." + name
}
