package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// answerTimeout is how long a Client waits for an answer if ctx has no shorter deadline.
const answerTimeout = time.Minute

// errCancelled ends the streams if ctx ended while a message was being sent.
var errCancelled = errors.New("the client has hung up")

// Client is the resource manager's end of the scheduler interface. It is for use by one goroutine; its
// own goroutines receive answers until Close. It is not usable after an error.
type Client struct {
	rm        string
	conn      *grpc.ClientConn
	api       si.SchedulerClient
	streamCtx context.Context // of the streams
	cancel    context.CancelFunc
	receivers sync.WaitGroup

	nodes          si.Scheduler_UpdateNodeClient
	applications   si.Scheduler_UpdateApplicationClient
	allocations    si.Scheduler_UpdateAllocationClient
	nodesUnsettled bool // node changes were sent since the last barrier
	barrierCount   int  // barriers sent

	mu      sync.Mutex    // guards the rest
	changed chan struct{} // closed, and replaced, with every answer
	failed  error         // why the streams ended
	closed  bool
	clientState
}

// Dial connects to the scheduler at address, HOST:PORT. rm is the ID that the client registers with.
// The error has the last reason why there was no connection.
func Dial(ctx context.Context, address, rm string) (*Client, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("%w: HOST:PORT is needed", err)
	}
	if port == "" {
		return nil, fmt.Errorf("address %s: missing port in address: HOST:PORT is needed", address)
	}
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, fmt.Errorf("address %s: %w", address, err)
	}
	if err := waitConnected(ctx, conn); err != nil {
		if _, lookup := net.DefaultResolver.LookupHost(ctx, host); host != "" && lookup != nil {
			err = fmt.Errorf("%w: %w", err, lookup) // gRPC does not pass on why there is no address
		}
		return nil, fmt.Errorf("connecting to %s: %w", address, errors.Join(err, conn.Close()))
	}
	c := &Client{
		rm: rm, conn: conn, api: si.NewSchedulerClient(conn), changed: make(chan struct{}), clientState: newClientState(),
	}
	c.streamCtx, c.cancel = context.WithCancel(context.Background())
	return c, nil
}

func waitConnected(ctx context.Context, conn *grpc.ClientConn) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	conn.Connect()
	for state := conn.GetState(); state != connectivity.Ready; state = conn.GetState() {
		if state == connectivity.TransientFailure {
			if err := connectError(ctx, conn); err != nil {
				return err
			}
		}
		if !conn.WaitForStateChange(ctx, state) {
			return ctx.Err()
		}
	}
	return nil
}

// connectError is why the last attempt to connect failed: what opening a stream now would fail with.
// nil: the connection is ready meanwhile.
func connectError(ctx context.Context, conn *grpc.ClientConn) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	_, err := si.NewSchedulerClient(conn).UpdateNode(ctx)
	if err == nil {
		return nil
	}
	return errors.New(status.Convert(err).Message())
}

// Close closes the connection and waits until all answers are processed.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	err := c.conn.Close()
	c.receivers.Wait()
	return err
}

// Register registers the client and opens the three streams; the
// scheduler discards the state of an earlier registration of this ID. config is the text of a
// queues.yaml. It must be called once, before anything else.
func (c *Client) Register(ctx context.Context, config string) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	_, err := c.api.RegisterResourceManager(ctx, &si.RegisterResourceManagerRequest{
		RmID: c.rm, Version: "1", PolicyGroup: "queues", Config: config,
	})
	if err != nil {
		return fmt.Errorf("registering resource manager %s: %w", c.rm, err)
	}
	c.started = time.Now()
	if c.nodes, err = c.api.UpdateNode(c.streamCtx); err != nil {
		return fmt.Errorf("opening the node stream: %w", err)
	}
	if c.applications, err = c.api.UpdateApplication(c.streamCtx); err != nil {
		return fmt.Errorf("opening the application stream: %w", err)
	}
	if c.allocations, err = c.api.UpdateAllocation(c.streamCtx); err != nil {
		return fmt.Errorf("opening the allocation stream: %w", err)
	}
	receive(c, "node", c.nodes, c.onNodes)
	receive(c, "application", c.applications, c.onApplications)
	receive(c, "allocation", c.allocations, c.onAllocations)
	// A stream is attributed to the resource manager when its first message has arrived.
	return errors.Join(
		send(ctx, c, "a greeting", c.nodes, &si.NodeRequest{RmID: c.rm}),
		send(ctx, c, "a greeting", c.applications, &si.ApplicationRequest{RmID: c.rm}),
		send(ctx, c, "a greeting", c.allocations, &si.AllocationRequest{RmID: c.rm}),
	)
}

// receive processes the answers of one stream until it ends.
func receive[A any](c *Client, about string, stream interface{ Recv() (*A, error) }, take func(*A)) {
	c.receivers.Go(func() {
		for {
			answer, err := stream.Recv()
			c.mu.Lock()
			switch {
			case err == nil:
				c.lastAnswer = time.Now()
				take(answer)
			case c.failed != nil || c.closed:
			case c.streamCtx.Err() != nil:
				c.failed = errCancelled
			default:
				c.failed = fmt.Errorf("the %s stream has ended: %w", about, err)
			}
			close(c.changed)
			c.changed = make(chan struct{})
			c.mu.Unlock()
			if err != nil {
				return
			}
		}
	})
}

// send sends one message. gRPC has no deadline for it, so the end of ctx ends all streams.
func send[Q any](ctx context.Context, c *Client, what string, to interface{ Send(*Q) error }, message *Q) error {
	defer context.AfterFunc(ctx, c.cancel)()
	err := to.Send(message)
	if errors.Is(err, io.EOF) { // the reason comes with the answers
		err = c.wait(ctx, func() string { return "the reason why the stream has ended" },
			func() bool { return false })
	}
	if err != nil {
		return fmt.Errorf("sending %s: %w", what, err)
	}
	return nil
}

// wait blocks until isDone, which is called with the lock held. what describes what it waits for in
// errors.
func (c *Client) wait(ctx context.Context, what func() string, isDone func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	for {
		c.mu.Lock()
		finished, err, news := isDone(), c.failed, c.changed
		c.mu.Unlock()
		cutOff := errors.Is(err, errCancelled) && ctx.Err() != nil // then the error names what it waited for
		switch {
		case err != nil && !cutOff:
			return err
		case err == nil && finished:
			return nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			c.mu.Lock()
			defer c.mu.Unlock()
			return fmt.Errorf("waiting for %s: %w", what(), ctx.Err())
		}
	}
}
