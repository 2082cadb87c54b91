package configs

import (
	"maps"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// InheritedProperties are the properties that the children of a configured queue inherit: its
// resolved properties, except those that are not inherited, which have their default
// (QUE-17, QUE-18). The defaults are written out because REST shows them.
//
// application.sort.priority needs no exception, although YuniKorn documents only "disabled"
// as inherited: any other value means "enabled", which is the default.
func InheritedProperties(resolved map[string]string) map[string]string {
	out := maps.Clone(resolved)
	for name, value := range resolved {
		switch name {
		case PriorityPolicyProperty:
			out[name] = policies.PriorityDefault.String()
		case PriorityOffsetProperty:
			out[name] = "0"
		case PreemptionPolicyProperty:
			if !strings.EqualFold(value, policies.PreemptDisabled.String()) {
				out[name] = policies.PreemptDefault.String()
			}
		}
	}
	return out
}
