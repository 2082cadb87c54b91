package entrypoint

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/poll"

	"github.com/apache/yunikorn-core/pkg/common/configs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// file is a file with nothing in it.
func file(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	assert.NilError(t, os.WriteFile(name, nil, 0o600))
	return name
}

// running starts a scheduler that ends with the test, and the lines that it logs.
func running(t *testing.T, env environment) (*ServiceContext, *observer.ObservedLogs) {
	t.Helper()
	core, logs := observer.New(zapcore.DebugLevel)
	s, err := start(t.Context(), env.lookup, zap.New(core))
	assert.NilError(t, err)
	t.Cleanup(s.StopAll)
	return s, logs
}

// shim gets the allocations of a scheduler.
type shim struct {
	api.ResourceManagerCallback
	mu          sync.Mutex
	allocations []*si.Allocation
}

func (s *shim) UpdateNode(*si.NodeResponse) error               { return nil }
func (s *shim) UpdateApplication(*si.ApplicationResponse) error { return nil }
func (s *shim) Predicates(*si.PredicatesArgs) error             { return nil }
func (s *shim) SendEvent([]*si.EventRecord)                     {}

func (s *shim) UpdateContainerSchedulingState(*si.UpdateContainerSchedulingStateRequest) {}

func (s *shim) UpdateAllocation(r *si.AllocationResponse) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.allocations = append(s.allocations, r.New...)
	return nil
}

func vcores(n int64) *si.Resource {
	return &si.Resource{Resources: map[string]*si.Quantity{"vcore": {Value: n}}}
}

// addNodes adds nodes of 4 cores.
func addNodes(t *testing.T, s *ServiceContext, names ...string) {
	t.Helper()
	for _, name := range names {
		assert.NilError(t, s.RMProxy.UpdateNode(&si.NodeRequest{RmID: "rm", Nodes: []*si.NodeInfo{{
			NodeID: name, Action: si.NodeInfo_CREATE, SchedulableResource: vcores(4000),
			Attributes: map[string]string{"si/node-partition": "[rm]default"},
		}}}))
	}
}

// addApplication adds the application app.
func addApplication(t *testing.T, s *ServiceContext) {
	t.Helper()
	assert.NilError(t, s.RMProxy.UpdateApplication(&si.ApplicationRequest{RmID: "rm", New: []*si.AddApplicationRequest{{
		ApplicationID: "app", PartitionName: "[rm]default",
		Ugi: &si.UserGroupInformation{User: "ann", Groups: []string{"dev"}}, Tags: map[string]string{"namespace": "team"},
	}}}))
}

// A shim registers with its configuration, and what it asks for is placed and can be read.
func TestStart_SchedulesAndShowsTheState(t *testing.T) {
	s, _ := running(t, environment{envHTTPAddress: "none", envRecoveryQuiet: "0"})
	rm := &shim{}
	_, err := s.RMProxy.RegisterResourceManager(&si.RegisterResourceManagerRequest{
		RmID: "rm", PolicyGroup: "queues", Version: "1", Config: configs.DefaultSchedulerConfig,
	}, rm)
	assert.NilError(t, err)
	addNodes(t, s, "n1")
	addApplication(t, s)
	assert.NilError(t, s.RMProxy.UpdateAllocation(&si.AllocationRequest{RmID: "rm", Allocations: []*si.Allocation{
		{AllocationKey: "fits", ApplicationID: "app", PartitionName: "[rm]default", ResourcePerAlloc: vcores(3000)},
		{AllocationKey: "waits", ApplicationID: "app", PartitionName: "[rm]default", ResourcePerAlloc: vcores(3000)},
		{AllocationKey: "foreign", NodeID: "n1", PartitionName: "[rm]default", ResourcePerAlloc: vcores(500),
			AllocationTags: map[string]string{"foreign": "default"}},
	}}))

	cluster := s.Scheduler.GetClusterContext()
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		app, node := cluster.GetApplication("app", "[rm]default"), cluster.GetNode("n1", "[rm]default")
		if app != nil && len(app.GetAllAllocations()) == 1 && len(app.GetAllRequests()) == 1 && node != nil &&
			len(node.GetForeignAllocations()) == 1 {
			return poll.Success()
		}
		return poll.Continue("the state is %+v and %+v", app, node)
	}, poll.WithTimeout(20*time.Second))
	app, node := cluster.GetApplication("app", "default"), cluster.GetNode("n1", "default")
	assert.Equal(t, app.CurrentState()+" "+app.GetAllAllocations()[0].GetNodeID(), "Running n1")
	assert.Equal(t, node.GetForeignAllocations()[0].GetAllocatedResource().ToProto().Resources["vcore"].Value, int64(500))
	assert.Equal(t, node.GetYunikornAllocations()[0].GetAllocationKey(), "fits")

	partition := cluster.GetPartition("[rm]default")
	assert.Equal(t, len(partition.GetNodes()), 1)
	assert.Equal(t, len(partition.GetApplications()[0].GetAllAllocations()), 1)
	assert.Assert(t, cluster.GetPartition("[rm]other") == nil)
	assert.Assert(t, cluster.GetApplication("other", "default") == nil && cluster.GetNode("other", "default") == nil)
	rm.mu.Lock()
	defer rm.mu.Unlock()
	assert.Equal(t, rm.allocations[0].AllocationKey, "fits")
}

// get is the status and the headers of an answer to a page of another origin, under another name of the host.
func get(t *testing.T, s *ServiceContext) (int, http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		"http://"+s.server.HTTPAddress().String()+"/ws/v1/partitions", http.NoBody)
	assert.NilError(t, err)
	r.Host = "scheduler.example.org"
	r.Header.Set("Origin", "https://page.example.org")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r)
	assert.NilError(t, err)
	assert.NilError(t, answer.Body.Close())
	return answer.StatusCode, answer.Header
}

// By default REST is as open as that of YuniKorn, and one warning says so.
func TestStart_RESTIsOpenWithOneWarning(t *testing.T) {
	s, logs := running(t, environment{envHTTPAddress: "127.0.0.1:0"})
	status, header := get(t, s)
	assert.Equal(t, status, http.StatusOK)
	assert.Equal(t, header.Get("Access-Control-Allow-Origin"), "*")
	warnings := logs.FilterLevelExact(zapcore.WarnLevel).All()
	assert.Equal(t, len(warnings), 1, "%v", warnings)
	assert.Assert(t, strings.Contains(warnings[0].Message, envTokens))
	assert.Equal(t, logs.FilterLevelExact(zapcore.DebugLevel).Len(), 0)
}

func TestStart_RESTCanBeClosed(t *testing.T) {
	s, _ := running(t,
		environment{envHTTPAddress: "127.0.0.1:0", envHostNames: "other.example.org", envAllowedOrigins: "none"})
	status, header := get(t, s)
	assert.Assert(t, status != http.StatusOK)
	assert.Equal(t, header.Get("Access-Control-Allow-Origin"), "")
}

// Another process with the port is logged; the scheduler runs without REST.
func TestStart_AddressInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	defer taken.Close()
	s, logs := running(t, environment{envHTTPAddress: taken.Addr().String(), envDataDir: t.TempDir()})
	assert.Assert(t, s.server.HTTPAddress() == nil)
	errs := logs.FilterLevelExact(zapcore.ErrorLevel).All()
	assert.Equal(t, len(errs), 1)
	assert.ErrorContains(t, errs[0].Context[0].Interface.(error), envHTTPAddress)
	assert.Assert(t, s.Scheduler.GetClusterContext().GetPartition("default") != nil)
}

// The level of the log follows the shim's ConfigMap.
func TestStart_LogLevel(t *testing.T) {
	s, logs := running(t, environment{envHTTPAddress: "none"})
	_, err := s.RMProxy.RegisterResourceManager(&si.RegisterResourceManagerRequest{
		RmID: "rm", PolicyGroup: "queues", Version: "1", ExtraConfig: map[string]string{"log.level": "ERROR"},
	}, &shim{})
	assert.NilError(t, err)
	logs.TakeAll()
	s.StopAll()
	assert.Equal(t, logs.Len(), 0, "%v", logs.All())
}

// A logger of the scheduler has a level of its own in the shim's ConfigMap.
func TestStart_LevelOfALogger(t *testing.T) {
	s, logs := running(t, environment{envHTTPAddress: "none"})
	extra := map[string]string{"log.level": "ERROR", "log.core.config.level": "INFO"}
	for _, leaf := range []string{"a", "b"} {
		logs.TakeAll()
		_, err := s.RMProxy.RegisterResourceManager(&si.RegisterResourceManagerRequest{
			RmID: "rm", PolicyGroup: "queues", Version: "1", ExtraConfig: extra,
			Config: "partitions: [{name: default, queues: [{name: root, queues: [{name: " + leaf + "}]}]}]",
		}, &shim{})
		assert.NilError(t, err)
	}
	assert.Assert(t, logs.FilterMessage("configuration accepted").Len() == 1)
	for _, e := range logs.All() {
		assert.Assert(t, e.LoggerName == "canopy.config" || e.Message == "audit", "%s: %s", e.LoggerName, e.Message)
	}
}

func TestStartAllServices(t *testing.T) {
	t.Setenv(envHTTPAddress, "none")
	for _, startAll := range []func() *ServiceContext{StartAllServices, StartAllServicesWithManualScheduler} {
		s := startAll()
		assert.Assert(t, s.RMProxy != nil && s.Scheduler.GetClusterContext().GetPartition("default") != nil)
		s.StopAll()
	}
}
