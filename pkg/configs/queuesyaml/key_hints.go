package queuesyaml

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// A mistake in the structure of a document is reported once, at its position. Its consequences, such as
// a missing key where another one is misspelt, are not reported (CFG-13).

// fields returns the values of a mapping with fixed keys. Unknown keys are errors (CFG-2): a
// misspelt key would silently have no effect. The value of a misspelt key is read as that of
// the nearest key, if it is of the kind of that key.
func (r *reader) fields(o *validation.Subject, what string, n *yaml.Node, known *mapping) map[string]*yaml.Node {
	out := map[string]*yaml.Node{}
	r.findMissingDash(o, n, known)
	var misspelt []pair
	for _, p := range r.pairs(o, what, n) {
		if known.has(p.name) {
			out[p.name] = p.value
			continue
		}
		r.markMisread(n)
		near, hint := "", foreignKeyHint(p.name, known)
		if hint == "" {
			near = validation.Nearest(p.name, known.names())
		}
		switch {
		case near != "":
			hint = fmt.Sprintf("did you mean %q?", near)
		case hint == "":
			hint = misplacedKeyHint(p.name, known)
		}
		if hint == "" && p.value.Kind == yaml.MappingNode && known.has("name") {
			hint = fmt.Sprintf(`write "name: %s", and the keys below it at the same indentation`, p.name)
		}
		if near != "" && known.isQueuesYAMLOnly() {
			misspelt = append(misspelt, pair{near, p.key, p.value})
		}
		r.Add(o, positionOf(p.key), "yaml-unknown-key", fmt.Sprintf("unknown key %s in %s", validation.Quote(p.name), what),
			hint)
	}
	for _, p := range misspelt {
		if _, there := out[p.name]; !there && known.acceptsKind(p.name, p.value) {
			out[p.name] = p.value
			p.key.Value = p.name // positions are found by the right key
		}
	}
	return out
}

// markMisread marks a mapping as partly not understood: rules about missing keys are silent there.
func (r *reader) markMisread(n *yaml.Node) {
	if r.misreadMappings == nil {
		r.misreadMappings = map[*yaml.Node]bool{}
	}
	r.misreadMappings[n] = true
}

// acceptsKind reports whether a value is of the kind of a key. Requires: m has the key.
func (m *mapping) acceptsKind(name string, n *yaml.Node) bool {
	i := slices.IndexFunc(*m, func(k key) bool { return k.name == name })
	switch (*m)[i].value {
	case textList, mappingList:
		return n.Kind == yaml.SequenceNode
	case mappingValue, quantitiesValue, quotaValue, weightsValue, settingsValue, labelsValue, objectValue:
		return n.Kind == yaml.MappingNode
	case countValue, int32Value:
		return n.Kind == yaml.ScalarNode && n.Tag == "!!int"
	case flagValue:
		return n.Kind == yaml.ScalarNode && n.Tag == "!!bool"
	}
	return n.Kind == yaml.ScalarNode
}

// keyHints are hints for well-known keys that are not legal anywhere in a mapping.
var keyHints = map[string]string{
	"statedumpfilepath":  "it was removed: GET /debug/fullstatedump answers with the state",
	"disruption.budgets": `it belongs into "properties" of a queue`,
}

// foreignKeys are keys of queues in other schedulers, in lower case, with what to write instead: Hadoop's fair and
// capacity scheduler, Volcano, Kueue.
var foreignKeys = map[string]string{
	"aclsubmitapps":               "write submitacl",
	"aclsubmitapplications":       "write submitacl",
	"acl_submit_applications":     "write submitacl",
	"acladministerapps":           "write adminacl",
	"acl_administer_queue":        "write adminacl",
	"borrowinglimit":              maxHint + ": what the queue may use in all, its guarantee included",
	"capability":                  maxHint,
	"capacity":                    percentHint,
	"deserved":                    guaranteedHint,
	"maxcapacity":                 percentHint,
	"maximum-am-resource-percent": "there is no such setting: all allocations of an application count alike",
	"maximum-applications":        "write maxapplications",
	"maximum-capacity":            percentHint,
	"maxresources":                maxHint,
	"maxrunningapps":              "write maxapplications",
	"minresources":                guaranteedHint,
	"nominalquota":                guaranteedHint,
	"ordering-policy":             sortHint,
	"schedulingmode":              sortHint,
	"schedulingpolicy":            sortHint,
	"priority": `write "properties: {priority.offset: ...}", which is added to the priorities of the ` +
		`asks in the queue`,
	"weight": "queues are compared by usage divided by guarantee: " + guaranteedHint,
}

const (
	maxHint        = `write "resources: {max: {vcore: ..., memory: ...}}"`
	guaranteedHint = `write "resources: {guaranteed: {vcore: ..., memory: ...}}"`
	percentHint    = `write "resources: {guaranteed: {vcore: 40%, memory: 40%}, max: {vcore: 80%, memory: 80%}}", say`
	sortHint       = `write "properties: {application.sort.policy: fifo}", or fair or stateaware`
)

// foreignKeyHint returns what to write instead of a key of another scheduler (CFG-2); empty: the key is none.
func foreignKeyHint(name string, here *mapping) string {
	if here != &queueMapping && here != &templateMapping || here.has(name) {
		return ""
	}
	return foreignKeys[strings.ToLower(name)]
}

// misplacedKeyHint is a hint at the mapping that an unknown key belongs to, or empty. Such a key is
// usually indented too little or too much.
func misplacedKeyHint(name string, here *mapping) string {
	if h, ok := keyHints[name]; ok {
		return h
	}
	if _, ok := configs.FindProperty(name); ok &&
		(here == &queueMapping || here == &templateMapping || here == &resourcesMapping) {
		return `it belongs into "properties"`
	}
	deeper := func(of string) string { return fmt.Sprintf("it belongs into %s: indent it further", of) }
	switch {
	case here == &documentMapping && name == "queues":
		return deeper("a partition") + "; queues nest inside queues, and the first level is in a partition"
	case here == &documentMapping && partitionMapping.has(name):
		return deeper("a partition")
	case (here == &documentMapping || here == &partitionMapping) && queueMapping.has(name):
		return deeper("a queue")
	case (here == &queueMapping || here == &templateMapping) && resourcesMapping.has(name):
		return deeper(`"resources"`)
	case here == &resourcesMapping && (validation.IsWellKnownResource(name) || validation.WellKnownResource(name) != ""):
		return deeper(`"max" or "guaranteed"`)
	case here == &queueMapping && partitionMapping.has(name):
		return "it belongs into the partition: indent it less"
	case here == &queueMapping && limitMapping.has(name):
		return deeper(`an element of "limits"`)
	case here == &partitionMapping && preemptionMapping.has(name):
		return deeper(`"preemption"`)
	case here == &partitionMapping && documentMapping.has(name):
		return "it belongs to the top level, like partitions: do not indent it"
	}
	return ""
}

// findMissingDash finds a key that should begin the first element of a list, and has no dash:
//
//	queues:
//	name: root
//
// It is reported once. The keys from there on belong to the element and not to the mapping, so
// they are dropped.
func (r *reader) findMissingDash(o *validation.Subject, n *yaml.Node, known *mapping) {
	if isNull(n) || n.Kind != yaml.MappingNode {
		return
	}
	var of *mapping // kind of the elements of the last list without elements
	var list string
	var names map[string]bool // keys so far; made when a list has no elements
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i].Value
		if of != nil && of.has(name) && (!known.has(name) || names[name]) {
			r.markMisread(n)
			r.Add(o, positionOf(n.Content[i]), "yaml-type",
				fmt.Sprintf("key %s begins an element of %q, which is a list", validation.Quote(name), list),
				fmt.Sprintf(`write "- %s", and indent the lines below as far as %s`, name, name))
			n.Content = n.Content[:i]
			return
		}
		if names != nil {
			names[name] = true
		}
		if !isNull(n.Content[i+1]) {
			continue
		}
		if j := slices.IndexFunc(*known, func(k key) bool { return k.name == name && k.value == mappingList }); j >= 0 {
			of, list = mappings[(*known)[j].mappingName], name
			if names == nil {
				names = map[string]bool{}
				for at := 0; at <= i; at += 2 {
					names[n.Content[at].Value] = true
				}
			}
		}
	}
}

// isQueuesYAMLOnly reports whether a mapping exists in queues.yaml only and not in Kubernetes objects, where
// the misspelt key may exclude another key of the same mapping.
func (m *mapping) isQueuesYAMLOnly() bool {
	switch m {
	case &documentMapping, &partitionMapping, &queueMapping, &resourcesMapping, &templateMapping, &limitMapping,
		&preemptionMapping:
		return true
	}
	return false
}

// wrongType reports a value of the wrong kind, with a hint at the probable intention (CFG-10).
func (r *reader) wrongType(o *validation.Subject, what string, n *yaml.Node, want string) {
	r.Add(o, positionOf(n), "yaml-type", fmt.Sprintf("%s must be %s, not %s", what, want, describe(n)),
		typeHint(what, n, want))
}

func typeHint(what string, n *yaml.Node, want string) string {
	text := n.Kind == yaml.ScalarNode && !isNull(n)
	switch {
	case want == "a list" && n.Kind == yaml.MappingNode && len(n.Content) > 0 && n.Content[1].Kind == yaml.MappingNode:
		return fmt.Sprintf(`write "- name: %s", and its keys at the indentation of name`, n.Content[0].Value)
	case want == "a list" && n.Kind == yaml.MappingNode && len(n.Content) > 0:
		return fmt.Sprintf(`put "- " in front of %s, and indent the lines below as far`, n.Content[0].Value)
	case want == "a list" && text:
		return "write [" + n.Value + "]"
	case want == "a mapping" && n.Kind == yaml.SequenceNode && len(n.Content) > 0:
		return `leave out the "- "`
	case want == "a mapping" && text && missingSpace.MatchString(n.Value):
		return "put a space behind the colon"
	case want == "a mapping" && text &&
		(strings.HasSuffix(what, "max") || strings.HasSuffix(what, "guaranteed") || strings.HasSuffix(what, "maxresources")):
		if _, err := resources.Parse(resources.VCore, n.Value); err == nil {
			return "write {vcore: " + n.Value + "}, or the resource that is meant"
		}
		return "write {vcore: 10, memory: 20Gi}, say"
	case want == "a text" && n.Kind == yaml.SequenceNode && strings.HasSuffix(what, "acl"):
		return "write users, one space, and groups, with commas between names: 'ann,bob dev,ops'"
	case text && n.Tag == "!!str" && (strings.HasPrefix(want, "a whole number") || want == "true or false") &&
		plainScalar(n.Value):
		return "leave out the quotes"
	}
	return ""
}

// plainScalar reports whether a text, without quotes, is a number or a boolean.
func plainScalar(s string) bool {
	return s == "true" || s == "false" || s != "" && strings.Trim(s, "0123456789") == ""
}

// probableQuantity is the quantity that a malformed text probably means: a fraction of a unit is
// converted to a smaller unit, and units of other programs to ours (CFG-42). Empty: unknown.
func probableQuantity(resource, text string) string {
	text = strings.TrimSpace(text)
	number := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
	if len(number) > 20 || strings.ContainsAny(number, "eE/_xX+-") {
		return ""
	}
	n, ok := new(big.Rat).SetString(number)
	if !ok {
		return ""
	}
	unit := strings.TrimSpace(text[len(number):])
	if unit == "m" {
		return "" // thousandths of a resource that is counted in units
	}
	unit = strings.ToLower(unit)
	unit = strings.TrimSuffix(unit, "b")
	one, known := map[string]string{"": "1", "k": "1k", "m": "1M", "g": "1G", "t": "1T", "p": "1P",
		"ki": "1Ki", "mi": "1Mi", "gi": "1Gi", "ti": "1Ti", "pi": "1Pi"}[unit]
	if resource == resources.VCore && unit != "" || !known {
		return ""
	}
	amount, err := resources.Parse(resource, one)
	if err != nil {
		return ""
	}
	n.Mul(n, new(big.Rat).SetInt64(int64(amount)))
	if !n.IsInt() || !n.Num().IsInt64() {
		return ""
	}
	return resources.FormatQuantity(resource, resources.Quantity(n.Num().Int64()))
}
