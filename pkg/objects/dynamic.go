package objects

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// MaxDepth is how many levels below root a queue may be created on request. It keeps a
// long name from becoming a deep tree.
const MaxDepth = 64

// Lookup answers placement rules.
func (p *Partition) Lookup(path string) (placement.Spot, bool) {
	q, ok := p.queues[QueuePath(path)]
	if !ok {
		return placement.Spot{}, false
	}
	return placement.Spot{Leaf: q.Leaf(), Draining: q.draining}, true
}

// CreateLeaf makes a dynamic leaf, and the dynamic parents it needs, for an application
// of u, who must have submit access to the lowest queue that exists (behaviour.md 9.3):
// all but Recovery, which is made for anybody who is sent there. The leaf gets what
// the nearest child template above it says, and nothing of its parents' properties
// (behaviour.md 2.2, 3.2). Dynamic queues go when the last application in them has gone.
// Requires: the path does not exist, and its names are legal.
func (p *Partition) CreateLeaf(path QueuePath, u security.User) error {
	names := path.Parts()
	if len(names) > MaxDepth+1 {
		return fmt.Errorf("queue %s is more than %d levels deep", path, MaxDepth)
	}
	q := p.nearest(path)
	depth := len(q.path.Parts())
	switch {
	case path != placement.Recovery && !q.MaySubmit(u):
		return fmt.Errorf("queue %s cannot be created: %s", path, q.refusal(path, u))
	case q.Leaf():
		return fmt.Errorf("queue %s cannot be created: %s is a leaf", path, q.path)
	case q.draining:
		return fmt.Errorf("queue %s cannot be created: %s %w", path, q.path, ErrDraining)
	}
	template := q.template()
	for ; depth < len(names); depth++ {
		conf := configs.Queue{Name: names[depth], Parent: true, Settings: configs.DefaultSettings()}
		if depth == len(names)-1 {
			conf = leafOf(conf.Name, template)
		}
		q = p.grow(conf, q, false)
		p.noteQueue(q, QueueCreated)
	}
	p.unsound = true
	if q.rule.most > 0 && !p.gated {
		p.restand()
	}
	return nil
}

func leafOf(name string, t *configs.Template) configs.Queue {
	if t == nil || name == placement.RecoveryName {
		return configs.Queue{Name: name, Settings: configs.DefaultSettings()}
	}
	return configs.Queue{
		Name: name, Max: t.Max, Guaranteed: t.Guaranteed, MaxApplications: t.MaxApplications, Settings: t.Settings,
	}
}

// template is what a dynamic leaf created below q gets: of q itself or of the nearest
// queue above that has one; nil: nothing.
func (q *Queue) template() *configs.Template {
	for ; q != nil; q = q.parent {
		if q.conf.Template != nil {
			return q.conf.Template
		}
	}
	return nil
}

// TemplateFrom is the queue in whose configuration the child template of q stands. ok is
// false for a queue that was configured, or created without one.
func (q *Queue) TemplateFrom() (path QueuePath, ok bool) {
	if q.managed || !q.Leaf() || q.path == placement.Recovery {
		return "", false
	}
	up := q.parent
	for up != nil && up.conf.Template == nil {
		up = up.parent
	}
	if up == nil {
		return "", false
	}
	for up.parent != nil && up.parent.conf.Template == up.conf.Template { // inherited: it is the same one
		up = up.parent
	}
	return up.path, true
}
