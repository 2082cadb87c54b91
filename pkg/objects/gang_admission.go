package objects

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Admit is why an application that requests these placeholders cannot be added to the leaf at path; nil: it can be. A
// dynamic leaf that is empty is removed then (GAN-12). A max of the quota tags of the application counts as that of a
// dynamic leaf, because it will be.
func (l GangLedger) Admit(path QueuePath, id AppID, requested resources.Amounts, tags map[string]string) error {
	leaf, ok := l.p.queues[path]
	if requested.IsZero() || !ok || !leaf.Leaf() {
		return nil // AddApplication says what is wrong with the queue
	}
	err := l.checkGang(leaf, id, requested, tags)
	if err != nil {
		l.p.prune(leaf)
	}
	return err
}

// InheritsFair returns the queue from which a configured leaf inherits application.sort.policy: fair, with which it
// takes no gangs (GAN-12); nil: it does not.
func (q *Queue) InheritsFair() (from *Queue) {
	if q.policy.sort != policies.Fair || !q.managed {
		return nil
	}
	for up := q.parent; up != nil && up.conf.AppSort == policies.Fair; up = up.parent {
		from = up
	}
	return from
}

// sortOrigin says where a leaf has its order from; empty: it is its own.
func (q *Queue) sortOrigin() string {
	if from := q.InheritsFair(); from != nil {
		return fmt.Sprintf(", inherited from %s", from.path)
	}
	if from, ok := q.TemplateFrom(); ok {
		return fmt.Sprintf(", of the child template of %s", from)
	}
	return ""
}

// checkGang checks the order of applications and the max of each queue of the path but root.
func (l GangLedger) checkGang(leaf *Queue, id AppID, requested resources.Amounts, tags map[string]string) error {
	if leaf.policy.sort == policies.Fair {
		return fmt.Errorf("queue %s cannot run application %s with task group request: unsupported sort type fair%s: "+
			"gangs need fifo or stateaware", leaf.path, id, leaf.sortOrigin())
	}
	most := leaf.conf.Max
	if !leaf.managed && leaf.path != placement.RecoveryQueue {
		if tagged, _ := configs.ReadQuotaTags(tags); tagged.Max != nil &&
			l.p.admitNames(most.All(), tagged.Max.All()) == nil {
			most = *tagged.Max
		}
	}
	for q := leaf.parent; q != nil && q.parent != nil; q = q.parent {
		most = most.Tighten(q.conf.Max)
	}
	if !most.Allows(requested) {
		return fmt.Errorf("queue %s cannot fit application %s: task group request %s larger than max queue allocation %s",
			leaf.path, id, requested, most)
	}
	return nil
}
