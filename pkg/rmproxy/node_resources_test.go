package rmproxy

import (
	"testing"
	"testing/synctest"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/reload"
	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
)

// A configuration is compared with the nodes, except at a registration.
func TestReadConfig_WarnsOfResourcesThatNoNodeHas(t *testing.T) {
	text := []byte("partitions: [{queues: [{name: root, submitacl: '*', queues: [{name: a, resources: {max: {gpu: " +
		"1}}}]}]}]")
	synctest.Test(t, func(t *testing.T) {
		s := newGRPCEndpoint(t, testOptions{})
		problems := func(read readConfigFunc) string {
			p, err := read(reload.REST, "", text)
			assert.NilError(t, err)
			return p.Warnings.Error()
		}
		assert.Equal(t, problems(s.proxy.Reloads().Read), "", "there is no node yet")
		assert.NilError(t, s.UpdateNode(&si.NodeRequest{RmID: "rm", Nodes: []*si.NodeInfo{fakerm.Node("n1")}}))
		synctest.Wait()
		assert.Equal(t, problems(s.proxy.Reloads().Read),
			`1:90: warning [resource-absent] root.a: max is for a resource "gpu", which no node has (hint: the nodes have `+
				`"memory", "vcore")`)
		assert.Equal(t, problems(s.proxy.Reloads().ReadFirst), "")
	})
}
