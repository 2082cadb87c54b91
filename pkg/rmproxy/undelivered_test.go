package rmproxy

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/grpc/codes"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
)

// An RM that sends asks without end and does not read is not read either, and after a timeout its
// stream ends. The undelivered effects are kept for its next stream, and the accounting is
// unchanged.
func TestUndelivered_AnRMThatReadsNothingIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newBubbleRig(t, testOptions{
			Loop:   loop.Options{HighWater: 1}, // else the mailbox holds messages whose answers do not count yet
			Limits: Limits{UndeliveredBytes: 1 << 20, UndeliveredTimeout: 10 * time.Second},
		})
		assert.NilError(t, r.register("rm", queues))
		r.withNodeAndApp()
		x := r.openAllocationStream()
		m := &si.AllocationRequest{}
		for i := range 1000 {
			m.Allocations = append(m.Allocations, fakerm.Ask(fmt.Sprint(i), strings.Repeat("absent", 20)))
		}
		var sent atomic.Int64
		go func() {
			for x.Send(m) == nil {
				sent.Add(1)
			}
		}()
		start := time.Now()
		synctest.Wait()
		box := r.p.current().outboxes[allocationStream]
		waits := box.undeliveredBytes()
		assert.Assert(t, waits > 1<<18 && waits < 2<<20, "%d bytes wait", waits)
		stopped := sent.Load()
		const late = 10*time.Second + time.Millisecond // at 10 s sharp the reads below could come before the time-out
		<-time.After(late)
		assert.Assert(t, sent.Load() <= stopped+1, "nothing more is read")
		// Delivery waits below 256 KiB and the reader below 1 MiB, both from now on: either ends the stream.
		assertStreamFails(t, x, codes.ResourceExhausted, "does not read its answers: more than")
		assert.Equal(t, time.Since(start), late)
		assert.Equal(t, r.logs.FilterMessage("stream ended: its answers are not read").Len(), 1)

		next := r.openAllocationStream()
		good := fakerm.Ask("good", "app")
		assert.NilError(t, next.Send(&si.AllocationRequest{Allocations: []*si.Allocation{good}}))
		for made := 0; made == 0; {
			answer, err := next.Recv()
			assert.NilError(t, err)
			made = len(answer.New)
		}
		assert.Equal(t, r.snapshot("default").Allocations, 1)
		assert.NilError(t, r.register("rm", queues))
		assert.Equal(t, r.p.current().outboxes[allocationStream].undeliveredBytes(), uint64(0))
	})
}

// An RM that sends once, and does not read the decisions, pauses scheduling no longer than that.
func TestUndelivered_DecisionsThatAreNotReadEndTheStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newBubbleRig(t, testOptions{
			Loop:   loop.Options{DecisionBatch: 8, MaxUndelivered: 8},
			Limits: Limits{UndeliveredBytes: 1 << 20, UndeliveredTimeout: 10 * time.Second},
		})
		assert.NilError(t, r.register("rm", queues))
		r.withNodeAndApp()
		n := r.openNodeStream()
		big := fakerm.Node("big")
		big.SchedulableResource = fakerm.Resource(1<<40, 1<<40)
		assert.NilError(t, n.Send(&si.NodeRequest{Nodes: []*si.NodeInfo{big}}))
		receive(t, n, 1, (*si.NodeResponse).GetAccepted)
		x := r.openAllocationStream()
		asks := &si.AllocationRequest{}
		const many = 20_000
		for i := range many {
			asks.Allocations = append(asks.Allocations, fakerm.Ask(fmt.Sprint(i), "app"))
		}
		assert.NilError(t, x.Send(asks))
		synctest.Wait()
		decided := r.snapshot("default").Allocations
		assert.Assert(t, decided > 0 && decided < many, "%d decided", decided)
		<-time.After(10 * time.Second)
		assertStreamFails(t, x, codes.ResourceExhausted, "more than 262144 bytes wait")
	})
}

// Rejections by the API itself are bounded in the same way. Unread answers about nodes stop nothing
// but messages about nodes.
func TestUndelivered_RefusalsThatAreNotReadEndTheStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newBubbleRig(t, testOptions{Limits: Limits{UndeliveredBytes: 1 << 20, UndeliveredTimeout: 10 * time.Second}})
		assert.NilError(t, r.register("rm", queues))
		r.withNodeAndApp()
		n := r.openNodeStream()
		m := &si.NodeRequest{Nodes: make([]*si.NodeInfo, 1000)}
		for i := range m.Nodes {
			m.Nodes[i] = &si.NodeInfo{Action: si.NodeInfo_CREATE}
		}
		go func() {
			for n.Send(m) == nil {
			}
		}()
		synctest.Wait()
		waits := r.p.current().outboxes[nodeStream].undeliveredBytes()
		assert.Assert(t, waits > 1<<20 && waits < 2<<20, "%d bytes wait", waits)
		other := r.openAllocationStream()
		for i := range 3 {
			assert.NilError(t,
				other.Send(&si.AllocationRequest{Allocations: []*si.Allocation{fakerm.Ask(fmt.Sprint(i), "app")}}))
			receive(t, other, 1, (*si.AllocationResponse).GetNew)
		}
		<-time.After(10 * time.Second)
		assertStreamFails(t, n, codes.ResourceExhausted, "more than 1048576 bytes wait, and nothing was read for 10s")
	})
}
