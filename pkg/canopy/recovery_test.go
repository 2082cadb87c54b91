package canopy_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
	"github.com/canopy-scheduler/canopy/pkg/canopy"
)

// A shim that asks before it has reported all that runs does not get more than the max of a queue (RMI-80).
func TestStart_RecoveryOfALinkedShimKeepsTheMax(t *testing.T) {
	const text = "partitions: [{name: default, queues: [{name: root, submitacl: '*', queues: [{name: a, resources: " +
		"{max: {vcore: 2m}}}]}]}]"
	for _, quiet := range []time.Duration{0, 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			s, logs := start(t, canopy.Options{InProcess: canopy.InProcess{RecoveryQuiet: quiet}})
			r := newRM("rm")
			r.register(t, s.Scheduler(), text, "root.a")
			for _, key := range []string{"new1", "new2"} {
				r.ask(t, s.Scheduler(), key)
			}
			time.Sleep(time.Second)
			for _, key := range []string{"runs1", "runs2"} {
				x := fakerm.Ask(key, "app")
				x.ResourcePerAlloc, x.NodeID = fakerm.Resource(1, 1), "rm-node"
				assert.NilError(t,
					s.Scheduler().UpdateAllocation(&si.AllocationRequest{RmID: "rm", Allocations: []*si.Allocation{x}}))
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			placed := strings.Count(strings.Join(r.Calls(), "\n"), "allocations new")
			assert.Equal(t, placed > 0, quiet == 0, "%v", r.Calls())
			assert.Equal(t, logs.FilterMessage("the recovery is over: decisions begin").Len() > 0, quiet > 0)
			assert.NilError(t, s.Close())
		})
	}
}
