package queuesyaml

import (
	"bytes"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
)

// A queues.yaml is often the value of a key of a Kubernetes ConfigMap. Wherever a queues.yaml is read,
// a ConfigMap may be given: its other keys are for the resource manager and are ignored (CFG-18).
const (
	configMapKind = "ConfigMap"
	configMapKey  = "queues.yaml"
)

// QueuesYAML is the queues.yaml in a ConfigMap, or the text itself if it is not a ConfigMap. LoadWith
// reads it and computes the checksum of it (CFG-18).
func QueuesYAML(text []byte) []byte {
	if !bytes.Contains(text, []byte(configMapKind)) {
		return text // the usual case, without parsing the text twice
	}
	var first yaml.Node
	if yaml.NewDecoder(bytes.NewReader(text)).Decode(&first) != nil || !isConfigMap(first.Content[0]) {
		return text
	}
	if n, _ := configMapText(first.Content[0]); n != nil {
		return []byte(n.Value)
	}
	return text
}

// IgnoredConfigMapKeys are the keys of data of a ConfigMap that are not read, in their order; nil: the
// text is not a ConfigMap with a queues.yaml, or has no other keys (CFG-18).
func IgnoredConfigMapKeys(text []byte) (ignored []string) {
	var first yaml.Node
	if !bytes.Contains(text, []byte(configMapKind)) ||
		yaml.NewDecoder(bytes.NewReader(text)).Decode(&first) != nil || !isConfigMap(first.Content[0]) {
		return nil
	}
	used, _ := configMapText(first.Content[0])
	if used == nil {
		return nil
	}
	_, data := lookupKey(first.Content[0], "data")
	for i := 0; i+1 < len(data.Content); i += 2 {
		if data.Content[i+1] != used {
			ignored = append(ignored, data.Content[i].Value)
		}
	}
	return ignored
}

func isConfigMap(n *yaml.Node) bool { return peek(n, "kind") == configMapKind }

// configMapText finds the queues.yaml of a ConfigMap: data.queues.yaml, or the only other key
// that ends in .yaml, as with a policy group of another name. nil: there is none, with the reason.
func configMapText(n *yaml.Node) (text *yaml.Node, reason string) {
	_, data := lookupKey(n, "data")
	if data == nil || data.Kind != yaml.MappingNode {
		return nil, "the ConfigMap has no data"
	}
	var others []string
	for i := 0; i+1 < len(data.Content); i += 2 {
		switch key, value := data.Content[i], data.Content[i+1]; {
		case key.Value == configMapKey:
			text, others = value, nil
		case strings.HasSuffix(key.Value, ".yaml") && (text == nil || len(others) > 0):
			text, others = value, append(others, key.Value)
		}
	}
	switch {
	case text == nil:
		return nil, "the ConfigMap has no data.queues.yaml"
	case len(others) > 1:
		return nil, "the ConfigMap has no data.queues.yaml, and more than one other .yaml key: " + strings.Join(others, ", ")
	case text.Kind != yaml.ScalarNode || !isText(text):
		return nil, "data.queues.yaml of the ConfigMap must be a text, not " + describe(text)
	}
	return text, ""
}

// openDocument parses a text and returns the top node of its queues.yaml, which may be in a ConfigMap.
// nil: the text is empty, or an error was reported (CFG-18, CFG-19).
func (r *reader) openDocument(text []byte) *yaml.Node {
	r.source = text
	top := r.parseDocument(text)
	kind := peek(top, "kind")
	if _, own := lookupKey(top, "partitions"); kind == "" || own != nil {
		return top
	}
	if kind != configMapKind {
		r.Add(nil, positionOf(top), "configmap", fmt.Sprintf("the document is a Kubernetes object of kind %s", validation.Quote(kind)),
			"a queues.yaml is expected, or a ConfigMap that has one in data.queues.yaml")
		return nil
	}
	value, reason := configMapText(top)
	if value == nil {
		r.Add(nil, positionOf(top), "configmap", reason, `it belongs below "data", as "queues.yaml: |" and the text, further indented`)
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
func embeddedPosition(value *yaml.Node, document []byte) (move func(validation.Position) validation.Position, exact bool) {
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
