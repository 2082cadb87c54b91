package sim_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/sim"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
)

const (
	restAllocated = `{"allocationKey":"a1","resource":{"memory":1,"vcore":2000},"nodeId":"n1","applicationId":"app"}`
	restNodes     = `[{"nodeID":"n1","capacity":{"memory":10,"vcore":4000},"allocated":{"memory":1,"vcore":2000},` +
		`"available":{"memory":9,"vcore":2000},"allocations":[` + restAllocated + `],"schedulable":true},` +
		`{"nodeID":"n2","capacity":{"memory":10,"vcore":4000},"available":{"memory":10,"vcore":4000},"schedulable":false}]`
	restApplications = `[{"applicationID":"app","requests":[{"allocationKey":"w","resource":{"memory":1,"vcore":2000},` +
		`"applicationId":"app"}],` +
		`"allocations":[` + restAllocated + `]},{"applicationID":"other"}]`
)

// CompareREST finds every difference between REST and the state of the client.
func TestClient_CompareREST(t *testing.T) {
	ctx := testContext(t)
	_, c := startPair(t, loop.Options{}, twoQueues)
	assert.NilError(t,
		c.AddNodes(ctx, sim.Node{ID: "n1", Capacity: amounts(4000, 10)},
			sim.Node{ID: "n2", Capacity: amounts(4000, 10), Draining: true}))
	assert.NilError(t, c.AddApplications(ctx,
		sim.Application{ID: "app", Queue: "root.a", User: "ann"}, sim.Application{ID: "other", Queue: "root.a", User: "ann"}))
	assert.NilError(t, c.Submit(ctx, ask("a1", "app", 2000), ask("w", "app", 2000)))
	assert.NilError(t, c.WaitIdle(ctx))
	assert.Equal(t, c.Counts().Allocated, 1)

	cases := []struct{ name, old, now, want string }{
		{"nothing", "", "", ""},
		{"a node that was never registered", `"nodeID":"n2"`, `"nodeID":"n3"`,
			"node n3 is shown twice, or was never registered"},
		{"a node twice", `"nodeID":"n2"`, `"nodeID":"n1"`, "node n1 is shown twice, or was never registered"},
		{"a node that is missing", restNodes, "[" + strings.SplitAfter(restNodes[1:], "true}")[0] + "]",
			"1 nodes have 1 allocations; 2 were registered, and 1 allocations run"},
		{"a node that is schedulable", `"schedulable":false`, `"schedulable":true`, "node n2: schedulable is true"},
		{"a capacity", `"capacity":{"memory":10`, `"capacity":{"memory":11`,
			"node n1 has {memory=11 vcore=4000}, and was registered with {memory=10 vcore=4000}"},
		{"an amount that is allocated", `"allocated":{"memory":1`, `"allocated":{"memory":2`,
			"node n1: {memory=2 vcore=2000} is allocated, and its allocations have {memory=1 vcore=2000}"},
		{"an amount that is available", `"available":{"memory":9`, `"available":{"memory":8`,
			"node n1: {memory=8 vcore=2000} is available, and {memory=9 vcore=2000} is left"},
		{"an allocation on two nodes", `4000},"schedulable":false`,
			`4000},"allocations":[` + restAllocated + `],"schedulable":false`,
			"node n2: a1 is shown twice"},
		{"an allocation on another node", `"nodeId":"n1"`, `"nodeId":"n2"`,
			`node n1: a1 is on node "n2", and was placed on node "n1"`},
		{"an allocation that is missing", `"allocations":[` + restAllocated + `],"schedulable"`,
			`"allocations":[],"schedulable"`,
			"node n1: {memory=1 vcore=2000} is allocated, and its allocations have {}"},
		{"an allocation in the list of another node", restNodes, `[{"nodeID":"n2","allocations":[` + restAllocated + `]}]`,
			`node n2 has allocation a1, which says node "n1"`},
		{"an allocation that has ended", `"allocationKey":"a1"`, `"allocationKey":"a0"`,
			"node n1: a0 has ended or was never submitted"},
		{"the amounts of an allocation", `"a1","resource":{"memory":1`, `"a1","resource":{"memory":3`,
			"node n1: a1 has {memory=3 vcore=2000}, and asked for {memory=1 vcore=2000}"},
		{"an ask that is missing",
			`"requests":[{"allocationKey":"w","resource":{"memory":1,"vcore":2000},"applicationId":"app"}],`, "",
			"applications have 1 asks and allocations, there are 2"},
		{"an ask that is placed", `"vcore":2000},"applicationId":"app"}],"`,
			`"vcore":2000},"applicationId":"app","nodeId":"n1"}],"`,
			`application app: w is on node "n1", and was placed on node ""`},
		{"another application", `[{"applicationID":"app"`, `[{"applicationID":"other"`,
			`application other has w of application app, which says application "app"`},
		{"no JSON", restNodes, "<", "is answered with an unexpected body: invalid character"},
	}
	for _, x := range cases {
		t.Run(x.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				bodies := map[string]string{
					"/ws/v1/partition/default/nodes": restNodes, "/ws/v1/partition/default/applications/active": restApplications,
				}
				fmt.Fprint(w, strings.ReplaceAll(bodies[r.URL.Path], x.old, x.now))
			}))
			defer server.Close()
			if x.old != "" {
				assert.Assert(t, strings.Contains(restNodes+restApplications, x.old))
			}
			err := c.CompareREST(ctx, server.Listener.Addr().String())
			if x.want == "" {
				assert.NilError(t, err)
				return
			}
			assert.ErrorContains(t, err, x.want)
		})
	}
	missing := httptest.NewServer(http.NotFoundHandler())
	defer missing.Close()
	assert.ErrorContains(t, c.CompareREST(ctx, missing.Listener.Addr().String()), "/nodes is answered with 404 Not Found")
}
