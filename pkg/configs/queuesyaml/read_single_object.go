package queuesyaml

import (
	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
)

// singleMapping parses a text that is one mapping; nil: it is not, and a problem is reported.
func (r *reader) singleMapping(text []byte, what string) *yaml.Node {
	if !r.checkTextSize(text) {
		return nil
	}
	n := r.parseDocument(text)
	if n != nil && n.Kind == yaml.MappingNode {
		return n
	}
	if !r.Problems.HasErrors() {
		r.Add(nil, validation.Position{}, "yaml-type", what+" must be a mapping", "")
	}
	return nil
}
