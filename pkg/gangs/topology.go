package gangs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Bounds of the topology of a task group.
const (
	maxTopologyLevels = 8
	maxTopologyLabel  = 317 // bytes: a prefix of 253, a slash and a name of 63
)

// NoLevel is the level of a topology that does not require, or does not prefer, a topology domain.
const NoLevel = -1

// Topology says in which topology domains the members of a task group are placed (GAN-29). The zero value is none.
type Topology struct {
	Levels    []string // index of the level at which one domain must have all members; NoLevel: none
	Required  int      // index of the level of which one domain must have all members; NoLevel: none
	Preferred int      // index of the level at which the search for a domain begins, finer than Required; NoLevel: none
}

// Declared reports whether there is a topology.
func (t *Topology) Declared() bool { return len(t.Levels) > 0 }

// Requires reports whether one domain must have all members.
func (t *Topology) Requires() bool { return t.Declared() && t.Required != NoLevel }

// First returns the index of the level at which the search for one domain begins. Requires: t is declared.
func (t *Topology) First() int {
	if t.Preferred != NoLevel {
		return t.Preferred
	}
	return t.Required
}

// sentTopology is the topology of a task group as it is sent. A pointer tells an empty label from a missing one.
type sentTopology struct {
	Levels    []string `json:"levels"`
	Required  *string  `json:"required"`
	Preferred *string  `json:"preferred"`
}

// readTopology reads the topology of a task group; empty or null: there is none. An error says what is wrong.
func readTopology(text json.RawMessage) (t Topology, err error) {
	if len(text) == 0 || string(text) == "null" {
		return t, nil
	}
	var sent sentTopology
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&sent); err != nil {
		return t, fmt.Errorf("%q is no object with levels, required and preferred", shortened(string(text)))
	}
	if sent.Required == nil && sent.Preferred == nil {
		return t, errors.New("neither required nor preferred is there")
	}
	levels := sent.Levels
	if levels == nil {
		levels = sent.labels()
	}
	if err := checkLevels(levels); err != nil {
		return t, err
	}
	required, err := levelOf(levels, "required", sent.Required)
	if err != nil {
		return t, err
	}
	preferred, err := levelOf(levels, "preferred", sent.Preferred)
	if err != nil {
		return t, err
	}
	if sent.Required != nil && sent.Preferred != nil && preferred <= required {
		return t,
			fmt.Errorf("preferred %q is not finer than required %q", shortened(*sent.Preferred), shortened(*sent.Required))
	}
	return Topology{Levels: levels, Required: required, Preferred: preferred}, nil
}

// labels returns the labels that are required and preferred, in this order.
func (s *sentTopology) labels() (labels []string) {
	for _, label := range []*string{s.Required, s.Preferred} {
		if label != nil {
			labels = append(labels, *label)
		}
	}
	return labels
}

func checkLevels(levels []string) error {
	if len(levels) == 0 || len(levels) > maxTopologyLevels {
		return fmt.Errorf("there are %d levels, from 1 to %d are allowed", len(levels), maxTopologyLevels)
	}
	for i, label := range levels {
		switch {
		case label == "" || len(label) > maxTopologyLabel:
			return fmt.Errorf("label %q is empty or longer than %d bytes", shortened(label), maxTopologyLabel)
		case slices.Contains(levels[:i], label):
			return fmt.Errorf("label %q is there twice", shortened(label))
		}
	}
	return nil
}

// levelOf returns the index of a label among the levels; NoLevel: there is no label.
func levelOf(levels []string, name string, label *string) (level int, err error) {
	if label == nil {
		return NoLevel, nil
	}
	level = slices.Index(levels, *label)
	if level < 0 {
		return level, fmt.Errorf("%s %q is none of the levels", name, shortened(*label))
	}
	return level, nil
}

// refuseTopology returns an error if a task group of an application has a topology although its placeholders are not
// virtual: they are placed one by one, and nothing plans them as a whole (GAN-29). It reads nothing else of the tag, so
// other mistakes in it are not reported.
func refuseTopology(tags map[string]string) error {
	text := tags[TaskGroupsTag]
	if !strings.Contains(text, `"topology"`) {
		return nil
	}
	var sent []sentTaskGroup
	if json.Unmarshal([]byte(text), &sent) != nil {
		return nil
	}
	for _, t := range sent {
		if len(t.Topology) > 0 && string(t.Topology) != "null" {
			return fmt.Errorf("tag %s: topology of task group %s needs the tag %s", TaskGroupsTag, shortened(t.Name),
				VirtualPlaceholdersTag)
		}
	}
	return nil
}
