package recording_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/measure"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/internal/server/recording"
	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// The cluster of BenchmarkPlacement.
const (
	benchNodes  = 1000
	benchLeaves = 100
	benchBatch  = 200 // asks in a message
	benchLive   = 20  // messages after which the allocations of one are released
)

// BenchmarkPlacement measures the CPU of the process, the writer of the recording included, for an ask that comes with
// the tags of a pod, is placed and released: without and with a recording, by turns.
func BenchmarkPlacement(b *testing.B) {
	for round := range 3 {
		b.Run(fmt.Sprintf("without/%d", round), func(b *testing.B) { benchmarkPlacement(b, nil) })
		b.Run(fmt.Sprintf("recorded/%d", round), func(b *testing.B) {
			dir := b.TempDir()
			store, err := recording.Open(recording.Options{Dir: dir})
			assert.NilError(b, err)
			benchmarkPlacement(b, func(partition string, core *scheduler.Core, opt objects.Options) loop.Recorder {
				return store.Recorder(partition, core, opt)
			})
			bytes := int64(0)
			files, err := filepath.Glob(filepath.Join(dir, "*", "*.rec"))
			assert.NilError(b, err)
			for _, f := range files {
				info, err := os.Stat(f)
				assert.NilError(b, err)
				bytes += info.Size()
			}
			b.ReportMetric(float64(bytes)/float64(2*b.N*benchBatch), "bytes/command")
		})
	}
}

// benchmarkPlacement places benchBatch asks in each of b.N rounds.
func benchmarkPlacement(b *testing.B, recorder func(string, *scheduler.Core, objects.Options) loop.Recorder) {
	c := loop.NewCluster(loop.Options{Recorder: recorder, HighWater: 4 * benchBatch},
		func(string) loop.Sink { return discardedEffects{} }, nil)
	p := configs.Partition{Name: "default",
		Root:           configs.Queue{Name: "root", Parent: true, SubmitACL: security.Everyone()},
		NodeSortPolicy: policies.DefaultNodeSortPolicy()}
	amounts := resources.FromMap(map[string]resources.Quantity{"vcore": 500, "memory": 1 << 30, "pods": 1})
	var setup []scheduler.Command
	for i := range benchNodes {
		setup = append(setup,
			scheduler.AddNode{Node: objects.NodeID(fmt.Sprint("node-", i)), Total: amounts.Times(110), Schedulable: true})
	}
	for i := range benchLeaves {
		p.Root.Children = append(p.Root.Children, configs.Queue{Name: fmt.Sprint("leaf-", i)})
		setup = append(setup,
			scheduler.AddApplication{App: objects.AppID(fmt.Sprint("spark-", i)), User: security.User{Name: "ann"},
				Queue: fmt.Sprint("root.leaf-", i)})
	}
	assert.NilError(b, c.Configure(b.Context(), &configs.Config{Partitions: []configs.Partition{p}}))
	l, _ := c.Partition("default")
	_, err := l.Call(b.Context(), setup...)
	assert.NilError(b, err)
	b.ResetTimer()
	before := measure.ReadClocks()
	for i := range b.N {
		assert.Assert(b, l.Send(benchMessage(i, amounts)...)) // as from a stream: a command is fresh in the cache
		assert.NilError(b, l.Wait(b.Context()))
	}
	c.End()
	took, _ := measure.ReadClocks().Since(before)
	b.ReportMetric(float64(took)/float64(b.N*benchBatch), "cpu-ns/placement")
	b.ReportMetric(0, "ns/op")
}

// benchMessage has asks, and the releases of those that came before.
func benchMessage(i int, amounts resources.Amounts) (cmds []scheduler.Command) {
	for j := range benchBatch {
		n := i*benchBatch + j
		app := objects.AppID(fmt.Sprint("spark-", n%benchLeaves))
		cmds = append(cmds, scheduler.SubmitAskWithClass{Class: "batch", Ask: &objects.Ask{
			Key: objects.AllocationKey(fmt.Sprintf("8f14e45f-ceea-467f-a0e6-%012d", n)), App: app, Amounts: amounts,
			Created: objects.TimestampOf(time.Unix(1_700_000_000+int64(n/100), 0)),
			Policy:  objects.PolicySent | objects.PolicyAllowPreemptSelf,
			Details: objects.NewAskDetails(objects.AskDetails{Tags: map[string]string{
				"kubernetes.io/meta/podName": fmt.Sprintf("executor-%08d", n), "kubernetes.io/meta/namespace": "analytics",
				"kubernetes.io/label/app": string(app), "creationTime": fmt.Sprint(1_700_000_000 + n/100),
				"kubernetes.io/label/team": "research",
			}}),
		}})
		if old := n - benchLive*benchBatch; old >= 0 {
			cmds = append(cmds, scheduler.Release{
				App: objects.AppID(fmt.Sprint("spark-", old%benchLeaves)),
				Key: objects.AllocationKey(fmt.Sprintf("8f14e45f-ceea-467f-a0e6-%012d", old)), Type: scheduler.StoppedByRM,
			})
		}
	}
	return cmds
}

// BenchmarkRecorder measures what BenchmarkPlacement adds: the CPU of recording an ask, its release and its part of a
// call that makes decisions, the writer included.
func BenchmarkRecorder(b *testing.B) {
	store, err := recording.Open(recording.Options{Dir: b.TempDir()})
	assert.NilError(b, err)
	s := randomrun.RandomRun(1, 1)
	core := scheduler.NewWith(s.Partition, nil, coreOptions(s))
	r := store.Recorder("default", core, coreOptions(s))
	r.Begin()
	amounts := resources.FromMap(map[string]resources.Quantity{"vcore": 500, "memory": 1 << 30, "pods": 1})
	var messages [][]scheduler.Command // few, so that they are in the cache
	for i := range benchLive + 4 {
		messages = append(messages, benchMessage(i, amounts))
	}
	messages = messages[benchLive:]
	placed := make([]scheduler.Effect, benchBatch)
	now := randomrun.StartTime()
	b.ResetTimer()
	before := measure.ReadClocks()
	for i := range b.N {
		now = now.Add(time.Millisecond)
		for j, cmd := range messages[i%len(messages)] {
			r.Command(now, cmd)
			r.Effects(nil, false)
			if m, ok := cmd.(scheduler.SubmitAskWithClass); ok {
				placed[j/2] = scheduler.Allocated{Binding: &scheduler.Binding{Ask: m.Ask, Node: "node-123"}}
			}
		}
		r.Schedule(now, 256)
		r.Effects(placed, false)
	}
	r.Close()
	took, _ := measure.ReadClocks().Since(before)
	b.ReportMetric(float64(took)/float64(b.N*benchBatch), "cpu-ns/placement")
	b.ReportMetric(0, "ns/op")
}
