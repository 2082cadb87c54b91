package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/canopy-scheduler/canopy/internal/sim"
	"github.com/canopy-scheduler/canopy/pkg/rmproxy"
)

// hostileSpec is an attack.
type hostileSpec struct {
	Attack   string `json:"attack"`
	Method   string `json:"method,omitempty"`   // of attackMessages
	Entry    int    `json:"entry,omitempty"`    // the field of the message that is sent empty, again and again
	Bytes    int    `json:"bytes,omitempty"`    // of a message
	Stranger bool   `json:"stranger,omitempty"` // the messages name an RM that is not registered
	Streams  int    `json:"streams,omitempty"`  // of attackSilent and attackLate
	Seconds  int    `json:"seconds"`            // that each phase takes at least
}

// The attacks.
const (
	attackMessages = "messages" // several large messages at once, again and again
	attackUnread   = "unread"   // messages whose answers are not read
	attackSilent   = "silent"   // streams that say nothing
	attackLate     = "late"     // streams that speak after a later registration than theirs
)

// The families of times: how long an ask took.
const (
	quietAskTimes    = "askQuiet"
	attackedAskTimes = "askAttacked"
)

// hostile measures what an attack costs a server, and its other client.
func hostile(ctx context.Context, r *result, spec hostileSpec, self []string) (err error) {
	server, err := startServer(ctx, self)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	c, err := dialGood(ctx, server.address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.conn.Close()) }()
	if spec.Attack == attackLate { // its streams are opened before the registration that counts
		if err := c.register(ctx); err != nil {
			return err
		}
	}
	attack := &attacker{spec: spec, address: server.address, client: c}
	if err := attack.prepare(ctx); err != nil {
		return err
	}
	defer attack.close()
	if err := c.begin(ctx); err != nil {
		return err
	}
	least := time.Duration(spec.Seconds) * time.Second
	if err := c.askFor(ctx, r.family(quietAskTimes), least, nil); err != nil {
		return err
	}
	before, err := server.memory("VmRSS")
	if err != nil {
		return err
	}
	over := make(chan struct{})
	failed := make(chan error, 1)
	go func() { defer close(over); failed <- attack.run(ctx, least) }()
	if err := errors.Join(c.askFor(ctx, r.family(attackedAskTimes), least, over), <-failed); err != nil {
		return err
	}
	peak, err := server.memory("VmHWM")
	if err != nil {
		return err
	}
	r.sample["serverPeakMemory"] = peak
	r.sample["attackMemory"] = max(0, peak-before)
	r.sample["attackMessages"] = float64(attack.sent.Load())
	r.sample["attackRefused"] = float64(attack.refused.Load())
	r.sample["attackStreamsKept"] = float64(attack.kept.Load())
	return nil
}

// served is a server under attack.
type served struct {
	address string
	pid     int
	stop    func() error
}

// startServer starts canopy serve. Without a program it serves in this process, whose memory is
// then that of the attacker as well: for a test.
func startServer(ctx context.Context, self []string) (*served, error) {
	if len(self) == 0 {
		s, err := sim.Serve(ctx, rmproxy.New(rmproxy.Options{}))
		if err != nil {
			return nil, err
		}
		return &served{address: s.Address(), pid: os.Getpid(), stop: s.Close}, nil
	}
	cmd := exec.CommandContext(ctx, self[0], "serve", "--grpc-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0", "--log-level", "error")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &served{pid: cmd.Process.Pid, stop: func() error {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			return err
		}
		return cmd.Wait()
	}}
	line, err := bufio.NewReader(out).ReadString('\n')
	for _, word := range strings.Fields(line) {
		if address, ok := strings.CutPrefix(word, "grpc="); ok {
			s.address = address
		}
	}
	if err != nil || s.address == "" {
		return nil, errors.Join(fmt.Errorf("canopy serve does not say where it listens: %q", line), err, s.stop())
	}
	return s, nil
}

// memory is a figure of the kernel about the server, in bytes.
func (s *served) memory(field string) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid))
	if err != nil {
		return 0, fmt.Errorf("the memory of the server: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			kib, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
			return kib * 1024, err
		}
	}
	return 0, fmt.Errorf("the kernel does not say %s", field)
}

// good is the client that behaves.
type good struct {
	conn *grpc.ClientConn
	si.SchedulerClient
	allocations si.Scheduler_UpdateAllocationClient
	asked       int
	served      atomic.Int64 // asks that were answered
}

func dialGood(_ context.Context, address string) (*good, error) {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	return &good{conn: conn, SchedulerClient: si.NewSchedulerClient(conn)}, nil
}

const hostileQueues = `partitions: [{name: default, queues: [{name: root, submitacl: "*", queues: [{name: a}]}]}]`

func (c *good) register(ctx context.Context) error {
	_, err := c.RegisterResourceManager(ctx, &si.RegisterResourceManagerRequest{RmID: rm, Config: hostileQueues})
	return err
}

// begin registers, offers a node, and starts an application.
func (c *good) begin(ctx context.Context) error {
	if err := c.register(ctx); err != nil {
		return err
	}
	nodes, err := c.UpdateNode(ctx)
	if err != nil {
		return err
	}
	much := map[string]*si.Quantity{"vcore": {Value: 1 << 40}}
	node := &si.NodeInfo{NodeID: "node", Action: si.NodeInfo_CREATE, SchedulableResource: &si.Resource{Resources: much}}
	if err := nodes.Send(&si.NodeRequest{RmID: rm, Nodes: []*si.NodeInfo{node}}); err != nil {
		return err
	}
	if _, err := nodes.Recv(); err != nil {
		return err
	}
	apps, err := c.UpdateApplication(ctx)
	if err != nil {
		return err
	}
	app := &si.AddApplicationRequest{ApplicationID: "app", QueueName: "root.a", Ugi: &si.UserGroupInformation{User: "u", Groups: []string{"g"}}}
	if err := apps.Send(&si.ApplicationRequest{RmID: rm, New: []*si.AddApplicationRequest{app}}); err != nil {
		return err
	}
	if _, err := apps.Recv(); err != nil {
		return err
	}
	c.allocations, err = c.UpdateAllocation(ctx)
	return err
}

// askFor asks for one allocation after the other, 50 a second, for at least so long, and until
// over is closed; nil: it is.
func (c *good) askFor(ctx context.Context, took times, least time.Duration, over <-chan struct{}) error {
	began := time.Now()
	for n := 0; n < fewestAsks || time.Since(began) < least || over != nil && !isClosed(over); n++ {
		pause(20 * time.Millisecond)
		c.asked++
		key := fmt.Sprint("ask-", c.asked)
		m := &si.AllocationRequest{RmID: rm, Allocations: []*si.Allocation{{
			AllocationKey: key, ApplicationID: "app", ResourcePerAlloc: &si.Resource{Resources: map[string]*si.Quantity{"vcore": {Value: 1}}},
		}}}
		asked := time.Now()
		if err := c.allocations.Send(m); err != nil {
			return fmt.Errorf("the client that behaves: %w", err)
		}
		for made := 0; made == 0; {
			answer, err := c.allocations.Recv()
			if err != nil {
				return fmt.Errorf("the client that behaves: %w", err)
			}
			made = len(answer.New)
		}
		took.add(time.Since(asked))
		c.served.Add(1)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
