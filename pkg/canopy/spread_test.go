package canopy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/poll"

	"github.com/canopy-scheduler/canopy/internal/election"
	"github.com/canopy-scheduler/canopy/internal/fakerm"
	"github.com/canopy-scheduler/canopy/internal/spread"
	"github.com/canopy-scheduler/canopy/internal/spread/memstore"
	"github.com/canopy-scheduler/canopy/internal/testscale"
	"github.com/canopy-scheduler/canopy/pkg/canopy"
)

// spreadGroup is a group whose partitions are spread over its members, with stores in memory.
type spreadGroup struct {
	t       testing.TB
	stores  canopy.SpreadStores
	shared  memstore.Group
	file    string // the configuration of all members
	logs    *observer.ObservedLogs
	core    zapcore.Core
	members map[string]*canopy.SpreadMember
	wrap    func(name string, s spread.Store) spread.Store // the store of a member; nil: as it is
}

// partitions is a configuration with partitions, each with the queue root.q.
func partitions(names ...string) string {
	text := "partitions:\n"
	for _, name := range names {
		text += "  - {name: " + name + ", queues: [{name: root, submitacl: '*', queues: [{name: q}]}]}\n"
	}
	return text
}

// groupTimeout is what a group of processes in one may take beside other tests.
var groupTimeout = func() time.Duration {
	if testscale.RaceDetector {
		return 3 * time.Minute
	}
	return time.Minute
}()

// eventually is until for groups.
func eventually(t testing.TB, is func() bool) {
	t.Helper()
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		if is() {
			return poll.Success()
		}
		return poll.Continue("not yet")
	}, poll.WithTimeout(groupTimeout), poll.WithDelay(50*time.Millisecond))
}

// groupContext is testContext for groups.
func groupContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), groupTimeout)
	t.Cleanup(cancel)
	return ctx
}

func newSpreadGroup(t testing.TB, config string) *spreadGroup {
	g := &spreadGroup{t: t, file: filepath.Join(t.TempDir(), "queues.yaml"), members: map[string]*canopy.SpreadMember{}}
	g.core, g.logs = observer.New(zapcore.DebugLevel)
	g.stores.OnGeneration = g.shared.SetGeneration
	g.shared.Elect()
	g.configure(config)
	return g
}

func (g *spreadGroup) configure(config string) {
	g.t.Helper()
	assert.NilError(g.t, os.WriteFile(g.file, []byte(config), 0o600))
}

// coordinated is the store of a member, of which only the coordinator may assign.
type coordinated struct {
	spread.Store
	g *spreadGroup
}

// Assign is part of spread.Store.
func (c coordinated) Assign(ctx context.Context, epoch int64, a spread.Assignment) error {
	if _, now := c.g.stores.Coordinators.Leader(); now != epoch {
		return spread.ErrNotCoordinator
	}
	return c.Store.Assign(ctx, c.g.shared.Elect(), a)
}

// start starts a member that ends with the test.
func (g *spreadGroup) start(name string, change ...func(*canopy.Options, *canopy.HA)) *canopy.SpreadMember {
	g.t.Helper()
	opt := canopy.Options{Log: zap.New(g.core).Named(name), GRPC: canopy.GRPC{Address: free}, HTTP: canopy.HTTP{Address: free}, AdminAddress: free, ConfigFile: g.file, ConfigNotWatched: true}
	ha := groupHA(name)
	ha.MoveInterval = time.Millisecond
	for _, c := range change {
		c(&opt, &ha)
	}
	store := spread.Store(coordinated{g.shared.Member(), g})
	if g.wrap != nil {
		store = g.wrap(name, store)
	}
	m, err := canopy.StartSpreadMemberAt(groupContext(g.t), opt, ha, &g.stores, store, election.Now)
	assert.NilError(g.t, err)
	g.t.Cleanup(func() { assert.NilError(g.t, m.Close()) })
	g.members[name] = m
	return m
}

// groupView is the part of GET /ws/v1/group that the tests read.
type groupView struct {
	Coordinator string
	Generation  uint64
	Members     []struct {
		Name  string
		Leads []string
	}
	Partitions []struct {
		Name, Assigned, Leader string
		Epoch                  int64
		Generation             uint64
		Removed                bool
	}
}

// leads are the partitions that each member leads, as a member knows them; false: not all have a leader that is the assigned one.
func (v *groupView) leads() (by map[string][]string, all bool) {
	by, all = map[string][]string{}, len(v.Partitions) > 0
	for _, p := range v.Partitions {
		by[p.Leader] = append(by[p.Leader], p.Name)
		all = all && p.Leader != "" && p.Leader == p.Assigned
	}
	for _, m := range v.Members {
		all = all && len(m.Leads) == len(by[m.Name])
	}
	return by, all
}

// view is what a member shows of the group.
func (g *spreadGroup) view(m *canopy.SpreadMember) (v groupView) {
	g.t.Helper()
	code, text := g.get(m, "/ws/v1/group")
	assert.Equal(g.t, code, http.StatusOK, text)
	assert.NilError(g.t, json.Unmarshal([]byte(text), &v))
	return v
}

func (g *spreadGroup) get(m *canopy.SpreadMember, path string) (code int, body string) {
	g.t.Helper()
	return g.at("http://" + m.HTTPAddress().String() + path)
}

func (g *spreadGroup) at(url string) (code int, body string) {
	g.t.Helper()
	request, err := http.NewRequestWithContext(groupContext(g.t), http.MethodGet, url, nil)
	assert.NilError(g.t, err)
	return g.do(request)
}

// do makes a request on a connection of its own. The status is 0 if the connection was lost.
func (g *spreadGroup) do(request *http.Request) (code int, body string) {
	g.t.Helper()
	request.Close = true
	r, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return 0, ""
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return 0, ""
	}
	return r.StatusCode, string(text)
}

// balanced waits until each of the members leads so many partitions, and all members know it.
func (g *spreadGroup) balanced(want map[string]int) (view groupView) {
	g.t.Helper()
	eventually(g.t, func() bool {
		for name := range want {
			view = g.view(g.members[name])
			by, all := view.leads()
			for member, n := range want {
				all = all && len(by[member]) == n
			}
			for _, p := range view.Partitions { // its term may begin still
				code, _ := g.get(g.members[name], "/ws/v1/partition/"+p.Name+"/queues")
				all = all && (code == http.StatusOK || p.Removed)
			}
			if !all {
				return false
			}
		}
		return true
	})
	return view
}

// partitionRM is a resource manager of a partition, at a member.
type partitionRM struct {
	fakerm.Recorder
	calls  *fakerm.GRPC
	cancel context.CancelFunc
	id     string
}

// connect registers a resource manager for a partition at a member, and places an ask.
func (g *spreadGroup) connect(m *canopy.SpreadMember, partition string) *partitionRM {
	g.t.Helper()
	ctx, cancel := context.WithCancel(groupContext(g.t))
	g.t.Cleanup(cancel)
	if partition != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "canopy-partition", partition)
	}
	r := &partitionRM{calls: fakerm.OverGRPC(ctx, si.NewSchedulerClient(g.dial(m))), cancel: cancel, id: "rm-" + partition}
	_, err := r.calls.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: r.id}, r)
	assert.NilError(g.t, err)
	node := fakerm.Node("node-" + partition)
	node.Attributes = map[string]string{"si/node-partition": partition}
	assert.NilError(g.t, r.calls.UpdateNode(&si.NodeRequest{RmID: r.id, Nodes: []*si.NodeInfo{node}}))
	r.Want(g.t, "accepted node node-"+partition)
	app := fakerm.App("app", "root.q")
	app.PartitionName = partition
	assert.NilError(g.t, r.calls.UpdateApplication(&si.ApplicationRequest{RmID: r.id, New: []*si.AddApplicationRequest{app}}))
	r.Want(g.t, "accepted application app")
	return r
}

// One leader for each partition, spread over the members; each member forwards to it, by gRPC and HTTP.
func TestSpread_EachMemberServesAllPartitions(t *testing.T) {
	t.Parallel()
	g := newSpreadGroup(t, partitions("p1", "p2", "p3", "default"))
	a, b := g.start("a"), g.start("b")
	g.balanced(map[string]int{"a": 2, "b": 2})
	for i, name := range []string{"p1", "p2", "p3", "default"} {
		m := []*canopy.SpreadMember{a, b}[i%2]
		r := g.connect(m, name)
		x := fakerm.Ask("ask-"+name, "app")
		x.PartitionName = name
		assert.NilError(t, r.calls.UpdateAllocation(&si.AllocationRequest{RmID: r.id, Allocations: []*si.Allocation{x}}))
		r.Want(t, "allocated ask-"+name+" (app) on node-"+name)
		for _, m := range g.members {
			code, text := g.get(m, "/ws/v1/partition/"+name+"/nodes")
			assert.Equal(t, code, http.StatusOK)
			assert.Assert(t, strings.Contains(text, `"nodeID":"node-`+name+`"`), text)
		}
	}
	for _, m := range g.members {
		code, text := g.get(m, "/ws/v1/partitions")
		assert.Equal(t, code, http.StatusOK, text)
		var all []struct{ Name string }
		assert.NilError(t, json.Unmarshal([]byte(text), &all))
		assert.Equal(t, fmt.Sprint(all), "[{default} {p1} {p2} {p3}]")
		code, text = g.get(m, "/ws/v1/partition/p9/nodes")
		assert.Equal(t, code, http.StatusNotFound, text)
		assert.Assert(t, strings.Contains(text, `there is no partition \"p9\"; there are default, p1, p2, p3`), text)
		code, _ = g.get(m, "/readyz")
		assert.Equal(t, code, http.StatusOK)
		code, text = g.get(m, "/metrics")
		assert.Equal(t, code, http.StatusOK)
		assert.Assert(t, strings.Contains(text, "canopy_ha_leader"), text)
		for method, want := range map[string]int{http.MethodPost: http.StatusMethodNotAllowed, http.MethodGet: http.StatusOK} {
			request, err := http.NewRequestWithContext(groupContext(t), method, "http://"+m.HTTPAddress().String()+"/ws/v1/group", http.NoBody)
			assert.NilError(t, err)
			code, text := g.do(request)
			assert.Equal(t, code, want, text)
		}
		request, err := http.NewRequestWithContext(groupContext(t), http.MethodGet, "http://"+m.HTTPAddress().String()+"/metrics", http.NoBody)
		assert.NilError(t, err)
		request.Header.Set("Canopy-Partition", "p2")
		code, text = g.do(request)
		assert.Equal(t, code, http.StatusOK)
		assert.Assert(t, strings.Contains(text, `partition="p2"`) && !strings.Contains(text, `partition="p1"`), text) // of its leader
		health := healthpb.NewHealthClient(g.dial(m))
		eventually(t, func() bool {
			h, err := health.Check(groupContext(t), &healthpb.HealthCheckRequest{})
			return err == nil && h.Status == healthpb.HealthCheckResponse_SERVING
		})
		_, err = si.NewSchedulerClient(g.dial(m)).RegisterResourceManager(metadata.AppendToOutgoingContext(groupContext(t), "canopy-partition", "p9"), &si.RegisterResourceManagerRequest{RmID: "x"})
		assert.Equal(t, status.Code(err), codes.NotFound, err)
	}
}

func (g *spreadGroup) dial(m *canopy.SpreadMember) *grpc.ClientConn {
	g.t.Helper()
	return dialPlain(g.t, m.GRPCAddress())
}

// A member that comes gets its share, and what a member leads moves when it ends: the streams of its resource managers end, and only these.
func TestSpread_MembersComeAndGo(t *testing.T) {
	t.Parallel()
	g := newSpreadGroup(t, partitions("p1", "p2", "p3", "p4"))
	a := g.start("a")
	g.balanced(map[string]int{"a": 4})
	g.start("b")
	before := g.balanced(map[string]int{"a": 2, "b": 2})
	by, _ := before.leads()
	stays, moves := g.connect(a, by["a"][0]), g.connect(a, by["b"][0])
	assert.NilError(t, g.members["b"].Close())
	delete(g.members, "b")
	after := g.balanced(map[string]int{"a": 4})
	for i, p := range after.Partitions {
		assert.Equal(t, p.Epoch > before.Partitions[i].Epoch, before.Partitions[i].Leader == "b", p.Name)
	}
	x := fakerm.Ask("x", "app")
	x.PartitionName = by["a"][0]
	assert.NilError(t, stays.calls.UpdateAllocation(&si.AllocationRequest{RmID: stays.id, Allocations: []*si.Allocation{x}}))
	stays.Want(t, "allocated x (app) on node-"+by["a"][0])
	eventually(t, func() bool { return moves.calls.UpdateNode(&si.NodeRequest{RmID: moves.id}) != nil }) // its stream has ended
	moves.cancel()
	g.connect(a, by["b"][0])
}

// The configuration is that of the coordinator: all partitions follow each generation, and a text that is refused, or not stored, is in force nowhere.
func TestSpread_OneConfigurationForAll(t *testing.T) {
	t.Parallel()
	g := newSpreadGroup(t, partitions("p1", "p2", "p3", "p5"))
	g.start("a")
	g.start("b")
	v := g.balanced(map[string]int{"a": 2, "b": 2})
	coordinator, other := g.members[v.Coordinator], g.members[map[string]string{"a": "b", "b": "a"}[v.Coordinator]]
	_, err := other.ReloadFile(groupContext(t))
	assert.ErrorIs(t, err, canopy.ErrStandby)
	g.configure("partitions: [{name: p1, queues: [{name: root, resources: {max: {vcore: -1}}}]}]")
	_, err = coordinator.ReloadFile(groupContext(t))
	assert.Assert(t, err != nil)
	g.configure(strings.Replace(partitions("p1", "p2", "p4"), "name: q}", "name: q, resources: {max: {vcore: 7}}}", 3))
	generation, err := coordinator.ReloadFile(groupContext(t))
	assert.NilError(t, err)
	assert.Equal(t, generation.Number, uint64(2))
	eventually(t, func() bool {
		for _, m := range g.members {
			for _, name := range []string{"p1", "p2", "p4"} {
				code, text := g.get(m, "/ws/v1/partition/"+name+"/queue/root.q")
				if code != http.StatusOK || !strings.Contains(text, `"maxResource":{"vcore":7000}`) {
					return false
				}
			}
			if v := g.view(m); v.Generation != 2 || len(v.Partitions) != 3 {
				return false // p3 has drained
			}
		}
		return true
	})
	changed := map[int]int{} // by status: the admin listener of a member serves what that member leads
	for _, m := range g.members {
		request, err := http.NewRequestWithContext(groupContext(t), http.MethodPost, "http://"+m.AdminAddress().String()+"/ws/v1/config", strings.NewReader(partitions("p1")))
		assert.NilError(t, err)
		request.Header.Set("Canopy-Partition", "p1")
		request.Header.Set("Content-Type", "application/yaml")
		rebound := request.Clone(request.Context())
		rebound.Host, rebound.Body = "evil.example", http.NoBody
		if code, text := g.do(rebound); code != http.StatusServiceUnavailable { // else another member leads p1
			assert.Equal(t, code, http.StatusForbidden, text)
		}
		code, text := g.do(request)
		changed[code]++
		assert.Assert(t, strings.Contains(text, "whose coordinator reads it from a file") || strings.Contains(text, "does not lead it"), text)
	}
	assert.DeepEqual(t, changed, map[int]int{http.StatusConflict: 1, http.StatusServiceUnavailable: 1})
}

// A generation that is not stored is in force nowhere, and another member may coordinate.
func TestSpread_AConfigurationThatIsNotStored(t *testing.T) {
	t.Parallel()
	g := newSpreadGroup(t, partitions("p1"))
	a := g.start("a", func(_ *canopy.Options, h *canopy.HA) { h.Etcd.TTL = 2 * time.Second })
	g.balanced(map[string]int{"a": 1})
	g.stores.FailWrites(true)
	g.configure(partitions("p1", "p2"))
	_, err := a.ReloadFile(groupContext(t))
	assert.ErrorIs(t, err, canopy.ErrNotStored)
	v := g.view(a)
	assert.Equal(t, v.Generation, uint64(1))
	assert.Equal(t, len(v.Partitions), 1)
	g.stores.FailWrites(false)
	eventually(t, func() bool { v := g.view(a); _, all := v.leads(); return all && len(v.Partitions) == 2 })
}
