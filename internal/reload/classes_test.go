package reload_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/reload"
)

// A shim that knows queues.yaml as it is elsewhere must not lose the priority classes that
// somebody made over REST.
func TestTheTextOfAResourceManagerKeepsThePriorityClasses(t *testing.T) {
	const high = "priorityclasses: [{name: high, value: 5}]\n"
	w := newWorld(t, reload.Options{})
	classes := func() (names []string) {
		last := w.cluster.taken[len(w.cluster.taken)-1]
		for _, c := range last.Classes.All() {
			if !c.IsSystem() {
				names = append(names, c.Name)
			}
		}
		return names
	}
	w.enact(reload.REST, "", text("a")+high)
	assert.DeepEqual(t, classes(), []string{"high"})

	res := w.rm(text("a", "b"), nil)
	assert.Assert(t, res.Changed)
	assert.DeepEqual(t, classes(), []string{"high"})
	assert.Equal(t, res.Generation.Text, text("a", "b")+"priorityclasses:\n  - name: high\n    value: 5\n")
	assert.Assert(t, !w.rm(text("a", "b"), nil).Changed, "said again, it is no news")

	w.rm(text("c")+"priorityclasses: []\n", nil)
	assert.Equal(t, len(classes()), 0, "one that speaks of classes is heard")

	w.enact(reload.REST, "", text("c")+high)
	w.enact(reload.File, "first.yaml", text("d"))
	assert.Equal(t, len(classes()), 0, "a file is all there is")
}

func TestATextThatIsWhatIsInForceButForItsClassesIsNoNews(t *testing.T) {
	w := newWorld(t, reload.Options{})
	with := text("b") + "priorityclasses:\n  - name: high\n    value: 5\n"
	w.enact(reload.REST, "", with)
	res := w.rm(text("b"), nil)
	assert.Assert(t, !res.Changed)
	assert.Equal(t, w.Current().Text, with)
}
