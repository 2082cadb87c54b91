package twin

import (
	"maps"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Quotas from application tags (QUO-21, QUO-22). The twin does not parse them: it has the meaning of
// each text of random runs.

// applyQuotaTags sets the quotas of the leaf of a new application from its tags.
func (t *Twin) applyQuotaTags(c scheduler.AddApplication, leaf objects.QueuePath) {
	q := t.queue(leaf)
	if q.managed || leaf == placement.RecoveryQueue {
		return
	}
	was := q.conf // its resource names count until all tags are read
	t.replacedConf = &was
	defer func() {
		t.replacedConf = nil
		if !q.conf.SameSettings(&was) {
			q.inForce = nil
		}
	}()
	tags := slices.Sorted(maps.Keys(c.Tags))
	slices.SortStableFunc(tags, func(a, b string) int { // the max before what is guaranteed
		return strings.Compare(strings.ToLower(b), strings.ToLower(a))
	})
	for _, tag := range tags {
		text := c.Tags[tag]
		var valid bool
		switch strings.ToLower(tag) {
		case "namespace.resourcequota":
			valid = randomrun.QuotaTexts[text] != nil && t.namesWithinLimit(true, maps.All(randomrun.QuotaTexts[text]))
			if valid {
				most := resources.LimitFromMap(randomrun.QuotaTexts[text])
				q.conf.Max, q.dynamic.tags.Max = most, &most
			}
		case "namespace.resourceguaranteed":
			valid = randomrun.QuotaTexts[text] != nil && t.namesWithinLimit(true, maps.All(randomrun.QuotaTexts[text]))
			if valid {
				least := resources.GuaranteeFromMap(randomrun.QuotaTexts[text])
				q.conf.Guaranteed, q.dynamic.tags.Guaranteed = least, &least
			}
		case "namespace.resourcemaxapps":
			valid = randomrun.ApplicationTexts[text] >= 0
			if randomrun.ApplicationTexts[text] > 0 {
				q.conf.MaxApplications = uint64(randomrun.ApplicationTexts[text])
				q.dynamic.tags.MaxApplications = q.conf.MaxApplications
			}
		default:
			continue
		}
		if !valid {
			t.refuse("quota", "a tag makes no sense")
		}
	}
}
