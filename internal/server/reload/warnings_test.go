package reload_test

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/reload"
)

// The log has a line for each warning of a configuration that comes into force, up to 50 (CFG-114).
func TestApply_LogsWarnings(t *testing.T) {
	w := newFixture(t, reload.Options{})
	apply := func(queues string) []string {
		p, err := w.Read(reload.REST, "127.0.0.1",
			[]byte("partitions: [{queues: [{name: root, submitacl: '*', queues: ["+queues+"]}]}]"))
		assert.NilError(t, err)
		w.logs.TakeAll()
		_, err = w.Apply(t.Context(), p)
		assert.NilError(t, err)
		var out []string
		for _, e := range w.logs.TakeAll() {
			if e.Level.String() == "warn" {
				out = append(out, fmt.Sprint(e.ContextMap()["problem"]), e.Message)
			}
		}
		return out
	}
	assert.DeepEqual(t, apply("{name: a, resources: {max: {cpu: 2}}}"),
		[]string{`1:90: warning [resource-name] root.a: max is for a resource "cpu", which is not "vcore" (hint: did you ` +
			`mean "vcore"?)`, "configuration warning"})
	var many strings.Builder
	for i := range 60 {
		fmt.Fprintf(&many, "{name: q%d, properties: {nonsense%d: 1}}, ", i, i)
	}
	lines := apply(many.String())
	assert.Equal(t, len(lines), 2*51)
	assert.Equal(t, lines[101], "configuration warnings: there are more, canopy validate lists them")
	lines = apply("{name: a, properties: {nonsense: 1}}, {name: b, properties: {nonsense: 1}}")
	assert.DeepEqual(t, lines, []string{
		`1:85: warning [property-unknown] root.a: unknown property "nonsense" has no effect (also in line 1)`,
		"configuration warning"})
}

func TestRead_IgnoredKeysOfAConfigMapAreLogged(t *testing.T) {
	const configMap = "kind: ConfigMap\ndata:\n  log.level: debug\n  event.maxStreams: '1'\n  queues.yaml: |\n    "
	w := newFixture(t, reload.Options{})
	logged := func(text string) (keys []string) {
		p, err := w.Read(reload.File, "config-map.yaml", []byte(text))
		assert.NilError(t, err)
		w.logs.TakeAll()
		_, err = w.Apply(t.Context(), p)
		assert.NilError(t, err)
		for _, e := range w.logs.FilterMessageSnippet("keys of the ConfigMap have no effect").All() {
			assert.Equal(t, e.Level.String(), "warn")
			keys = append(keys, fmt.Sprint(e.ContextMap()["keys"]))
		}
		return keys
	}
	assert.DeepEqual(t, logged(configMap+text("a", "b")), []string{"[log.level event.maxStreams]"})
	assert.Equal(t, len(logged(configMap+text("b"))), 0, "the same keys are logged once")
	const fewer = "kind: ConfigMap\ndata:\n  log.level: debug\n  queues.yaml: |\n    "
	assert.DeepEqual(t, logged(fewer+text("b")), []string{"[log.level]"}) // the queues.yaml has not changed
	assert.Equal(t, len(logged(text("c"))), 0)
	assert.DeepEqual(t, logged(fewer+text("c")), []string{"[log.level]"})
	assert.Equal(t, len(w.Current().Extra), 0)
}
