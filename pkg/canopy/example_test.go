package canopy_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/canopy-scheduler/canopy/pkg/canopy"
)

// batchQueues is a configuration with one leaf queue.
const batchQueues = `
partitions:
  - name: default
    queues:
      - name: root
        submitacl: '*'
        queues:
          - name: batch
`

// launcher is a resource manager: its methods are the callbacks of the scheduler. They are called one
// at a time and must return soon, so it only passes on what it gets.
type launcher struct {
	api.ResourceManagerCallback                     // SendEvent, which is not called
	allocations                 chan *si.Allocation // buffered for all that may be outstanding
}

// UpdateNode gets answers about nodes.
func (l *launcher) UpdateNode(*si.NodeResponse) error { return nil }

// UpdateApplication gets answers about applications and their states.
func (l *launcher) UpdateApplication(*si.ApplicationResponse) error { return nil }

// UpdateAllocation gets allocations, releases and rejections.
func (l *launcher) UpdateAllocation(m *si.AllocationResponse) error {
	for _, a := range m.New {
		l.allocations <- a
	}
	return nil
}

// Predicates is asked before each placement; an error refuses the node.
func (l *launcher) Predicates(*si.PredicatesArgs) error { return nil }

// PreemptionPredicates is asked whether an ask could run on a node if its victims were gone.
func (l *launcher) PreemptionPredicates(*si.PreemptionPredicatesArgs) *si.PreemptionPredicatesResponse {
	return &si.PreemptionPredicatesResponse{Success: true}
}

// UpdateContainerSchedulingState says which pending asks need more nodes. It may overlap with the other callbacks.
func (l *launcher) UpdateContainerSchedulingState(*si.UpdateContainerSchedulingStateRequest) {}

// A resource manager in the same program registers, reports a node, submits an application with an ask,
// and receives the allocation.
func ExampleStart() {
	ctx := context.Background()
	server, err := canopy.Start(ctx, canopy.Options{Config: canopy.Config{Text: batchQueues}})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	scheduler, rm := server.Scheduler(), &launcher{allocations: make(chan *si.Allocation, 10)}

	if _, err := scheduler.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: "launcher"}, rm); err != nil {
		log.Fatal(err)
	}
	if err := scheduler.UpdateNode(&si.NodeRequest{RmID: "launcher", Nodes: []*si.NodeInfo{{
		NodeID: "node-1", Action: si.NodeInfo_CREATE, SchedulableResource: cores(8),
	}}}); err != nil {
		log.Fatal(err)
	}
	if err := scheduler.UpdateApplication(&si.ApplicationRequest{RmID: "launcher", New: []*si.AddApplicationRequest{{
		ApplicationID: "app-1", QueueName: "root.batch", Ugi: &si.UserGroupInformation{User: "ann", Groups: []string{"dev"}},
	}}}); err != nil {
		log.Fatal(err)
	}
	if err := scheduler.UpdateAllocation(&si.AllocationRequest{RmID: "launcher", Allocations: []*si.Allocation{{
		AllocationKey: "task-1", ApplicationID: "app-1", ResourcePerAlloc: cores(2),
	}}}); err != nil {
		log.Fatal(err)
	}
	a := <-rm.allocations
	fmt.Println(a.AllocationKey, "runs on", a.NodeID)
	// Output: task-1 runs on node-1
}

// cores is an amount of CPU: the unit of vcore is a thousandth of a core.
func cores(n int64) *si.Resource {
	return &si.Resource{Resources: map[string]*si.Quantity{"vcore": {Value: 1000 * n}}}
}

// The configuration is a file, which is read again when it changes, and when the program says so. A
// text with errors changes nothing.
func ExampleServer_ReloadFile() {
	dir, err := os.MkdirTemp("", "canopy")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "queues.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			log.Fatal(err)
		}
	}
	write(batchQueues)
	ctx := context.Background()
	server, err := canopy.Start(ctx, canopy.Options{Config: canopy.Config{File: file, NotWatched: true}})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	fmt.Println("generation", server.Generation().Number)

	write(batchQueues + "          - name: interactive\n")
	g, err := server.ReloadFile(ctx)
	fmt.Println("generation", g.Number, err)

	write(batchQueues + "          - name: not.valid\n")
	g, err = server.ReloadFile(ctx)
	fmt.Println("generation", g.Number, err != nil)
	// Output:
	// generation 1
	// generation 2 <nil>
	// generation 2 true
}

// A text from any source is put in force with Reload.
func ExampleServer_Reload() {
	ctx := context.Background()
	server, err := canopy.Start(ctx, canopy.Options{Config: canopy.Config{Text: batchQueues}})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	g, err := server.Reload(ctx, batchQueues+"            resources: {max: {vcore: 100}}\n")
	fmt.Println("generation", g.Number, "from", g.Source, err)
	_, err = server.Reload(ctx, batchQueues+"            resources: {max: {vcore: much}}\n          - name: not.valid\n")
	if invalid := new(canopy.ConfigError); errors.As(err, &invalid) {
		fmt.Println(len(invalid.Problems), "problems, the first one in line", invalid.Problems[0].Line)
	}
	// Output:
	// generation 2 from program <nil>
	// 2 problems, the first one in line 9
}

// Resource managers in other processes use the gRPC server, here on a free port.
func ExampleServer_GRPCAddress() {
	ctx := context.Background()
	server, err := canopy.Start(ctx, canopy.Options{
		Config: canopy.Config{Text: batchQueues},
		GRPC:   canopy.GRPC{Address: "127.0.0.1:0"},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()

	conn, err := grpc.NewClient(server.GRPCAddress().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	client := si.NewSchedulerClient(conn)
	if _, err := client.RegisterResourceManager(ctx, &si.RegisterResourceManagerRequest{RmID: "remote"}); err != nil {
		log.Fatal(err)
	}
	rm, _ := server.ResourceManager()
	fmt.Println(rm.ID, "is registered, in process:", rm.InProcess)
	// Output: remote is registered, in process: false
}
