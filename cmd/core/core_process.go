package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
)

// coreStartTimeout is how long a started scheduler may take until it is ready.
const coreStartTimeout = time.Minute

// coreProcess is a canopy serve in a process of its own, which a replay kills and starts again. It
// implements sim.Killable.
type coreProcess struct {
	args []string
	cmd  *exec.Cmd
	log  *logHead // what it has written to standard error
	rpc  string   // its gRPC address
	http string   // its HTTP address
}

// startCore starts a scheduler on free ports of the loopback address.
func startCore(ctx context.Context, bounds queuesyaml.Options) (*coreProcess, error) {
	p := &coreProcess{args: []string{
		serveName, "--grpc-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0", "--log-level", "error",
		"--completing-timeout", "24h", // an application must not complete before its next ask is submitted
		"--max-config-bytes", strconv.Itoa(bounds.MaxBytes), "--max-config-values", strconv.Itoa(bounds.MaxValues),
		"--max-queues", strconv.Itoa(bounds.MaxQueues), "--max-depth", strconv.Itoa(bounds.MaxDepth),
	}}
	return p, p.start(ctx)
}

// start starts the process and waits until it is ready.
func (p *coreProcess) start(ctx context.Context) error {
	file, err := os.Executable()
	if err != nil {
		return err
	}
	p.cmd, p.log = exec.Command(file, p.args...), &logHead{}
	p.cmd.Stderr = p.log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a ^C is for the replay, which kills it then
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, coreStartTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = p.cmd.Process.Kill() }) // ends the output, and so the reading
	line, err := bufio.NewReader(out).ReadString('\n')
	stop()
	if err == nil {
		p.rpc, p.http, err = readyAddresses(line)
	}
	if err != nil {
		_ = p.cmd.Process.Kill()
		return fmt.Errorf("the scheduler did not become ready: %w", errors.Join(err, ctx.Err(), p.cmd.Wait(), p.log.err()))
	}
	return nil
}

// readyAddresses are the gRPC and HTTP addresses of a ready line.
func readyAddresses(line string) (rpc, http string, err error) {
	for _, word := range strings.Fields(line) {
		switch name, address, _ := strings.Cut(word, "="); name {
		case "grpc":
			rpc = address
		case "http":
			http = address
		}
	}
	if rpc == "" || http == "" {
		return "", "", fmt.Errorf("it printed %q", line)
	}
	return rpc, http, nil
}

// Kill ends the process with SIGKILL.
func (p *coreProcess) Kill() error { return p.cmd.Process.Kill() }

// Restart starts the process again after Kill.
func (p *coreProcess) Restart(ctx context.Context) (address string, err error) {
	if err := p.reap(); err != nil {
		return "", err
	}
	if err := p.start(ctx); err != nil {
		return "", err
	}
	return p.rpc, nil
}

// close kills the process, if it is there, and waits for its end.
func (p *coreProcess) close() error {
	if p.cmd.ProcessState != nil {
		return nil // Restart has reported why there is none
	}
	if err := p.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return p.reap()
}

// reap waits for the end of the killed process. The error has the log of one that had ended by itself.
func (p *coreProcess) reap() error {
	ended := p.cmd.Wait()
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == syscall.SIGKILL {
		return nil
	}
	return fmt.Errorf("the scheduler ended before it was killed: %w", errors.Join(ended, p.log.err()))
}

// logHead keeps the beginning of a log, which has few lines before a panic. It is safe for concurrent use.
type logHead struct {
	mu   sync.Mutex
	text []byte
}

// logHeadBytes is how much of the log is kept: the message of a panic and its goroutine.
const logHeadBytes = 8 << 10

// Write implements io.Writer. It keeps what fits.
func (l *logHead) Write(some []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, some[:min(len(some), logHeadBytes-len(l.text))]...)
	return len(some), nil
}

// err is an error with the log; nil: there is none.
func (l *logHead) err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.text) == 0 {
		return nil
	}
	return errors.New("its log: " + strings.TrimSpace(string(l.text)))
}
