package rmproxy

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

func TestStreams_RequireARegisteredRM(t *testing.T) {
	r := newRig(t, testOptions{})
	n, err := r.client.UpdateNode(r.ctx)
	assert.NilError(t, err)
	assert.NilError(t, n.Send(&si.NodeRequest{RmID: "rm"}))
	assertStreamFails(t, n, codes.FailedPrecondition, `received NodeRequest, but RmID="rm" not registered`)

	assert.NilError(t, r.register("rm", queues))
	x, err := r.client.UpdateAllocation(r.ctx)
	assert.NilError(t, err)
	assert.NilError(t, x.Send(&si.AllocationRequest{RmID: "other"}))
	assertStreamFails(t, x, codes.FailedPrecondition, `received AllocationRequest, but RmID="other" not registered`)
}

func TestStreams_FirstMessageNamesTheRM(t *testing.T) {
	r := newRegisteredRig(t, testOptions{})
	a, err := r.client.UpdateApplication(r.ctx)
	assert.NilError(t, err)
	assert.NilError(t, a.Send(&si.ApplicationRequest{}))
	assertStreamFails(t, a, codes.InvalidArgument, "the first message of a stream must have an rmID")

	n := r.openNodeStream() // nothing but the rmID
	assert.NilError(t, n.Send(&si.NodeRequest{Nodes: []*si.NodeInfo{fakerm.Node("n1")}}), "without an rmID")
	assert.NilError(t, n.Send(&si.NodeRequest{RmID: "rm", Nodes: []*si.NodeInfo{fakerm.Node("n2")}}), "with the same rmID")
	receive(t, n, 2, (*si.NodeResponse).GetAccepted)
	assert.NilError(t, n.Send(&si.NodeRequest{RmID: "other"}))
	assertStreamFails(t, n, codes.InvalidArgument, `the stream belongs to RM rm, not to "other"`)
}

func TestStreams_NewerReplacesOlder(t *testing.T) {
	r := newRegisteredRig(t, testOptions{})
	older := r.openNodeStream()
	assert.NilError(t, older.Send(&si.NodeRequest{Nodes: []*si.NodeInfo{fakerm.Node("n1")}}))
	receive(t, older, 1, (*si.NodeResponse).GetAccepted)
	newer := r.openNodeStream()
	assertStreamFails(t, older, codes.Aborted, "a newer stream of the same kind was opened")
	assert.NilError(t, newer.Send(&si.NodeRequest{Nodes: []*si.NodeInfo{fakerm.Node("n2")}}))
	assert.Equal(t, receive(t, newer, 1, (*si.NodeResponse).GetAccepted)[0].NodeID, "n2")
}

func TestStreams_UndeliveredEffectsGoToTheNextStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newBubbleRig(t, testOptions{})
		assert.NilError(t, r.register("rm", queues))
		r.withNodeAndApp() // its streams stay open in the client, and there is no allocation stream yet
		older := r.openAllocationStream()
		assert.NilError(t, older.Send(&si.AllocationRequest{Allocations: []*si.Allocation{fakerm.Ask("k1", "app")}}))
		receive(t, older, 1, (*si.AllocationResponse).GetNew)
		assert.NilError(t, older.CloseSend())
		_, err := older.Recv()
		assert.Equal(t, err, io.EOF)

		// Now there is no allocation stream, and the node is removed: the release waits for the
		// next stream.
		n := r.openNodeStream()
		assert.NilError(t, n.Send(&si.NodeRequest{Nodes: []*si.NodeInfo{
			{NodeID: "n1", Action: si.NodeInfo_DECOMISSION},
		}}))
		synctest.Wait()
		newer := r.openAllocationStream()
		releasedAlloc := receive(t, newer, 1, (*si.AllocationResponse).GetReleased)[0]
		assert.Equal(t, releasedAlloc.AllocationKey, "k1")
		assert.Equal(t, releasedAlloc.TerminationType, si.TerminationType_STOPPED_BY_RM)
	})
}

func TestStreams_ResponsesWaitForTheFirstStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newBubbleRig(t, testOptions{})
		assert.NilError(t, r.register("rm", queues))
		r.p.current().handle(&si.NodeRequest{Nodes: []*si.NodeInfo{fakerm.Node("n1"), fakerm.Node("n1")}})
		synctest.Wait()
		n := r.openNodeStream()
		m, err := n.Recv()
		assert.NilError(t, err)
		assert.Equal(t, m.Accepted[0].NodeID, "n1")
		assert.Equal(t, m.Rejected[0].NodeID, "n1")
	})
}

func TestStreams_UnsentResponsesOfABlockedStreamGoToTheNext(t *testing.T) {
	r := newRegisteredRig(t, testOptions{})
	older := r.openAllocationStream()
	const n = 20000
	m := &si.AllocationRequest{}
	for i := range n {
		m.Allocations = append(m.Allocations, fakerm.Ask(fmt.Sprint(i), strings.Repeat("absent", 20)))
	}
	assert.NilError(t, older.Send(m))
	first, err := older.Recv() // the rest is more than the flow-control window of a stream
	assert.NilError(t, err)
	assert.Equal(t, first.RejectedAllocations[0].AllocationKey, "0")

	newer := r.openAllocationStream()
	next := -1
	for next != n {
		m, err := newer.Recv()
		assert.NilError(t, err)
		for _, rejected := range m.RejectedAllocations {
			if next < 0 {
				_, err := fmt.Sscan(rejected.AllocationKey, &next)
				assert.NilError(t, err)
			}
			assert.Equal(t, rejected.AllocationKey, fmt.Sprint(next), "nothing is missing or repeated")
			next++
		}
	}
	assertStreamFails(t, older, codes.Aborted, "newer stream")
}

func TestStreams_EndAfterCloseSendAndLastResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newBubbleRig(t, testOptions{})
		assert.NilError(t, r.register("rm", queues))
		r.withNodeAndApp()
		x := r.openAllocationStream()
		assert.NilError(t, x.Send(&si.AllocationRequest{Allocations: []*si.Allocation{fakerm.Ask("k1", "app")}}))
		assert.NilError(t, x.CloseSend())
		start := time.Now()
		receive(t, x, 1, (*si.AllocationResponse).GetNew)
		_, err := x.Recv()
		assert.Equal(t, err, io.EOF)
		assert.Equal(t, time.Since(start), lingerIdle)

		empty, err := r.client.UpdateNode(r.ctx)
		assert.NilError(t, err)
		assert.NilError(t, empty.CloseSend())
		_, err = empty.Recv()
		assert.Equal(t, err, io.EOF, "a stream without a message is no error")
	})
}

func TestStreams_StayOpenAfterCloseSendWhileResponsesCome(t *testing.T) {
	// finished returns how long after its last message a stream ended, when an answer comes after
	// every pause.
	finished := func(pause time.Duration, times int) (took time.Duration, received int) {
		synctest.Test(t, func(t *testing.T) {
			r := newBubbleRig(t, testOptions{})
			assert.NilError(t, r.register("rm", queues))
			x := r.openAllocationStream()
			assert.NilError(t, x.CloseSend())
			synctest.Wait()
			start := time.Now()
			go func() {
				for range times {
					time.Sleep(pause)
					r.p.current().deliver("default", []scheduler.Effect{scheduler.AskRejected{Key: "k"}})
				}
			}()
			for {
				m, err := x.Recv()
				if err != nil {
					assert.Equal(t, err, io.EOF)
					break
				}
				received += len(m.RejectedAllocations)
			}
			took = time.Since(start)
			time.Sleep(pause * time.Duration(times))
		})
		return took, received
	}
	took, received := finished(60*time.Millisecond, 5)
	assert.Equal(t, took, 5*60*time.Millisecond+lingerIdle)
	assert.Equal(t, received, 5)
	took, _ = finished(60*time.Millisecond, 1000)
	assert.Assert(t, took >= lingerMax && took < lingerMax+lingerIdle, "%v", took)
}

// bigAsk takes more than 20 KiB on the wire.
func bigAsk(key string) *si.Allocation {
	x := fakerm.Ask(key, "app")
	x.TaskGroupName = strings.Repeat("t", 1000)
	for i := range 200 {
		x.ResourcePerAlloc.Resources[fmt.Sprintf("%s%03d", strings.Repeat("r", 100), i)] = &si.Quantity{Value: 1}
	}
	return x
}

func TestStreams_ManyResponsesAreSplit(t *testing.T) {
	r := newRegisteredRig(t, testOptions{})
	r.withNodeAndApp()
	x := r.openAllocationStream()
	const n = 3000
	m := &si.AllocationRequest{}
	for i := range n {
		m.Allocations = append(m.Allocations, fakerm.Ask(fmt.Sprint(i), "unknown"))
	}
	assert.NilError(t, x.Send(m))
	next := 0
	for next < n {
		answer, err := x.Recv()
		assert.NilError(t, err)
		assert.Assert(t, len(answer.RejectedAllocations) <= maxEntries, "%d", len(answer.RejectedAllocations))
		for _, rejected := range answer.RejectedAllocations {
			assert.Equal(t, rejected.AllocationKey, fmt.Sprint(next), "in order")
			next++
		}
	}
}

func TestStreams_LargeResponsesAreSplit(t *testing.T) {
	r := newRegisteredRig(t, testOptions{})
	r.withNodeAndApp()
	x := r.openAllocationStream()
	const n = 400
	for i := range n {
		ask := bigAsk(fmt.Sprint(i))
		ask.NodeID = "n1" // a recovered allocation may exceed the node
		assert.NilError(t, x.Send(&si.AllocationRequest{Allocations: []*si.Allocation{ask}}))
	}
	got, messages := 0, 0
	for got < n {
		answer, err := x.Recv()
		assert.NilError(t, err)
		assert.Assert(t, proto.Size(answer) <= maxBytes, "%d bytes", proto.Size(answer))
		got += len(answer.New)
		messages++
	}
	assert.Equal(t, got, n)
	assert.Assert(t, messages > 5)
}

func TestStreams_FullMailboxStopsReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		blocked := make(chan struct{})
		unblocked := make(chan struct{})
		close(unblocked)
		current := make(chan chan struct{}, 1)
		current <- unblocked
		clock := func() time.Time { // the holder of pass decides whether the core goes on
			ch := <-current
			current <- ch
			<-ch
			return time.Now()
		}
		r := newBubbleRig(t, testOptions{Loop: loop.Options{Now: clock, HighWater: 4}})
		assert.NilError(t, r.register("rm", queues))
		n := r.openNodeStream()
		synctest.Wait()
		<-current
		current <- blocked

		const sent = 50
		for i := range sent {
			assert.NilError(t, n.Send(&si.NodeRequest{Nodes: []*si.NodeInfo{fakerm.Node(fmt.Sprint("n", i))}}))
		}
		synctest.Wait()
		l, ok := r.p.Cluster().Partition("default")
		assert.Assert(t, ok)
		assert.Equal(t, l.Depth(), 4, "the rest has not been read")
		close(blocked)
		receive(t, n, sent, (*si.NodeResponse).GetAccepted)
	})
}

func TestStreams_SlowReaderPausesDecisionsNotCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newBubbleRig(t, testOptions{Loop: loop.Options{DecisionBatch: 8, MaxUndelivered: 8}})
		assert.NilError(t, r.register("rm", queues))
		s := r.p.current()
		s.maxUndelivered = 16 * memorySize(scheduler.Allocated{Binding: &scheduler.Binding{Ask: &objects.Ask{}}})
		r.withNodeAndApp()
		n := r.openNodeStream()
		big := fakerm.Node("big")
		big.SchedulableResource = fakerm.Resource(1<<40, 1<<40)
		assert.NilError(t, n.Send(&si.NodeRequest{Nodes: []*si.NodeInfo{big}}))
		receive(t, n, 1, (*si.NodeResponse).GetAccepted)

		// There is no allocation stream, but the core does not know that.
		r.p.cluster.SetListening(true)
		asks := &si.AllocationRequest{}
		const many = 500
		for i := range many {
			asks.Allocations = append(asks.Allocations, fakerm.Ask(fmt.Sprint(i), "app"))
		}
		s.handle(asks)
		synctest.Wait()
		l, ok := r.p.Cluster().Partition("default")
		assert.Assert(t, ok)
		view, err := l.Snapshot(r.ctx)
		assert.NilError(t, err)
		assert.Assert(t, view.Allocations > 0 && view.Allocations < 100, "%d decided", view.Allocations)
		assert.Equal(t, view.Allocations+view.Asks, many, "all commands were applied")

		x := r.openAllocationStream()
		receive(t, x, many, (*si.AllocationResponse).GetNew)
	})
}

func TestStreams_UnknownFieldsAreLoggedOnce(t *testing.T) {
	r := newRegisteredRig(t, testOptions{})
	r.withNodeAndApp()
	x := r.openAllocationStream()
	odd := &si.AllocationRequest{Allocations: []*si.Allocation{fakerm.Ask("k", "unknown")}}
	field := protowire.AppendBytes(protowire.AppendTag(nil, 9, protowire.BytesType), []byte("text"))
	odd.ProtoReflect().SetUnknown(field)
	assert.NilError(t, x.Send(odd))
	assert.NilError(t, x.Send(odd))
	receive(t, x, 2, (*si.AllocationResponse).GetRejectedAllocations)
	const warning = "fields that the scheduler interface does not have"
	assert.Equal(t, r.logs.FilterMessageSnippet(warning).Len(), 1)

	x = r.openAllocationStream()
	cancel := &si.AllocationRequest{Releases: &si.AllocationReleasesRequest{}}
	cancel.Releases.ProtoReflect().SetUnknown(field)
	assert.NilError(t, x.Send(cancel))
	assert.NilError(t, x.Send(&si.AllocationRequest{Allocations: []*si.Allocation{fakerm.Ask("k", "unknown")}}))
	receive(t, x, 1, (*si.AllocationResponse).GetRejectedAllocations)
	assert.Equal(t, r.logs.FilterMessageSnippet(warning).Len(), 2)
	assert.Equal(t, r.p.Counts().Ignored["unknown-field"], uint64(2))
}
