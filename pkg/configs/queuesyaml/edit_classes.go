package queuesyaml

import (
	"strconv"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
)

const classesKey = "priorityclasses"

// EditClasses returns the text with its priority classes replaced and all else unchanged (CFG-97).
// Requires: the text is valid. An error means that the text can only be edited by hand.
func EditClasses(text []byte, r priorities.Registry, o Options) ([]byte, error) {
	old, err := loadForEdit(text, o)
	if err != nil || old.Classes.Equal(r) {
		return text, err
	}
	wanted := *old
	wanted.Classes = r
	e := listEdit{
		key: classesKey, idOf: func(n *yaml.Node) string { return objectText(n, "name") },
		matches: func(c *configs.Config) bool { return c.Classes.Equal(r) },
	}
	all := r.All()
	for i := range all {
		c := &all[i]
		usual, _ := (priorities.Registry{}).Get(c.Key())
		e.want = append(e.want, listItem{
			id: c.Name, implicit: usual != nil && usual.Equal(c), fill: func(n *yaml.Node) { fillClass(n, c) },
			newNode: func() *yaml.Node { return nameMapping(c.Name) },
		})
	}
	return editList(text, e, &wanted, o)
}

// fillClass writes the fields of a class into its node, and leaves values that are right already.
func fillClass(n *yaml.Node, c *priorities.Class) {
	r := &reader{options: DefaultOptions()}
	d := r.class(n)
	was := &d.class
	if was.Value != c.Value || d.broken[string(priorities.ValueField)] {
		setKey(n, "value", &yaml.Node{Kind: yaml.ScalarNode, Value: strconv.Itoa(int(c.Value))})
	}
	if was.GlobalDefault != c.GlobalDefault {
		setKey(n, "globalDefault", &yaml.Node{Kind: yaml.ScalarNode, Value: strconv.FormatBool(c.GlobalDefault)})
	}
	if was.Policy != c.Policy {
		setKey(n, "preemptionPolicy", scalar(c.Policy.String()))
	}
	if was.Description != c.Description {
		setKey(n, "description", scalar(c.Description))
	}
	switch {
	case c.SubmitACL == nil && was.SubmitACL != nil:
		deleteKey(n, "submitacl")
	case c.SubmitACL != nil && (was.SubmitACL == nil || was.SubmitACL.String() != c.SubmitACL.String()):
		setKey(n, "submitacl", scalar(c.SubmitACL.String()))
	}
}
