package queuesyaml

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

func scalar(s string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(s)
	if strings.TrimSpace(s) != s || s == "" { // in block style, the library drops white space at both ends
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// setKey sets a key of a mapping, and keeps the line comment of the value that it replaces.
func setKey(n *yaml.Node, key string, value *yaml.Node) {
	if i, previous := lookupKey(n, key); previous != nil {
		value.LineComment = previous.LineComment
		n.Content[i+1] = value
		return
	}
	n.Content = append(n.Content, scalar(key), value)
}

// lookupKey finds a key of a mapping: its index in Content, and its value. nil: there is none.
func lookupKey(n *yaml.Node, key string) (i int, value *yaml.Node) {
	if n == nil || n.Kind != yaml.MappingNode {
		return 0, nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return i, n.Content[i+1]
		}
	}
	return 0, nil
}

// deleteKey removes a key from a mapping, if it exists.
func deleteKey(n *yaml.Node, key string) {
	if i, there := lookupKey(n, key); there != nil {
		n.Content = slices.Delete(n.Content, i, i+2)
	}
}

// dropFootComments removes the comments below a list from its nodes: they stay in the text.
func dropFootComments(n *yaml.Node) {
	n.FootComment = ""
	if len(n.Content) == 0 {
		return
	}
	dropFootComments(n.Content[len(n.Content)-1])
	if n.Kind == yaml.MappingNode {
		n.Content[len(n.Content)-2].FootComment = ""
	}
}

func encode(n *yaml.Node) ([]byte, error) {
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := errors.Join(e.Encode(n), e.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// nameMapping is a mapping with a name and nothing else.
func nameMapping(name string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	setKey(n, "name", scalar(name))
	return n
}
