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
func (r *reader) class(n *yaml.Node, given registry.Key) *validation.ClassDraft {
	d := &validation.ClassDraft{ObjectDraft: validation.NewObjectDraft(positionOf(n), "class-")}
	d.Object.Name = objectText(n, "name")
	fields := r.fields(d, "a priority class", n, &classMapping)
	recordPositions(&d.ObjectDraft, fields)
	r.checkObjectKind(d, &d.ObjectDraft, fields, classVersion, classKind)
	r.objectNames(d, &d.ObjectDraft, fields, "name")
	r.classValue(d, fields["value"])
	d.Object.GlobalDefault = r.flag(d, "globalDefault", fields["globalDefault"], false)
	policy, ok := priorities.ParsePolicy(r.text(d, "preemptionPolicy", fields["preemptionPolicy"]))
	if !ok {
		r.AddNamed(d, priorities.PolicyField, priorities.InvalidPolicy,
			"the policy is "+validation.Quote(fields["preemptionPolicy"].Value), "it is Never or PreemptLowerPriority")
	}
	d.Object.Policy = policy
	d.Object.Description = r.text(d, "description", fields["description"])
	r.classACL(d, fields["submitacl"])
	d.Object.Name = cmp.Or(d.Object.Name, given.Name)
	return d
}

func (r *reader) classValue(d *validation.ClassDraft, n *yaml.Node) {
	if isNull(n) {
		r.AddNamed(d, priorities.ValueField, priorities.InvalidValue, `key "value" is missing`,
			"a larger value is a higher priority")
		return
	}
	var v int64
	numeric := n.Kind == yaml.ScalarNode && n.Tag == "!!int"
	if !numeric || n.Decode(&v) != nil || v < math.MinInt32 || v > math.MaxInt32 {
		r.AddNamed(d, priorities.ValueField, priorities.InvalidValue,
			"the value is "+describe(n)+", which is no whole number of 32 bits", "")
		return
	}
	d.Object.Value = int32(v)
}

func (r *reader) classACL(d *validation.ClassDraft, n *yaml.Node) {
	if isNull(n) {
		return
	}
	acl, illegal, err := security.ParseACL(r.text(d, "submitacl", n))
	if err != nil {
		r.AddNamed(d, priorities.ACLField, priorities.InvalidACL, err.Error(), "")
		return
	}
	if len(illegal) > 0 {
		r.Add(d, positionOf(n), "class-acl-name", "no user or group can have the name "+validation.Quote(illegal[0]), "")
	}
	d.Object.SubmitACL = &acl
}
