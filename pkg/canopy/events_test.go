package canopy_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
	"github.com/canopy-scheduler/canopy/pkg/canopy"
)

// eventRM keeps the texts of the events that it gets.
type eventRM struct {
	rm
	texts []string
}

func (r *eventRM) SendEvent(records []*si.EventRecord) {
	for _, e := range records {
		r.texts = append(r.texts, strings.TrimSpace(e.Type.String()+" "+e.ObjectID+" "+e.ReferenceID+" "+e.Message))
	}
}

// A resource manager in process gets what the event history says of asks and nodes, but not each placement (RMI-81).
func TestServer_EventsAboutAsksAndNodesAreSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := start(t, canopy.Options{})
		r := &eventRM{rm: rm{id: "rm"}}
		_, err := s.Scheduler().RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: r.id, Config: queues("a"),
			ExtraConfig: map[string]string{"event.ringBufferCapacity": "100"}}, r)
		assert.NilError(t, err)
		assert.NilError(t, s.Scheduler().UpdateNode(&si.NodeRequest{RmID: r.id, Nodes: []*si.NodeInfo{fakerm.Node("n")}}))
		r.submit(t, s.Scheduler(), "app", "root.a")
		r.ask(t, s.Scheduler(), "fits")
		large := fakerm.Ask("large", "app")
		large.ResourcePerAlloc = fakerm.Resource(1<<50, 1)
		assert.NilError(t,
			s.Scheduler().UpdateAllocation(&si.AllocationRequest{RmID: r.id, Allocations: []*si.Allocation{large}}))
		time.Sleep(time.Minute)
		synctest.Wait()
		sent := slices.Clone(r.texts)
		assert.DeepEqual(t, sent,
			[]string{"NODE n  Node added to the scheduler",
				"REQUEST large app FAILED: its quotas allow it, and no node can take it now"})

		// Records that are not kept any more are not sent, and those after them are.
		for i := range 300 {
			large := fakerm.Ask("large", "app")
			large.ResourcePerAlloc, large.Priority = fakerm.Resource(1<<50, 1), int32(i+1)
			assert.NilError(t,
				s.Scheduler().UpdateAllocation(&si.AllocationRequest{RmID: r.id, Allocations: []*si.Allocation{large}}))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, len(r.texts)-len(sent), 100, "%v", r.texts[len(r.texts)-1:])
		assert.NilError(t, s.Close())
	})
}
