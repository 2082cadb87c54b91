package configs

import (
	"fmt"

	"gopkg.in/yaml.v3"
)

// objectDraft is what drafts of objects of Kubernetes have in common: they may be written as
// Kubernetes does, or without what does not say anything, and all that is wrong with them has
// a reason that REST gives too.
type objectDraft struct {
	at
	rules  string          // what the rules about it begin with, such as class-
	places map[string]at   // of its fields
	broken map[string]bool // fields that could not be read, so rules about them stay silent
}

func newObject(n *yaml.Node, rules string) objectDraft {
	return objectDraft{at: place(n), rules: rules, places: map[string]at{}, broken: map[string]bool{}}
}

// found notes where fields are; a node that is missing is none.
func (d *objectDraft) found(fields map[string]*yaml.Node) {
	for name, n := range fields {
		if n != nil {
			d.places[name] = place(n)
		}
	}
}

// place is where a problem of a field is reported: there, or where the object begins.
func (d *objectDraft) place(field string) at {
	if p, ok := d.places[field]; ok {
		return p
	}
	return d.at
}

// addObject reports a problem of a field by the reason that REST gives for it.
func (r *report) addObject(o owner, d *objectDraft, field, why, message, hint string) {
	d.broken[field] = true
	r.add(o, d.place(field), d.rules+why, message, hint)
}

// objectText is a text about an object, wherever it is written.
func objectText(n *yaml.Node, key string) string {
	if text := peek(n, key); text != "" {
		return text
	}
	_, metadata := lookUp(n, "metadata")
	return peek(metadata, key)
}

// kind refuses objects of Kubernetes that are something else.
func (r *reader) kind(o owner, d *objectDraft, fields map[string]*yaml.Node, version, kind string) {
	for _, x := range []struct{ key, want string }{{"apiVersion", version}, {"kind", kind}} {
		if got := r.text(o, x.key, fields[x.key]); got != "" && got != x.want {
			r.add(o, place(fields[x.key]), d.rules+"invalid-kind", fmt.Sprintf("the %s is %s", x.key, quote(got)), "it is "+x.want)
		}
	}
}

// naming reads texts that may be written beside the metadata or in it, such as the name, and
// notes where they are. What else is in the metadata is Kubernetes' own business.
func (r *reader) naming(o owner, d *objectDraft, fields map[string]*yaml.Node, keys ...string) {
	inside := map[string]*yaml.Node{}
	for _, p := range r.pairs(o, "metadata", fields["metadata"]) {
		inside[p.name] = p.value
	}
	for _, key := range keys {
		beside, within := fields[key], inside[key]
		short, full := r.text(o, key, beside), r.text(o, "the "+key+" in metadata", within)
		switch {
		case within != nil && beside == nil:
			d.places[key] = place(within)
		case full != "" && short != full:
			r.addObject(o, d, key, "invalid-"+key, fmt.Sprintf("the %ss %s and %s are different", key, quote(short), quote(full)), "")
		}
	}
}
