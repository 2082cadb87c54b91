package configs

import (
	"maps"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// inheritable are the properties that the children of a configured queue inherit: its
// resolved properties, except those that are not inherited, which have their default
// (QUE-17, QUE-18). The defaults are written out because REST shows them.
//
// application.sort.priority needs no exception, although YuniKorn documents only "disabled"
// as inherited: any other value means "enabled", which is the default.
func inheritable(resolved map[string]string) map[string]string {
	out := maps.Clone(resolved)
	for name, value := range resolved {
		switch name {
		case priorityPolicyProperty:
			out[name] = policies.PriorityDefault.String()
		case priorityOffsetProperty:
			out[name] = "0"
		case preemptionPolicyProperty:
			if !strings.EqualFold(value, policies.PreemptDisabled.String()) {
				out[name] = policies.PreemptDefault.String()
			}
		}
	}
	return out
}

// resolve overrides the inherited properties with the queue's own ones. A queue without
// properties of its own shares the inherited map.
func resolve(inherited map[string]string, own []setting) map[string]string {
	if len(own) == 0 {
		return inherited
	}
	out := maps.Clone(inherited)
	for _, s := range own {
		out[s.name.text] = s.value.text
	}
	return out
}
