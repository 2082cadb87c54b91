package rmproxy

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

func TestALinkedShimMayRegisterAgainWhileACallIsStuck(t *testing.T) {
	for what, answered := range map[string]func(*linked){
		"a call of the scheduler": func(d *linked) { d.nodes("n1") },
		"an answer of the door":   func(d *linked) { d.asks("") },
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stuck := make(chan struct{})
				older := &shim{during: func(string) { <-stuck }}
				d := link(t, older)
				answered(d)
				synctest.Wait() // the first call is under way
				answered(d)     // the second never comes
				synctest.Wait()

				newer := &shim{}
				go func() {
					d.register(newer)
					d.nodes("n1")
					d.app()
				}()
				synctest.Wait()
				assert.Equal(t, len(newer.all()), 0, "calls are strictly one after the other")
				close(stuck)
				synctest.Wait()
				assert.DeepEqual(t, newer.all(), []string{
					"nodes +1 -0", "applications +1 -0",
				})
				assert.Equal(t, len(older.all()), 1, "%v", older.all())
			})
		})
	}
}

func TestStopWaitsForTheLastCallAndIsFinal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck, stopped := make(chan struct{}), make(chan struct{})
		d := link(t, &shim{during: func(string) { <-stuck }})
		d.nodes("n1")
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
		close(stuck)
		<-stopped
		d.Stop()
		_, err := d.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: "rm"}, &shim{})
		assert.ErrorIs(t, err, ErrClosed)
	})
}

func TestPartitionsCallAShimOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shim{during: func(string) { time.Sleep(time.Second) }}
		d := link(t, s)
		assert.NilError(t, d.UpdateConfiguration(&si.UpdateConfigurationRequest{RmID: "rm", Config: twoPartitions}))
		for _, partition := range []string{"default", "gpu"} {
			for _, id := range []string{"1", "2", "3"} {
				n := nodeCreated(partition + id)
				n.Attributes = map[string]string{"si/node-partition": partition}
				assert.NilError(t, d.UpdateNode(&si.NodeRequest{RmID: "rm", Nodes: []*si.NodeInfo{n}}))
				synctest.Wait() // one of the two partitions has its call under way, the other waits
			}
		}
		time.Sleep(time.Minute)
		heard := 0
		for _, what := range s.all() {
			heard += int(what[len("nodes +")] - '0')
		}
		assert.Equal(t, heard, 6)
		assert.Assert(t, !s.overlaps, "two calls at once")
	})
}

// What the door refuses it answers on a goroutine of its own: whoever calls may hold a
// lock that the callback takes, too.
func TestAShimMaySayNonsenseWhileItHoldsALockOfItsCallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lock := make(chan struct{}, 1)
		s := &shim{during: func(string) { lock <- struct{}{}; <-lock }}
		d := link(t, s)
		lock <- struct{}{}
		d.asks("", "k")
		d.nodes("", "n1")
		<-lock
		synctest.Wait()
		got := s.all()
		slices.Sort(got)
		assert.DeepEqual(t, got, []string{"allocations !", "allocations !k", "nodes +0 -1", "nodes +1 -0"})
	})
}

func TestWhatTheDoorAnswersComesBeforeWhatFollowsFromLaterMessages(t *testing.T) {
	p := New(Options{})
	defer p.Close()
	heard := &shim{}
	s := newSession(p, "rm")
	s.caller = &caller{callback: heard}
	s.boxes[allocations].put(theDoor, rejected("k"))
	s.tell("default", []scheduler.Effect{
		scheduler.Allocated{Ask: &objects.Ask{Key: "k"}, Node: "n"}, scheduler.NodeAccepted{Node: "n"},
		scheduler.Allocated{Ask: &objects.Ask{Key: "l"}, Node: "n"}, scheduler.Allocated{Ask: &objects.Ask{Key: "m"}, Node: "n"},
	})
	assert.Equal(t, strings.Join(heard.all(), "; "),
		"allocations !k; allocations k@n; nodes +1 -0; allocations l@n m@n")
	s.close(ErrClosed)
	s.call("default", []scheduler.Effect{rejected("late")}) // it waited for its turn meanwhile
	assert.Equal(t, len(heard.all()), 4, "nothing is told after the end")
}
