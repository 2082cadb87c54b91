package gangscheduling

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Admit returns why an application that requests these placeholders cannot be added to the leaf at path; nil: it can
// be. A dynamic leaf that is empty is removed then (GAN-12). A max of the quota tags of the application counts as that
// of a dynamic leaf, because it will be.
func Admit(p *objects.Partition, path objects.QueuePath, id objects.AppID, requested resources.Amounts,
	tags map[string]string) error {
	leaf, ok := p.Queue(path)
	if requested.IsZero() || !ok || !leaf.Leaf() {
		return nil // AddApplication says what is wrong with the queue
	}
	err := checkGang(p, leaf, id, requested, tags)
	if err != nil {
		p.Prune(leaf)
	}
	return err
}

// InheritsFair returns the queue from which a configured leaf inherits application.sort.policy: fair, with which it
// takes no gangs (GAN-12); nil: it does not.
func InheritsFair(q *objects.Queue) (from *objects.Queue) {
	if q.AppSort() != policies.Fair || !q.Managed() {
		return nil
	}
	for up := q.Parent(); up != nil && up.AppSort() == policies.Fair; up = up.Parent() {
		from = up
	}
	return from
}

// sortOrigin says where a leaf has its order from; empty: it is its own.
func sortOrigin(q *objects.Queue) string {
	if from := InheritsFair(q); from != nil {
		return fmt.Sprintf(", inherited from %s", from.Path())
	}
	if from, ok := q.TemplateFrom(); ok {
		return fmt.Sprintf(", of the child template of %s", from)
	}
	return ""
}

// checkGang checks the order of applications and the max of each queue of the path but root, as it is written: a
// percent grows with the nodes (QUO-68).
func checkGang(p *objects.Partition, leaf *objects.Queue, id objects.AppID, requested resources.Amounts,
	tags map[string]string) error {
	if leaf.AppSort() == policies.Fair {
		return fmt.Errorf("queue %s cannot run application %s with task group request: unsupported sort type fair%s: "+
			"gangs need fifo or stateaware", leaf.Path(), id, sortOrigin(leaf))
	}
	most, _ := leaf.ConfiguredQuotas()
	if !leaf.Managed() && leaf.Path() != placement.RecoveryQueue {
		if tagged, _ := configs.ReadQuotaTags(tags); tagged.Max != nil &&
			p.AdmitNames(most.All(), tagged.Max.All()) == nil {
			most = *tagged.Max
		}
	}
	for q := leaf.Parent(); q != nil && q.Parent() != nil; q = q.Parent() {
		above, _ := q.ConfiguredQuotas()
		most = most.Tighten(above)
	}
	if !most.Allows(requested) {
		return fmt.Errorf("queue %s cannot fit application %s: task group request %s larger than max queue allocation %s",
			leaf.Path(), id, requested, most)
	}
	return nil
}

// CheckMove returns why an operator may not move a to a queue; nil: it may (OPS-9). The error names the limit.
func CheckMove(p *objects.Partition, a *objects.Application, to *objects.Queue) error {
	if err := objects.CheckMove(p, a, to); err != nil {
		return err
	}
	if g := a.Gang(); g != nil && !g.Requested().IsZero() {
		if err := checkGang(p, to, a.ID(), g.Requested(), nil); err != nil {
			return err
		}
	}
	return objects.CheckMoveQuotas(p, a, to)
}
