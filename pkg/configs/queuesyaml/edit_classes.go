package queuesyaml

import (
	"strconv"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/registry"
)

// fillClass writes the fields of a class into its node, and leaves values that are right already.
func fillClass(n *yaml.Node, c *priorities.Class) {
	r, was := newReader(DefaultOptions()), &priorities.Class{}
	r.class(was, n, registry.Key{})
	if was.Value != c.Value || r.Problems.HasErrors() {
		setKey(n, "value", &yaml.Node{Kind: yaml.ScalarNode, Value: strconv.Itoa(int(c.Value))})
	}
	if was.GlobalDefault != c.GlobalDefault {
		setKey(n, "globalDefault", &yaml.Node{Kind: yaml.ScalarNode, Value: strconv.FormatBool(c.GlobalDefault)})
	}
	if was.Policy != c.Policy {
		setKey(n, "preemptionPolicy", scalar(c.Policy.String()))
	}
	if was.Description != c.Description {
		setKey(n, "description", scalar(c.Description))
	}
	switch {
	case c.SubmitACL == nil && was.SubmitACL != nil:
		deleteKey(n, "submitacl")
	case c.SubmitACL != nil && (was.SubmitACL == nil || was.SubmitACL.String() != c.SubmitACL.String()):
		setKey(n, "submitacl", scalar(c.SubmitACL.String()))
	}
}
