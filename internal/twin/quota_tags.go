package twin

import (
	"maps"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Quotas from application tags (QUO-21, QUO-22). The twin does not parse them: it has the meaning of
// each text of random runs.

// quotaTexts are resources as tags have them; nil: invalid.
var quotaTexts = map[string]map[string]resources.Quantity{
	`{"resources":{"vcore":{"value":9}}}`:                        {"vcore": 9},
	`{"resources":{"vcore":{"value":20},"memory":{"value":16}}}`: {"vcore": 20, "memory": 16},
	`{"resources":{"memory":{"value":"4"},"vcore":{}}}`:          {"memory": 4, "vcore": 0},
	`{"resources":{"gpu":{"value":1},"disk":{"value":30}}}`:      {"gpu": 1, "disk": 30},
	`{"resources":{"vcore":{"value":9223372036854775807}}}`:      {"vcore": 1<<63 - 1},
	`{"resources":{"vcore":{"value":0}}}`:                        nil,
	`{"resources":{"memory":{"value":8},"vcore":{"value":-1}}}`:  nil,
	`{"resources":{"vcore":{"value":9223372036854775808}}}`:      nil,
	`{"resources":{"vcore":{"value":2.5}}}`:                      nil,
	`{"resources":[]}`:                                           nil,
	``:                                                           nil,
}

// applicationTexts are numbers of applications as tags have them; -1: invalid.
var applicationTexts = map[string]int64{"0": 0, "3": 3, " 12": 12, "-1": -1, "1e3": -1, "": -1}

// applyQuotaTags sets the quotas of the leaf of a new application from its tags.
func (t *Twin) applyQuotaTags(c scheduler.AddApplication, leaf objects.QueuePath) {
	q := t.queue(leaf)
	if q.managed || leaf == placement.RecoveryQueue {
		return
	}
	was := q.conf // its resource names count until all tags are read
	t.replacedConf = &was
	defer func() { t.replacedConf = nil }()
	tags := slices.Sorted(maps.Keys(c.Tags))
	slices.SortStableFunc(tags, func(a, b string) int { // the max before what is guaranteed
		return strings.Compare(strings.ToLower(b), strings.ToLower(a))
	})
	for _, tag := range tags {
		text := c.Tags[tag]
		var valid bool
		switch strings.ToLower(tag) {
		case "namespace.resourcequota":
			if valid = quotaTexts[text] != nil && t.namesWithinLimit(true, maps.All(quotaTexts[text])); valid {
				q.conf.Max = resources.LimitFromMap(quotaTexts[text])
			}
		case "namespace.resourceguaranteed":
			if valid = quotaTexts[text] != nil && t.namesWithinLimit(true, maps.All(quotaTexts[text])); valid {
				q.conf.Guaranteed = resources.GuaranteeFromMap(quotaTexts[text])
			}
		case "namespace.resourcemaxapps":
			if valid = applicationTexts[text] >= 0; applicationTexts[text] > 0 {
				q.conf.MaxApplications = uint64(applicationTexts[text])
			}
		default:
			continue
		}
		if !valid {
			t.refuse("quota", "a tag makes no sense")
		}
	}
}

// quotaTags are the tags of a new application about its leaf.
func (a *generator) quotaTags(tags map[string]string) {
	texts := slices.Sorted(maps.Keys(quotaTexts))
	if a.oneIn(2) {
		tags[pick(a, "namespace.resourcequota", "Namespace.ResourceQuota")] = pick(a, texts...)
	}
	if a.oneIn(2) {
		tags["namespace.resourceguaranteed"] = pick(a, texts...)
	}
	if a.oneIn(3) {
		tags["namespace.resourcemaxapps"] = pick(a, slices.Sorted(maps.Keys(applicationTexts))...)
	}
}
