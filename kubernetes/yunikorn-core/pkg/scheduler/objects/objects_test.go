package objects_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/apache/yunikorn-core/pkg/scheduler/objects"
	"github.com/apache/yunikorn-core/pkg/webservice/dao"
)

func TestNewApplication_HasAsksAndAllocations(t *testing.T) {
	a := objects.NewApplication(&dao.ApplicationDAOInfo{
		ApplicationID: "app-1", State: "Running",
		Requests: []*dao.AllocationAskDAOInfo{{AllocationKey: "waits", ResourcePerAlloc: map[string]int64{"vcore": 100}}},
		Allocations: []*dao.AllocationDAOInfo{{AllocationKey: "runs", NodeID: "n1"},
			{AllocationKey: "runs too", NodeID: "n2"}},
	})
	assert.Equal(t, a.ApplicationID+" "+a.CurrentState(), "app-1 Running")
	assert.Equal(t, len(a.GetAllAllocations()), 2)
	assert.Equal(t, a.GetAllAllocations()[1].GetNodeID(), "n2")
	ask := a.GetAllRequests()[0]
	assert.Equal(t, ask.GetAllocationKey()+ask.GetNodeID(), "waits")
	assert.Equal(t, ask.GetAllocatedResource().ToProto().Resources["vcore"].Value, int64(100))
}

func TestNewNode_TellsForeignAllocationsApart(t *testing.T) {
	n := objects.NewNode(&dao.NodeDAOInfo{
		NodeID: "n1", Allocations: []*dao.AllocationDAOInfo{{AllocationKey: "ours"}},
		ForeignAllocations: []*dao.ForeignAllocationDAOInfo{{AllocationKey: "foreign", NodeID: "n1"}},
	})
	assert.Equal(t, n.NodeID, "n1")
	assert.Equal(t, n.GetYunikornAllocations()[0].GetAllocationKey(), "ours")
	assert.Equal(t, n.GetForeignAllocations()[0].GetAllocationKey(), "foreign")
}
