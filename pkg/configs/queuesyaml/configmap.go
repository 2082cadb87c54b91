package queuesyaml

import (
	"bytes"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
)

// A queues.yaml is often part of another document: the value of a key of a Kubernetes ConfigMap, of a list of objects,
// or of the values of a Helm chart. Wherever a queues.yaml is read, such a document may be given; its other keys are
// for the resource manager and are ignored (CFG-18).
const (
	configMapKind = "ConfigMap"
	configMapKey  = "queues.yaml"
	helmKey       = "yunikornDefaults" // in YuniKorn's chart, the data of its ConfigMap
)

// embedding is the place of a queues.yaml in another document.
type embedding struct {
	what string     // the kind of document, for messages
	data *yaml.Node // the mapping whose key it is; nil: there is none
	key  string     // of data in messages: data of a ConfigMap, or the key of a Helm chart
}

// findEmbedding returns the place of the queues.yaml in a document of another kind. ok is false if the document is a
// queues.yaml itself, or of a kind that cannot have one.
func findEmbedding(top *yaml.Node) (e embedding, ok bool) {
	if _, own := lookupKey(top, "partitions"); own != nil {
		return embedding{}, false
	}
	switch peek(top, "kind") {
	case configMapKind:
		_, data := lookupKey(top, "data")
		return embedding{"the ConfigMap", data, "data"}, true
	case "List", "ConfigMapList":
		return embeddingInList(top)
	case "HelmRelease":
		_, spec := lookupKey(top, "spec")
		_, values := lookupKey(spec, "values")
		e, _ = embeddingInValues(values)
		e.what, e.key = "the HelmRelease", helmKey
		return e, true
	case "":
		return embeddingInValues(top)
	}
	return embedding{}, false
}

// embeddingInList finds the only object with a queues.yaml in a list of objects.
func embeddingInList(top *yaml.Node) (embedding, bool) {
	found := embedding{what: "the list of objects", key: "data"}
	_, items := lookupKey(top, "items")
	if items == nil || items.Kind != yaml.SequenceNode {
		return found, true
	}
	for _, item := range items.Content {
		e, ok := findEmbedding(item)
		if !ok {
			continue
		}
		if text, _ := e.text(); text == nil {
			continue
		}
		if found.data != nil {
			return embedding{what: "the list of objects, of which several have a queues.yaml,", key: "data"}, true
		}
		found.data, found.key = e.data, e.key
	}
	return found, true
}

// embeddingInValues finds the data of the ConfigMap in the values of YuniKorn's Helm chart, or of one that has it as a
// part.
func embeddingInValues(values *yaml.Node) (embedding, bool) {
	if values == nil || values.Kind != yaml.MappingNode {
		return embedding{}, false
	}
	if _, data := lookupKey(values, helmKey); data != nil {
		return embedding{"the Helm chart's " + helmKey, data, helmKey}, true
	}
	for i := 1; i < len(values.Content); i += 2 {
		if _, data := lookupKey(values.Content[i], helmKey); data != nil {
			return embedding{"the Helm chart's " + helmKey, data, helmKey}, true
		}
	}
	return embedding{}, false
}

// text returns the queues.yaml: the key of that name, or the only other key that ends in .yaml, as with a policy group
// of another name. nil: there is none, with the reason.
func (e embedding) text() (text *yaml.Node, reason string) {
	if e.data == nil || e.data.Kind != yaml.MappingNode {
		return nil, e.what + " has no " + e.key
	}
	var others []string
	for i := 0; i+1 < len(e.data.Content); i += 2 {
		switch key, value := e.data.Content[i], e.data.Content[i+1]; {
		case key.Value == configMapKey:
			text, others = value, nil
		case strings.HasSuffix(key.Value, ".yaml") && (text == nil || len(others) > 0):
			text, others = value, append(others, key.Value)
		}
	}
	missing := e.what + " has no " + e.key + "." + configMapKey
	switch {
	case text == nil:
		return nil, missing
	case len(others) > 1:
		return nil, missing + ", and more than one other .yaml key: " + strings.Join(others, ", ")
	case text.Kind != yaml.ScalarNode || !isText(text):
		return nil, e.key + "." + configMapKey + " of " + e.what + " must be a text, not " + describe(text)
	}
	return text, ""
}

// embeddedText returns the queues.yaml in a document of another kind, and its place. nil: there is none.
func embeddedText(text []byte) (*yaml.Node, embedding) {
	var first yaml.Node
	if !bytes.Contains(text, []byte(configMapKind)) && !bytes.Contains(text, []byte(helmKey)) {
		return nil, embedding{} // the usual case, without parsing the text twice
	}
	if yaml.NewDecoder(bytes.NewReader(text)).Decode(&first) != nil {
		return nil, embedding{}
	}
	e, ok := findEmbedding(first.Content[0])
	if !ok {
		return nil, embedding{}
	}
	n, _ := e.text()
	return n, e
}

// QueuesYAML returns the queues.yaml in a document of another kind, or the text itself. LoadWith reads it and computes
// the checksum of it (CFG-18).
func QueuesYAML(text []byte) []byte {
	if n, _ := embeddedText(text); n != nil {
		return []byte(n.Value)
	}
	return text
}

// IgnoredConfigMapKeys returns the keys beside the queues.yaml in the data of a ConfigMap, or of a Helm chart, that are
// not read, in their order; nil: the text is no such document, or has no other keys (CFG-18).
func IgnoredConfigMapKeys(text []byte) (ignored []string) {
	used, e := embeddedText(text)
	if used == nil {
		return nil
	}
	for i := 0; i+1 < len(e.data.Content); i += 2 {
		if e.data.Content[i+1] != used {
			ignored = append(ignored, e.data.Content[i].Value)
		}
	}
	return ignored
}

// openDocument parses a text and returns the top node of its queues.yaml, which may be in another document.
// nil: the text is empty, or an error was reported (CFG-18, CFG-19).
func (r *reader) openDocument(text []byte) *yaml.Node {
	r.source = text
	top := r.parseDocument(text)
	e, embedded := findEmbedding(top)
	if !embedded {
		kind := peek(top, "kind")
		if _, own := lookupKey(top, "partitions"); kind == "" || own != nil {
			return top
		}
		r.Add(nil, positionOf(top), "configmap",
			fmt.Sprintf("the document is a Kubernetes object of kind %s", validation.Quote(kind)),
			"a queues.yaml is expected, or a ConfigMap that has one in data.queues.yaml")
		return nil
	}
	value, reason := e.text()
	if value == nil {
		r.Add(nil, positionOf(top), "configmap", reason,
			fmt.Sprintf(`it belongs below %q, as "queues.yaml: |" and the text, further indented`, e.key))
		return nil
	}
	r.source = []byte(value.Value)
	if !r.checkTextSize(r.source) { // in quotes, the text counted as one value
		return nil
	}
	inner := newReader(r.options)
	top = inner.parseDocument(r.source)
	move, exact := embeddedPosition(value, text)
	for _, p := range inner.Problems {
		r.Add(nil, move(validation.At(p.Line, p.Col)), p.RuleID, p.Message, p.Hint)
	}
	if exact {
		shiftPositions(top, move)
	} else {
		r.embeddedText, r.configMapProblems = value, len(r.Problems)
	}
	return top
}

// embeddedPosition returns a function from positions in an embedded text to positions in its document.
// They are exact for a literal block (|); of any other text only the beginning is known.
func embeddedPosition(value *yaml.Node, document []byte) (move func(validation.Position) validation.Position,
	exact bool) {
	start := positionOf(value)
	if value.Style&yaml.LiteralStyle == 0 {
		return func(validation.Position) validation.Position { return start }, false
	}
	lines := bytes.Split(document, []byte("\n"))
	indent := 0
	for i, line := range strings.Split(value.Value, "\n") {
		if text := strings.TrimLeft(line, " "); text != "" && start.Line+i < len(lines) {
			indent = bytes.IndexFunc(lines[start.Line+i], func(c rune) bool { return c != ' ' }) - (len(line) - len(text))
			break
		}
	}
	return func(p validation.Position) validation.Position {
		return validation.At(start.Line+p.Line, max(indent, 0)+p.Col)
	}, true
}

func shiftPositions(n *yaml.Node, move func(validation.Position) validation.Position) {
	if n == nil {
		return
	}
	p := move(positionOf(n))
	n.Line, n.Column = p.Line, p.Col
	for _, c := range n.Content {
		shiftPositions(c, move)
	}
}

// relocateEmbedded gives the problems of an embedded text that is not a literal block the position of
// the text, and appends the position inside it to their message.
func (r *reader) relocateEmbedded() {
	if r.embeddedText == nil {
		return
	}
	where := positionOf(r.embeddedText)
	for i := r.configMapProblems; i < len(r.Problems); i++ {
		p := &r.Problems[i]
		p.Message += fmt.Sprintf(" (line %d, column %d of its queues.yaml)", p.Line, p.Col)
		p.Line, p.Col = where.Line, where.Col
	}
}
