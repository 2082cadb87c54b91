package webservice_test

import (
	"net/http"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// The answer to a new configuration has the warnings about it, with positions and hints.
func TestPostConfig_AnswersWithWarnings(t *testing.T) {
	o := newAdminFixture(t, oneLeafYAML)
	w := o.post("partitions:\n- queues:\n  - name: root\n    submitacl: '*'\n    queues:\n    - {name: a, resources: {max: {cpu: 2, memory: 10}}}\n")
	assert.Equal(t, w.Code, http.StatusOK, w.Body.String())
	_, warnings, _ := strings.Cut(w.Body.String(), `"warnings":`)
	assert.Equal(t, warnings, `[{"line":6,"column":35,"path":"root.a","rule":"resource-name","severity":"warning",`+
		`"message":"max is for a resource \"cpu\", which is not \"vcore\"","hint":"did you mean \"vcore\"?"},`+
		`{"line":6,"column":51,"path":"root.a","rule":"quantity-small","severity":"warning",`+
		`"message":"max memory 10 is only 10 bytes","hint":"did you mean 10Gi?"}]}`)
}
