package configs

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/priorities"
)

const classesKey = "priorityclasses"

// EditClasses returns a text with other priority classes. All else is as it was, byte for
// byte where the document is in block style at its top, as documents of people are; the list
// of classes is written anew, with the comments in it. Requires: the text is valid. An error
// means that the text cannot be edited, and has to be by hand.
func EditClasses(text []byte, r priorities.Registry, o Options) ([]byte, error) {
	old, problems := LoadWith(text, o)
	if old == nil {
		return nil, fmt.Errorf("the text is not valid: %w", problems)
	}
	if old.Classes.Equal(r) {
		return text, nil
	}
	top, list, err := editedList(text, r)
	if err != nil {
		return nil, err
	}
	for _, write := range []func([]byte, *yaml.Node, *yaml.Node) ([]byte, error){splice, rewrite} {
		out, err := write(text, top, list)
		if err != nil {
			continue
		}
		conf, problems := LoadWith(out, o)
		switch {
		case conf != nil && conf.Classes.Equal(r) && conf.Budgets.Equal(old.Budgets) && len(Diff(old, conf).Partitions) == 0:
			return out, nil
		case slices.ContainsFunc(problems, func(p Problem) bool { return p.Rule == "bound-bytes" }):
			return nil, problems
		}
	}
	return nil, errors.New("the text cannot be edited without changing something else in it")
}

// editedList is the top of a document and the list of its classes as it should be; nil: there
// are none to list.
func editedList(text []byte, r priorities.Registry) (top, list *yaml.Node, err error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, nil, err
	}
	if len(doc.Content) > 0 {
		top = doc.Content[0]
	}
	list = &yaml.Node{Kind: yaml.SequenceNode}
	_, was := lookUp(top, classesKey)
	listed := map[string]bool{}
	if was != nil {
		dropFeet(was)
		for _, n := range was.Content {
			c, stays := r.Get(objectText(n, "name"))
			if !stays {
				continue
			}
			if err := editClass(n, c); err != nil {
				return nil, nil, err
			}
			listed[c.Name] = true
			list.Content = append(list.Content, n)
		}
	}
	for _, c := range r.All() {
		usual, _ := (priorities.Registry{}).Get(c.Name)
		if listed[c.Name] || usual != nil && usual.Equal(&c) {
			continue
		}
		n := &yaml.Node{Kind: yaml.MappingNode}
		set(n, "name", scalar(c.Name))
		if err := editClass(n, &c); err != nil {
			return nil, nil, err
		}
		list.Content = append(list.Content, n)
	}
	return top, list, nil
}

// editClass gives the fields of a class their values, and leaves alone those that have them.
func editClass(n *yaml.Node, c *priorities.Class) error {
	r := &reader{options: DefaultOptions()}
	d := r.class(n)
	was := &d.class
	if was.Value != c.Value || d.broken[string(priorities.ValueField)] {
		set(n, "value", &yaml.Node{Kind: yaml.ScalarNode, Value: strconv.Itoa(int(c.Value))})
	}
	if was.GlobalDefault != c.GlobalDefault {
		set(n, "globalDefault", &yaml.Node{Kind: yaml.ScalarNode, Value: strconv.FormatBool(c.GlobalDefault)})
	}
	if was.Policy != c.Policy {
		set(n, "preemptionPolicy", scalar(c.Policy.String()))
	}
	if was.Description != c.Description {
		set(n, "description", scalar(c.Description))
	}
	switch {
	case c.Submit == nil && was.Submit != nil:
		if i, acl := lookUp(n, "submitacl"); acl != nil {
			n.Content = slices.Delete(n.Content, i, i+2)
		}
	case c.Submit != nil && (was.Submit == nil || was.Submit.String() != c.Submit.String()):
		set(n, "submitacl", scalar(c.Submit.String()))
	}
	return nil
}

func scalar(s string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(s)
	if strings.TrimSpace(s) != s || s == "" { // in a block, the library loses what it begins and ends with
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// set gives a key of a mapping its value.
func set(n *yaml.Node, key string, value *yaml.Node) {
	if i, old := lookUp(n, key); old != nil {
		value.LineComment = old.LineComment
		n.Content[i+1] = value
		return
	}
	n.Content = append(n.Content, scalar(key), value)
}

// lookUp finds a key of a mapping, nil: there is none.
func lookUp(n *yaml.Node, key string) (i int, value *yaml.Node) {
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

// splice puts the list in the place of the one that is there, or at the end of the document.
func splice(text []byte, top, list *yaml.Node) ([]byte, error) {
	if top == nil || top.Kind != yaml.MappingNode || top.Style&yaml.FlowStyle != 0 || len(top.Content) == 0 {
		return nil, errors.New("not in block style")
	}
	lines := strings.SplitAfter(string(text), "\n")
	from, to := 0, endOf(lines, top.Content[0].Line-1)
	i, was := lookUp(top, classesKey)
	if was == nil {
		from = to
	} else {
		from = top.Content[i].Line - 1
		if i+2 < len(top.Content) {
			to = top.Content[i+2].Line - 1
		}
		for to > from+1 && isAside(lines[to-1]) {
			to--
		}
	}
	block, err := blockOf(list, top.Content[0].Column-1)
	if err != nil {
		return nil, err
	}
	before := strings.Join(lines[:from], "")
	if before != "" && !strings.HasSuffix(before, "\n") {
		before += "\n"
	}
	return []byte(before + block + strings.Join(lines[to:], "")), nil
}

// isAside reports whether a line says nothing: what follows the list belongs to what is next.
func isAside(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || line[0] == '#'
}

// endOf is the line after the document that begins at a line.
func endOf(lines []string, first int) int {
	for i := first; i < len(lines); i++ {
		if strings.HasPrefix(lines[i], "---") || strings.HasPrefix(lines[i], "...") {
			return i
		}
	}
	return len(lines)
}

// dropFeet takes the comments below a list out of it: they stay where they are in the text.
func dropFeet(n *yaml.Node) {
	n.FootComment = ""
	if len(n.Content) == 0 {
		return
	}
	dropFeet(n.Content[len(n.Content)-1])
	if n.Kind == yaml.MappingNode {
		n.Content[len(n.Content)-2].FootComment = ""
	}
}

// blockOf is the list with its key, so far to the right. An empty list is no block at all.
func blockOf(list *yaml.Node, indent int) (string, error) {
	if len(list.Content) == 0 {
		return "", nil
	}
	out, err := encode(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{scalar(classesKey), list}})
	if err != nil || indent == 0 {
		return string(out), err
	}
	space := strings.Repeat(" ", indent)
	return space + strings.ReplaceAll(strings.TrimSuffix(string(out), "\n"), "\n", "\n"+space) + "\n", nil
}

// rewrite writes a whole document anew: one in flow style, and one that is empty.
func rewrite(_ []byte, top, list *yaml.Node) ([]byte, error) {
	out := &yaml.Node{Kind: yaml.MappingNode}
	if top != nil && top.Kind == yaml.MappingNode {
		out.HeadComment, out.Content = top.HeadComment, slices.Clone(top.Content)
	}
	if i, was := lookUp(out, classesKey); was != nil {
		out.Content = slices.Delete(out.Content, i, i+2)
	}
	if len(list.Content) > 0 {
		out.Content = append(out.Content, scalar(classesKey), list)
	}
	return encode(out)
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
