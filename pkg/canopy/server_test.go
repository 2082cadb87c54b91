package canopy_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
	"github.com/canopy-scheduler/canopy/pkg/canopy"
)

func TestStart_ZeroOptionsScheduleInProcess(t *testing.T) {
	s, err := canopy.Start(t.Context(), canopy.Options{})
	assert.NilError(t, err)
	assert.Assert(t, s.GRPCAddress() == nil && s.HTTPAddress() == nil && s.AdminAddress() == nil)
	assert.NilError(t, s.Health())
	_, registered := s.ResourceManager()
	assert.Assert(t, !registered)
	assert.Equal(t, s.Generation().Number, uint64(1))
	assert.Equal(t, s.Generation().Source, "default")

	r := newRM("rm")
	r.register(t, s.Scheduler(), queues("a"), "root.a")
	r.ask(t, s.Scheduler(), "k")
	r.Want(t, "allocated k (app) on rm-node")
	state, registered := s.ResourceManager()
	assert.Assert(t, registered && state.InProcess && state.Connected && state.Listening)
	assert.Equal(t, state.ID, "rm")
	g := s.Generation()
	assert.Equal(t, g.Number, uint64(2))
	assert.Equal(t, g.Source+" "+g.From, "rm rm")
	assert.Equal(t, g.Text, queues("a"))

	assert.NilError(t, s.Close())
	assert.NilError(t, s.Close())
	<-s.Done()
	assert.NilError(t, s.Err())
	assert.ErrorIs(t, s.Health(), canopy.ErrClosed)
	assert.Assert(t, s.Scheduler().UpdateNode(&si.NodeRequest{RmID: "rm"}) != nil)
	_, err = s.Reload(t.Context(), queues("a", "b"))
	assert.ErrorIs(t, err, canopy.ErrClosed)
}

// Several servers in one process have nothing in common.
func TestStart_SeveralServersAreIndependent(t *testing.T) {
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			s, logs := start(t, canopy.Options{
				Config: canopy.Config{Text: queues(fmt.Sprint("q", i))}, DataDir: t.TempDir(), GRPC: canopy.GRPC{Address: free},
				HTTP:         canopy.HTTP{Address: free},
				AdminAddress: "unix:" + filepath.Join(t.TempDir(), "admin"),
			})
			r := newRM(fmt.Sprint("rm", i))
			r.register(t, s.Scheduler(), "", fmt.Sprint("root.q", i))
			for n := range 20 {
				r.ask(t, s.Scheduler(), fmt.Sprint("k", n))
				r.Want(t, fmt.Sprintf("allocated k%d (app) on rm%d-node", n, i))
			}
			_, err := s.Reload(testContext(t), queues(fmt.Sprint("q", i), "more"))
			assert.NilError(t, err)
			_, body := get(t, "http://"+s.HTTPAddress().String()+"/ws/v1/partition/default/nodes")
			assert.Equal(t, strings.Count(body, `"nodeID"`), 1, body)
			assert.Assert(t, strings.Contains(body, fmt.Sprintf("rm%d-node", i)), body)
			_, metrics := get(t, "http://"+s.HTTPAddress().String()+"/metrics")
			assert.Assert(t, strings.Contains(metrics, "\ncanopy_config_generation 2\n"), metrics)
			assert.Equal(t, logs.FilterMessage("resource manager registered").Len(), 1)
		})
	}
	all.Wait()
}

func TestHandler_IsServedBelowAPrefix(t *testing.T) {
	s, _ := start(t, canopy.Options{})
	mux := http.NewServeMux()
	mux.Handle("/scheduler/", http.StripPrefix("/scheduler", s.Handler()))
	web := httptest.NewServer(mux)
	defer web.Close()
	status, body := get(t, web.URL+"/scheduler/ws/v1/partitions")
	assert.Equal(t, status, http.StatusOK)
	assert.Assert(t, strings.Contains(body, "default"), body)
	status, _ = get(t, web.URL+"/scheduler/readyz")
	assert.Equal(t, status, http.StatusOK)
	assert.NilError(t, s.Close())
	status, body = get(t, web.URL+"/scheduler/readyz")
	assert.Equal(t, status, http.StatusServiceUnavailable)
	assert.Assert(t, strings.Contains(body, "stopping"), body)
}

// The page calls these, and shows an error for any other status. A resource manager is registered, and has build
// information.
func TestHandler_AnswersWhatYuniKornsPageCalls(t *testing.T) {
	s, _ := start(t, canopy.Options{})
	r := newRM("rm")
	_, err := s.Scheduler().RegisterResourceManager(&si.RegisterResourceManagerRequest{
		RmID: r.id, Config: queues("a"), BuildInfo: map[string]string{"buildVersion": "1.9.0"},
	}, r)
	assert.NilError(t, err)
	web := httptest.NewServer(s.Handler())
	defer web.Close()
	for path, part := range map[string]string{
		"clusters": `"rmBuildInformation":[{"buildVersion":"1.9.0","rmId":"rm"}],` +
			`"partition":"default","clusterName":"kubernetes"}]`,
		"partitions":                                  `"applications":{"total":0}`,
		"partition/default/queues":                    `"queuename":"root"`,
		"partition/default/queue/root.a":              `"queuename":"root.a"`,
		"partition/default/queue/root.a/applications": `[]`,
		"partition/default/nodes":                     `[]`,
		"partition/default/placementrules":            `"name":"provided"`,
		"history/apps":                                `[`,
		"history/containers":                          `[`,
		"scheduler/node-utilizations":                 `[{"clusterId":"rm","partition":"default"`,
		"scheduler/healthcheck":                       `"Healthy":true`,
	} {
		status, body := get(t, web.URL+"/ws/v1/"+path)
		assert.Equal(t, status, http.StatusOK, path)
		assert.Assert(t, strings.Contains(body, part), "%s: %s", path, body)
	}
}

// A resource manager over gRPC, then one in process, of the same Server.
func TestServer_BothAPIs(t *testing.T) {
	s, _ := start(t, canopy.Options{Config: canopy.Config{Text: queues("a")}, GRPC: canopy.GRPC{Address: free}})
	ctx := testContext(t)
	conn, err := grpc.NewClient(s.GRPCAddress().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	assert.NilError(t, err)
	client := si.NewSchedulerClient(conn)
	_, err = client.RegisterResourceManager(ctx, &si.RegisterResourceManagerRequest{RmID: "rm"})
	assert.NilError(t, err)
	nodes, err := client.UpdateNode(ctx)
	assert.NilError(t, err)
	assert.NilError(t,
		nodes.Send(&si.NodeRequest{RmID: "rm",
			Nodes: []*si.NodeInfo{{NodeID: "n", Action: si.NodeInfo_CREATE, SchedulableResource: fakerm.Resource(1, 1)}}}))
	answer, err := nodes.Recv()
	assert.NilError(t, err)
	assert.Equal(t, answer.Accepted[0].NodeID, "n")
	state, ok := s.ResourceManager()
	assert.Assert(t, ok && !state.InProcess && state.Connected && !state.Listening)

	r := newRM("rm")
	r.register(t, s.Scheduler(), "", "root.a")
	r.ask(t, s.Scheduler(), "k")
	r.Want(t, "allocated k (app) on rm-node")
	_, err = nodes.Recv()
	assert.Assert(t, err != nil, "its stream has ended")
	assert.NilError(t, conn.Close())
}

// A callback that does not return holds Close up, which returns nevertheless.
func TestClose_IsBounded(t *testing.T) {
	s, err := canopy.Start(t.Context(), canopy.Options{CloseTimeout: 50 * time.Millisecond})
	assert.NilError(t, err)
	r, stuck, called := newRM("rm"), newGate(), newGate()
	r.Predicate = func(string, string) error {
		called.open()
		<-stuck.c
		return nil
	}
	r.register(t, s.Scheduler(), queues("a"), "root.a")
	r.ask(t, s.Scheduler(), "k")
	<-called.c
	err = s.Close()
	assert.Error(t, err, "the scheduler has not ended within 50ms: the partitions and the streams of the resource manager")
	assert.DeepEqual(t, s.Closing(), []string{"the partitions and the streams of the resource manager"})
	stuck.open()
	for err != nil {
		err = s.Close()
	}
	assert.Equal(t, len(s.Closing()), 0)
}

// Stop of the scheduler interface closes the Server.
func TestScheduler_StopClosesTheServer(t *testing.T) {
	s, _ := start(t, canopy.Options{HTTP: canopy.HTTP{Address: free}})
	s.Scheduler().Stop()
	<-s.Done()
	_, err := net.Dial("tcp", s.HTTPAddress().String())
	assert.Assert(t, err != nil)
}

// A listener that fails ends serving, and the caller is notified.
func TestDone_AfterAListenerFailed(t *testing.T) {
	s, _ := start(t, canopy.Options{HTTP: canopy.HTTP{Address: free}})
	assert.NilError(t, canopy.CloseHTTPListener(s))
	select {
	case <-s.Done():
	case <-time.After(20 * time.Second):
		t.Fatal("the failure of the listener is not reported")
	}
	assert.ErrorContains(t, s.Err(), "http: ")
	assert.ErrorIs(t, s.Err(), net.ErrClosed)
}

func TestStart_ContextEndsStartOnly(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := canopy.Start(ended, canopy.Options{HTTP: canopy.HTTP{Address: free}})
	assert.Assert(t, errors.Is(err, context.Canceled), "%v", err)

	ctx, cancel := context.WithCancel(t.Context())
	s, err := canopy.Start(ctx, canopy.Options{HTTP: canopy.HTTP{Address: free}})
	assert.NilError(t, err)
	cancel()
	status, _ := get(t, "http://"+s.HTTPAddress().String()+"/readyz")
	assert.Equal(t, status, http.StatusOK)
	assert.NilError(t, s.Close())
}
