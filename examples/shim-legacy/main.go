// Command shim-legacy is a minimal resource manager that is built with the scheduler interface 1.5.0 as it was
// published. It goes through what that version promises, prints each answer, and exits with 0 only if all of them
// are as promised. It uses only the scheduler interface and gRPC.
package main

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

//go:embed queues.yaml
var queues string

const (
	rmID      = "shim-legacy"
	partition = "[" + rmID + "]default"
	app       = "hello"
)

func main() {
	address := flag.String("address", "127.0.0.1:3333", "gRPC address of the scheduler")
	timeout := flag.Duration("timeout", 30*time.Second, "timeout of the whole run")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), *timeout)
	defer cancel()
	if err := run(ctx, *address); err != nil {
		fmt.Fprintln(os.Stderr, "shim-legacy:", err)
		os.Exit(1)
	}
	fmt.Println("all answers are those of the scheduler interface 1.5")
}

// run registers, opens the three streams, and keeps them open until the end.
func run(ctx context.Context, address string) error {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	client := si.NewSchedulerClient(conn)
	_, err = client.RegisterResourceManager(ctx, &si.RegisterResourceManagerRequest{
		RmID: rmID, Version: "1.5.0", PolicyGroup: "queues", Config: queues,
	})
	if err != nil {
		return fmt.Errorf("register: %w", err)
	}
	s, err := open(ctx, client)
	if err != nil {
		return err
	}
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"application", s.addApplication},
		{"nodes", s.addNodes},
		{"reported allocations", s.reportAllocations},
		{"asks", s.placeAsks},
		{"releases", s.releaseByID},
		{"cancelled asks", s.cancelAsk},
		{"rejections", s.rejections},
		{"preemption", s.preempt},
		{"node that is not ready", s.nodeNotReady},
		{"removal of the application", s.removeApplication},
	} {
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		fmt.Println("done:", step.name)
	}
	return s.close()
}
