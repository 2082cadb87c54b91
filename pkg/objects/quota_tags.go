package objects

import (
	"fmt"
	"iter"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// ApplyQuotaTags gives the dynamic leaf at path what the tags of an application that came
// into it say (behaviour.md 3.3). The last one that says something wins, and it holds until
// the queue goes; what no tag names stays as it is, from a template or an earlier
// application. A queue of the configuration and the recovery queue have no use for tags.
// Tags that make no sense are left out and returned as problems. Requires: the queue
// exists.
func (p *Partition) ApplyQuotaTags(path QueuePath, tags map[string]string) (problems []error) {
	q := p.queues[path]
	if q.managed || path == placement.RecoveryQueue {
		return nil
	}
	want, problems := configs.ReadQuotaTags(tags)
	conf := q.conf
	if want.Max != nil {
		if err := p.admitNames(conf.Max.All(), want.Max.All()); err != nil {
			problems = append(problems, fmt.Errorf("tag %s: %w", configs.TagMax, err))
		} else {
			conf.Max = *want.Max
		}
	}
	if want.Guaranteed != nil {
		if err := p.admitNames(conf.Max.All(), want.Guaranteed.All()); err != nil {
			problems = append(problems, fmt.Errorf("tag %s: %w", configs.TagGuaranteed, err))
		} else {
			conf.Guaranteed = *want.Guaranteed
		}
	}
	if want.MaxApplications != 0 {
		conf.MaxApplications = want.MaxApplications
	}
	p.updateQuotas(q, conf)
	return problems
}

// admitNames says why the names of resources that tags bring may not be used, zeroes included;
// nil: they may. Those of quotas that are about to be used as well count with them.
func (p *Partition) admitNames(all ...iter.Seq2[string, resources.Quantity]) error {
	named := map[string]resources.Quantity{}
	for _, quotas := range all {
		for name := range quotas {
			named[name] = 1
		}
	}
	return p.names.Admit(resources.FromMap(named), resources.Asks)
}

// updateQuotas gives a leaf other quotas. Most applications say what the one before them has
// said, so most of the time nothing changes.
func (p *Partition) updateQuotas(q *Queue, conf configs.Queue) {
	if conf.Max.Equal(q.conf.Max) && conf.Guaranteed.Equal(q.conf.Guaranteed) && conf.MaxApplications == q.conf.MaxApplications {
		return
	}
	q.setConf(&conf)
	p.recordQueueChange(q)
	p.preemptionGeneration++
	p.internNames(q)
	for _, a := range q.byID {
		p.addPreemptors(a)
	}
	if q.policy.maxApplications > 0 && !p.hasMaxApps { // the first bound on running applications
		p.rebuildOrdering()
		return
	}
	p.refitQueue(q)
	if conf.AppSort == policies.Fair { // which measures applications by what the leaf is promised
		for _, a := range q.byID {
			a.rekey()
		}
		q.apps.rebuild()
	}
	p.sharesStale = true
	for ; q.parent != nil; q = q.parent {
		q.reindexInParent()
	}
	p.RequestRequeue()
}
