package queuesyaml

import (
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
)

// recordPositions records the positions of the fields that exist.
func recordPositions(d *validation.ObjectDraft, fields map[string]*yaml.Node) {
	for name, n := range fields {
		if n != nil {
			d.Positions[name] = positionOf(n)
		}
	}
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
func (r *reader) checkObjectKind(o validation.Subject, d *validation.ObjectDraft, fields map[string]*yaml.Node, version,
	kind string) {
	for _, x := range []struct{ key, want string }{{"apiVersion", version}, {"kind", kind}} {
		if got := r.text(o, x.key, fields[x.key]); got != "" && got != x.want {
			r.Add(o, positionOf(fields[x.key]), d.RulePrefix+"invalid-kind",
				fmt.Sprintf("the %s is %s", x.key, validation.Quote(got)), "it is "+x.want)
		}
	}
}

// objectNames reads texts, such as the name, that may be in the metadata or in the object itself, and
// records their positions. Other keys of the metadata are ignored.
func (r *reader) objectNames(o validation.Subject, d *validation.ObjectDraft, fields map[string]*yaml.Node,
	keys ...string) {
	inside := map[string]*yaml.Node{}
	for _, p := range r.pairs(o, "metadata", fields["metadata"]) {
		inside[p.name] = p.value
	}
	for _, key := range keys {
		outer, within := fields[key], inside[key]
		short, full := r.text(o, key, outer), r.text(o, "the "+key+" in metadata", within)
		switch {
		case within != nil && outer == nil:
			d.Positions[key] = positionOf(within)
		case full != "" && short != full:
			r.AddObject(o, d, key, "invalid-"+key,
				fmt.Sprintf("the %ss %s and %s are different", key, validation.Quote(short), validation.Quote(full)), "")
		}
	}
}
