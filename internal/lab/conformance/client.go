package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/canopy-scheduler/canopy/pkg/hints/canopyv1"
)

// The methods of the services.
const (
	register          = "RegisterResourceManager"
	updateNode        = "UpdateNode"
	updateApplication = "UpdateApplication"
	updateAllocation  = "UpdateAllocation"
	waitingStates     = "WaitingStates" // of canopy.v1.Hints
)

var methods = []string{register, updateNode, updateApplication, updateAllocation, waitingStates}

// stream holds what the three streams have in common.
type stream struct {
	raw    grpc.ClientStream
	newMsg func() proto.Message // an empty message to the scheduler
	answer func() proto.Message // an empty answer
}

// received is one element of an answer, or the end of a stream.
type received struct {
	method  string
	list    string         // the field of the answer that has the element
	element map[string]any // the JSON of the element; nil: the end of a stream, or of a call
	code    codes.Code     // of the end
}

func (r received) String() string {
	if r.element == nil {
		return r.method + " ends with " + r.code.String()
	}
	text, err := json.Marshal(r.element)
	if err != nil {
		text = []byte(err.Error())
	}
	return fmt.Sprintf("%s %s: %s", r.method, r.list, text)
}

// client is a resource manager that keeps what it receives until a case takes it.
type client struct {
	rm      si.SchedulerClient
	hints   canopyv1.HintsClient
	streams map[string]*stream
	ctx     context.Context    // of the streams
	cancel  context.CancelFunc // ends the streams
	readers sync.WaitGroup

	mu      sync.Mutex
	arrived chan struct{} // closed when something arrives
	inbox   []received
}

func newClient(conn grpc.ClientConnInterface) *client {
	return &client{rm: si.NewSchedulerClient(conn), hints: canopyv1.NewHintsClient(conn), arrived: make(chan struct{}),
		cancel: func() {}}
}

// close ends the streams.
func (c *client) close() {
	c.cancel()
	c.readers.Wait()
}

// open opens the three streams anew, and sends the first message on each.
func (c *client) open(ctx context.Context, rmID string) error {
	c.close()
	ctx, c.cancel = context.WithCancel(ctx)
	c.ctx = ctx
	nodes, err := c.rm.UpdateNode(ctx)
	if err != nil {
		return err
	}
	apps, err := c.rm.UpdateApplication(ctx)
	if err != nil {
		return err
	}
	allocations, err := c.rm.UpdateAllocation(ctx)
	if err != nil {
		return err
	}
	c.streams = map[string]*stream{
		updateNode: {nodes, func() proto.Message { return &si.NodeRequest{} },
			func() proto.Message { return &si.NodeResponse{} }},
		updateApplication: {
			apps, func() proto.Message { return &si.ApplicationRequest{} },
			func() proto.Message { return &si.ApplicationResponse{} },
		},
		updateAllocation: {
			allocations, func() proto.Message { return &si.AllocationRequest{} },
			func() proto.Message { return &si.AllocationResponse{} },
		},
	}
	for method, s := range c.streams {
		// io.EOF: the stream has ended already, and its reader gets the reason.
		if err := c.sendOn(method, fmt.Sprintf(`{"rmID": %q}`, rmID)); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		c.readers.Go(func() { c.read(method, s) })
	}
	return nil
}

// openHints opens a stream of hints with a request, given as JSON.
func (c *client) openHints(text string) error {
	m := &canopyv1.WaitingStatesRequest{}
	if err := protojson.Unmarshal([]byte(text), m); err != nil {
		return err
	}
	raw, err := c.hints.WaitingStates(c.ctx, m)
	if err != nil {
		return err
	}
	c.readers.Go(func() {
		c.read(waitingStates,
			&stream{raw: raw, answer: func() proto.Message { return &canopyv1.WaitingStatesResponse{} }})
	})
	return nil
}

// read keeps what arrives on a stream until it ends.
func (c *client) read(method string, s *stream) {
	for {
		m := s.answer()
		if err := s.raw.RecvMsg(m); err != nil {
			c.add(received{method: method, code: status.Code(err)})
			return
		}
		elements, err := elementsOf(m)
		if err != nil {
			elements = []received{{list: err.Error(), element: map[string]any{}}}
		}
		for i := range elements {
			elements[i].method = method
		}
		c.add(elements...)
	}
}

// elementsOf returns the elements of the lists of an answer.
func elementsOf(m proto.Message) (elements []received, err error) {
	text, err := protojson.Marshal(m)
	if err != nil {
		return nil, err
	}
	return elementsIn(string(text))
}

func elementsIn(text string) (elements []received, err error) {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		return nil, err
	}
	for name, field := range fields {
		var list []map[string]any
		if name == initialComplete { // a mark is an element, too
			list = []map[string]any{{}}
		} else if err := json.Unmarshal(field, &list); err != nil {
			return nil, err
		}
		for _, x := range list {
			elements = append(elements, received{list: name, element: x})
		}
	}
	return elements, nil
}

// initialComplete is the field of answers that is no list.
const initialComplete = "initialComplete"

func (c *client) add(elements ...received) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inbox = append(c.inbox, elements...)
	close(c.arrived)
	c.arrived = make(chan struct{})
}

// take removes the first element that matches, and waits for one if there is none; false: ctx, or what the method is
// received on, has ended before.
func (c *client) take(ctx context.Context, method string, matches func(received) bool) bool {
	for {
		c.mu.Lock()
		ended := false
		for i, r := range c.inbox {
			if matches(r) {
				c.inbox = append(c.inbox[:i:i], c.inbox[i+1:]...)
				c.mu.Unlock()
				return true
			}
			ended = ended || r.method == method && r.element == nil
		}
		arrived := c.arrived
		c.mu.Unlock()
		if ended {
			return false
		}
		select {
		case <-arrived:
		case <-ctx.Done():
			return false
		}
	}
}

// untaken returns the answers that arrived and were not taken.
func (c *client) untaken() []received {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]received(nil), c.inbox...)
}

// sendOn sends a message, given as JSON.
func (c *client) sendOn(method, text string) error {
	s := c.streams[method]
	m := s.newMsg()
	if err := protojson.Unmarshal([]byte(text), m); err != nil {
		return err
	}
	return s.raw.SendMsg(m)
}
