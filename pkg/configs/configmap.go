package configs

import (
	"bytes"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
)

// A queues.yaml often lives in a ConfigMap of Kubernetes, under data. Such an object is read as
// the text that it has, wherever a queues.yaml is: what else is in it is for the resource manager.
const (
	configMapKind = "ConfigMap"
	configMapKey  = "queues.yaml"
)

// QueuesYAML is the queues.yaml in a ConfigMap, or the text itself when it is none. It is what
// LoadWith reads and counts the checksum of.
func QueuesYAML(text []byte) []byte {
	if !bytes.Contains(text, []byte(configMapKind)) {
		return text // most texts: they are not parsed twice
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

func isConfigMap(n *yaml.Node) bool { return peek(n, "kind") == configMapKind }

// configMapText finds the queues.yaml of a ConfigMap: data.queues.yaml, or the only other key
// that ends in .yaml, as a policy group of another name has. nil: there is none, for a reason.
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
		return nil, "the ConfigMap has no data.queues.yaml, and more than one other: " + strings.Join(others, ", ")
	case text.Kind != yaml.ScalarNode || !isText(text):
		return nil, "data.queues.yaml of the ConfigMap must be a text, not " + describe(text)
	}
	return text, ""
}

// openDocument reads a text down to the top of its queues.yaml, which may be in a ConfigMap. nil: there
// is nothing to read, and errors say why unless the text is empty.
func (r *reader) openDocument(text []byte) *yaml.Node {
	r.source = text
	top := r.parseDocument(text)
	kind := peek(top, "kind")
	if _, own := lookupKey(top, "partitions"); kind == "" || own != nil {
		return top
	}
	if kind != configMapKind {
		r.add(nil, positionOf(top), "configmap", fmt.Sprintf("the document is an object of Kubernetes of the kind %s", quote(kind)),
			"a queues.yaml is read, or a ConfigMap that has one in data.queues.yaml")
		return nil
	}
	value, reason := configMapText(top)
	if value == nil {
		r.add(nil, positionOf(top), "configmap", reason, `it belongs below "data", as "queues.yaml: |" and the text, further indented`)
		return nil
	}
	r.source = []byte(value.Value)
	if !r.checkTextSize(r.source) { // what is quoted may have more values than it has lines
		return nil
	}
	inner := newReader(r.options)
	top = inner.parseDocument(r.source)
	move, exact := embeddedPosition(value, text)
	for _, p := range inner.problems {
		r.add(nil, move(position{p.Line, p.Col}), p.RuleID, p.Message, p.Hint)
	}
	if exact {
		shiftPositions(top, move)
	} else {
		r.embeddedText, r.configMapProblems = value, len(r.problems)
	}
	return top
}

// embeddedPosition says where in a document a place of a text within it is. That is exact for a text
// that is written as it is, behind a bar; of any other only its beginning is known.
func embeddedPosition(value *yaml.Node, document []byte) (move func(position) position, exact bool) {
	start := positionOf(value)
	if value.Style&yaml.LiteralStyle == 0 {
		return func(position) position { return start }, false
	}
	lines := bytes.Split(document, []byte("\n"))
	indent := 0
	for i, line := range strings.Split(value.Value, "\n") {
		if text := strings.TrimLeft(line, " "); text != "" && start.line+i < len(lines) {
			indent = bytes.IndexFunc(lines[start.line+i], func(c rune) bool { return c != ' ' }) - (len(line) - len(text))
			break
		}
	}
	return func(p position) position { return position{start.line + p.line, max(indent, 0) + p.col} }, true
}

func shiftPositions(n *yaml.Node, move func(position) position) {
	if n == nil {
		return
	}
	p := move(positionOf(n))
	n.Line, n.Column = p.line, p.col
	for _, c := range n.Content {
		shiftPositions(c, move)
	}
}

// relocateEmbedded gives the problems of a text whose lines are not those of its document the place
// of the text, and their own in words.
func (r *reader) relocateEmbedded() {
	if r.embeddedText == nil {
		return
	}
	where := positionOf(r.embeddedText)
	for i := r.configMapProblems; i < len(r.problems); i++ {
		p := &r.problems[i]
		p.Message += fmt.Sprintf(" (line %d, column %d of its queues.yaml)", p.Line, p.Col)
		p.Line, p.Col = where.line, where.col
	}
}
