package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/internal/history"
	"github.com/canopy-scheduler/canopy/internal/httpserver"
	"github.com/canopy-scheduler/canopy/internal/loop"
	"github.com/canopy-scheduler/canopy/internal/sim"
	"github.com/canopy-scheduler/canopy/pkg/metrics"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice"
)

// serverProcess is a server whose process is measured.
type serverProcess struct {
	grpc, http string // addresses
	pid        int
	stop       func() error
}

// startServer starts canopy serve. Without a program it serves in this process, whose memory and CPU
// time then include those of the clients: for tests.
func startServer(ctx context.Context, self []string) (*serverProcess, error) {
	if len(self) == 0 {
		return serveHere(ctx)
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
	s := &serverProcess{pid: cmd.Process.Pid, stop: func() error {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			return err
		}
		return cmd.Wait()
	}}
	line, err := bufio.NewReader(out).ReadString('\n')
	for _, word := range strings.Fields(line) {
		if address, ok := strings.CutPrefix(word, "grpc="); ok {
			s.grpc = address
		}
		if address, ok := strings.CutPrefix(word, "http="); ok {
			s.http = address
		}
	}
	if err != nil || s.grpc == "" || s.http == "" {
		return nil, errors.Join(fmt.Errorf("canopy serve does not say where it listens: %q", line), err, s.stop())
	}
	return s, nil
}

// serveHere serves in this process like canopy serve.
func serveHere(ctx context.Context) (*serverProcess, error) {
	var counts httpserver.Counts
	hist := history.New(nil)
	limiter := httpserver.NewResponseLimiter(httpserver.DefaultLargeAnswers, &counts)
	meters := metrics.New(metrics.Options{History: hist, HTTP: &counts, LargeAnswers: limiter})
	rpc, err := sim.Serve(ctx, sim.ServerOptions{
		Loop: loop.Options{DecisionMeter: meters.DecisionMeter},
		OnEffects: func(partition string, effects []scheduler.Effect) {
			hist.OnEffects(partition, effects)
			meters.OnEffects(partition, effects)
		},
	})
	if err != nil {
		return nil, err
	}
	on, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, rpc.Close())
	}
	server := httpserver.New(webservice.Handler(rpc.Cluster(), webservice.Options{
		Reloads: rpc.Reloads(), History: hist, Metrics: meters.Handler(rpc.Cluster()),
		LargeAnswers: limiter, Counts: &counts, CacheBytes: webservice.DefaultCacheBytes,
	}), httpserver.Options{Liveness: webservice.Liveness, Counts: &counts})
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(on) }()
	return &serverProcess{grpc: rpc.Address(), http: on.Addr().String(), pid: os.Getpid(), stop: func() error {
		err := server.Close()
		if e := <-ended; !errors.Is(e, http.ErrServerClosed) {
			err = errors.Join(err, e)
		}
		return errors.Join(err, rpc.Close())
	}}, nil
}

// memory is a field of the kernel's status of the server, in bytes.
func (s *serverProcess) memory(field string) (float64, error) {
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

// userTick is the unit of CPU times in /proc, which is the same on all Linux systems.
const userTick = 10 * time.Millisecond

// cpu is the CPU time of the server.
func (s *serverProcess) cpu() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.pid))
	if err != nil {
		return 0, fmt.Errorf("the CPU time of the server: %w", err)
	}
	// The name of the program may have spaces, and is in brackets; the times are 12 and 13 fields after
	// it.
	words := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	const user, system = 11, 12
	if len(words) <= system {
		return 0, fmt.Errorf("the CPU time of the server: %q", text)
	}
	var ticks int64
	for _, w := range []string{words[user], words[system]} {
		n, err := strconv.ParseInt(w, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("the CPU time of the server: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * userTick, nil
}
