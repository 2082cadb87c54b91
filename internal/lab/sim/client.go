package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/grpc"
)

// answerTimeout bounds the time for which a Client waits for an answer if ctx has no shorter deadline.
const answerTimeout = time.Minute

// errCancelled ends the streams if ctx ended while a message was being sent.
var errCancelled = errors.New("the client has hung up")

// Client is the resource manager's end of the scheduler interface. It is for use by one goroutine; its
// own goroutines receive answers until Close. It is not usable after an error.
type Client struct {
	rm      string
	config  string            // of the registration
	options []grpc.DialOption // of connections; none: without TLS
	*connection
	nodesUnsettled bool // node changes were sent since the last barrier
	barrierCount   int  // barriers sent
	recoveries     int  // times that the state was reported to a restarted scheduler

	mu      sync.Mutex    // guards the rest
	changed chan struct{} // closed, and replaced, with every answer
	failed  error         // why the streams ended
	closed  bool
	kills   kills
	clientState
}

// Dial connects to the scheduler at address, HOST:PORT. rm is the ID that the client registers with.
// The error has the last reason why there was no connection.
func Dial(ctx context.Context, address, rm string, options ...grpc.DialOption) (*Client, error) {
	connection, err := connect(ctx, address, options)
	if err != nil {
		return nil, err
	}
	return &Client{rm: rm, options: options, connection: connection, changed: make(chan struct{}),
		clientState: newClientState()}, nil
}

// Close closes the connection and waits until all answers are processed.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	return c.connection.close()
}

// Register registers the client and opens the three streams; the
// scheduler discards the state of an earlier registration of this ID. config is the text of a
// queues.yaml. It must be called once, before anything else.
func (c *Client) Register(ctx context.Context, config string) error {
	c.config = config
	return c.register(ctx)
}

// register registers the client over a new connection.
func (c *Client) register(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	_, err := c.api.RegisterResourceManager(ctx, &si.RegisterResourceManagerRequest{
		RmID: c.rm, Version: "1", PolicyGroup: "queues", Config: c.config,
	})
	if err != nil {
		return fmt.Errorf("registering resource manager %s: %w", c.rm, err)
	}
	if c.started.IsZero() {
		c.started = time.Now()
	}
	if err := c.connection.open(); err != nil {
		return err
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

// receive processes the answers of one stream until it ends. What comes after the client has killed the
// scheduler is dropped.
func receive[A any](c *Client, about string, stream interface{ Recv() (*A, error) }, take func(*A)) {
	streams := c.streams
	c.receivers.Go(func() {
		for {
			answer, err := stream.Recv()
			c.mu.Lock()
			switch {
			case c.kills.killed:
			case err == nil:
				c.lastAnswer = time.Now()
				take(answer)
			case c.failed != nil || c.closed:
			case streams.Err() != nil:
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

// send sends one message. gRPC has no deadline for it, so the end of ctx ends all streams. If the client
// has killed the scheduler, the state is reported to the next one instead: what a message says is
// recorded before it is sent.
func send[Q any](ctx context.Context, c *Client, what string, to interface{ Send(*Q) error }, message *Q) error {
	before := c.recoveries
	if c.isKilled() {
		return c.recover(ctx)
	}
	defer context.AfterFunc(ctx, c.cancel)()
	err := to.Send(message)
	if errors.Is(err, io.EOF) { // the reason comes with the answers
		err = c.wait(ctx, func() string { return "the reason why the stream has ended" },
			func() bool { return c.recoveries != before })
	}
	if err != nil {
		return fmt.Errorf("sending %s: %w", what, err)
	}
	return nil
}

// wait blocks until isDone, which is called with the lock held. what describes what it waits for in
// errors. If the client has killed the scheduler, the state is reported to the next one first.
func (c *Client) wait(ctx context.Context, what func() string, isDone func() bool) error {
	for {
		err := c.waitOrKilled(ctx, what, isDone)
		if !errors.Is(err, errKilled) {
			return err
		}
		if err := c.recover(ctx); err != nil {
			return err
		}
	}
}

// waitOrKilled does what wait does, for a scheduler that the client may kill; then the error is errKilled.
func (c *Client) waitOrKilled(ctx context.Context, what func() string, isDone func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	for {
		c.mu.Lock()
		finished, err, killed, news := isDone(), c.failed, c.kills.killed, c.changed
		c.mu.Unlock()
		cutOff := errors.Is(err, errCancelled) && ctx.Err() != nil // then the error names what it waited for
		switch {
		case err != nil && !cutOff:
			return err
		case killed:
			return errKilled
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
