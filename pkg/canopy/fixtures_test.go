package canopy_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/poll"

	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
	"github.com/canopy-scheduler/canopy/pkg/canopy"
)

const free = "127.0.0.1:0"

// queues is a configuration with the leaf queues.
func queues(leaves ...string) string {
	return "partitions: [{queues: [{name: root, submitacl: '*', queues: [{name: " + strings.Join(leaves,
		"}, {name: ") + "}]}]}]\n"
}

// testContext ends before the test runs into its own deadline.
func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// start starts a Server that ends with the test, and the lines that it logs.
func start(t *testing.T, opt canopy.Options) (*canopy.Server, *observer.ObservedLogs) {
	t.Helper()
	core, logs := observer.New(zapcore.DebugLevel)
	if opt.Log == nil {
		opt.Log = zap.New(core)
	}
	s, err := canopy.Start(testContext(t), opt)
	assert.NilError(t, err)
	t.Cleanup(func() { assert.NilError(t, s.Close()) })
	return s, logs
}

// rm is a resource manager in process.
type rm struct {
	fakerm.Recorder
	id string
}

func newRM(id string) *rm { return &rm{id: id} }

// register registers the resource manager with a node and an application in queue.
func (r *rm) register(t *testing.T, s api.SchedulerAPI, config, queue string) {
	t.Helper()
	_, err := s.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: r.id, Config: config}, r)
	assert.NilError(t, err)
	assert.NilError(t, s.UpdateNode(&si.NodeRequest{RmID: r.id, Nodes: []*si.NodeInfo{fakerm.Node(r.id + "-node")}}))
	r.Want(t, "accepted node "+r.id+"-node")
	r.submit(t, s, "app", queue)
	r.Want(t, "accepted application app")
}

// submit submits an application.
func (r *rm) submit(t *testing.T, s api.SchedulerAPI, id, queue string) {
	t.Helper()
	assert.NilError(t,
		s.UpdateApplication(&si.ApplicationRequest{RmID: r.id, New: []*si.AddApplicationRequest{fakerm.App(id, queue)}}))
}

// ask submits a small ask of the application app.
func (r *rm) ask(t *testing.T, s api.SchedulerAPI, key string) {
	t.Helper()
	x := fakerm.Ask(key, "app")
	x.ResourcePerAlloc = fakerm.Resource(1, 1)
	assert.NilError(t, s.UpdateAllocation(&si.AllocationRequest{RmID: r.id, Allocations: []*si.Allocation{x}}))
}

// get is the body of a GET.
func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(testContext(t), http.MethodGet, url, nil)
	assert.NilError(t, err)
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	assert.NilError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	assert.NilError(t, err)
	return response.StatusCode, string(text)
}

// gate lets goroutines wait until it is opened.
type gate struct {
	once sync.Once
	c    chan struct{}
}

func newGate() *gate { return &gate{c: make(chan struct{})} }

func (g *gate) open() { g.once.Do(func() { close(g.c) }) }

// until waits until something becomes true that no channel reports.
func until(t testing.TB, is func() bool) {
	t.Helper()
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		if is() {
			return poll.Success()
		}
		return poll.Continue("not yet")
	}, poll.WithTimeout(30*time.Second), poll.WithDelay(10*time.Millisecond))
}
