package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/canopy-scheduler/canopy/internal/lab/bench/report"
	"github.com/canopy-scheduler/canopy/internal/lab/measure"
	"github.com/canopy-scheduler/canopy/pkg/rmproxy"
)

// attackJob is an attack by a separate process.
type attackJob struct {
	Spec    hostileSpec `json:"spec"`
	Address string      `json:"address"` // gRPC
}

// run attacks for the duration of the job.
func (j *attackJob) run(ctx context.Context, r *result) error {
	a := &attacker{spec: j.Spec, address: j.Address}
	if err := a.prepare(ctx); err != nil {
		return err
	}
	defer a.close()
	err := a.run(ctx)
	maps.Copy(r.sample, a.answer().Sample)
	return err
}

// attacker is the attacking client.
type attacker struct {
	spec    hostileSpec
	address string

	conns   []*grpc.ClientConn
	streams []grpc.ClientStream // opened before the last registration
	cancel  context.CancelFunc

	sent, refused, openStreams atomic.Int64
}

// streamsPerConn is the number of streams per connection: the server's limit.
const streamsPerConn = 100

// concurrentMessages is the number of large messages sent at the same time.
const concurrentMessages = 4

var anyStream = &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}

// rawCodec is a codec that sends bytes as they are and reads nothing.
type rawCodec struct{}

func (rawCodec) Name() string                           { return "proto" }
func (rawCodec) Marshal(v any) (mem.BufferSlice, error) { return v.(mem.BufferSlice), nil }
func (rawCodec) Unmarshal(mem.BufferSlice, any) error   { return nil }

func (a *attacker) dial() (*grpc.ClientConn, error) {
	conn, err := grpc.NewClient(a.address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(1<<30)))
	if err == nil {
		a.conns = append(a.conns, conn)
	}
	return conn, err
}

func (a *attacker) newStream(ctx context.Context, conn *grpc.ClientConn, method string) (grpc.ClientStream, error) {
	return conn.NewStream(ctx, anyStream, "/"+rmproxy.ServiceName+"/"+method, grpc.ForceCodecV2(rawCodec{}))
}

// prepare opens streams before the last registration.
func (a *attacker) prepare(ctx context.Context) error {
	ctx, a.cancel = context.WithCancel(ctx)
	conn, err := a.dial()
	if err != nil || a.spec.Attack != attackStale {
		return err
	}
	for range a.spec.Streams {
		s, err := a.newStream(ctx, conn, "UpdateAllocation")
		if err != nil {
			return err
		}
		a.streams = append(a.streams, s)
	}
	measure.PreciseSleep(100 * time.Millisecond) // until the server has accepted them
	return nil
}

func (a *attacker) close() {
	a.cancel()
	for _, conn := range a.conns {
		_ = conn.Close()
	}
}

// answer returns the counts of the attack so far.
func (a *attacker) answer() Answer {
	return Answer{Sample: report.Sample{
		"attackMessages": float64(a.sent.Load()), "attackRefused": float64(a.refused.Load()),
		"attackStreamsKept": float64(a.openStreams.Load()),
	}}
}

// run attacks for at least the duration of the attack.
func (a *attacker) run(ctx context.Context) error {
	minDuration := time.Duration(a.spec.Seconds) * time.Second
	ctx, stop := context.WithTimeout(ctx, minDuration+2*time.Minute)
	defer stop()
	switch a.spec.Attack {
	case attackMessages:
		return a.flood(ctx, minDuration)
	case attackUnread:
		return a.sendUnread(ctx, minDuration)
	case attackIdle:
		return a.openIdle(ctx, minDuration)
	case attackStale:
		return a.sendStale()
	}
	return fmt.Errorf("there is no attack %q", a.spec.Attack)
}

// message returns a message of empty entries.
func (a *attacker) message() mem.BufferSlice {
	name := rmID
	if a.spec.UnregisteredRM {
		name = "unregistered"
	}
	field := map[string]protowire.Number{"UpdateNode": 2, "UpdateApplication": 3, "UpdateAllocation": 3,
		"RegisterResourceManager": 1}[a.spec.Method]
	entry := protowire.AppendBytes(protowire.AppendTag(nil, protowire.Number(a.spec.Entry), protowire.BytesType), nil)
	if a.spec.Method == "UpdateAllocation" && a.spec.Entry == 2 { // releases are one level down
		inner := bytes.Repeat([]byte{1<<3 | 2, 0}, a.spec.Bytes/2)
		entry = protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), inner)
	}
	b := protowire.AppendString(protowire.AppendTag(nil, field, protowire.BytesType), name)
	b = append(b, bytes.Repeat(entry, max((a.spec.Bytes-len(b))/len(entry), 1))...)
	return mem.BufferSlice{mem.SliceBuffer(b)}
}

// flood sends several large messages at once, each on its own stream, repeatedly for minDuration.
func (a *attacker) flood(ctx context.Context, minDuration time.Duration) error {
	m := a.message()
	var at sync.WaitGroup
	began := time.Now()
	errs := make([]error, concurrentMessages)
	for i := range errs {
		conn, err := a.dial()
		if err != nil {
			return err
		}
		at.Go(func() {
			for first := true; (first || time.Since(began) < minDuration) && ctx.Err() == nil; first = false {
				s, err := a.newStream(ctx, conn, a.spec.Method)
				if err == nil {
					a.sent.Add(1)
					_ = s.SendMsg(m) // a failed send is counted as refused below
					_ = s.CloseSend()
					for err == nil {
						err = s.RecvMsg(nil)
					}
					a.refused.Add(1)
				}
				if ctx.Err() != nil {
					errs[i] = fmt.Errorf("an attack was not answered: %w", err)
				}
			}
		})
	}
	at.Wait()
	return errors.Join(errs...)
}

// sendUnread sends nodes that are rejected, and does not read the answers.
func (a *attacker) sendUnread(ctx context.Context, minDuration time.Duration) error {
	ctx, stop := context.WithTimeout(ctx, minDuration)
	defer stop()
	a.spec.Method, a.spec.Entry, a.spec.Bytes = "UpdateNode", 1, 32<<10
	m := a.message()
	s, err := a.newStream(ctx, a.conns[0], "UpdateNode")
	for err == nil {
		if err = s.SendMsg(m); err == nil {
			a.sent.Add(1)
		}
	}
	if ctx.Err() != nil { // the server stopped reading
		return nil
	}
	a.refused.Add(1)
	return nil
}

// openIdle opens streams without messages, and counts the open ones at the end.
func (a *attacker) openIdle(ctx context.Context, minDuration time.Duration) error {
	began := time.Now()
	live, hangUp := context.WithCancel(ctx)
	defer hangUp()
	var ending sync.WaitGroup
	for i := 0; i < a.spec.Streams; i += streamsPerConn {
		conn, err := a.dial()
		if err != nil {
			return err
		}
		for range min(streamsPerConn, a.spec.Streams-i) {
			opening, giveUp := context.WithCancel(live)
			late := time.AfterFunc(time.Second, giveUp)
			s, err := a.newStream(opening, conn, "UpdateAllocation")
			if !late.Stop() || err != nil {
				giveUp()
				a.refused.Add(1)
				continue
			}
			a.sent.Add(1)
			a.openStreams.Add(1)
			ending.Go(func() {
				defer giveUp()
				_ = s.RecvMsg(nil)
				if live.Err() == nil {
					a.openStreams.Add(-1)
					a.refused.Add(1)
				}
			})
		}
	}
	select {
	case <-time.After(minDuration - time.Since(began)):
	case <-ctx.Done():
	}
	hangUp()
	ending.Wait()
	return nil
}

// sendStale sends on the streams that were opened under an earlier registration of the resource
// manager.
func (a *attacker) sendStale() error {
	a.spec.Method, a.spec.Entry, a.spec.Bytes = "UpdateAllocation", 4, 0
	m := a.message()
	for _, s := range a.streams {
		_ = s.SendMsg(m)
		a.sent.Add(1)
		var err error
		for err == nil {
			err = s.RecvMsg(nil)
		}
		a.refused.Add(1)
	}
	return nil
}
