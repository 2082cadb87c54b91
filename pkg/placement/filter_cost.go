package placement

import (
	"fmt"
	"regexp"
	"regexp/syntax"

	"github.com/canopy-scheduler/canopy/pkg/security"
)

// The cost of the regular expressions of filters is bounded, because decisions wait while an application is placed. Go
// matches an expression in at most as many steps as the size of its program times the length of the name, about 10 ns
// each (BenchmarkPlace_WorstFilters).
const (
	// MaxPatternSize bounds the sizes of the expressions of a partition together (CFG-16).
	MaxPatternSize = 8192
	// MaxFilterSteps bounds the steps for one application (PLC-33). A user whose name and groups have 511 bytes together
	// is within it, whatever the expressions are.
	MaxFilterSteps = MaxPatternSize * 512
)

// PatternSize returns the size of the expressions of f: the instructions of their programs, or the bytes of their texts
// if these are more.
func (f *Filter) PatternSize() int { return patternSize(f.UserPattern) + patternSize(f.GroupPattern) }

func patternSize(e *regexp.Regexp) int {
	if e == nil {
		return 0
	}
	size := len(e.String())
	if parsed, err := syntax.Parse(e.String(), syntax.Perl); err == nil { // it was compiled, so it is valid
		if program, err := syntax.Compile(parsed.Simplify()); err == nil {
			size = max(size, len(program.Inst))
		}
	}
	return size
}

// filterSteps bounds the steps in which the expressions of all rules match the names of u.
func filterSteps(rules []Rule, u security.User) int {
	user, groups := len(u.Name)+1, 0
	for _, g := range u.Groups {
		groups += len(g) + 1
	}
	if steps := (user + groups) * MaxPatternSize; steps <= MaxFilterSteps {
		return steps
	}
	steps := 0
	for i := range rules {
		for r := &rules[i]; r != nil; r = r.Parent {
			steps += patternSize(r.Filter.UserPattern)*user + patternSize(r.Filter.GroupPattern)*groups
		}
	}
	return steps
}

// filterCostReason says why the names of u are not compared with the filters; empty: they are.
func filterCostReason(rules []Rule, u security.User) string {
	steps := filterSteps(rules, u)
	if steps <= MaxFilterSteps {
		return ""
	}
	return fmt.Sprintf("the names of the user and of its %d groups are too long for the regular expressions of the "+
		"placement filters: "+
		"up to %d steps, at most %d are allowed; shorten the expressions, or list names instead", len(u.Groups), steps,
		MaxFilterSteps)
}
