package configs

import (
	"maps"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// inheritable is what the children of a configured queue start from: its resolved
// properties, where those that are about the queue alone have their default
// (behaviour.md 2.2). The defaults are written out because REST shows them.
//
// application.sort.priority needs no exception, although only "disabled" is said to be
// inherited: any other value means "enabled", which a child has anyway.
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

// resolve puts the queue's own properties over the inherited ones. Queues without any
// of their own share the map of their parent's children.
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
