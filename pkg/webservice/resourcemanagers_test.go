package webservice_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/webservice"
)

// fakeResourceManagers is a ResourceManagers with a list that the test sets.
type fakeResourceManagers struct {
	registered []webservice.ResourceManager
	released   string
}

func (m *fakeResourceManagers) List() []webservice.ResourceManager { return m.registered }

func (m *fakeResourceManagers) Release(rm string, force bool) error {
	switch {
	case rm != m.registered[0].ID:
		return fmt.Errorf("%w: %s", webservice.ErrNoManager, rm)
	case !force:
		return fmt.Errorf("%w: %s", webservice.ErrManagerConnected, rm)
	}
	m.released = rm
	return nil
}

func TestResourceManagers_AreShown(t *testing.T) {
	o := newAdminFixture(t, oneLeafYAML)
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	later := noon.Add(5 * time.Minute)
	m := &fakeResourceManagers{registered: []webservice.ResourceManager{{
		ID: "shim", State: "Disconnected", Since: noon, Registered: noon, ReplaceableFrom: &later, Streams: []string{},
		Version: "1.9.0",
	}}}
	w := request(o.cluster, webservice.Options{Sources: webservice.Sources{Managers: m}}, http.MethodGet,
		"/ws/v1/resourcemanagers")
	assert.Equal(t, w.Code, http.StatusOK)
	assert.Equal(t, w.Body.String(),
		`[{"rmID":"shim","state":"Disconnected","since":"2026-01-02T12:00:00Z","listening":false,"streams":[],`+
			`"inProcess":false,"undeliveredBytes":0,"replaceableFrom":"2026-01-02T12:05:00Z",`+
			`"registered":"2026-01-02T12:00:00Z",`+
			`"version":"1.9.0","policyGroup":"","partitions":["default"]}]`)
	m.registered = nil
	w = request(o.cluster, webservice.Options{Sources: webservice.Sources{Managers: m}}, http.MethodGet,
		"/ws/v1/resourcemanagers")
	assert.Equal(t, w.Body.String(), "[]")
}

func TestResourceManagers_OnlyAdminListenerReleasesThem(t *testing.T) {
	c := loop.NewCluster(loop.Options{}, func(string) loop.Sink { return discardSink{} }, nil)
	defer c.End()
	o := &adminFixture{t: t, cluster: c}
	m := &fakeResourceManagers{registered: []webservice.ResourceManager{{ID: "shim"}}}
	opt := webservice.Options{Sources: webservice.Sources{Managers: m}, Access: webservice.Access{AdminEnabled: true}}
	o.handler, o.admin = webservice.Handler(c, opt), webservice.Admin(c, opt)
	release := func(h http.Handler, target string, code int) string {
		t.Helper()
		w := o.send(h, http.MethodDelete, "/ws/v1/resourcemanager/"+target, "")
		assert.Equal(t, w.Code, code, "%s", w.Body)
		return w.Body.String()
	}
	release(o.handler, "shim", http.StatusMethodNotAllowed)
	release(o.admin, "other", http.StatusNotFound)
	release(o.admin, "shim", http.StatusConflict)
	release(o.admin, "shim?force=perhaps", http.StatusBadRequest)
	assert.Equal(t, m.released, "")
	assert.Equal(t, release(o.admin, "shim?force=true", http.StatusOK), `{"released":"shim"}`)
	assert.Equal(t, m.released, "shim")
}
