package sim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// connection is a connection of a Client with the three streams of one registration.
type connection struct {
	conn      *grpc.ClientConn
	api       si.SchedulerClient
	streams   context.Context // of the streams
	cancel    context.CancelFunc
	receivers sync.WaitGroup

	nodes        si.Scheduler_UpdateNodeClient
	applications si.Scheduler_UpdateApplicationClient
	allocations  si.Scheduler_UpdateAllocationClient
}

// connect connects to address, HOST:PORT. Without options there is no TLS.
func connect(ctx context.Context, address string, options []grpc.DialOption) (*connection, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("%w: HOST:PORT is needed", err)
	}
	if port == "" {
		return nil, fmt.Errorf("address %s: missing port in address: HOST:PORT is needed", address)
	}
	if len(options) == 0 {
		options = []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}
	}
	conn, err := grpc.NewClient(address, options...)
	if err != nil {
		return nil, fmt.Errorf("address %s: %w", address, err)
	}
	if err := waitConnected(ctx, conn); err != nil {
		if _, lookup := net.DefaultResolver.LookupHost(ctx, host); host != "" && lookup != nil {
			err = fmt.Errorf("%w: %w", err, lookup) // gRPC does not pass on why there is no address
		}
		return nil, fmt.Errorf("connecting to %s: %w", address, errors.Join(err, conn.Close()))
	}
	c := &connection{conn: conn, api: si.NewSchedulerClient(conn)}
	c.streams, c.cancel = context.WithCancel(context.Background())
	return c, nil
}

// open opens the three streams.
func (c *connection) open() (err error) {
	if c.nodes, err = c.api.UpdateNode(c.streams); err != nil {
		return fmt.Errorf("opening the node stream: %w", err)
	}
	if c.applications, err = c.api.UpdateApplication(c.streams); err != nil {
		return fmt.Errorf("opening the application stream: %w", err)
	}
	if c.allocations, err = c.api.UpdateAllocation(c.streams); err != nil {
		return fmt.Errorf("opening the allocation stream: %w", err)
	}
	return nil
}

// close closes the connection and waits until all answers are processed. A second call has no effect.
func (c *connection) close() error {
	if c.conn.GetState() == connectivity.Shutdown {
		return nil
	}
	c.cancel()
	err := c.conn.Close()
	c.receivers.Wait()
	return err
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

// connectError returns the error of the last attempt to connect, which is the one that opening a stream now would have;
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
