package queuesyaml

import (
	"cmp"
	"math"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/registry"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// classDraft is a priority class with the positions of its fields.
type classDraft = namedDraft[priorities.Class, *priorities.Class]

// class reads a priority class: a Kubernetes PriorityClass, or the short form without metadata (PRI-25).
func (r *reader) class(n *yaml.Node, given registry.Key) *classDraft {
	d := &classDraft{objectDraft: newObject(n, "class-")}
	d.object.Name = objectText(n, "name")
	fields := r.fields(d, "a priority class", n, &classMapping)
	d.recordPositions(fields)
	r.checkObjectKind(d, &d.objectDraft, fields, classVersion, classKind)
	r.objectNames(d, &d.objectDraft, fields, "name")
	r.classValue(d, fields["value"])
	d.object.GlobalDefault = r.flag(d, "globalDefault", fields["globalDefault"], false)
	policy, ok := priorities.ParsePolicy(r.text(d, "preemptionPolicy", fields["preemptionPolicy"]))
	if !ok {
		r.addNamed(d, priorities.PolicyField, priorities.InvalidPolicy,
			"the policy is "+quote(fields["preemptionPolicy"].Value), "it is Never or PreemptLowerPriority")
	}
	d.object.Policy = policy
	d.object.Description = r.text(d, "description", fields["description"])
	r.classACL(d, fields["submitacl"])
	d.object.Name = cmp.Or(d.object.Name, given.Name)
	return d
}

func (r *reader) classValue(d *classDraft, n *yaml.Node) {
	if isNull(n) {
		r.addNamed(d, priorities.ValueField, priorities.InvalidValue, `key "value" is missing`, "a larger value is a higher priority")
		return
	}
	var v int64
	numeric := n.Kind == yaml.ScalarNode && n.Tag == "!!int"
	if !numeric || n.Decode(&v) != nil || v < math.MinInt32 || v > math.MaxInt32 {
		r.addNamed(d, priorities.ValueField, priorities.InvalidValue,
			"the value is "+describe(n)+", which is no whole number of 32 bits", "")
		return
	}
	d.object.Value = int32(v)
}

func (r *reader) classACL(d *classDraft, n *yaml.Node) {
	if isNull(n) {
		return
	}
	acl, illegal, err := security.ParseACL(r.text(d, "submitacl", n))
	if err != nil {
		r.addNamed(d, priorities.ACLField, priorities.InvalidACL, err.Error(), "")
		return
	}
	if len(illegal) > 0 {
		r.add(d, positionOf(n), "class-acl-name", "no user or group can have the name "+quote(illegal[0]), "")
	}
	d.object.SubmitACL = &acl
}
