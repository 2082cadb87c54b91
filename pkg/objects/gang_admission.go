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

// checkGang checks the order of applications and the max of each queue of the path but root.
func (l GangLedger) checkGang(leaf *Queue, id AppID, requested resources.Amounts, tags map[string]string) error {
	if leaf.policy.sort != policies.FIFO {
		return fmt.Errorf("queue %s cannot run application %s with task group request: unsupported sort type", leaf.path, id)
	}
	most := leaf.conf.Max
	if !leaf.managed && leaf.path != placement.RecoveryQueue {
		if tagged, _ := configs.ReadQuotaTags(tags); tagged.Max != nil && l.p.admitNames(most.All(), tagged.Max.All()) == nil {
			most = *tagged.Max
		}
	}
	for q := leaf.parent; q != nil && q.parent != nil; q = q.parent {
		most = most.Tighten(q.conf.Max)
	}
	if !most.Allows(requested) {
		return fmt.Errorf("queue %s cannot fit application %s: task group request %s larger than max queue allocation %s", leaf.path, id, requested, most)
	}
	return nil
}
