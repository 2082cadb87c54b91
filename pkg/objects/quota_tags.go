package objects

import (
	"fmt"
	"iter"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// ApplyQuotaTags applies the quota tags of an application to the dynamic leaf at path (QUO-21). The
// last application with a tag wins, and its value holds until the queue is removed; what no tag
// names stays (QUO-22). Tags have no effect on managed queues and the recovery queue (QUO-24).
// Malformed tags are skipped and returned as problems (QUO-23). Requires: the queue exists.
func (p *Partition) ApplyQuotaTags(path QueuePath, tags map[string]string) (problems []error) {
	q := p.queues[path]
	if q.managed || path == placement.RecoveryQueue {
		return nil
	}
	want, problems := configs.ReadQuotaTags(tags)
	conf, has := q.conf, &q.dynamic.tags
	if want.Max != nil {
		if err := p.AdmitNames(conf.Max.All(), want.Max.All()); err != nil {
			problems = append(problems, fmt.Errorf("tag %s: %w", configs.TagMax, err))
		} else {
			conf.Max, has.Max = *want.Max, want.Max
		}
	}
	if want.Guaranteed != nil {
		if err := p.AdmitNames(conf.Max.All(), want.Guaranteed.All()); err != nil {
			problems = append(problems, fmt.Errorf("tag %s: %w", configs.TagGuaranteed, err))
		} else {
			conf.Guaranteed, has.Guaranteed = *want.Guaranteed, want.Guaranteed
		}
	}
	if want.MaxApplications != 0 {
		conf.MaxApplications, has.MaxApplications = want.MaxApplications, want.MaxApplications
	}
	p.updateQuotas(q, conf)
	return problems
}

// QuotaTags returns the quota tags that count for q. It has none while a configuration names it (QUO-24).
func (q *Queue) QuotaTags() configs.QuotaTags {
	if q.managed || q.dynamic == nil {
		return configs.QuotaTags{}
	}
	return q.dynamic.tags
}

// AdmitNames checks whether the resource names of quotas, zero quantities included, are within the
// bounds for asks together; nil: they are.
func (p *Partition) AdmitNames(all ...iter.Seq2[string, resources.Quantity]) error {
	named := map[string]resources.Quantity{}
	for _, quotas := range all {
		for name := range quotas {
			named[name] = 1
		}
	}
	return p.names.Admit(resources.FromMap(named), resources.Asks)
}

// updateQuotas applies the quotas of conf to a leaf. Most applications have the tags of the one
// before, so usually nothing changes.
func (p *Partition) updateQuotas(q *Queue, conf configs.Queue) {
	if conf.Max.Equal(q.conf.Max) && conf.Guaranteed.Equal(q.conf.Guaranteed) &&
		conf.MaxApplications == q.conf.MaxApplications {
		return
	}
	q.setConf(&conf)
	p.internNames(q)
	quotasChanged(p, q)
}

// quotasChanged updates what depends on the quotas of q.
func quotasChanged(p *Partition, q *Queue) {
	p.journal.post(Change{Kind: QuotasChanged, Queue: q})
	if p.quotas.MaxApplicationsOutdated() { // the first max applications of the partition
		p.rebuildOrdering()
		return
	}
	if q.conf.AppSort == policies.Fair && len(q.byID) > 0 { // it orders them by their share of its guarantee
		for _, a := range q.byID {
			a.rekey()
		}
		q.apps.Rebuild()
	}
	for ; q.parent != nil; q = q.parent {
		q.reindexInParent()
	}
}
