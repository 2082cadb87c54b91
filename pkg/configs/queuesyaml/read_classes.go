package queuesyaml

import (
	"cmp"
	"math"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/registry"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// class reads a priority class: a Kubernetes PriorityClass, or the short form without metadata (PRI-25).
func (r *reader) class(c *priorities.Class, n *yaml.Node, given registry.Key) {
	c.Name = objectText(n, "name")
	o := validation.SubjectOf(c)
	fields := r.fields(o, "a priority class", n, &classMapping)
	objectHead(r, c, fields, classVersion, classKind, "name")
	r.classValue(c, fields["value"])
	c.GlobalDefault = r.flag(o, "globalDefault", fields["globalDefault"], false)
	policy, ok := priorities.ParsePolicy(r.text(o, "preemptionPolicy", fields["preemptionPolicy"]))
	if !ok {
		validation.AddNamed(&r.Report, c, priorities.PolicyField, priorities.InvalidPolicy,
			"the policy is "+validation.Quote(fields["preemptionPolicy"].Value), "it is Never or PreemptLowerPriority")
	}
	c.Policy = policy
	c.Description = r.text(o, "description", fields["description"])
	r.classACL(c, fields["submitacl"])
	c.Name = cmp.Or(c.Name, given.Name)
}

func (r *reader) classValue(c *priorities.Class, n *yaml.Node) {
	var v int64
	switch numeric := n != nil && n.Kind == yaml.ScalarNode && n.Tag == "!!int"; {
	case isNull(n):
		validation.AddNamed(&r.Report, c, priorities.ValueField, priorities.InvalidValue, `key "value" is missing`,
			"a larger value is a higher priority")
	case !numeric || n.Decode(&v) != nil || v < math.MinInt32 || v > math.MaxInt32:
		validation.AddNamed(&r.Report, c, priorities.ValueField, priorities.InvalidValue,
			"the value is "+describe(n)+", which is no whole number of 32 bits", "")
	default:
		c.Value = int32(v)
	}
}

func (r *reader) classACL(c *priorities.Class, n *yaml.Node) {
	if isNull(n) {
		return
	}
	acl, illegal, err := security.ParseACL(r.text(validation.SubjectOf(c), "submitacl", n))
	if err != nil {
		validation.AddNamed(&r.Report, c, priorities.ACLField, priorities.InvalidACL, err.Error(), "")
		return
	}
	if len(illegal) > 0 {
		r.Add(validation.SubjectOf(c), positionOf(n), "class-acl-name",
			"no user or group can have the name "+validation.Quote(illegal[0]), "")
	}
	c.SubmitACL = &acl
}
