package webservice_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// Operators act on the admin listener, what they have switched is shown everywhere, and unknown names are 404 (OPS-6).
func TestOperators_ActAndAreShown(t *testing.T) {
	o := newContractFixture(t)
	put := func(target string, status int) (body dao.Operated) {
		w := o.send(o.admin, http.MethodPut, defaultPartition+target, "")
		assert.Equal(t, w.Code, status, "%s: %s", target, w.Body)
		_ = json.Unmarshal(w.Body.Bytes(), &body)
		return body
	}
	for _, c := range []struct{ on, off, name, shown, target string }{
		{"application/app-1/hold", "application/app-1/release", "app-1", `"onHold":true`, "application/app-1"},
		{"queue/root.tenant/stop", "queue/root.tenant/start", "root.tenant", `"status":"Stopped"`, "queue/root.tenant.fair"},
		{"queue/root.tenant/drain", "queue/root.tenant/start", "root.tenant", `"status":"Draining"`,
			"queue/root.tenant.fair"},
		{"node/n1/cordon", "node/n1/uncordon", "n1", `"cordoned":true`, "node/n1"},
		{"node/n1/drain", "node/n1/uncordon", "n1", `"drain":"drain`, "node/n1"},
	} {
		for _, changed := range []bool{true, false} {
			assert.DeepEqual(t, put(c.on, http.StatusOK),
				dao.Operated{Action: c.on[strings.LastIndex(c.on, "/")+1:], Name: c.name, Changed: changed})
		}
		assert.Assert(t, strings.Contains(o.get(defaultPartition+c.target).Body.String(), c.shown), "%s: %s", c.target,
			o.get(defaultPartition+c.target).Body)
		assert.Assert(t, strings.Contains(o.get(defaultPartition+"operators").Body.String(), `"`+c.name+`"`))
		assert.Assert(t, put(c.off, http.StatusOK).Changed)
		assert.Assert(t, !strings.Contains(o.get(defaultPartition+c.target).Body.String(), c.shown))
	}
	assert.Equal(t, put("application/app-1/move/root", http.StatusConflict).Changed, false)
	assert.DeepEqual(t, put("application/app-1/move/root.idle", http.StatusOK),
		dao.Operated{Action: "move", Name: "app-1", Queue: "root.idle", Changed: true})
	assert.Assert(t, strings.Contains(o.get(defaultPartition+"application/app-1").Body.String(), `"movedFrom":"root.`))
	assert.Assert(t,
		strings.Contains(o.get(defaultPartition+"operators").Body.String(),
			`"moved":[{"applicationID":"app-1","queueName":"root.idle",`))
	assert.DeepEqual(t, put("application/app-1/cancel", http.StatusOK),
		dao.Operated{Action: "cancel", Name: "app-1", Changed: true})
	assert.Assert(t,
		strings.Contains(o.get(defaultPartition+"application/app-1").Body.String(), `"applicationState":"Failing"`))
	for _, target := range []string{"application/none/hold", "application/none/cancel", "queue/root.none/stop",
		"node/none/cordon"} {
		put(target, http.StatusNotFound)
		w := o.send(o.handler, http.MethodPut, defaultPartition+target, "")
		assert.Equal(t, w.Code, http.StatusMethodNotAllowed)
		assert.Assert(t, strings.Contains(w.Body.String(), "operators act on the admin listener only"), w.Body)
	}
	w := o.send(o.admin, http.MethodPut, "/ws/v1/partition/other/queue/root/stop", "")
	assert.Equal(t, w.Code, http.StatusNotFound)
}
