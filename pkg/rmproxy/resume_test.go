package rmproxy

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/grpc/metadata"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// resumed opens an allocation stream of an RM that has received answers up to a position, and returns where it begins.
func (r *rig) resumed(from string) (stream si.Scheduler_UpdateAllocationClient, at string, drop context.CancelFunc) {
	r.t.Helper()
	ctx, drop := context.WithCancel(metadata.AppendToOutgoingContext(r.ctx, resumeKey, from))
	stream, err := r.client.UpdateAllocation(ctx)
	assert.NilError(r.t, err)
	assert.NilError(r.t, stream.Send(&si.AllocationRequest{RmID: "rm"}))
	head, err := stream.Header()
	assert.NilError(r.t, err)
	assert.Equal(r.t, len(head.Get(positionKey)), 1, "%v", head)
	return stream, head.Get(positionKey)[0], drop
}

// after is the position so many messages later.
func after(t *testing.T, at string, messages uint64) string {
	t.Helper()
	p, ok := parsePosition(at)
	assert.Assert(t, ok, at)
	p.n += messages
	return p.String()
}

// An RM whose connection broke, and which says what it has received, gets the rest once; one that says nothing gets
// what was not sent.
func TestResume_SendsWhatIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newBubbleRig(t, testOptions{})
		assert.NilError(t, r.register("rm", queues))
		r.withNodeAndApp()
		stream, begin, drop := r.resumed("")
		for i := range 3 { // each in a message of its own
			assert.NilError(t,
				stream.Send(&si.AllocationRequest{Allocations: []*si.Allocation{fakerm.Ask(fmt.Sprint("k", i), "app")}}))
			receive(t, stream, 1, (*si.AllocationResponse).GetNew)
		}
		drop()
		synctest.Wait()

		resumed, at, drop := r.resumed(after(t, begin, 1)) // the others were lost on the way
		assert.Equal(t, at, after(t, begin, 1))
		for i := 1; i < 3; i++ {
			assert.Equal(t, receive(t, resumed, 1, (*si.AllocationResponse).GetNew)[0].AllocationKey, fmt.Sprint("k", i))
		}
		assert.NilError(t, resumed.Send(&si.AllocationRequest{Allocations: []*si.Allocation{fakerm.Ask("k3", "app")}}))
		assert.Equal(t, receive(t, resumed, 1, (*si.AllocationResponse).GetNew)[0].AllocationKey, "k3")
		drop()
		synctest.Wait()

		all, at, drop := r.resumed(begin)
		defer drop()
		assert.Equal(t, at, begin)
		for i := range 4 {
			assert.Equal(t, receive(t, all, 1, (*si.AllocationResponse).GetNew)[0].AllocationKey, fmt.Sprint("k", i))
		}
	})
}

// What cannot be resumed has another position than the RM has named: it has to register again.
func TestResume_UnknownPositions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newBubbleRig(t, testOptions{})
		assert.NilError(t, r.register("rm", queues))
		_, begin, drop := r.resumed("")
		drop()
		for _, from := range []string{after(t, begin, 1), "other/0", "nonsense", begin + "0x",
			strings.Replace(begin, "/", "/-", 1)} {
			_, at, drop := r.resumed(from)
			assert.Equal(t, at, begin, from)
			drop()
		}
		assert.NilError(t, r.register("rm", queues))
		_, at, drop := r.resumed(begin)
		assert.Assert(t, at != begin, "the position of a former registration")
		drop()
	})
}

// Without the metadata nothing is retained, and there is no header.
func TestResume_OnlyIfAsked(t *testing.T) {
	r := newRegisteredRig(t, testOptions{})
	r.withNodeAndApp()
	stream := r.openAllocationStream()
	assert.NilError(t, stream.Send(&si.AllocationRequest{Allocations: []*si.Allocation{fakerm.Ask("k", "app")}}))
	receive(t, stream, 1, (*si.AllocationResponse).GetNew)
	head, err := stream.Header()
	assert.NilError(t, err)
	assert.Equal(t, len(head.Get(positionKey)), 0)
	assert.Equal(t, len(r.p.current().sent[allocationStream].retained), 0)
}

// TestSentLog_MatchesAPlainList compares the log with a list of all that was sent.
func TestSentLog_MatchesAPlainList(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	l := &sentLog{of: "x", keep: true}
	var all []string
	for i := range 3000 {
		text := strings.Repeat("a", rng.IntN(20_000))
		l.add([]outboundEffect{{"p", scheduler.NodeRejected{Node: "n", Reason: fmt.Sprint(i, text)}}})
		all = append(all, fmt.Sprint(i, text))
		assert.Assert(t, l.bytes <= maxRetainedBytes)
		if i%10 != 0 {
			continue
		}
		from := uint64(rng.IntN(len(all) + 1))
		at, missed := l.begin(position{"x", from}.String())
		if at.n != from {
			assert.Equal(t, at.n, uint64(len(all)))
			assert.Assert(t, len(all)-int(from) > len(l.retained), "%d of %d, and %d are retained", from, len(all),
				len(l.retained))
			continue
		}
		assert.Equal(t, len(missed), len(all)-int(from))
		for k, batch := range missed {
			assert.Equal(t, batch[0].effect.(scheduler.NodeRejected).Reason, all[int(from)+k])
		}
	}
	assert.Assert(t, len(l.retained) < len(all))
}
