package queuesyaml

import (
	"fmt"

	"gopkg.in/yaml.v3"
)

// objectDraft is the common part of the drafts of Kubernetes objects. Such an object may be
// written as in Kubernetes or in a short form, and each of its problems has a reason that REST
// returns too.
type objectDraft struct {
	position
	rulePrefix string              // prefix of the rules about the object, such as class-
	positions  map[string]position // positions of its fields
	broken     map[string]bool     // fields that could not be read, so rules about them are silent
}

func newObject(n *yaml.Node, rules string) objectDraft {
	return objectDraft{position: positionOf(n), rulePrefix: rules, positions: map[string]position{}, broken: map[string]bool{}}
}

// recordPositions records the positions of the fields that exist.
func (d *objectDraft) recordPositions(fields map[string]*yaml.Node) {
	for name, n := range fields {
		if n != nil {
			d.positions[name] = positionOf(n)
		}
	}
}

// positionOf is the position of a field or, without one, that of the object.
func (d *objectDraft) positionOf(field string) position {
	if p, ok := d.positions[field]; ok {
		return p
	}
	return d.position
}

// addObject reports a problem of a field. Its rule is the prefix of the object and the reason that REST returns.
func (r *report) addObject(o subject, d *objectDraft, field, reason, message, hint string) {
	d.broken[field] = true
	r.add(o, d.positionOf(field), d.rulePrefix+reason, message, hint)
}

// objectText is the text of a key of an object or, without one, of its metadata.
func objectText(n *yaml.Node, key string) string {
	if text := peek(n, key); text != "" {
		return text
	}
	_, metadata := lookupKey(n, "metadata")
	return peek(metadata, key)
}

// checkObjectKind refuses a Kubernetes object of another version or kind.
func (r *reader) checkObjectKind(o subject, d *objectDraft, fields map[string]*yaml.Node, version, kind string) {
	for _, x := range []struct{ key, want string }{{"apiVersion", version}, {"kind", kind}} {
		if got := r.text(o, x.key, fields[x.key]); got != "" && got != x.want {
			r.add(o, positionOf(fields[x.key]), d.rulePrefix+"invalid-kind", fmt.Sprintf("the %s is %s", x.key, quote(got)), "it is "+x.want)
		}
	}
}

// objectNames reads texts, such as the name, that may be in the metadata or in the object itself, and
// records their positions. Other keys of the metadata are ignored.
func (r *reader) objectNames(o subject, d *objectDraft, fields map[string]*yaml.Node, keys ...string) {
	inside := map[string]*yaml.Node{}
	for _, p := range r.pairs(o, "metadata", fields["metadata"]) {
		inside[p.name] = p.value
	}
	for _, key := range keys {
		outer, within := fields[key], inside[key]
		short, full := r.text(o, key, outer), r.text(o, "the "+key+" in metadata", within)
		switch {
		case within != nil && outer == nil:
			d.positions[key] = positionOf(within)
		case full != "" && short != full:
			r.addObject(o, d, key, "invalid-"+key, fmt.Sprintf("the %ss %s and %s are different", key, quote(short), quote(full)), "")
		}
	}
}
