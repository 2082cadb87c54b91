package webservice_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/webservice"
)

// The answer to a new configuration has the warnings about it, with positions and hints.
func TestPostConfig_AnswersWithWarnings(t *testing.T) {
	o := newAdminFixture(t, oneLeafYAML)
	w := o.post("partitions:\n- queues:\n  - name: root\n    submitacl: '*'\n    queues:\n    - {name: a, resources: " +
		"{max: {cpu: 2, memory: 10}}}\n")
	assert.Equal(t, w.Code, http.StatusOK, w.Body.String())
	_, warnings, _ := strings.Cut(w.Body.String(), `"warnings":`)
	assert.Equal(t, warnings, `[{"line":6,"column":35,"path":"root.a","rule":"resource-name","severity":"warning",`+
		`"message":"max is for a resource \"cpu\", which is not \"vcore\"","hint":"did you mean \"vcore\"?"},`+
		`{"line":6,"column":51,"path":"root.a","rule":"quantity-small","severity":"warning",`+
		`"message":"max memory 10 is only 10 bytes","hint":"did you mean 10Gi?"}]}`)
}

func TestPostConfig_WarnsThatAFileReplacesTheConfiguration(t *testing.T) {
	o := newAdminFixture(t, oneLeafYAML)
	opt := webservice.Options{Sources: webservice.Sources{Reloads: o.reloads},
		Access: webservice.Access{AdminEnabled: true, FileWarning: "the file q.yaml replaces it"}}
	o.admin = webservice.Admin(o.cluster, opt)
	const want = `"warnings":[{"line":1,"column":1,"path":"","rule":"config-file","severity":"warning","message":"the ` +
		`file q.yaml replaces it",` +
		`"hint":"change the file, too"}]}`
	for _, w := range []*httptest.ResponseRecorder{o.post(twoLeavesYAML), o.rollback(1)} {
		assert.Equal(t, w.Code, http.StatusOK, w.Body.String())
		assert.Assert(t, strings.HasSuffix(w.Body.String(), want), w.Body.String())
	}
	assert.Equal(t, len(o.reloads.Warnings()), 0, "it is no warning about the text")
}
