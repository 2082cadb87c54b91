package placement

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/security"
)

// slowPattern is an expression that takes a step for each of its instructions at each byte of a name of a's.
const slowPattern = "(a?){40}a{40}b"

// stepTime is what a step takes, rounded up: see BenchmarkPlace_WorstFilters.
const stepTime = 10 * time.Nanosecond

func TestMaxFilterSteps_TakeFiftyMilliseconds(t *testing.T) {
	assert.Assert(t, MaxFilterSteps*stepTime <= 50*time.Millisecond)
	size := patternSize(regexp.MustCompile(slowPattern))
	assert.Assert(t, size > 160, "repetitions count as often as they repeat: %d", size)
	assert.Equal(t, patternSize(regexp.MustCompile("[a-z0-9]")), len("[a-z0-9]"), "what reads the text counts too")
}

// ruleWith returns a rule whose expressions have about these sizes.
func ruleWith(userSize, groupSize int) Rule {
	r := Rule{Kind: Fixed, Value: "a"}
	if userSize > 0 {
		r.Filter.UserPattern = regexp.MustCompile(strings.Repeat("x", userSize-4) + "$")
	}
	if groupSize > 0 {
		r.Filter.GroupPattern = regexp.MustCompile(strings.Repeat("x", groupSize-4) + "$")
	}
	return r
}

func TestPlace_BoundsTheStepsOfFilters(t *testing.T) {
	groups := func(n, bytes int) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprintf("%0*d", bytes, i))
		}
		return out
	}
	half := ruleWith(500, 500)
	parent := Rule{Kind: Provided, Parent: &half}
	for _, tc := range []struct {
		name     string
		rules    []Rule
		user     security.User
		rejected bool
	}{
		{name: "511 bytes are within the bound of any accepted configuration", rules: []Rule{ruleWith(4000, 4000)},
			user: security.User{Name: strings.Repeat("u", 255), Groups: groups(1, 254)}},
		{name: "a long name with small expressions", rules: []Rule{ruleWith(1000, 0)},
			user: security.User{Name: strings.Repeat("u", 1024)}},
		{name: "a long name with large expressions", rules: []Rule{ruleWith(4200, 0)},
			user: security.User{Name: strings.Repeat("u", 1024)}, rejected: true},
		{name: "groups do not count for expressions of users", rules: []Rule{ruleWith(4200, 0)},
			user: security.User{Name: "u", Groups: groups(4096, 100)}},
		{name: "many groups with small expressions", rules: []Rule{ruleWith(0, 20)},
			user: security.User{Name: "u", Groups: groups(4096, 32)}},
		{name: "many groups with large expressions", rules: []Rule{ruleWith(0, 60)},
			user: security.User{Name: "u", Groups: groups(4096, 32)}, rejected: true},
		{name: "rules add up", rules: []Rule{half, half}, user: security.User{Name: "u", Groups: groups(512, 15)},
			rejected: true},
		{name: "one of them alone", rules: []Rule{half}, user: security.User{Name: "u", Groups: groups(512, 15)}},
		{name: "parent rules count", rules: []Rule{half, parent}, user: security.User{Name: "u", Groups: groups(512, 15)},
			rejected: true},
	} {
		t.Run("PLC-33: "+tc.name, func(t *testing.T) {
			e := Explain(tc.rules, Submission{User: tc.user}, testTree)
			assert.Assert(t, e.Err != nil)
			assert.Equal(t, strings.Contains(e.Err.Error(), "too long for the regular expressions"), tc.rejected, "%v", e.Err)
			assert.Equal(t, filterSteps(tc.rules, tc.user) > MaxFilterSteps, tc.rejected)
			forced := Explain(tc.rules, Submission{User: tc.user, CreateForced: true}, testTree)
			assert.Equal(t, forced.Path, RecoveryQueue, "what runs already is accepted")
		})
	}
}

// What an application waits at most: expressions within the bounds that take all their steps, and lists with as many
// names as a document may have for a user with as many groups as allowed.
func BenchmarkPlace_WorstFilters(b *testing.B) {
	var expressions, lists []Rule
	for size := 0; ; {
		r := Rule{Kind: Fixed, Value: "a", Filter: Filter{UserPattern: regexp.MustCompile(slowPattern)}}
		size += r.Filter.PatternSize()
		if size > MaxPatternSize {
			break
		}
		expressions = append(expressions, r)
	}
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprintf("group-%d", i))
	}
	for range 900 {
		lists = append(lists, Rule{Kind: Fixed, Value: "a", Filter: Filter{Groups: names}})
	}
	var groups []string
	for i := range security.MaxGroups {
		groups = append(groups, fmt.Sprintf("other-%d", i))
	}
	for _, bb := range []struct {
		name  string
		rules []Rule
		user  security.User
	}{
		{"expressions", expressions, security.User{Name: strings.Repeat("a", 510)}},
		{"expressions-of-a-longer-name", expressions[:len(expressions)/2], security.User{Name: strings.Repeat("a", 1020)}},
		{"lists", lists, security.User{Name: "u", Groups: groups}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			for b.Loop() {
				Explain(bb.rules, Submission{User: bb.user}, testTree)
			}
		})
	}
}
