package forward

import (
	"io"
	"strings"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/measure"
)

// BenchmarkForward measures what a forwarder costs: messages of 1 KiB on a stream, answered with as much. CPU is that of client, forwarder
// and scheduler together. "turns": one message at a time; "window": up to 64 are under way.
func BenchmarkForward(b *testing.B) {
	for _, how := range []struct {
		name    string
		where   place
		forward bool
	}{{"direct", remote, false}, {"in process", inProcess, true}, {"over TCP", remote, true}, {"over TLS", secured, true}} {
		for name, window := range map[string]int{"turns": 1, "window": 64} {
			b.Run(how.name+"/"+name, func(b *testing.B) {
				c := newChain(b, how.where, &fake{nodes: echoNodes})
				client := c.client
				if !how.forward {
					client = si.NewSchedulerClient(newClient(b, c.route.Address, nil))
				}
				stream, err := client.UpdateNode(forPartition(b.Context(), "default"))
				assert.NilError(b, err)
				echo(b, stream, 100, window)
				before := measure.ReadClocks()
				b.ResetTimer()
				echo(b, stream, b.N, window)
				b.StopTimer()
				cpu, _ := measure.ReadClocks().Since(before)
				b.ReportMetric(measure.Micros(cpu)/float64(b.N), "cpu-us/op")
				assert.NilError(b, stream.CloseSend())
				_, err = stream.Recv()
				assert.ErrorIs(b, err, io.EOF)
			})
		}
	}
}

// echo sends messages and gets as many, of which up to window are under way.
func echo(b *testing.B, stream si.Scheduler_UpdateNodeClient, messages, window int) {
	b.Helper()
	r := &si.NodeRequest{RmID: strings.Repeat("x", 1<<10)}
	under := make(chan struct{}, window)
	done := make(chan error)
	go func() {
		for range messages {
			if _, err := stream.Recv(); err != nil {
				done <- err
				return
			}
			<-under
		}
		done <- nil
	}()
	for range messages {
		under <- struct{}{}
		if stream.Send(r) != nil {
			break // Recv has the error
		}
	}
	assert.NilError(b, <-done)
}
