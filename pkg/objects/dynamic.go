package objects

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// MaxDepth bounds the levels of a dynamic queue below root (QUE-28). It keeps a long path from
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
		d := &dynamicQueue{parent: depth < len(parts)-1, template: template}
		q = p.buildQueue(d.conf(parts[depth], template), q, false)
		q.dynamic = d
		p.journal.post(Change{Kind: QueueStateChanged, Queue: q, To: QueueCreated})
	}
	p.journal.post(Change{Kind: QueueTreeChanged})
	if p.quotas.MaxApplicationsOutdated() {
		p.rebuildOrdering()
	}
	return nil
}

// dynamicQueue has the origin of a dynamic queue. It stays while a configuration names the queue, so that the queue has
// its settings again when a later one leaves it out (QUE-32).
type dynamicQueue struct {
	parent   bool                   // false: it is a leaf, with the rest
	template *configs.ChildTemplate // in force when it was created; nil: none
	tags     configs.QuotaTags      // the last that its applications brought (QUO-22)
}

// conf returns the settings with the child template t: those of a leaf have its priority offset and priority policy
// too (PRI-20, PLC-29, QUO-20). nil: no template.
func (d *dynamicQueue) conf(name string, t *configs.ChildTemplate) configs.Queue {
	q := configs.Queue{Name: name, Parent: d.parent, Settings: configs.DefaultSettings()}
	if d.parent || name == placement.RecoveryQueueName {
		return q
	}
	if t != nil {
		q.Max, q.Guaranteed, q.MaxApplications, q.Settings = t.Max, t.Guaranteed, t.MaxApplications, t.Settings
	}
	if d.tags.Max != nil {
		q.Max = *d.tags.Max
	}
	if d.tags.Guaranteed != nil {
		q.Guaranteed = *d.tags.Guaranteed
	}
	if d.tags.MaxApplications != 0 {
		q.MaxApplications = d.tags.MaxApplications
	}
	return q
}

// dynamicConf returns the settings of q as a dynamic queue. A leaf has the child template in force if the configured
// queue above says that it reaches existing leaves, and otherwise the one it was created with (QUE-24).
func (q *Queue) dynamicConf() configs.Queue {
	above := q.parent
	for !above.managed {
		above = above.parent
	}
	if above.conf.UpdatesLeaves {
		return q.dynamic.conf(q.conf.Name, q.parent.template())
	}
	return q.dynamic.conf(q.conf.Name, q.dynamic.template)
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

// TemplateFrom is the queue whose configuration has the child template in force for q. ok
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
