package queuesyaml

import (
	"fmt"
	"math"
	"slices"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
)

// reader turns YAML nodes into a tree. It reports each problem and continues; a missing or
// null node is read as the zero value (CFG-11).
type reader struct {
	validation.Report
	options            Options
	queueCount         int // read so far
	placementRuleCount int // placement rules read so far, parents included

	currentPartition string // the name of the partition that is read

	spellings       configs.Spellings   // of quantities
	misreadMappings map[*yaml.Node]bool // mappings that were partly not understood
	documentMisread bool                // the top mapping of the document is one of them

	source            []byte     // the text, or the queues.yaml of a ConfigMap
	embeddedText      *yaml.Node // the queues.yaml of a ConfigMap, if positions in it are not exact; see relocateEmbedded
	configMapProblems int        // with embeddedText: how many problems are about the ConfigMap itself
}

func newReader(o Options) *reader {
	o = o.withDefaults()
	return &reader{Report: validation.Report{Yield: o.Yield}, options: o}
}

func positionOf(n *yaml.Node) validation.Position { return validation.PositionOf(n) }

// pair is one entry of a mapping.
type pair struct {
	name       string
	key, value *yaml.Node
}

// pairs returns the entries of a mapping in the order of the document. It reports duplicate
// keys and leaves them out (CFG-3).
func (r *reader) pairs(o *validation.Subject, what string, n *yaml.Node) []pair {
	return r.pairsUpTo(math.MaxInt, o, what, n)
}

// pairsUpTo is pairs for at most most entries. Further entries are neither read nor checked, so
// it is only for mappings where that many entries are refused.
func (r *reader) pairsUpTo(most int, o *validation.Subject, what string, n *yaml.Node) []pair {
	if isNull(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode || n.Tag != "!!map" {
		r.wrongType(o, what, n, "a mapping")
		return nil
	}
	out := make([]pair, 0, min(most, len(n.Content)/2))
	var seen map[string]int // index in out by key; nil while there are few keys
	for i := 0; i+1 < len(n.Content) && len(out) < most; i += 2 {
		key := n.Content[i]
		if !isText(key) {
			r.wrongType(o, "a key of "+what, key, "a text")
			continue
		}
		name := textOf(key)
		if first := indexOfKey(name, out, seen); first >= 0 {
			r.markMisread(n)
			r.Add(o, positionOf(key), "yaml-duplicate-key", fmt.Sprintf("duplicate key %s in %s", validation.Quote(name), what),
				fmt.Sprintf("the first one is in line %d", out[first].key.Line))
			continue
		}
		out = append(out, pair{name, key, n.Content[i+1]})
		switch {
		case seen != nil:
			seen[name] = len(out) - 1
		case len(out) > maxLinearKeys:
			seen = make(map[string]int, 2*len(out))
			for j := range out {
				seen[out[j].name] = j
			}
		}
	}
	return out
}

// maxLinearKeys is the number of keys up to which duplicates are found by linear search without a table:
// nearly all mappings have fewer keys, and a document may have a million mappings.
const maxLinearKeys = 16

func indexOfKey(name string, pairs []pair, table map[string]int) int {
	if table != nil {
		if i, ok := table[name]; ok {
			return i
		}
		return -1
	}
	return slices.IndexFunc(pairs, func(p pair) bool { return p.name == name })
}

// list returns the elements of a list.
func (r *reader) list(o *validation.Subject, what string, n *yaml.Node) []*yaml.Node {
	if isNull(n) {
		return nil
	}
	if n.Kind != yaml.SequenceNode || n.Tag != "!!seq" {
		r.wrongType(o, what, n, "a list")
		return nil
	}
	return n.Content
}

// mappings returns the elements of a list of mappings. A null element counts as an empty
// mapping, in which required keys are missing.
func (r *reader) mappings(o *validation.Subject, what string, n *yaml.Node) []*yaml.Node {
	list := r.list(o, what, n)
	out := make([]*yaml.Node, 0, len(list))
	for _, x := range list {
		r.Yield()
		if isNull(x) || x.Kind == yaml.MappingNode {
			out = append(out, x)
		} else {
			r.wrongType(o, "an element of "+what, x, "a mapping")
		}
	}
	return out
}

// parts reads a list of mappings into parts of the tree. Their addresses do not change, because positions are found by
// them.
func parts[T any](r *reader, o *validation.Subject, what string, n *yaml.Node, read func(to *T, n *yaml.Node)) []T {
	list := r.mappings(o, what, n)
	if len(list) == 0 {
		return nil
	}
	out := make([]T, len(list))
	for i, x := range list {
		r.Record(&out[i], x)
		read(&out[i], x)
	}
	return out
}

// text returns a text. Numbers, booleans and dates are texts as they are written (CFG-9).
func (r *reader) text(o *validation.Subject, what string, n *yaml.Node) string {
	if n == nil {
		return ""
	}
	if !isText(n) {
		r.wrongType(o, what, n, "a text")
		return ""
	}
	return textOf(n)
}

// texts returns a list of texts.
func (r *reader) texts(o *validation.Subject, what string, n *yaml.Node) (out []string) {
	for _, x := range r.list(o, what, n) {
		r.Yield()
		out = append(out, r.text(o, "an element of "+what, x))
	}
	return out
}

// flag returns a boolean, or defaultValue if it is missing.
func (r *reader) flag(o *validation.Subject, what string, n *yaml.Node, defaultValue bool) bool {
	if isNull(n) {
		return defaultValue
	}
	var b bool
	if n.Kind != yaml.ScalarNode || n.Decode(&b) != nil {
		r.wrongType(o, what, n, "true or false")
		return defaultValue
	}
	return b
}

// count reads a whole number, zero or more, and reports whether it is legal.
func (r *reader) count(to *uint64, o *validation.Subject, what string, n *yaml.Node) bool {
	if isNull(n) || n.Kind == yaml.ScalarNode && n.Tag == "!!int" && n.Decode(to) == nil {
		return true
	}
	*to = 0
	r.MarkMisread(to)
	r.wrongType(o, what, n, "a whole number, zero or more")
	return false
}

// duration returns a duration of zero or more, or defaultValue if it is missing.
func (r *reader) duration(o *validation.Subject, what string, n *yaml.Node, defaultValue time.Duration) time.Duration {
	if isNull(n) {
		return defaultValue
	}
	d, err := time.ParseDuration(textOf(n))
	if !isText(n) || err != nil || d < 0 {
		r.wrongType(o, what, n, "a time such as 5m, or 0s")
		return defaultValue
	}
	return d
}

// number returns a weight. It may be negative, but not infinite or undefined.
func (r *reader) number(o *validation.Subject, what string, n *yaml.Node) (f float64, ok bool) {
	numeric := n.Kind == yaml.ScalarNode && (n.Tag == "!!int" || n.Tag == "!!float")
	if !numeric || n.Decode(&f) != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		r.wrongType(o, what, n, "a number")
		return 0, false
	}
	return f, true
}

func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.Tag {
	case "!!null":
		return "nothing"
	case "!!str":
		return "the text " + validation.Quote(n.Value)
	case "!!int", "!!float", "!!bool", "!!timestamp":
		return validation.Quote(n.Value)
	}
	return "a value with the tag " + validation.Quote(n.Tag)
}

func isNull(n *yaml.Node) bool {
	return n == nil || n.Kind == yaml.ScalarNode && n.Tag == "!!null"
}

// isText reports whether n can be read as a text: any scalar can, except one with a tag of
// its own, such as !!binary (CFG-9).
func isText(n *yaml.Node) bool {
	if n.Kind != yaml.ScalarNode {
		return false
	}
	return slices.Contains([]string{"!!str", "!!int", "!!float", "!!bool", "!!timestamp", "!!null"}, n.Tag)
}

func textOf(n *yaml.Node) string {
	if isNull(n) {
		return ""
	}
	return n.Value
}

// peek returns the text of one key of a mapping, without reporting problems: the subject of a
// problem needs its name before problems can be reported.
func peek(n *yaml.Node, name string) string {
	if isNull(n) || n.Kind != yaml.MappingNode {
		return ""
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if key := n.Content[i]; isText(key) && textOf(key) == name && isText(n.Content[i+1]) {
			return textOf(n.Content[i+1])
		}
	}
	return ""
}
