package rmproxy

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// A message with more than fewElements elements is handled in a slot, which is free again however
// handling ends; a smaller one needs none (RMI-42).
func TestCommandBatch_ManyElementsAreHandledInASlot(t *testing.T) {
	faulty := false
	p := newTestProxy(testOptions{OnAPIRejected: func(scheduler.Effect) {
		if faulty {
			panic("a fault")
		}
	}})
	defer p.stop()
	assert.NilError(t, p.registerRemote(&si.RegisterResourceManagerRequest{RmID: "rm"}, func() *session {
		return newSession(p, "rm")
	}))
	s := p.current()

	assert.Assert(t, s.newBatch(fewElements).slot == nil)
	b := s.newBatch(fewElements + 1)
	assert.Assert(t, b.slot != nil)
	assert.NilError(t, b.send())
	b.discard() // as the handlers do after send

	unnamed := &si.NodeRequest{Nodes: make([]*si.NodeInfo, fewElements+1)}
	for i := range unnamed.Nodes {
		unnamed.Nodes[i] = &si.NodeInfo{Action: si.NodeInfo_CREATE}
	}
	handle := func() (failed any) {
		defer func() { failed = recover() }()
		assert.NilError(t, s.handleNodes(unnamed, nil))
		return nil
	}
	for _, faulty = range []bool{false, true} {
		for range runtime.NumCPU() + 1 { // more than slots: with one kept each time this would wait for ever
			assert.Equal(t, handle() != nil, faulty)
		}
	}
	const answered = 2
	assert.Equal(t, len(notTaken(s.outboxes[nodeStream])), answered*(runtime.NumCPU()+1)*len(unnamed.Nodes))
}

// Rejections of several kinds reach the stream of their kind in the order of the message.
func TestQueue_EffectsKeepTheirOrderInEachKind(t *testing.T) {
	p := newTestProxy(testOptions{})
	defer p.stop()
	s := newSession(p, "rm")
	defer s.close(ErrClosed)
	var effects []scheduler.Effect
	for i := range 10 {
		id := fmt.Sprint(i)
		effects = append(effects, rejected(objects.AllocationKey(id)), scheduler.NodeRejected{Node: objects.NodeID(id)},
			scheduler.NodeRejected{Node: objects.NodeID(id + "b")})
	}
	in := s.queue("p", effects)
	assert.Equal(t, in, s.outboxes[allocationStream].undeliveredBytes())
	assert.Equal(t, s.queue("p", effects[1:3]), uint64(0))
	nodes, asks := notTaken(s.outboxes[nodeStream]), notTaken(s.outboxes[allocationStream])
	assert.Equal(t, len(nodes), 22)
	assert.Equal(t, len(asks), 10)
	for i := range 10 {
		assert.Equal(t, asks[i].effect.(scheduler.AskRejected).Key, objects.AllocationKey(fmt.Sprint(i)))
		assert.Equal(t, nodes[2*i].effect.(scheduler.NodeRejected).Node, objects.NodeID(fmt.Sprint(i)))
		assert.Equal(t, nodes[2*i+1].effect.(scheduler.NodeRejected).Node, objects.NodeID(fmt.Sprint(i)+"b"))
	}
}
