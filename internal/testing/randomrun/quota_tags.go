package randomrun

import (
	"maps"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// QuotaTexts are resources as tags have them; nil: invalid.
var QuotaTexts = map[string]map[string]resources.Quantity{
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

// ApplicationTexts are numbers of applications as tags have them; -1: invalid.
var ApplicationTexts = map[string]int64{"0": 0, "3": 3, " 12": 12, "-1": -1, "1e3": -1, "": -1}

// quotaTags adds the tags of a new application about its leaf.
func (a *Generator) quotaTags(tags map[string]string) {
	texts := slices.Sorted(maps.Keys(QuotaTexts))
	if a.OneIn(2) {
		tags[Pick(a, "namespace.resourcequota", "Namespace.ResourceQuota")] = Pick(a, texts...)
	}
	if a.OneIn(2) {
		tags["namespace.resourceguaranteed"] = Pick(a, texts...)
	}
	if a.OneIn(3) {
		tags["namespace.resourcemaxapps"] = Pick(a, slices.Sorted(maps.Keys(ApplicationTexts))...)
	}
}
