package objects

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// MaxDepth is how many levels below root a dynamic queue may be (QUE-28). It keeps a long path from
// becoming a deep tree.
const MaxDepth = 64

// Lookup finds a queue for placement rules. The result is false if there is none.
func (p *Partition) Lookup(path string) (placement.QueueInfo, bool) {
	q, ok := p.queues[QueuePath(path)]
	if !ok {
		return placement.QueueInfo{}, false
	}
	return placement.QueueInfo{Leaf: q.Leaf(), Draining: q.draining, Drained: q.drained}, true
}

// CreateLeaf creates a dynamic leaf, and the missing parents, for an application of u (QUE-26). u
// must have submit access to the lowest existing queue of the path (ACL-12), except for the
// recovery queue. The leaf has the settings of the nearest child template and inherits no
// properties (QUE-19, QUE-23). Requires: the path does not exist, and its names are legal.
func (p *Partition) CreateLeaf(path QueuePath, u security.User) error {
	parts := path.Parts()
	if len(parts) > MaxDepth+1 {
		return fmt.Errorf("queue %s is more than %d levels deep", path, MaxDepth)
	}
	q := p.root.closestTo(path)
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
		p.journal.queueStateChanged(q, QueueCreated)
	}
	p.journal.queueTreeChanged()
	if p.quotas.MaxApplicationsOutdated() {
		p.rebuildOrdering()
	}
	return nil
}

// dynamicLeafConf is the settings of a dynamic leaf with child template t, its priority offset and
// priority policy included (PRI-20, PLC-29, QUO-20); nil: no template.
func dynamicLeafConf(name string, t *configs.ChildTemplate) configs.Queue {
	if t == nil || name == placement.RecoveryQueueName {
		return configs.Queue{Name: name, Settings: configs.DefaultSettings()}
	}
	return configs.Queue{
		Name: name, Max: t.Max, Guaranteed: t.Guaranteed, MaxApplications: t.MaxApplications, Settings: t.Settings,
	}
}

// template is the child template of q or of the nearest queue above that has one; nil: none
// (QUE-23).
func (q *Queue) template() *configs.ChildTemplate {
	for ; q != nil; q = q.parent {
		if q.conf.ChildTemplate != nil {
			return q.conf.ChildTemplate
		}
	}
	return nil
}

// TemplateFrom is the queue whose configuration has the child template that q was created with. ok
// is false for a managed queue, and for one without a child template.
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
	for up.parent != nil && up.parent.conf.ChildTemplate == up.conf.ChildTemplate { // inherited: it is the same template
		up = up.parent
	}
	return up.path, true
}
