// Command shim-go is a minimal resource manager: it registers two nodes, submits an application with
// some asks, prints the allocations and why asks wait, releases them, and ends. It uses only the
// scheduler interface, gRPC and, if the scheduler has it, the service of hints.
package main

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/canopy-scheduler/canopy/pkg/hints/canopyv1"
)

//go:embed queues.yaml
var queues string

const (
	rmID = "shim-go"
	app  = "hello"
	asks = 4
)

func main() {
	address := flag.String("address", "127.0.0.1:3333", "gRPC address of the scheduler")
	caCert := flag.String("ca-cert", "",
		"PEM file with the authority of the scheduler, which speaks TLS; empty: without TLS")
	tokenFile := flag.String("token-file", "", "file with the token for the scheduler; empty: none")
	timeout := flag.Duration("timeout", 30*time.Second, "timeout of the whole run")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), *timeout)
	defer cancel()
	options, err := dialOptions(*caCert, *tokenFile)
	if err == nil {
		err = run(ctx, *address, options)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "shim-go:", err)
		os.Exit(1)
	}
}

// dialOptions encrypt the connection and send the token with each call.
func dialOptions(caCert, tokenFile string) ([]grpc.DialOption, error) {
	transport := insecure.NewCredentials()
	if caCert != "" {
		var err error
		if transport, err = credentials.NewClientTLSFromFile(caCert, ""); err != nil {
			return nil, err
		}
	}
	options := []grpc.DialOption{grpc.WithTransportCredentials(transport)}
	if tokenFile == "" {
		return options, nil
	}
	text, err := os.ReadFile(tokenFile)
	if err != nil {
		return nil, err
	}
	return append(options, grpc.WithPerRPCCredentials(token(strings.TrimSpace(string(text))))), nil
}

// token is sent as the metadata authorization.
type token string

// GetRequestMetadata is part of credentials.PerRPCCredentials.
func (t token) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(t)}, nil
}

// RequireTransportSecurity keeps the token from being sent without TLS.
func (t token) RequireTransportSecurity() bool { return true }

// run registers, and runs the three streams one after the other.
func run(ctx context.Context, address string, options []grpc.DialOption) error {
	conn, err := grpc.NewClient(address, options...)
	if err != nil {
		return err
	}
	defer conn.Close()
	client := si.NewSchedulerClient(conn)

	// Registering discards the state of an earlier registration, and sends the queues.
	_, err = client.RegisterResourceManager(ctx, &si.RegisterResourceManagerRequest{
		RmID: rmID, Version: "1.9.0", PolicyGroup: "queues", Config: queues,
	})
	if err != nil {
		return fmt.Errorf("register: %w", err)
	}
	hints, stop := context.WithCancel(ctx)
	var printing sync.WaitGroup
	printing.Go(func() { printWaiting(hints, conn) })
	defer printing.Wait()
	defer stop()
	if err := addNodes(ctx, client); err != nil {
		return fmt.Errorf("nodes: %w", err)
	}
	if err := addApplication(ctx, client); err != nil {
		return fmt.Errorf("application: %w", err)
	}
	if err := runAllocations(ctx, client); err != nil {
		return fmt.Errorf("allocations: %w", err)
	}
	return nil
}

// printWaiting prints why asks wait, until ctx ends. The scheduler interface has no message for it:
// the service is Canopy's own, and a shim goes on without it where it is not implemented.
func printWaiting(ctx context.Context, conn grpc.ClientConnInterface) {
	request := &canopyv1.WaitingStatesRequest{RmId: rmID, Explain: true}
	stream, err := canopyv1.NewHintsClient(conn).WaitingStates(ctx, request)
	for err == nil {
		var answer *canopyv1.WaitingStatesResponse
		answer, err = stream.Recv()
		for _, x := range answer.GetWaitingStates() {
			if x.Message != "" { // the state itself has come before
				fmt.Printf("waiting: %s %s %s: %s\n", x.AllocationKey, x.State, x.Reason, x.Message)
			}
		}
	}
	if code := status.Code(err); code != codes.Unimplemented && code != codes.Canceled {
		fmt.Fprintln(os.Stderr, "shim-go: no more hints:", err)
	}
}

// amounts are 1000ths of a core and bytes.
func amounts(vcore, memory int64) *si.Resource {
	return &si.Resource{Resources: map[string]*si.Quantity{"vcore": {Value: vcore}, "memory": {Value: memory}}}
}

// addNodes registers two nodes and waits until both are accepted. Allocations need the nodes, and
// messages of different streams have no order.
func addNodes(ctx context.Context, client si.SchedulerClient) error {
	stream, err := client.UpdateNode(ctx)
	if err != nil {
		return err
	}
	var offer []*si.NodeInfo
	for _, id := range []string{"node-1", "node-2"} {
		offer = append(offer, &si.NodeInfo{
			NodeID: id, Action: si.NodeInfo_CREATE, SchedulableResource: amounts(4000, 8<<30),
			Attributes: map[string]string{"si/hostname": id, "si/rackname": "rack-1"},
		})
	}
	if err := stream.Send(&si.NodeRequest{RmID: rmID, Nodes: offer}); err != nil {
		return err
	}
	for waiting := len(offer); waiting > 0; {
		answer, err := stream.Recv()
		if err != nil {
			return err
		}
		for _, n := range answer.Rejected {
			return fmt.Errorf("%s was rejected: %s", n.NodeID, n.Reason)
		}
		for _, n := range answer.Accepted {
			fmt.Println("node accepted:", n.NodeID)
			waiting--
		}
	}
	return stream.CloseSend()
}

// addApplication submits an application.
func addApplication(ctx context.Context, client si.SchedulerClient) error {
	stream, err := client.UpdateApplication(ctx)
	if err != nil {
		return err
	}
	err = stream.Send(&si.ApplicationRequest{RmID: rmID, New: []*si.AddApplicationRequest{{
		ApplicationID: app, QueueName: "root.batch", PartitionName: "default",
		Ugi: &si.UserGroupInformation{User: "alice", Groups: []string{"developers"}},
	}}})
	if err != nil {
		return err
	}
	answer, err := stream.Recv()
	if err != nil {
		return err
	}
	for _, a := range answer.Rejected {
		return fmt.Errorf("%s was rejected: %s", a.ApplicationID, a.Reason)
	}
	fmt.Println("application accepted:", app)
	return stream.CloseSend()
}

// runAllocations submits asks, prints their allocations, and releases them.
func runAllocations(ctx context.Context, client si.SchedulerClient) error {
	stream, err := client.UpdateAllocation(ctx)
	if err != nil {
		return err
	}
	// An allocation without a node is an ask.
	request := &si.AllocationRequest{RmID: rmID}
	for i := range asks {
		request.Allocations = append(request.Allocations, &si.Allocation{
			AllocationKey: fmt.Sprintf("%s-%d", app, i), ApplicationID: app, PartitionName: "default",
			ResourcePerAlloc: amounts(1000, 1<<30),
		})
	}
	if err := stream.Send(request); err != nil {
		return err
	}
	for made := 0; made < asks; {
		answer, err := stream.Recv()
		if err != nil {
			return err
		}
		for _, x := range answer.RejectedAllocations {
			return fmt.Errorf("%s was rejected: %s", x.AllocationKey, x.Reason)
		}
		for _, x := range answer.New {
			fmt.Printf("allocated: %s on %s\n", x.AllocationKey, x.NodeID)
			made++
		}
	}

	// A release without a key releases all allocations of the application.
	err = stream.Send(&si.AllocationRequest{Releases: &si.AllocationReleasesRequest{
		AllocationsToRelease: []*si.AllocationRelease{{
			ApplicationID: app, PartitionName: "default", TerminationType: si.TerminationType_STOPPED_BY_RM,
		}},
	}})
	if err != nil {
		return err
	}
	for gone := 0; gone < asks; {
		answer, err := stream.Recv()
		if err != nil {
			return err
		}
		for _, x := range answer.Released {
			fmt.Printf("released: %s (%s)\n", x.AllocationKey, x.TerminationType)
			gone++
		}
	}
	// After the server has closed the streams, another resource manager may register at once.
	if err := stream.CloseSend(); err != nil {
		return err
	}
	if _, err := stream.Recv(); err != io.EOF {
		return fmt.Errorf("after the last message: %v", err)
	}
	return nil
}
