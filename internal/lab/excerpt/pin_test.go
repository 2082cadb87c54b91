package excerpt

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// What was placed is reported where it was placed, and the call that has placed it is left out: with its budget it
// would place the ask that waits, and the last one would go to another node.
func TestPin_KeepsTheRestAsItIs(t *testing.T) {
	e, err := Parse([]byte(
		`begin {"partition":{"name":"default","root":{"name":"root","parent":true,` +
			`"submitACL":{"everyone":true},"children":[{"name":"a"}]}}}
2026-01-02T15:04:05Z add-node {"node":"n1","schedulable":true,"total":{"vcore":4000}}
2026-01-02T15:04:05Z add-node {"node":"n2","schedulable":true,"total":{"vcore":4000}}
2026-01-02T15:04:06Z add-application {"app":"x","queue":"root.a","user":{"name":"ann"}}
2026-01-02T15:04:06Z submit-ask {"ask":{"app":"x","key":"placed","priority":5,"amounts":{"vcore":4000}}}
2026-01-02T15:04:06Z submit-ask {"ask":{"app":"x","key":"waits","amounts":{"vcore":4000}}}
2026-01-02T15:04:07Z schedule 1
2026-01-02T15:04:08Z submit-ask {"ask":{"app":"x","key":"last","priority":9,"amounts":{"vcore":4000}}}
2026-01-02T15:04:08Z schedule 1
`))
	assert.NilError(t, err)
	s := shortening{Shortening: Shortening{MaxReplays: 10}, target: Target{Text: "allocated last (x) on n2"}, best: e}
	s.pin()
	var text bytes.Buffer
	assert.NilError(t, s.best.Write(&text))
	assert.Equal(t, strings.Count(text.String(), "report-allocation"), 1, text.String())
	assert.Equal(t, strings.Count(text.String(), "schedule 1"), 1)
	assert.Assert(t, strings.Contains(text.String(), "allocated placed (x) on n1"))
	assert.Assert(t, strings.HasSuffix(text.String(), "    allocated last (x) on n2\n"))
}

// What could not be left out before something else was, is tried again after that.
func TestReduce_TriesAgainWhatOthersNeeded(t *testing.T) {
	var left []string
	reduce([]string{"kept", "needed by the next", "next", "kept too"}, func(units []string) bool {
		holds := slices.Contains(units, "kept") && slices.Contains(units, "kept too") &&
			(!slices.Contains(units, "next") || slices.Contains(units, "needed by the next"))
		if holds {
			left = units
		}
		return holds
	})
	assert.DeepEqual(t, left, []string{"kept", "kept too"})
}
