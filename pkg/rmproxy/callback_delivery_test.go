package rmproxy

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

func TestInProcess_ReregistersWhileACallbackBlocks(t *testing.T) {
	for what, send := range map[string]func(*linkedCore){
		"a call of the scheduler": func(d *linkedCore) { d.addNodes("n1") },
		"a rejection by the API":  func(d *linkedCore) { d.submitAsks("") },
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				blocked := make(chan struct{})
				first := &fakerm.Recorder{OnCall: func(string) { <-blocked }}
				d := newLinkedCore(t, first)
				send(d)
				synctest.Wait() // the first call blocks
				send(d)         // the second call is never made
				synctest.Wait()

				second := &fakerm.Recorder{}
				go func() {
					d.register(second)
					d.addNodes("n1")
					d.addApp()
				}()
				synctest.Wait()
				assert.Equal(t, len(second.Calls()), 0, "the second call waits for the first")
				close(blocked)
				synctest.Wait()
				assert.DeepEqual(t, second.Calls(), []string{
					"nodes +1 -0", "applications +1 -0",
				})
				assert.Equal(t, len(first.Calls()), 1, "%v", first.Calls())
			})
		})
	}
}

func TestInProcess_StopWaitsForTheLastCallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		blocked, stopped := make(chan struct{}), make(chan struct{})
		d := newLinkedCore(t, &fakerm.Recorder{OnCall: func(string) { <-blocked }})
		d.addNodes("n1")
		synctest.Wait()
		go func() {
			d.Stop()
			close(stopped)
		}()
		synctest.Wait()
		select {
		case <-stopped:
			t.Fatal("a call is still under way")
		default:
		}
		assert.ErrorIs(t, d.UpdateNode(&si.NodeRequest{RmID: "rm"}), ErrClosed)
		close(blocked)
		<-stopped
		d.Stop()
		_, err := d.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: "rm"}, &fakerm.Recorder{})
		assert.ErrorIs(t, err, ErrClosed)
	})
}

func TestInProcess_CallbacksOfPartitionsAreSerialized(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakerm.Recorder{OnCall: func(string) { time.Sleep(time.Second) }}
		d := newLinkedCore(t, s)
		assert.NilError(t, d.UpdateConfiguration(&si.UpdateConfigurationRequest{RmID: "rm", Config: twoPartitions}))
		for _, partition := range []string{"default", "gpu"} {
			for _, id := range []string{"1", "2", "3"} {
				n := fakerm.Node(partition + id)
				n.Attributes = map[string]string{"si/node-partition": partition}
				assert.NilError(t, d.UpdateNode(&si.NodeRequest{RmID: "rm", Nodes: []*si.NodeInfo{n}}))
				synctest.Wait() // one of the two partitions is in its call, the other waits
			}
		}
		time.Sleep(time.Minute)
		accepted := 0
		for _, what := range s.Calls() {
			accepted += int(what[len("nodes +")] - '0')
		}
		assert.Equal(t, accepted, 6)
		assert.Assert(t, !s.Overlapped(), "two calls at once")
	})
}

// The API answers what it rejects itself on a goroutine of its own: the caller may hold a lock
// that the callback takes, too.
func TestInProcess_RejectionsDoNotBlockTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lock := make(chan struct{}, 1)
		s := &fakerm.Recorder{OnCall: func(string) { lock <- struct{}{}; <-lock }}
		d := newLinkedCore(t, s)
		lock <- struct{}{}
		d.submitAsks("", "k")
		d.addNodes("", "n1")
		<-lock
		synctest.Wait()
		got := s.Calls()
		slices.Sort(got)
		assert.DeepEqual(t, got, []string{"allocations ! !k", "nodes +0 -1", "nodes +1 -0"})
	})
}

func TestInProcess_RejectionsPrecedeEffectsOfLaterMessages(t *testing.T) {
	p := newTestProxy(testOptions{})
	defer p.stop()
	recorder := &fakerm.Recorder{}
	s := newSession(p, "rm")
	s.shim = newShimCallback(recorder)
	s.outboxes[allocationStream].put(apiOrigin, rejected("k"))
	s.deliver("default", []scheduler.Effect{
		scheduler.Allocated{Binding: &scheduler.Binding{Ask: &objects.Ask{Key: "k"}, Node: "n"}},
		scheduler.NodeAccepted{Node: "n"},
		scheduler.Allocated{Binding: &scheduler.Binding{Ask: &objects.Ask{Key: "l"}, Node: "n"}},
		scheduler.Allocated{Binding: &scheduler.Binding{Ask: &objects.Ask{Key: "m"}, Node: "n"}},
	})
	assert.Equal(t, strings.Join(recorder.Calls(), "; "),
		"allocations !k; allocations k@n; nodes +1 -0; allocations l@n m@n")
	s.close(ErrClosed)
	s.deliverByCallback("default", []scheduler.Effect{rejected("late")}) // this delivery waited for the token meanwhile
	assert.Equal(t, len(recorder.Calls()), 4, "no call after the end")
}
