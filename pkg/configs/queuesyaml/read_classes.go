package queuesyaml

import (
	"fmt"
	"math"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// classDraft is a priority class with the positions of its fields.
type classDraft struct {
	objectDraft
	class priorities.Class
}

func (d *classDraft) path() string { return "priority class " + d.class.Name }

// classes reads the priority classes: Kubernetes PriorityClasses, or the short form without
// metadata (PRI-25).
func (r *reader) classes(n *yaml.Node) []*classDraft {
	var out []*classDraft
	for _, x := range r.mappings(nil, "priorityclasses", n) {
		out = append(out, r.class(x))
	}
	return out
}

func (r *reader) class(n *yaml.Node) *classDraft {
	d := &classDraft{objectDraft: newObject(n, "class-")}
	d.class.Name = objectText(n, "name")
	fields := r.fields(d, "a priority class", n, &classMapping)
	d.recordPositions(fields)
	r.checkObjectKind(d, &d.objectDraft, fields, classVersion, classKind)
	r.objectNames(d, &d.objectDraft, fields, "name")
	r.classValue(d, fields["value"])
	d.class.GlobalDefault = r.flag(d, "globalDefault", fields["globalDefault"], false)
	policy, ok := priorities.ParsePolicy(r.text(d, "preemptionPolicy", fields["preemptionPolicy"]))
	if !ok {
		r.addClass(d, priorities.PolicyField, priorities.InvalidPolicy,
			"the policy is "+quote(fields["preemptionPolicy"].Value), "it is Never or PreemptLowerPriority")
	}
	d.class.Policy = policy
	d.class.Description = r.text(d, "description", fields["description"])
	r.classACL(d, fields["submitacl"])
	return d
}

func (r *reader) classValue(d *classDraft, n *yaml.Node) {
	if isNull(n) {
		r.addClass(d, priorities.ValueField, priorities.InvalidValue, `key "value" is missing`, "a larger value is a higher priority")
		return
	}
	var v int64
	numeric := n.Kind == yaml.ScalarNode && n.Tag == "!!int"
	if !numeric || n.Decode(&v) != nil || v < math.MinInt32 || v > math.MaxInt32 {
		r.addClass(d, priorities.ValueField, priorities.InvalidValue,
			"the value is "+describe(n)+", which is no whole number of 32 bits", "")
		return
	}
	d.class.Value = int32(v)
}

func (r *reader) classACL(d *classDraft, n *yaml.Node) {
	if isNull(n) {
		return
	}
	acl, illegal, err := security.ParseACL(r.text(d, "submitacl", n))
	if err != nil {
		r.addClass(d, priorities.ACLField, priorities.InvalidACL, err.Error(), "")
		return
	}
	if len(illegal) > 0 {
		r.add(d, positionOf(n), "class-acl-name", "no user or group can have the name "+quote(illegal[0]), "")
	}
	d.class.SubmitACL = &acl
}

// checkClasses applies the rules of package priorities.
func (r *report) checkClasses(drafts []*classDraft) {
	first := map[string]*classDraft{}
	var normal *classDraft
	for _, d := range drafts {
		for _, p := range d.class.Check() {
			if !d.broken[string(p.Field)] {
				r.addClass(d, p.Field, p.Reason, p.Text, "")
			}
		}
		if name := d.class.Name; name != "" {
			if other := first[name]; other != nil {
				r.addClass(d, priorities.NameField, priorities.AlreadyExists,
					fmt.Sprintf("there is a class of this name in line %d already", other.positionOf(string(priorities.NameField)).line), "")
			} else {
				first[name] = d
			}
		}
		switch {
		case !d.class.GlobalDefault:
		case normal == nil:
			normal = d
		default:
			r.addClass(d, priorities.DefaultField, priorities.SecondGlobalDefault, fmt.Sprintf(
				"%s (line %d) is the default already, and there can be only one", quote(normal.class.Name),
				normal.positionOf(string(priorities.DefaultField)).line), "")
		}
	}
}

// addClass reports a problem. Its rule is "class-" and the reason that REST returns.
func (r *report) addClass(d *classDraft, f priorities.Field, reason priorities.Reason, message, hint string) {
	r.addObject(d, &d.objectDraft, string(f), string(reason), message, hint)
}

// buildClasses makes the registry. Requires: the drafts were checked and have no errors.
func buildClasses(drafts []*classDraft) priorities.Registry {
	classes := make([]priorities.Class, len(drafts))
	for i, d := range drafts {
		classes[i] = d.class
	}
	r, err := priorities.New(classes...)
	if err != nil {
		panic(fmt.Sprintf("queuesyaml: classes passed the checks, but not priorities.New: %v", err))
	}
	return r
}
