package rmproxy

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/reload"
	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
)

// linkedCore is a core that a test links, with the RM "rm" registered.
type linkedCore struct {
	*InProcess
	t    *testing.T
	logs *observer.ObservedLogs
}

func newLinkedCore(t *testing.T, s *fakerm.Recorder) *linkedCore {
	t.Helper()
	return newLinkedShim(t, s)
}

func newLinkedShim(t *testing.T, s api.ResourceManagerCallback) *linkedCore {
	t.Helper()
	core, logs := observer.New(zapcore.DebugLevel)
	d := &linkedCore{newTestInProcess(testOptions{Log: zap.New(core)}), t, logs}
	t.Cleanup(d.Stop)
	d.register(s)
	return d
}

func (d *linkedCore) register(s api.ResourceManagerCallback) {
	d.t.Helper()
	_, err := d.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: "rm", Config: queues}, s)
	assert.NilError(d.t, err)
}

func (d *linkedCore) addNodes(ids ...string) {
	d.t.Helper()
	m := &si.NodeRequest{RmID: "rm"}
	for _, id := range ids {
		m.Nodes = append(m.Nodes, fakerm.Node(id))
	}
	assert.NilError(d.t, d.UpdateNode(m))
}

func (d *linkedCore) addApp() {
	d.t.Helper()
	assert.NilError(d.t, d.UpdateApplication(&si.ApplicationRequest{
		RmID: "rm", New: []*si.AddApplicationRequest{fakerm.App("app", "root.a")},
	}))
}

func (d *linkedCore) submitAsks(keys ...string) {
	d.t.Helper()
	m := &si.AllocationRequest{RmID: "rm"}
	for _, key := range keys {
		m.Allocations = append(m.Allocations, fakerm.Ask(key, "app"))
	}
	assert.NilError(d.t, d.UpdateAllocation(m))
}

func TestInProcess_EffectsAreDeliveredBeforePredicates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakerm.Recorder{}
		// Every call takes 1 s; no other call may be made meanwhile.
		s.OnCall = func(string) { time.Sleep(time.Second) }
		d := newLinkedCore(t, s)
		d.addNodes("n1")
		d.addApp()
		synctest.Wait()
		d.submitAsks("k1", "k2")
		time.Sleep(time.Minute)
		assert.DeepEqual(t, s.Calls(), []string{
			"nodes +1 -0",
			"applications +1 -0",
			"applications +0 -0 Accepted",
			"fits k1@n1 allocate=true",
			"applications +0 -0 Running",
			"allocations k1@n1",
			"fits k2@n1 allocate=true",
			"allocations k2@n1",
		})
		assert.Assert(t, !s.Overlapped())
	})
}

func TestInProcess_PredicatesRejectANode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakerm.Recorder{}
		var refuses atomic.Bool
		refuses.Store(true)
		s.Predicate = func(_, node string) error {
			if refuses.Load() || node != "n2" {
				return errors.New("a taint")
			}
			return nil
		}
		d := newLinkedCore(t, s)
		d.addNodes("n1", "n2", "n3")
		d.addApp()
		d.submitAsks("k")
		synctest.Wait()
		assert.Assert(t, !slices.Contains(s.Calls(), "allocations k@n2"))
		refuses.Store(false)
		s.ForgetCalls()
		time.Sleep(2 * time.Second) // a refusal is repeated after 1 s
		got := s.Calls()
		assert.Assert(t, slices.Contains(got, "fits k@n1 allocate=true"), "%v", got)
		assert.Assert(t, slices.Contains(got, "allocations k@n2"), "%v", got)
		assert.Assert(t, !slices.Contains(got, "fits k@n3 allocate=true"), "no call after the first accepted node: %v", got)
	})
}

func TestInProcess_UpdatesOfUnregisteredRMsFail(t *testing.T) {
	d := newTestInProcess(testOptions{})
	defer d.Stop()
	want := `received AllocationRequest, but RmID="rm" not registered`
	assert.ErrorContains(t, d.UpdateAllocation(&si.AllocationRequest{RmID: "rm"}), want)
	assert.ErrorIs(t, d.UpdateNode(&si.NodeRequest{}), ErrNotRegistered)
	assert.ErrorIs(t, d.UpdateApplication(nil), ErrNotRegistered)
	assert.ErrorIs(t, d.UpdateNode(nil), ErrNotRegistered)
	assert.ErrorIs(t, d.UpdateAllocation(nil), ErrNotRegistered)
	assert.ErrorIs(t, d.UpdateConfiguration(nil), ErrNotRegistered)
	assert.ErrorContains(t, d.UpdateConfiguration(&si.UpdateConfigurationRequest{RmID: "rm"}),
		"update of configuration failed: RM rm has no active partitions, make sure it is registered")
	_, err := d.RegisterResourceManager(nil, &fakerm.Recorder{})
	assert.ErrorIs(t, err, ErrRequest)
	_, err = d.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: "rm"}, nil)
	assert.ErrorIs(t, err, ErrRequest)
	_, err = d.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: "r\xffm"}, &fakerm.Recorder{})
	assert.ErrorIs(t, err, ErrRequest)
}

func TestInProcess_NilElementsAreIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakerm.Recorder{}
		d := newLinkedCore(t, s)
		bare := &si.NodeInfo{NodeID: "n", Action: si.NodeInfo_CREATE, SchedulableResource: &si.Resource{
			Resources: map[string]*si.Quantity{"memory": nil},
		}}
		assert.NilError(t, d.UpdateNode(&si.NodeRequest{RmID: "rm", Nodes: []*si.NodeInfo{nil, bare}}))
		assert.NilError(t, d.UpdateApplication(&si.ApplicationRequest{
			RmID: "rm", New: []*si.AddApplicationRequest{nil}, Remove: []*si.RemoveApplicationRequest{nil},
		}))
		assert.NilError(t, d.UpdateAllocation(&si.AllocationRequest{
			RmID: "rm", Allocations: []*si.Allocation{nil, {}},
			Releases: &si.AllocationReleasesRequest{AllocationsToRelease: []*si.AllocationRelease{nil}},
		}))
		synctest.Wait()
		got := s.Calls()
		slices.Sort(got) // the API itself answers the last message, concurrently with the core
		assert.DeepEqual(t, got, []string{"allocations !", "nodes +1 -0"})
	})
}

func TestInProcess_InvalidUTF8IsRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakerm.Recorder{}
		d := newLinkedCore(t, s)
		d.addNodes("n\xff1")
		d.submitAsks("k\xff")
		synctest.Wait()
		assert.DeepEqual(t, s.Calls(), []string{"nodes +0 -1", "allocations !k?"})
	})
}

func TestInProcess_ShimMayReuseItsMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newLinkedCore(t, &fakerm.Recorder{})
		node := fakerm.Node("n1")
		node.Attributes = map[string]string{"a": "b"}
		assert.NilError(t, d.UpdateNode(&si.NodeRequest{RmID: "rm", Nodes: []*si.NodeInfo{node}}))
		node.Attributes["a"] = "changed"
		synctest.Wait()
		l, _ := d.Cluster().Partition("default")
		view, err := l.Snapshot(t.Context())
		assert.NilError(t, err)
		assert.Equal(t, view.Nodes.At(0).Attributes["a"], "b")
	})
}

func TestInProcess_CallbackMayCallUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakerm.Recorder{Err: errors.New("failed callback")}
		var d *linkedCore
		s.OnCall = func(what string) {
			if what == "nodes +1 -0" {
				d.addApp()
			}
			if what == "applications +1 -0" {
				d.submitAsks("k")
			}
		}
		d = newLinkedCore(t, s)
		d.addNodes("n1")
		synctest.Wait()
		assert.Assert(t, slices.Contains(s.Calls(), "allocations k@n1"), "%v", s.Calls())
		assert.Assert(t, d.logs.FilterMessage("the shim failed to process a response").Len() > 0)
	})
}

func TestUpdateConfiguration_ReplacesTheConfiguration(t *testing.T) {
	d := newLinkedCore(t, &fakerm.Recorder{})
	update := func(config string, extra map[string]string) error {
		return d.UpdateConfiguration(&si.UpdateConfigurationRequest{RmID: "rm", Config: config, ExtraConfig: extra})
	}
	assert.NilError(t, update(twoPartitions, map[string]string{"a": "1"}))
	assert.DeepEqual(t, d.Cluster().Partitions(), []string{"default", "gpu"})
	err := update("partitions: [{queues: [{name: root, submitACL: x}, {name: a.b}]}]", map[string]string{"a": "2"})
	assert.ErrorContains(t, err, "update of configuration failed: ")
	assert.ErrorIs(t, err, ErrConfig)
	assert.ErrorContains(t, err, "submitACL")
	assert.ErrorContains(t, err, "a.b")
	got, _ := d.Registration()
	assert.Equal(t, got.ExtraConfig["a"], "1", "a refused configuration has no effect")
	assert.NilError(t, update(queues, nil))
	assert.DeepEqual(t, d.Cluster().Partitions(), []string{"default"})
	assert.NilError(t, update("", nil))
	want, _ := queuesyaml.Load(queuesyaml.Default())
	assert.Equal(t, d.Cluster().Config().Checksum, want.Checksum)
}

// A linked shim may be slow in a callback: that of YuniKorn tries for 30 s to assume a pod. Its configuration comes
// into force between two callbacks, and is refused only if one lasts for minutes.
func TestUpdateConfiguration_WhileTheShimIsSlow(t *testing.T) {
	for _, c := range []struct{ callback, took time.Duration }{{45 * time.Second, 44 * time.Second},
		{10 * time.Minute, 2 * time.Minute}} {
		synctest.Test(t, func(t *testing.T) {
			var slow atomic.Bool
			d := newLinkedCore(t, &fakerm.Recorder{OnCall: func(call string) {
				if slow.Load() && strings.HasPrefix(call, "allocations") {
					time.Sleep(c.callback)
				}
			}})
			d.addNodes("n1")
			d.addApp()
			synctest.Wait()
			slow.Store(true)
			d.submitAsks("k1", "k2", "k3")
			time.Sleep(time.Second)
			began := time.Now()
			err := d.UpdateConfiguration(&si.UpdateConfigurationRequest{RmID: "rm", Config: twoPartitions})
			took := time.Since(began) // the names of resources are asked for before, for a moment
			assert.Assert(t, took >= c.took && took < c.took+time.Second, "%v", took)
			if c.took < time.Minute {
				assert.NilError(t, err)
				assert.DeepEqual(t, d.Cluster().Partitions(), []string{"default", "gpu"})
			} else {
				assert.ErrorIs(t, err, reload.ErrBusy)
				assert.DeepEqual(t, d.Cluster().Partitions(), []string{"default"})
			}
			slow.Store(false)
		})
	}
}

func TestUpdateConfiguration_LeafWithApplicationsCannotBecomeParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newLinkedCore(t, &fakerm.Recorder{})
		d.addApp()
		synctest.Wait()
		const parent = "partitions: [{queues: [{name: root, submitacl: '*', queues: [{name: a, parent: true}]}]}]"
		err := d.UpdateConfiguration(&si.UpdateConfigurationRequest{RmID: "rm", Config: parent})
		assert.ErrorContains(t, err, "root.a")
		assert.ErrorContains(t, err, "cannot become a parent")
	})
}
