package configs

import (
	"fmt"
	"math"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// classDraft is a priority class with the places of its fields.
type classDraft struct {
	at
	class  priorities.Class
	places map[priorities.Field]at
	broken map[priorities.Field]bool // could not be read, so rules about it stay silent
}

func (d *classDraft) path() string { return "priority class " + d.class.Name }

// place is where a problem of a field is reported.
func (d *classDraft) place(f priorities.Field) at {
	if p, ok := d.places[f]; ok {
		return p
	}
	return d.at
}

// classes reads the priority classes: as Kubernetes writes a PriorityClass, or without
// what does not say anything (priority.md 1.1).
func (r *reader) classes(n *yaml.Node) []*classDraft {
	var out []*classDraft
	for _, x := range r.mappings(nil, "priorityclasses", n) {
		out = append(out, r.class(x))
	}
	return out
}

func (r *reader) class(n *yaml.Node) *classDraft {
	d := &classDraft{at: place(n), places: map[priorities.Field]at{}, broken: map[priorities.Field]bool{}}
	d.class.Name = className(n)
	fields := r.fields(d, "a priority class", n, &classMapping)
	for _, f := range []priorities.Field{
		priorities.NameField, priorities.ValueField, priorities.DefaultField, priorities.PolicyField, priorities.ACLField,
	} {
		if x := fields[string(f)]; x != nil {
			d.places[f] = place(x)
		}
	}
	r.classKind(d, fields["apiVersion"], fields["kind"])
	r.className(d, fields["name"], fields["metadata"])
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

// className is the name of a class, wherever it is written.
func className(n *yaml.Node) string {
	if name := peek(n, "name"); name != "" {
		return name
	}
	if isNull(n) {
		return ""
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == "metadata" {
			return peek(n.Content[i+1], "name")
		}
	}
	return ""
}

// classKind refuses objects of Kubernetes that are something else.
func (r *reader) classKind(d *classDraft, version, kind *yaml.Node) {
	if v := r.text(d, "apiVersion", version); v != "" && v != classVersion {
		r.add(d, place(version), "class-invalid-kind", "the apiVersion is "+quote(v), "it is "+classVersion)
	}
	if k := r.text(d, "kind", kind); k != "" && k != classKind {
		r.add(d, place(kind), "class-invalid-kind", "the kind is "+quote(k), "it is "+classKind)
	}
}

// className notes where the name is, and that there is one. What else is in the metadata
// is Kubernetes' own business.
func (r *reader) className(d *classDraft, name, metadata *yaml.Node) {
	var long *yaml.Node
	for _, p := range r.pairs(d, "metadata", metadata) {
		if p.name == "name" {
			long = p.value
		}
	}
	short, full := r.text(d, "name", name), r.text(d, "the name in metadata", long)
	switch {
	case long != nil && name == nil:
		d.places[priorities.NameField] = place(long)
	case full != "" && short != full:
		r.addClass(d, priorities.NameField, priorities.InvalidName,
			fmt.Sprintf("the names %s and %s are different", quote(short), quote(full)), "")
	}
}

func (r *reader) classValue(d *classDraft, n *yaml.Node) {
	if isNull(n) {
		r.addClass(d, priorities.ValueField, priorities.InvalidValue, `key "value" is missing`, "the larger, the more important")
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
		r.add(d, place(n), "class-acl-name", "nobody can have the name "+quote(illegal[0]), "")
	}
	d.class.Submit = &acl
}

// checkClasses applies the rules of package priorities.
func (r *report) checkClasses(drafts []*classDraft) {
	first := map[string]*classDraft{}
	var normal *classDraft
	for _, d := range drafts {
		for _, p := range d.class.Check() {
			if !d.broken[p.Field] {
				r.addClass(d, p.Field, p.Reason, p.Text, "")
			}
		}
		if name := d.class.Name; name != "" {
			if other := first[name]; other != nil {
				r.addClass(d, priorities.NameField, priorities.AlreadyExists,
					fmt.Sprintf("the name is in line %d already", other.place(priorities.NameField).line), "")
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
				normal.place(priorities.DefaultField).line), "")
		}
	}
}

// addClass reports a problem by the reason that REST gives for it.
func (r *report) addClass(d *classDraft, f priorities.Field, why priorities.Reason, message, hint string) {
	d.broken[f] = true
	r.add(d, d.place(f), "class-"+string(why), message, hint)
}

// buildClasses makes the registry. Requires: the drafts were checked, without errors.
func buildClasses(drafts []*classDraft) priorities.Registry {
	classes := make([]priorities.Class, len(drafts))
	for i, d := range drafts {
		classes[i] = d.class
	}
	r, err := priorities.New(classes...)
	if err != nil {
		panic(fmt.Sprintf("configs: classes were checked, but %v", err))
	}
	return r
}
