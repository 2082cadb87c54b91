package configs

import (
	"fmt"

	"gopkg.in/yaml.v3"
)

// objectDraft is what drafts of objects of Kubernetes have in common: they may be written as
// Kubernetes does, or without what does not say anything, and all that is wrong with them has
// a reason that REST gives too.
type objectDraft struct {
	position
	rulePrefix string              // what the rules about it begin with, such as class-
	positions  map[string]position // of its fields
	broken     map[string]bool     // fields that could not be read, so rules about them stay silent
}

func newObject(n *yaml.Node, rules string) objectDraft {
	return objectDraft{position: positionOf(n), rulePrefix: rules, positions: map[string]position{}, broken: map[string]bool{}}
}

// recordPositions notes where fields are; a node that is missing is none.
func (d *objectDraft) recordPositions(fields map[string]*yaml.Node) {
	for name, n := range fields {
		if n != nil {
			d.positions[name] = positionOf(n)
		}
	}
}

// positionOf is where a problem of a field is reported: there, or where the object begins.
func (d *objectDraft) positionOf(field string) position {
	if p, ok := d.positions[field]; ok {
		return p
	}
	return d.position
}

// addObject reports a problem of a field by the reason that REST gives for it.
func (r *report) addObject(o subject, d *objectDraft, field, reason, message, hint string) {
	d.broken[field] = true
	r.add(o, d.positionOf(field), d.rulePrefix+reason, message, hint)
}

// objectText is a text about an object, wherever it is written.
func objectText(n *yaml.Node, key string) string {
	if text := peek(n, key); text != "" {
		return text
	}
	_, metadata := lookupKey(n, "metadata")
	return peek(metadata, key)
}

// checkObjectKind refuses objects of Kubernetes that are something else.
func (r *reader) checkObjectKind(o subject, d *objectDraft, fields map[string]*yaml.Node, version, kind string) {
	for _, x := range []struct{ key, want string }{{"apiVersion", version}, {"kind", kind}} {
		if got := r.text(o, x.key, fields[x.key]); got != "" && got != x.want {
			r.add(o, positionOf(fields[x.key]), d.rulePrefix+"invalid-kind", fmt.Sprintf("the %s is %s", x.key, quote(got)), "it is "+x.want)
		}
	}
}

// objectNames reads texts that may be written beside the metadata or in it, such as the name, and
// notes where they are. What else is in the metadata is Kubernetes' own business.
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
