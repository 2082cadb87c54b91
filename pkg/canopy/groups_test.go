package canopy

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/poll"

	"github.com/canopy-scheduler/canopy/internal/ha/election"
	"github.com/canopy-scheduler/canopy/internal/ha/etcdstore"
	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
	"github.com/canopy-scheduler/canopy/internal/testing/storetest"
)

// electionIn is an election, with one member, whose leader's key is in an etcd in memory. Leases do not expire, and no
// change is seen before a watch ends.
type electionIn struct {
	kv    *storetest.KV
	key   string
	lease atomic.Int64 // the last one
	epoch atomic.Int64 // of the key, as long as it is there
}

// Do is part of election.Store.
func (e *electionIn) Do(ctx context.Context, r election.Request) (a election.Answer) {
	read := func() {
		if value := e.kv.Value(e.key); value != "" {
			a.Found, a.Epoch, a.Err = true, e.epoch.Load(), json.Unmarshal([]byte(value), &a.Leader)
		}
	}
	switch r.Op {
	case election.Watch:
		<-ctx.Done()
		a.Err = ctx.Err()
	case election.Grant:
		a.Lease, a.TTL = election.LeaseID(e.lease.Add(1)), r.TTL
	case election.Renew:
		a.TTL = MinEtcdTTL
	case election.Revoke:
		e.kv.Delete(e.key)
	case election.Read:
		read()
	case election.Create:
		read()
		if !a.Found {
			var value []byte
			value, a.Err = json.Marshal(r.Leader)
			a.Epoch = e.kv.Put(e.key, string(value))
			e.epoch.Store(a.Epoch)
		}
	}
	return a
}

const twoPartitions = `partitions:
- {name: cpu, queues: [{name: root, submitacl: '*', queues: [{name: a}]}]}
- {name: gpu, queues: [{name: root, submitacl: '*', queues: [{name: b}]}]}
`

// startGroup starts the only member of a group that serves some partitions; none: all.
func startGroup(t *testing.T, kv *storetest.KV, partitions ...string) (*Member, *observer.ObservedLogs) {
	t.Helper()
	core, logs := observer.New(zapcore.DebugLevel)
	opt := Options{Config: Config{Text: twoPartitions, Partitions: partitions}, Log: zap.New(core),
		GRPC: GRPC{Address: "127.0.0.1:0"}, HTTP: HTTP{Address: "127.0.0.1:0"}}
	ha := HA{Name: "of " + strings.Join(partitions, "+"), Etcd: Etcd{Endpoints: []string{"127.0.0.1:1"}, TTL: MinEtcdTTL}}
	ha.complete()
	config := ha.config(groupName(partitions))
	stores := &etcdStores{func() (etcdstore.KV, error) { return kv, nil }, config}
	m, err := startMember(t.Context(), opt, ha, &electionIn{kv: kv, key: config.LeaderKey()}, stores,
		func() error { return nil }, election.Now)
	assert.NilError(t, err)
	t.Cleanup(func() { assert.NilError(t, m.Close()) })
	return m, logs
}

// waitFor waits until something is true that no channel reports.
func waitFor(t *testing.T, is func() bool) {
	t.Helper()
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		if is() {
			return poll.Success()
		}
		return poll.Continue("not yet")
	}, poll.WithTimeout(30*time.Second), poll.WithDelay(10*time.Millisecond))
}

// ask is the answer of the leader of a group to a request, below /ws/v1.
func ask(m *Member, path string) (status int, body string) {
	w := httptest.NewRecorder()
	if s := m.server(); s != nil {
		s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/ws/v1"+path, nil))
		return w.Code, w.Body.String()
	}
	return 0, ""
}

// Two groups with the same configuration and etcd each serve their partitions, with a leader and a history of their
// own, and say where the others are served.
func TestGroups_EachServesItsPartitions(t *testing.T) {
	kv := new(storetest.KV)
	cpu, _ := startGroup(t, kv, "cpu")
	waitFor(t, func() bool { return cpu.server() != nil })
	status, body := ask(cpu, "/partition/gpu/queues")
	assert.Equal(t, status, http.StatusNotFound)
	assert.Assert(t, strings.Contains(body, "Partition not found (served here: cpu)"), body)

	gpu, _ := startGroup(t, kv, "gpu")
	waitFor(t, func() bool { return gpu.server() != nil })
	where := func(m *Member) string {
		return fmt.Sprintf("Partition not found (it is served by another group at gRPC %s, HTTP http://%s)",
			m.GRPCAddress(), m.HTTPAddress())
	}
	_, body = ask(gpu, "/partition/cpu/queues")
	assert.Assert(t, strings.Contains(body, where(cpu)), body)
	waitFor(t, func() bool { // it is elected later, and is read within a third of the time to live
		_, body := ask(cpu, "/partition/gpu/queues")
		return strings.Contains(body, where(gpu))
	})
	for m, partition := range map[*Member]string{cpu: "cpu", gpu: "gpu"} {
		status, body := ask(m, "/partition/"+partition+"/queues")
		assert.Equal(t, status, http.StatusOK, body)
		_, body = ask(m, "/partitions")
		assert.Equal(t, strings.Count(body, `"name":`), 1, body)
	}
	g, err := gpu.server().Reload(t.Context(), twoPartitions+"# changed\n")
	assert.NilError(t, err)
	assert.Equal(t, g.Number, uint64(2))
	assert.Equal(t, cpu.server().Generation().Number, uint64(1))
	_, err = gpu.server().Reload(t.Context(), strings.ReplaceAll(twoPartitions, "gpu", "tpu"))
	assert.ErrorContains(t, err, `there is no partition "gpu", which is to be served`)
}

// No partition has two leaders: a group that has one in common with a group that leads already does not begin its term,
// until the other has ended.
func TestGroups_PartitionHasOneLeader(t *testing.T) {
	for name, groups := range map[string][2][]string{
		"one in common":        {{"cpu", "gpu"}, {"gpu"}},
		"the first serves all": {nil, {"cpu"}},
		"the other serves all": {{"cpu"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			kv := new(storetest.KV)
			first, _ := startGroup(t, kv, groups[0]...)
			waitFor(t, func() bool { return first.server() != nil })
			second, logs := startGroup(t, kv, groups[1]...)
			waitFor(t, func() bool {
				return logs.FilterMessage("the term of this member could not go on: another member may lead").Len() > 0
			})
			assert.Assert(t, second.server() == nil && first.Leads())
			reason, _ := logs.FilterMessageSnippet("could not go on").All()[0].ContextMap()["error"].(string)
			assert.Assert(t, strings.Contains(reason, "another group serves a partition of this one: ") &&
				strings.Contains(reason, first.GRPCAddress().String()), reason)
			assert.NilError(t, first.Close())
			waitFor(t, func() bool { return second.server() != nil })
		})
	}
}

// The name of a group does not depend on the order of its partitions, and no names of partitions make two groups one.
func TestGroupName_IsItsPartitions(t *testing.T) {
	assert.Equal(t, groupName([]string{"gpu", "cpu", "gpu"}), groupName([]string{"cpu", "gpu"}))
	for _, partitions := range [][]string{nil, {"a"}, {"a", "b"}, {"a,b"}, {"a/b", "ü %2C"}} {
		l := parseLeader(groupName(partitions), 7, []byte(`{"grpc": "h:1"}`))
		assert.DeepEqual(t, l.partitions, partitions)
		assert.Equal(t, l.MemberInfo, MemberInfo{GRPC: "h:1", Epoch: 7})
	}
}

// A process without a group says which partitions it serves, to resource managers too.
func TestPartitions_WithoutAGroup(t *testing.T) {
	s, err := Start(t.Context(), Options{Config: Config{Text: twoPartitions, Partitions: []string{"cpu"}}})
	assert.NilError(t, err)
	defer s.Close()
	assert.DeepEqual(t, s.engine.Cluster().Partitions(), []string{"cpu"})
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/ws/v1/history/usage?partition=gpu", nil))
	assert.Assert(t, strings.Contains(w.Body.String(), "Partition not found (served here: cpu)"), w.Body.String())

	r, node := new(fakerm.Recorder), fakerm.Node("n")
	node.Attributes = map[string]string{"si/node-partition": "gpu"}
	_, err = s.Scheduler().RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: "rm"}, r)
	assert.NilError(t, err)
	assert.NilError(t, s.Scheduler().UpdateNode(&si.NodeRequest{RmID: "rm", Nodes: []*si.NodeInfo{node}}))
	r.Want(t, "rejected node n: failed to find partition gpu (served here: cpu) for node n")

	for want, c := range map[string]Config{
		`there is no partition "tpu", which is to be served`: {Text: twoPartitions,
			Partitions: []string{"cpu", "tpu"}},
		"Config.Partitions: it needs Config.File, which has these parti": {Partitions: []string{"cpu"}},
		`Config.Partitions: partition "cpu" is given twice`: {Text: twoPartitions,
			Partitions: []string{"cpu", "cpu"}},
	} {
		_, err := Start(t.Context(), Options{Config: c})
		assert.ErrorContains(t, err, want)
	}
}
