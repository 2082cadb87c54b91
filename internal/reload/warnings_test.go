package reload_test

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/reload"
)

// The log has a line for each warning of a configuration that comes into force, up to 50 (CFG-114).
func TestApply_LogsWarnings(t *testing.T) {
	w := newFixture(t, reload.Options{})
	apply := func(queues string) []string {
		p, err := w.Read(reload.REST, "127.0.0.1", []byte("partitions: [{queues: [{name: root, submitacl: '*', queues: ["+queues+"]}]}]"))
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
		[]string{`1:90: warning [resource-name] root.a: max is for a resource "cpu", which is not "vcore" (hint: did you mean "vcore"?)`, "configuration warning"})
	var many strings.Builder
	for i := range 60 {
		fmt.Fprintf(&many, "{name: q%d, properties: {nonsense: 1}}, ", i)
	}
	lines := apply(many.String())
	assert.Equal(t, len(lines), 2*51)
	assert.Equal(t, lines[101], "configuration warnings: there are more, canopy validate lists them")
}
