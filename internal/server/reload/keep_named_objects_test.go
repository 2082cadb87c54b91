package reload_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/reload"
)

// A text of a shim that does not know priority classes keeps the classes that were created over REST
// (CFG-96).
func TestApply_RMTextKeepsPriorityClasses(t *testing.T) {
	const high = "priorityclasses: [{name: high, value: 5}]\n"
	w := newFixture(t, reload.Options{})
	classes := func() (names []string) {
		last := w.cluster.reloads[len(w.cluster.reloads)-1]
		for _, c := range last.Classes.All() {
			if !c.IsSystem() {
				names = append(names, c.Name)
			}
		}
		return names
	}
	w.applyText(reload.REST, "", text("a")+high)
	assert.DeepEqual(t, classes(), []string{"high"})

	res := w.applyFromRM(text("a", "b"), nil)
	assert.Assert(t, res.Changed)
	assert.DeepEqual(t, classes(), []string{"high"})
	assert.Equal(t, res.Generation.Text, text("a", "b")+"priorityclasses:\n  - name: high\n    value: 5\n")
	assert.Assert(t, !w.applyFromRM(text("a", "b"), nil).Changed, "a repeated text is no change")

	w.applyFromRM(text("c")+"priorityclasses: []\n", nil)
	assert.Equal(t, len(classes()), 0, "a text with the key priorityclasses counts as written")

	w.applyText(reload.REST, "", text("c")+high)
	w.applyText(reload.File, "first.yaml", text("d"))
	assert.Equal(t, len(classes()), 0, "the text of a file is complete")
}

func TestApply_RMTextEqualButForClassesChangesNothing(t *testing.T) {
	w := newFixture(t, reload.Options{})
	with := text("b") + "priorityclasses:\n  - name: high\n    value: 5\n"
	w.applyText(reload.REST, "", with)
	res := w.applyFromRM(text("b"), nil)
	assert.Assert(t, !res.Changed)
	assert.Equal(t, w.Current().Text, with)
}

func TestApply_RMTextKeepsDisruptionBudgets(t *testing.T) {
	const db = "disruptionbudgets: [{name: db, selector: {matchLabels: {app: db}}, minAvailable: 1}]\n"
	const high = "priorityclasses: [{name: high, value: 5}]\n"
	w := newFixture(t, reload.Options{})
	budgets := func() (ids []string) {
		last := w.cluster.reloads[len(w.cluster.reloads)-1]
		for _, b := range last.Partitions[0].Budgets.All() {
			ids = append(ids, b.ID())
		}
		return ids
	}
	w.applyText(reload.REST, "", text("a")+high+db)
	res := w.applyFromRM(text("b"), nil)
	assert.Assert(t, res.Changed)
	assert.DeepEqual(t, budgets(), []string{"default/db"})
	kept := text("b") + "priorityclasses:\n  - name: high\n    value: 5\n" +
		"disruptionbudgets:\n  - name: db\n    selector:\n      matchLabels:\n        app: db\n    minAvailable: 1\n"
	assert.Equal(t, res.Generation.Text, kept)
	assert.Assert(t, !w.applyFromRM(text("b"), nil).Changed, "a repeated text is no change")
	w.applyText(reload.REST, "", kept+"# once more\n")
	assert.Assert(t, !w.applyFromRM(text("b"), nil).Changed, "a repeated text is no change after another source")

	w.applyFromRM(text("c")+"disruptionbudgets: []\n", nil)
	assert.Equal(t, len(budgets()), 0, "a text with the key disruptionbudgets counts as written")
}
