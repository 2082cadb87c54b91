package validation

import (
	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/placement"
)

// Position is a line and a column of the text, from 1. Zero: none.
type Position struct{ Line, Col int }

// At is a position.
func At(line, col int) Position { return Position{line, col} }

// PositionOf returns the position of a node.
func PositionOf(n *yaml.Node) Position { return Position{n.Line, n.Column} }

// Sources has the node of the document from which each part of a Tree was read, by the pointer to that part: a queue, a
// limit, a rule. Positions of single values are found in these nodes when a problem is reported. The zero value has
// none.
type Sources struct {
	nodes   map[any]*yaml.Node
	misread map[any]bool
}

// Record records the mapping from which a part of the tree was read.
func (s *Sources) Record(part any, n *yaml.Node) {
	if s.nodes == nil {
		s.nodes = map[any]*yaml.Node{}
	}
	s.nodes[part] = n
}

// MarkMisread records that a value, or something in a part, could not be read, so that rules about it are silent. The
// argument is a pointer into the tree.
func (s *Sources) MarkMisread(value any) {
	if s.misread == nil {
		s.misread = map[any]bool{}
	}
	s.misread[value] = true
}

// IsMisread reports whether MarkMisread was called for the pointer.
func (s *Sources) IsMisread(value any) bool { return s.misread[value] }

// Find returns the value below a part of the tree, by its keys and, in lists, its indexes. nil: it is not written.
func (s *Sources) Find(part any, path ...any) *yaml.Node {
	n := s.nodes[part]
	for _, step := range path {
		_, n = entry(n, step)
	}
	return n
}

// entry returns an entry of a mapping by its key, or of a list by its index; nil: there is none.
func entry(n *yaml.Node, step any) (key, value *yaml.Node) {
	switch step := step.(type) {
	case int:
		if n != nil && n.Kind == yaml.SequenceNode && step < len(n.Content) {
			return nil, n.Content[step]
		}
	case string:
		for i := 0; n != nil && n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == step {
				return n.Content[i], n.Content[i+1]
			}
		}
	}
	return nil, nil
}

// At returns the position of a value below a part of the tree, as Find does. If it is not written, it is the position
// of the part: of its name, if it is a partition, a queue or a placement rule.
func (s *Sources) At(part any, path ...any) Position {
	var n *yaml.Node
	if len(path) > 0 {
		n = s.Find(part, path...)
	}
	if n == nil {
		switch part.(type) {
		case *configs.Partition, *configs.Queue, *placement.Rule:
			n = s.Find(part, "name")
		}
	}
	if n == nil {
		n = s.nodes[part]
	}
	if n == nil {
		return Position{}
	}
	return PositionOf(n)
}

// KeyAt returns the position of the last key of a path below a part of the tree; without it, that of the part.
func (s *Sources) KeyAt(part any, path ...any) Position {
	last := len(path) - 1
	if key, _ := entry(s.Find(part, path[:last]...), path[last]); key != nil {
		return PositionOf(key)
	}
	return s.At(part)
}

// isSet reports whether a value is written, and not as null.
func (s *Sources) isSet(part any, path ...any) bool {
	n := s.Find(part, path...)
	return n != nil && n.ShortTag() != "!!null"
}
