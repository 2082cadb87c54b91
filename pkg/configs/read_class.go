package configs

import (
	"cmp"
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/priorities"
)

// ClassText is a priority class that somebody wrote on its own.
type ClassText struct {
	Class     priorities.Class
	HasPolicy bool // it says which policy
	HasACL    bool // it says who may name it
}

// ReadClass reads a priority class as it would stand in the list of a document, in YAML or in
// JSON, which is YAML. name is that of one that does not say; it may be empty. The problems
// are those of Load.
func ReadClass(text []byte, name string, o Options) (ClassText, Problems) {
	r := &reader{options: o.withDefaults()}
	if len(text) > r.options.MaxBytes {
		r.add(nil, at{}, "bound-bytes", fmt.Sprintf("the text is longer than max-config-bytes (%d)", r.options.MaxBytes), "")
		return ClassText{}, r.sorted()
	}
	n := r.document(text)
	if n == nil || n.Kind != yaml.MappingNode {
		if !r.problems.HasErrors() {
			r.add(nil, at{}, "yaml-type", "a priority class must be a mapping", "")
		}
		return ClassText{}, r.sorted()
	}
	d := r.class(n)
	d.class.Name = cmp.Or(d.class.Name, name)
	r.checkClasses([]*classDraft{d})
	_, policy := lookUp(n, string(priorities.PolicyField))
	return ClassText{d.class, !isNull(policy), d.class.Submit != nil}, r.sorted()
}
