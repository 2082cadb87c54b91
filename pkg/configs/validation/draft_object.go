package validation

// ObjectDraft is the common part of the drafts of Kubernetes objects. Such an object may be
// written as in Kubernetes or in a short form, and each of its problems has a reason that REST
// returns too.
type ObjectDraft struct {
	Position
	RulePrefix string              // prefix of the rules about the object, such as class-
	Positions  map[string]Position // positions of its fields
	Broken     map[string]bool     // fields that could not be read, so rules about them are silent
}

// NewObjectDraft is a draft of an object at a position. rules is the prefix of the rules about it, such as class-.
func NewObjectDraft(at Position, rules string) ObjectDraft {
	return ObjectDraft{Position: at, RulePrefix: rules, Positions: map[string]Position{}, Broken: map[string]bool{}}
}

// PositionOf is the position of a field or, without one, that of the object.
func (d *ObjectDraft) PositionOf(field string) Position {
	if p, ok := d.Positions[field]; ok {
		return p
	}
	return d.Position
}

// AddObject reports a problem of a field. Its rule is the prefix of the object and the reason that REST returns.
func (r *Report) AddObject(o Subject, d *ObjectDraft, field, reason, message, hint string) {
	d.Broken[field] = true
	r.Add(o, d.PositionOf(field), d.RulePrefix+reason, message, hint)
}
