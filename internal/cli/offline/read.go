package offline

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// assertionReader reads YAML nodes, records mistakes, and continues. A missing or illegal value is read as
// the zero value.
type assertionReader struct {
	mistakes []Mistake
}

// maxMistakes bounds how many mistakes are listed.
const maxMistakes = 100

func (f *assertionReader) addMistake(n *yaml.Node, hint, format string, args ...any) {
	if len(f.mistakes) < maxMistakes {
		f.mistakes = append(f.mistakes, Mistake{max(n.Line, 1), max(n.Column, 1), fmt.Sprintf(format, args...), hint})
	}
}

var yamlErrorPattern = regexp.MustCompile(`^yaml: (?:line (\d+): )?(?s:(.*))$`)

// document is the top node of the text; nil: the text is empty, or not YAML.
func (f *assertionReader) document(text []byte) *yaml.Node {
	var doc, second yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(text))
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		f.addSyntaxMistake(err)
		return nil
	}
	switch err := d.Decode(&second); {
	case err == nil:
		f.addMistake(&second, "put all assertions into one document", "there is a second document")
	case !errors.Is(err, io.EOF):
		f.addSyntaxMistake(err)
	}
	return doc.Content[0]
}

// addSyntaxMistake records an error of the YAML parser, at the line that the parser gives.
func (f *assertionReader) addSyntaxMistake(err error) {
	m := yamlErrorPattern.FindStringSubmatch(err.Error())
	if m == nil {
		m = []string{"", "", err.Error()}
	}
	line, _ := strconv.Atoi(m[1]) // 0: the parser gives no line
	f.addMistake(&yaml.Node{Line: line}, "", "this is not YAML: %s", m[2])
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
	f.each(n, what, func(key, value *yaml.Node) {
		i := slices.Index(names, key.Value)
		if i < 0 {
			hint := validation.DidYouMean(key.Value, names)
			if hint == "" {
				hint = "one of " + strings.Join(names, ", ")
			}
			f.addMistake(key, hint, "unknown key %s in %s", clipped(key.Value), what)
			return
		}
		known[i].read(value)
	})
}

// each calls do for each entry of a mapping.
func (f *assertionReader) each(n *yaml.Node, what string, do func(key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		f.addMistake(n, "", "%s must be a mapping, not %s", what, kindOf(n))
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case key.Kind != yaml.ScalarNode || key.Tag == "!!merge":
			f.addMistake(key, "", "a key of %s must be a text, not %s", what, kindOf(key))
		case seen[key.Value]:
			f.addMistake(key, "", "duplicate key %s in %s", clipped(key.Value), what)
		default:
			seen[key.Value] = true
			do(key, n.Content[i+1])
		}
	}
}

func (f *assertionReader) list(n *yaml.Node, what string) []*yaml.Node {
	if n.Kind != yaml.SequenceNode {
		f.addMistake(n, "", "%s must be a list, not %s", what, kindOf(n))
		return nil
	}
	return n.Content
}

func (f *assertionReader) text(n *yaml.Node, what string) string {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		f.addMistake(n, "", "%s must be a text, not %s", what, kindOf(n))
		return ""
	}
	return n.Value
}

func (f *assertionReader) texts(n *yaml.Node, what string) []string {
	out := []string{}
	for _, x := range f.list(n, what) {
		out = append(out, f.text(x, "an element of "+what))
	}
	return out
}

// queue reads the path of a queue, in lower case.
func (f *assertionReader) queue(n *yaml.Node, what string) string {
	path := strings.ToLower(f.text(n, what))
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return path
	}
	names := strings.Split(path, ".")
	illegal := func(name string) bool { return !configs.IsQueueName(name) }
	switch {
	case names[0] != "root":
		f.addMistake(n, "paths begin with root", "%s must be the path of a queue, not %s", what, clipped(path))
	case slices.ContainsFunc(names, illegal):
		f.addMistake(n, "names of 1 to 64 letters, digits or any of _ : # / @ -, separated by dots",
			"%s must be the path of a queue, not %s", what, clipped(path))
	}
	return path
}

func (f *assertionReader) boolean(n *yaml.Node, what string) (b bool) {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" || n.Decode(&b) != nil {
		f.addMistake(n, "", "%s must be true or false, not %s", what, kindOf(n))
	}
	return b
}

// number reads a whole number within the range of its type.
func number[T int32 | uint64](f *assertionReader, n *yaml.Node, what string) (x T) {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!int" || n.Decode(&x) != nil {
		f.addMistake(n, "", "%s must be a whole number within its range, not %s", what, kindOf(n))
	}
	return x
}

// amounts reads quantities in the form of queues.yaml.
func (f *assertionReader) amounts(n *yaml.Node, what string) resources.Amounts {
	m := map[string]resources.Quantity{}
	f.each(n, what, func(key, value *yaml.Node) {
		if q, err := resources.Parse(key.Value, f.text(value, what+" "+key.Value)); err == nil {
			m[key.Value] = q
		} else if value.Kind == yaml.ScalarNode {
			f.addMistake(value, "", "%s %s: %v", what, clipped(key.Value), err)
		}
	})
	return resources.FromMap(m)
}

// expectedQuantities reads a mapping with at least one entry; each is a quantity or the word unlimited.
func (f *assertionReader) expectedQuantities(n *yaml.Node, what string) ExpectedQuantities {
	f.requireEntries(n, what, "name a resource and its expected quantity")
	out := ExpectedQuantities{}
	f.each(n, what, func(key, value *yaml.Node) {
		text := f.text(value, what+" "+key.Value)
		if text == "unlimited" {
			out = append(out, ExpectedQuantity{Resource: key.Value, Unlimited: true})
			return
		}
		q, err := resources.Parse(key.Value, text)
		if err != nil && value.Kind == yaml.ScalarNode {
			f.addMistake(value, `or the word "unlimited"`, "%s %s: %v", what, clipped(key.Value), err)
		}
		out = append(out, ExpectedQuantity{Resource: key.Value, N: q})
	})
	slices.SortFunc(out, func(a, b ExpectedQuantity) int { return strings.Compare(a.Resource, b.Resource) })
	return out
}

// requireEntries records an empty mapping as a mistake.
func (f *assertionReader) requireEntries(n *yaml.Node, what, hint string) {
	if n.Kind == yaml.MappingNode && len(n.Content) == 0 {
		f.addMistake(n, hint, "%s is empty, so nothing is expected", what)
	}
}

func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias: write the value out where it is used"
	}
	if n.Tag == "!!null" {
		return "nothing"
	}
	return clipped(n.Value)
}

func clipped(s string) string {
	const longest = 80
	if len(s) > longest {
		s = strings.ToValidUTF8(s[:longest], "") + "..."
	}
	return strconv.Quote(s)
}
