package queuesyaml

import (
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
	"github.com/canopy-scheduler/canopy/pkg/registry"
)

// objectText is the text of a key of an object or, without one, of its metadata.
func objectText(n *yaml.Node, key string) string {
	if text := peek(n, key); text != "" {
		return text
	}
	_, metadata := lookupKey(n, "metadata")
	return peek(metadata, key)
}

// objectHead reads what Kubernetes objects have in common, which problems need as their subject: the version and the
// kind, of which others are refused, and texts such as the name, which may be in the metadata or in the object itself.
// Other keys of the metadata are ignored.
func objectHead[T any, P registry.Object[T]](r *reader, x P, fields map[string]*yaml.Node, version, kind string,
	keys ...string) {
	o := validation.SubjectOf(x)
	for _, k := range []struct{ key, want string }{{"apiVersion", version}, {"kind", kind}} {
		if got := r.text(o, k.key, fields[k.key]); got != "" && got != k.want {
			r.Add(o, positionOf(fields[k.key]), x.Kind().Short+"-invalid-kind",
				fmt.Sprintf("the %s is %s", k.key, validation.Quote(got)), "it is "+k.want)
		}
	}
	inside := map[string]*yaml.Node{}
	for _, p := range r.pairs(o, "metadata", fields["metadata"]) {
		inside[p.name] = p.value
	}
	for _, key := range keys {
		short, full := r.text(o, key, fields[key]), r.text(o, "the "+key+" in metadata", inside[key])
		if fields[key] != nil && full != "" && short != full {
			validation.AddNamed(&r.Report, x, registry.Field(key), registry.Reason("invalid-"+key),
				fmt.Sprintf("the %ss %s and %s are different", key, validation.Quote(short), validation.Quote(full)), "")
		}
	}
}
