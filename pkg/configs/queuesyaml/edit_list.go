package queuesyaml

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/diff"
	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
)

// The lists of named objects at the top of a document, priority classes and disruption budgets,
// can be edited by a program (CFG-97). The list is written anew, with its comments. All else
// is unchanged, byte for byte if the top of the document is in block style.

// listItem is an object that should be in a list.
type listItem struct {
	id       string
	implicit bool               // it exists without being listed
	newNode  func() *yaml.Node  // makes a mapping with its name only
	fill     func(n *yaml.Node) // sets the other fields of the mapping, and leaves values that are right
}

// listEdit is a list as it should be.
type listEdit struct {
	key     string
	idOf    func(*yaml.Node) string
	want    []listItem
	matches func(*configs.Config) bool // reports whether a document has exactly the objects of want
}

// editList returns the text with the list of e. The result must have the same meaning as wanted,
// otherwise editList fails. An error means that the text can only be edited by hand.
func editList(text []byte, e listEdit, wanted *configs.Config, o Options) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	var top *yaml.Node
	if len(doc.Content) > 0 {
		top = doc.Content[0]
	}
	list := e.editedList(top)
	for _, write := range []func([]byte, string, *yaml.Node, *yaml.Node) ([]byte, error){splice, rewrite} {
		out, err := write(text, e.key, top, list)
		if err != nil {
			continue
		}
		conf, problems := LoadWith(out, o)
		switch {
		case conf != nil && e.matches(conf) && diff.Compare(wanted, conf).IsEmpty():
			return out, nil
		case slices.ContainsFunc(problems,
			func(p validation.Problem) bool { return p.RuleID == "bound-bytes" || p.RuleID == "bound-values" }):
			return nil, problems
		}
	}
	return nil, errors.New("the text cannot be edited without changing something else in it")
}

// loadForEdit loads a text that is to be edited. An invalid text is an error.
func loadForEdit(text []byte, o Options) (*configs.Config, error) {
	old, problems := LoadWith(text, o)
	if old == nil {
		return nil, fmt.Errorf("the text is not valid: %w", problems)
	}
	return old, nil
}

// editedList is the list of a document as it should be: first the objects that stay, in their order
// and form, then the new ones.
func (e *listEdit) editedList(top *yaml.Node) *yaml.Node {
	list := &yaml.Node{Kind: yaml.SequenceNode}
	wanted, listed := map[string]*listItem{}, map[string]bool{}
	for i := range e.want {
		wanted[e.want[i].id] = &e.want[i]
	}
	if _, was := lookupKey(top, e.key); was != nil {
		dropFootComments(was)
		for _, n := range was.Content {
			id := e.idOf(n)
			if x := wanted[id]; x != nil {
				x.fill(n)
				listed[id] = true
				list.Content = append(list.Content, n)
			}
		}
	}
	for i := range e.want {
		if x := &e.want[i]; !listed[x.id] && !x.implicit {
			n := x.newNode()
			x.fill(n)
			list.Content = append(list.Content, n)
		}
	}
	return list
}

// splice replaces the list in the text, or adds it at the end of the document.
func splice(text []byte, key string, top, list *yaml.Node) ([]byte, error) {
	if top == nil || top.Kind != yaml.MappingNode || top.Style&yaml.FlowStyle != 0 || len(top.Content) == 0 {
		return nil, errors.New("not in block style")
	}
	lines := strings.SplitAfter(string(text), "\n")
	from, to := 0, documentEnd(lines, top.Content[0].Line-1)
	i, was := lookupKey(top, key)
	if was == nil {
		from = to
	} else {
		from = top.Content[i].Line - 1
		if i+2 < len(top.Content) {
			to = top.Content[i+2].Line - 1
		}
		for to > from+1 && isBlankOrComment(lines[to-1]) {
			to--
		}
	}
	block, err := encodeBlock(key, list, top.Content[0].Column-1)
	if err != nil {
		return nil, err
	}
	before := strings.Join(lines[:from], "")
	if before != "" && !strings.HasSuffix(before, "\n") {
		before += "\n"
	}
	return []byte(before + block + strings.Join(lines[to:], "")), nil
}

// isBlankOrComment reports whether a line is blank or a comment. Such lines after the list belong to the
// next key.
func isBlankOrComment(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || line[0] == '#'
}

// documentEnd is the index of the line that ends the document beginning at line first.
func documentEnd(lines []string, first int) int {
	for i := first; i < len(lines); i++ {
		if strings.HasPrefix(lines[i], "---") || strings.HasPrefix(lines[i], "...") {
			return i
		}
	}
	return len(lines)
}

// encodeBlock encodes the list with its key, indented by some columns. An empty list has no block.
func encodeBlock(key string, list *yaml.Node, indent int) (string, error) {
	if len(list.Content) == 0 {
		return "", nil
	}
	out, err := encode(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{scalar(key), list}})
	if err != nil || indent == 0 {
		return string(out), err
	}
	space := strings.Repeat(" ", indent)
	return space + strings.ReplaceAll(strings.TrimSuffix(string(out), "\n"), "\n", "\n"+space) + "\n", nil
}

// rewrite encodes the whole document anew. It is for documents in flow style and empty ones.
func rewrite(_ []byte, key string, top, list *yaml.Node) ([]byte, error) {
	out := &yaml.Node{Kind: yaml.MappingNode}
	if top != nil && top.Kind == yaml.MappingNode {
		out.HeadComment, out.Content = top.HeadComment, slices.Clone(top.Content)
	}
	if i, was := lookupKey(out, key); was != nil {
		out.Content = slices.Delete(out.Content, i, i+2)
	}
	if len(list.Content) > 0 {
		out.Content = append(out.Content, scalar(key), list)
	}
	return encode(out)
}
