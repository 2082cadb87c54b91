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

	"github.com/canopy-scheduler/canopy/pkg/rmproxy"
)

// attackJob is an attack by a process of its own.
type attackJob struct {
	Spec    hostileSpec `json:"spec"`
	Address string      `json:"address"` // gRPC
}

// run attacks for as long as the job says.
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

// attacker is the client that does not behave.
type attacker struct {
	spec    hostileSpec
	address string

	conns   []*grpc.ClientConn
	streams []grpc.ClientStream // that were opened beforehand
	hangUp  context.CancelFunc

	sent, refused, kept atomic.Int64
}

// streamsOfConn is how many streams an attacker opens on one connection: as many as a server takes.
const streamsOfConn = 100

// atOnceHostile is how many large messages an attacker sends at the same time.
const atOnceHostile = 4

var anyStream = &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}

// blind is a codec that sends bytes as they are and reads nothing.
type blind struct{}

func (blind) Name() string                           { return "proto" }
func (blind) Marshal(v any) (mem.BufferSlice, error) { return v.(mem.BufferSlice), nil }
func (blind) Unmarshal(mem.BufferSlice, any) error   { return nil }

func (a *attacker) dial() (*grpc.ClientConn, error) {
	conn, err := grpc.NewClient(a.address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(1<<30)))
	if err == nil {
		a.conns = append(a.conns, conn)
	}
	return conn, err
}

func (a *attacker) open(ctx context.Context, conn *grpc.ClientConn, method string) (grpc.ClientStream, error) {
	return conn.NewStream(ctx, anyStream, "/"+rmproxy.ServiceName+"/"+method, grpc.ForceCodecV2(blind{}))
}

// prepare does what comes before the registration that counts.
func (a *attacker) prepare(ctx context.Context) error {
	ctx, a.hangUp = context.WithCancel(ctx)
	conn, err := a.dial()
	if err != nil || a.spec.Attack != attackLate {
		return err
	}
	for range a.spec.Streams {
		s, err := a.open(ctx, conn, "UpdateAllocation")
		if err != nil {
			return err
		}
		a.streams = append(a.streams, s)
	}
	pause(100 * time.Millisecond) // until the server has them
	return nil
}

func (a *attacker) close() {
	a.hangUp()
	for _, conn := range a.conns {
		_ = conn.Close()
	}
}

// answer is what the attack has met so far.
func (a *attacker) answer() Answer {
	return Answer{Sample: Sample{
		"attackMessages": float64(a.sent.Load()), "attackRefused": float64(a.refused.Load()), "attackStreamsKept": float64(a.kept.Load()),
	}}
}

// run attacks for at least as long as the attack is to last.
func (a *attacker) run(ctx context.Context) error {
	least := time.Duration(a.spec.Seconds) * time.Second
	ctx, stop := context.WithTimeout(ctx, least+2*time.Minute)
	defer stop()
	switch a.spec.Attack {
	case attackMessages:
		return a.flood(ctx, least)
	case attackUnread:
		return a.unread(ctx, least)
	case attackSilent:
		return a.silent(ctx, least)
	case attackLate:
		return a.late()
	}
	return fmt.Errorf("there is no attack %q", a.spec.Attack)
}

// message is a message of so many empty entries.
func (a *attacker) message() mem.BufferSlice {
	name := rm
	if a.spec.Stranger {
		name = "stranger"
	}
	field := map[string]protowire.Number{"UpdateNode": 2, "UpdateApplication": 3, "UpdateAllocation": 3, "RegisterResourceManager": 1}[a.spec.Method]
	entry := protowire.AppendBytes(protowire.AppendTag(nil, protowire.Number(a.spec.Entry), protowire.BytesType), nil)
	if a.spec.Method == "UpdateAllocation" && a.spec.Entry == 2 { // releases are one level down
		inner := bytes.Repeat([]byte{1<<3 | 2, 0}, a.spec.Bytes/2)
		entry = protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), inner)
	}
	b := protowire.AppendString(protowire.AppendTag(nil, field, protowire.BytesType), name)
	b = append(b, bytes.Repeat(entry, max((a.spec.Bytes-len(b))/len(entry), 1))...)
	return mem.BufferSlice{mem.SliceBuffer(b)}
}

// flood sends several large messages at once, and again, each on a stream of its own, for so long.
func (a *attacker) flood(ctx context.Context, least time.Duration) error {
	m := a.message()
	var at sync.WaitGroup
	began := time.Now()
	errs := make([]error, atOnceHostile)
	for i := range errs {
		conn, err := a.dial()
		if err != nil {
			return err
		}
		at.Go(func() {
			for first := true; (first || time.Since(began) < least) && ctx.Err() == nil; first = false {
				s, err := a.open(ctx, conn, a.spec.Method)
				if err == nil {
					a.sent.Add(1)
					_ = s.SendMsg(m) // what cannot be sent is refused below
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

// unread asks for nodes that are refused, and reads none of that.
func (a *attacker) unread(ctx context.Context, least time.Duration) error {
	ctx, stop := context.WithTimeout(ctx, least)
	defer stop()
	a.spec.Method, a.spec.Entry, a.spec.Bytes = "UpdateNode", 1, 32<<10
	m := a.message()
	s, err := a.open(ctx, a.conns[0], "UpdateNode")
	for err == nil {
		if err = s.SendMsg(m); err == nil {
			a.sent.Add(1)
		}
	}
	if ctx.Err() != nil { // it was not read any more
		return nil
	}
	a.refused.Add(1)
	return nil
}

// silent opens streams that say nothing, and counts those that are there at the end.
func (a *attacker) silent(ctx context.Context, least time.Duration) error {
	began := time.Now()
	live, hangUp := context.WithCancel(ctx)
	defer hangUp()
	var ending sync.WaitGroup
	for i := 0; i < a.spec.Streams; i += streamsOfConn {
		conn, err := a.dial()
		if err != nil {
			return err
		}
		for range min(streamsOfConn, a.spec.Streams-i) {
			opening, giveUp := context.WithCancel(live)
			late := time.AfterFunc(time.Second, giveUp)
			s, err := a.open(opening, conn, "UpdateAllocation")
			if !late.Stop() || err != nil {
				giveUp()
				a.refused.Add(1)
				continue
			}
			a.sent.Add(1)
			a.kept.Add(1)
			ending.Go(func() {
				defer giveUp()
				_ = s.RecvMsg(nil)
				if live.Err() == nil {
					a.kept.Add(-1)
					a.refused.Add(1)
				}
			})
		}
	}
	select {
	case <-time.After(least - time.Since(began)):
	case <-ctx.Done():
	}
	hangUp()
	ending.Wait()
	return nil
}

// late speaks on the streams that were opened under the registration before, in the name of the RM.
func (a *attacker) late() error {
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
