package configs

import (
	"slices"
	"strconv"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/priorities"
)

// ClassChange is what changes about a priority class. It is for asks to come: those that
// are there keep their number (priority.md S0-2).
type ClassChange struct {
	Class  string        `json:"class"`
	Kind   ChangeKind    `json:"kind"`
	Values []ValueChange `json:"values,omitempty"` // of a class that is removed: none
}

func countClasses(all []ClassChange, kind ChangeKind) (n int) {
	for _, c := range all {
		if c.Kind == kind {
			n++
		}
	}
	return n
}

// diffClasses compares the classes of documents, in name order. Without a document there
// are those of the system.
func diffClasses(old, new *Config) []ClassChange {
	was, is := registryOf(old), registryOf(new)
	var out []ClassChange
	for _, c := range is.All() {
		before, _ := was.Get(c.Name)
		change := ClassChange{Class: c.Name, Kind: kindOf(before, &c)}
		change.Values = diffValues(classValues(before), classValues(&c), nil, nil)
		if change.Kind != Changed || len(change.Values) > 0 {
			out = append(out, change)
		}
	}
	for _, c := range was.All() {
		if _, stays := is.Get(c.Name); !stays {
			out = append(out, ClassChange{Class: c.Name, Kind: Removed})
		}
	}
	slices.SortFunc(out, func(a, b ClassChange) int { return strings.Compare(a.Class, b.Class) })
	return out
}

func registryOf(c *Config) priorities.Registry {
	if c == nil {
		return priorities.Registry{}
	}
	return c.Classes
}

// classValues are the fields of a class; nil: there is none.
func classValues(c *priorities.Class) map[string]string {
	if c == nil {
		return nil
	}
	v := map[string]string{
		"value": strconv.Itoa(int(c.Value)), "globalDefault": strconv.FormatBool(c.GlobalDefault),
		"preemptionPolicy": c.Policy.String(), "description": c.Description,
	}
	if c.Submit != nil {
		v["submitacl"] = strconv.Quote(c.Submit.String()) // one that is empty is not one that is missing
	}
	return v
}
