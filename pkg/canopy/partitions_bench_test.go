package canopy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/measure"
	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
	"github.com/canopy-scheduler/canopy/pkg/canopy"
)

// BenchmarkPartitions places asks over gRPC in several partitions of one server, with a resource manager that has them
// all.
func BenchmarkPartitions(b *testing.B) {
	for _, n := range []int{1, 2, 4} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var names, confs []string
			for i := range n {
				names = append(names, fmt.Sprint("p", i))
				confs = append(confs, fmt.Sprintf("{name: p%d, queues: [{name: root, submitacl: '*', queues: [{name: q}]}]}", i))
			}
			s, err := canopy.Start(b.Context(),
				canopy.Options{Config: canopy.Config{Text: "partitions: [" + strings.Join(confs, ", ") + "]"},
					GRPC: canopy.GRPC{Address: free}})
			assert.NilError(b, err)
			defer s.Close()
			placements(b, s.GRPCAddress().String(), names)
		})
	}
}

// placements measures b.N placements of a resource manager, in turn in the partitions.
func placements(b *testing.B, address string, names []string) {
	const each, batch, window = 100, 100, 5000 // nodes of a partition, asks of a message, asks that wait
	c, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	assert.NilError(b, err)
	defer c.Close()
	ctx := b.Context()
	client := si.NewSchedulerClient(c)
	_, err = client.RegisterResourceManager(ctx, &si.RegisterResourceManagerRequest{RmID: "rm"})
	assert.NilError(b, err)
	nodes, err := client.UpdateNode(ctx)
	assert.NilError(b, err)
	apps, err := client.UpdateApplication(ctx)
	assert.NilError(b, err)
	asks, err := client.UpdateAllocation(ctx)
	assert.NilError(b, err)
	for _, name := range names {
		r, a := &si.NodeRequest{RmID: "rm"}, fakerm.App("app", "root.q")
		for i := range each {
			n := fakerm.Node(fmt.Sprintf("%s-%d", name, i))
			n.SchedulableResource, n.Attributes = fakerm.Resource(1e9, 1e9), map[string]string{"si/node-partition": name}
			r.Nodes = append(r.Nodes, n)
		}
		a.PartitionName = name
		assert.NilError(b, nodes.Send(r))
		got, err := nodes.Recv()
		assert.NilError(b, err)
		assert.Equal(b, len(got.Accepted), each)
		assert.NilError(b, apps.Send(&si.ApplicationRequest{RmID: "rm", New: []*si.AddApplicationRequest{a}}))
		_, err = apps.Recv()
		assert.NilError(b, err)
	}
	placed := make(chan int, 1<<20)
	go func() {
		for {
			r, err := asks.Recv()
			if err != nil {
				close(placed)
				return
			}
			placed <- len(r.New)
		}
	}()
	b.ResetTimer()
	began, waiting := measure.ReadClocks(), 0
	for sent := 0; sent < b.N || waiting > 0; {
		if sent < b.N && waiting <= window-batch {
			m := &si.AllocationRequest{RmID: "rm"}
			for i := sent; i < min(sent+batch, b.N); i++ {
				x := fakerm.Ask(fmt.Sprintf("%s-%d", strings.Repeat("k", 28), i), "app")
				x.PartitionName, x.ResourcePerAlloc = names[i%len(names)], fakerm.Resource(1, 1)
				m.Allocations = append(m.Allocations, x)
			}
			assert.NilError(b, asks.Send(m))
			sent, waiting = sent+len(m.Allocations), waiting+len(m.Allocations)
			continue
		}
		n, ok := <-placed
		if !ok {
			b.Fatal("the stream has ended")
		}
		waiting -= n
	}
	cpu, wall := measure.ReadClocks().Since(began)
	b.ReportMetric(cpu.Seconds()*1e6/float64(b.N), "cpu-µs/op")
	b.ReportMetric(float64(b.N)/wall.Seconds(), "placements/s")
}
