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
func (p *Partition) Lookup(path string) (placement.QueueInfo, bool) {
	q, ok := p.queues[QueuePath(path)]
	if !ok {
		return placement.QueueInfo{}, false
	}
	return placement.QueueInfo{Leaf: q.Leaf(), Draining: q.draining}, true
}

// CreateLeaf makes a dynamic leaf, and the dynamic parents it needs, for an application
// of u, who must have submit access to the lowest queue that exists (behaviour.md 9.3):
// all but Recovery, which is made for anybody who is sent there. The leaf gets what
// the nearest child template above it says, and nothing of its parents' properties
// (behaviour.md 2.2, 3.2). Dynamic queues go when the last application in them has gone.
// Requires: the path does not exist, and its names are legal.
func (p *Partition) CreateLeaf(path QueuePath, u security.User) error {
	parts := path.Parts()
	if len(parts) > MaxDepth+1 {
		return fmt.Errorf("queue %s is more than %d levels deep", path, MaxDepth)
	}
	q := p.closestExisting(path)
	depth := len(q.path.Parts())
	switch {
	case path != placement.RecoveryQueue && !q.MaySubmit(u):
		return fmt.Errorf("queue %s cannot be created: %s", path, q.refusal(path, u))
	case q.Leaf():
		return fmt.Errorf("queue %s cannot be created: %s is a leaf", path, q.path)
	case q.draining:
		return fmt.Errorf("queue %s cannot be created: %s %w", path, q.path, ErrDraining)
	}
	template := q.template()
	for ; depth < len(parts); depth++ {
		conf := configs.Queue{Name: parts[depth], Parent: true, Settings: configs.DefaultSettings()}
		if depth == len(parts)-1 {
			conf = dynamicLeafConf(conf.Name, template)
		}
		q = p.buildQueue(conf, q, false)
		p.noteQueueChange(q, QueueCreated)
	}
	p.sharesStale = true
	if q.policy.maxApplications > 0 && !p.hasMaxApps {
		p.rebuildOrdering()
	}
	return nil
}

func dynamicLeafConf(name string, t *configs.ChildTemplate) configs.Queue {
	if t == nil || name == placement.RecoveryQueueName {
		return configs.Queue{Name: name, Settings: configs.DefaultSettings()}
	}
	return configs.Queue{
		Name: name, Max: t.Max, Guaranteed: t.Guaranteed, MaxApplications: t.MaxApplications, Settings: t.Settings,
	}
}

// template is what a dynamic leaf created below q gets: of q itself or of the nearest
// queue above that has one; nil: nothing.
func (q *Queue) template() *configs.ChildTemplate {
	for ; q != nil; q = q.parent {
		if q.conf.ChildTemplate != nil {
			return q.conf.ChildTemplate
		}
	}
	return nil
}

// TemplateFrom is the queue in whose configuration the child template of q stands. ok is
// false for a queue that was configured, or created without one.
func (q *Queue) TemplateFrom() (path QueuePath, ok bool) {
	if q.managed || !q.Leaf() || q.path == placement.RecoveryQueue {
		return "", false
	}
	up := q.parent
	for up != nil && up.conf.ChildTemplate == nil {
		up = up.parent
	}
	if up == nil {
		return "", false
	}
	for up.parent != nil && up.parent.conf.ChildTemplate == up.conf.ChildTemplate { // inherited: it is the same one
		up = up.parent
	}
	return up.path, true
}
