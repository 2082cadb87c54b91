package configs

import (
	"strconv"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/priorities"
)

const classesKey = "priorityclasses"

// EditClasses returns a text with other priority classes and all else as it was. Requires: the
// text is valid. An error means that the text cannot be edited, and has to be by hand.
func EditClasses(text []byte, r priorities.Registry, o Options) ([]byte, error) {
	old, err := toEdit(text, o)
	if err != nil || old.Classes.Equal(r) {
		return text, err
	}
	should := *old
	should.Classes = r
	e := listEdit{
		key: classesKey, idOf: func(n *yaml.Node) string { return objectText(n, "name") },
		of: func(c *Config) bool { return c.Classes.Equal(r) },
	}
	all := r.All()
	for i := range all {
		c := &all[i]
		usual, _ := (priorities.Registry{}).Get(c.Name)
		e.want = append(e.want, item{
			id: c.Name, tacit: usual != nil && usual.Equal(c), fill: func(n *yaml.Node) { fillClass(n, c) },
			fresh: func() *yaml.Node { return named(c.Name) },
		})
	}
	return editList(text, e, &should, o)
}

// fillClass gives the fields of a class their values, and leaves alone those that have them.
func fillClass(n *yaml.Node, c *priorities.Class) {
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
		drop(n, "submitacl")
	case c.Submit != nil && (was.Submit == nil || was.Submit.String() != c.Submit.String()):
		set(n, "submitacl", scalar(c.Submit.String()))
	}
}
