package bench

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/internal/lab/serverprocess"
	"github.com/canopy-scheduler/canopy/pkg/canopy"
)

// serverProcess is a server whose process is measured.
type serverProcess struct {
	grpc, http string // addresses
	pid        int
	stop       func() error
}

// startServer starts canopy serve with further flags. Without a program it serves in this process, whose memory and CPU
// time then include those of the clients: for tests.
func startServer(ctx context.Context, program string, flags ...string) (*serverProcess, error) {
	if program == "" {
		return serveHere(ctx, flags)
	}
	command := append([]string{program, "serve", "--grpc-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0",
		"--log-level", "error"}, flags...)
	p, err := serverprocess.Start(ctx, command...)
	if err != nil {
		return nil, err
	}
	return &serverProcess{grpc: p.GRPC, http: p.HTTP, pid: p.PID(), stop: p.Stop}, nil
}

// serveHere serves in this process like canopy serve, of whose flags it knows --record.
func serveHere(ctx context.Context, flags []string) (*serverProcess, error) {
	const free = "127.0.0.1:0"
	opt := canopy.Options{GRPC: canopy.GRPC{Address: free}, HTTP: canopy.HTTP{Address: free}}
	if len(flags) == 2 && flags[0] == "--record" {
		opt.Recording.Dir = flags[1]
	}
	server, err := canopy.Start(ctx, opt)
	if err != nil {
		return nil, err
	}
	return &serverProcess{
		grpc: server.GRPCAddress().String(), http: server.HTTPAddress().String(), pid: os.Getpid(), stop: server.Close,
	}, nil
}

// memory returns a field of the kernel's status of the server, in bytes.
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

// cpu returns the CPU time of the server.
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
