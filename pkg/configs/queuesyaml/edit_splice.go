package queuesyaml

import (
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// A value of a queue is written into the text where it belongs, so that nothing else changes. The positions are those
// of the parser. What it does not say, such as where a text in several lines ends, is not guessed: ok is false then.

// spliceValue is the text with a value below the mapping n.
func spliceValue(text string, n *yaml.Node, keys []string, value string) (out string, ok bool) {
	var parent *yaml.Node // the key of n
	for i, key := range keys {
		at, next := lookupKey(n, key)
		switch {
		case n.Kind != yaml.MappingNode:
			return "", false
		case next == nil:
			return spliceKeys(text, parent, n, keys[i:], value)
		case i == len(keys)-1:
			from, to, ok := scalarAt(text, next)
			if !ok {
				return "", false
			}
			return text[:from] + value + text[to:], true
		}
		parent, n = n.Content[at], next
	}
	return "", false
}

// spliceKeys adds keys with a value to a mapping, after its last pair that has a scalar.
func spliceKeys(text string, parent, n *yaml.Node, keys []string, value string) (out string, ok bool) {
	written := make([]string, len(keys))
	for i, key := range keys {
		bytes, err := encode(scalar(key))
		written[i] = strings.TrimSuffix(string(bytes), "\n")
		if err != nil || strings.Contains(written[i], "\n") {
			return "", false
		}
	}
	end, found := 0, false
	for i := len(n.Content) - 2; i >= 0 && !found; i -= 2 {
		_, end, found = scalarAt(text, n.Content[i+1])
	}
	if n.Style&yaml.FlowStyle != 0 {
		return spliceFlow(text, n, end, found, strings.Join(written, ": {")+": "+value+strings.Repeat("}", len(keys)-1))
	}
	line := lineEnd(text, end)
	switch {
	case len(n.Content) == 0:
		return "", false
	case !found && (parent == nil || parent.Line == n.Line):
		return "", false
	case !found:
		start, ok := offsetOf(text, parent)
		if !ok {
			return "", false
		}
		line = lineEnd(text, start)
	}
	return text[:line] + blockLines(text, line, n.Content[0].Column-1, written, value) + text[line:], true
}

// spliceFlow adds an entry to a mapping in flow style, behind the scalar that ends at end if there is one.
func spliceFlow(text string, n *yaml.Node, end int, found bool, entry string) (out string, ok bool) {
	if found {
		return text[:end] + ", " + entry + text[end:], true
	}
	start, ok := offsetOf(text, n)
	if !ok || text[start] != '{' {
		return "", false
	}
	if len(n.Content) > 0 {
		entry += ", "
	}
	return text[:start+1] + entry + text[start+1:], true
}

// blockLines are lines with nested keys, to be inserted at an offset that is the end of a line.
func blockLines(text string, offset, indent int, keys []string, value string) string {
	newline := "\n"
	if strings.Contains(text, "\r\n") {
		newline = "\r\n"
	}
	var b strings.Builder
	if !strings.HasSuffix(text[:offset], "\n") {
		b.WriteString(newline)
	}
	for i, key := range keys {
		b.WriteString(strings.Repeat(" ", indent+2*i) + key + ":")
		if i == len(keys)-1 {
			b.WriteString(" " + value)
		}
		b.WriteString(newline)
	}
	return b.String()
}

// scalarAt returns where a scalar begins and ends that is written in one line.
func scalarAt(text string, n *yaml.Node) (from, to int, ok bool) {
	from, ok = offsetOf(text, n)
	if !ok || n.Kind != yaml.ScalarNode {
		return 0, 0, false
	}
	rest := text[from:lineEnd(text, from)]
	switch quote := "'"; n.Style {
	case 0:
		if n.Value != "" && strings.HasPrefix(rest, n.Value) {
			return from, from + len(n.Value), true
		}
	case yaml.DoubleQuotedStyle:
		quote = `"`
		fallthrough
	case yaml.SingleQuotedStyle:
		if len(rest) < 2 || strings.Contains(n.Value, quote) || strings.Contains(rest, `\`) {
			return 0, 0, false
		}
		if length := strings.Index(rest[1:], quote); rest[:1] == quote && length >= 0 {
			return from, from + length + 2, true
		}
	}
	return 0, 0, false
}

// offsetOf returns where a node begins, in bytes. The parser counts columns in characters.
func offsetOf(text string, n *yaml.Node) (offset int, ok bool) {
	for range n.Line - 1 {
		i := strings.IndexByte(text[offset:], '\n')
		if i < 0 {
			return 0, false
		}
		offset += i + 1
	}
	for range n.Column - 1 {
		if offset >= len(text) {
			return 0, false
		}
		_, size := utf8.DecodeRuneInString(text[offset:])
		offset += size
	}
	return offset, n.Line > 0 && offset < len(text)
}

// lineEnd is the offset behind the end of the line that an offset is in.
func lineEnd(text string, offset int) int {
	if i := strings.IndexByte(text[offset:], '\n'); i >= 0 {
		return offset + i + 1
	}
	return len(text)
}
