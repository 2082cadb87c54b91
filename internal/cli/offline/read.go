package offline

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// assertionReader reads YAML nodes, records mistakes, and continues. A missing or illegal value is read as the zero
// value.
type assertionReader struct{ queuesyaml.Nodes }

// maxMistakes bounds how many mistakes are listed.
const maxMistakes = 100

// mistakes returns the first mistakes in the order of the text.
func (f *assertionReader) mistakes() (all []Mistake) {
	for _, p := range f.Problems() {
		if len(all) < maxMistakes {
			all = append(all, Mistake{p.Line, p.Col, p.Message, p.Hint})
		}
	}
	return all
}

// field is a known key of a mapping, and the function that reads its value.
type field struct {
	name string
	read func(*yaml.Node)
}

// fields reads a mapping with known keys, each at most once.
func (f *assertionReader) fields(n *yaml.Node, what string, known ...field) {
	var names []string
	for _, k := range known {
		names = append(names, k.name)
	}
	f.Each(n, what, func(key, value *yaml.Node) {
		i := slices.Index(names, key.Value)
		if i < 0 {
			hint := validation.DidYouMean(key.Value, names)
			if hint == "" {
				hint = "one of " + strings.Join(names, ", ")
			}
			f.Refuse(key, hint, "unknown key %s in %s", validation.Quote(key.Value), what)
			return
		}
		known[i].read(value)
	})
}

func (f *assertionReader) texts(n *yaml.Node, what string) []string {
	out := []string{}
	for _, x := range f.List(n, what) {
		out = append(out, f.Text(x, "an element of "+what))
	}
	return out
}

// queue reads the path of a queue, in lower case.
func (f *assertionReader) queue(n *yaml.Node, what string) string {
	path := strings.ToLower(f.Text(n, what))
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return path
	}
	names := strings.Split(path, ".")
	illegal := func(name string) bool { return !configs.IsQueueName(name) }
	switch {
	case names[0] != "root":
		f.Refuse(n, "paths begin with root", "%s must be the path of a queue, not %s", what, validation.Quote(path))
	case slices.ContainsFunc(names, illegal):
		f.Refuse(n, "names of 1 to 64 letters, digits or any of _ : # / @ -, separated by dots",
			"%s must be the path of a queue, not %s", what, validation.Quote(path))
	}
	return path
}

// number reads a whole number within the range of its type.
func number[T int32 | uint64](f *assertionReader, n *yaml.Node, what string) (x T) {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!int" || n.Decode(&x) != nil {
		f.WrongType(n, what, "a whole number within its range")
	}
	return x
}

// amounts reads quantities in the form of queues.yaml.
func (f *assertionReader) amounts(n *yaml.Node, what string) resources.Amounts {
	m := map[string]resources.Quantity{}
	f.Each(n, what, func(key, value *yaml.Node) {
		if q, err := resources.Parse(key.Value, f.Text(value, what+" "+key.Value)); err == nil {
			m[key.Value] = q
		} else if value.Kind == yaml.ScalarNode && value.Tag != "!!null" {
			f.Refuse(value, "", "%s %s: %v", what, validation.Quote(key.Value), err)
		}
	})
	return resources.FromMap(m)
}

// expectedQuantities reads a mapping with at least one entry; each is a quantity or the word unlimited.
func (f *assertionReader) expectedQuantities(n *yaml.Node, what string) ExpectedQuantities {
	f.requireEntries(n, what, "name a resource and its expected quantity")
	out := ExpectedQuantities{}
	f.Each(n, what, func(key, value *yaml.Node) {
		text := f.Text(value, what+" "+key.Value)
		if text == "unlimited" {
			out = append(out, ExpectedQuantity{Resource: key.Value, Unlimited: true})
			return
		}
		q, err := resources.Parse(key.Value, text)
		if err != nil && value.Kind == yaml.ScalarNode && value.Tag != "!!null" {
			f.Refuse(value, `or the word "unlimited"`, "%s %s: %v", what, validation.Quote(key.Value), err)
		}
		out = append(out, ExpectedQuantity{Resource: key.Value, N: q})
	})
	slices.SortFunc(out, func(a, b ExpectedQuantity) int { return strings.Compare(a.Resource, b.Resource) })
	return out
}

// requireEntries records an empty mapping as a mistake.
func (f *assertionReader) requireEntries(n *yaml.Node, what, hint string) {
	if n.Kind == yaml.MappingNode && len(n.Content) == 0 {
		f.Refuse(n, hint, "%s is empty, so nothing is expected", what)
	}
}
