package twin

import (
	"fmt"
	"testing"
)

// Runs in which core and twin differed, each for a reason that few other seeds meet.
func TestRandomRuns_SeedsThatFailed(t *testing.T) {
	for _, c := range []struct {
		name string
		run  runKind
		seed uint64
	}{
		{"resources that a node holds for a replacement count as free in a search for victims", gangRun, 1512},
		{"a group is not evaluated when its first ask is another one than before, but nothing else has changed", refusingRun,
			257},
		{"a group whose delay has ended is evaluated although another ask becomes its first in the same call (the twin had " +
			"it wrong)", refusingRun, 523},
	} {
		t.Run(fmt.Sprint(c.name, ", ", c.seed), func(t *testing.T) {
			if f := Execute(c.run(t, c.seed)); f != nil {
				t.Fatalf("seed %d: %v", c.seed, f)
			}
		})
	}
}
