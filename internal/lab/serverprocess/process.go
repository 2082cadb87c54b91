// Package serverprocess runs a scheduler, canopy serve, in a process of its own.
//
// It owns that process from its start until it is reaped; what is done with the scheduler is left to the caller. The
// rule that must hold: Start returns a process that is ready, or none that is left behind.
package serverprocess

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	startTimeout = time.Minute      // until a started scheduler is ready
	stopTimeout  = 10 * time.Second // until one that is interrupted has ended; then it is killed
)

// Process is a scheduler in a process of its own, on the addresses that its ready line names.
type Process struct {
	GRPC, HTTP string
	cmd        *exec.Cmd
	log        *logHead // what it has written to standard error
}

// Start starts command, a canopy serve, and waits until it is ready. ctx ends the waiting, not the process. A ^C at the
// terminal does not reach it: it is for the caller. The process must be ended by Kill and Reap, or by Stop; where the
// caller is killed it ends too, on Linux.
func Start(ctx context.Context, command ...string) (*Process, error) {
	p := &Process{cmd: exec.Command(command[0], command[1:]...), log: &logHead{}}
	p.cmd.Stderr = p.log
	p.cmd.SysProcAttr = attributes()
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = p.cmd.Process.Kill() }) // ends the output, and so the reading
	line, err := bufio.NewReader(out).ReadString('\n')
	stop()
	if err == nil {
		err = p.readAddresses(line)
	}
	if err != nil {
		_ = p.cmd.Process.Kill()
		return nil,
			fmt.Errorf("the scheduler did not become ready: %w", errors.Join(err, ctx.Err(), p.cmd.Wait(), p.log.err()))
	}
	return p, nil
}

// readAddresses sets the addresses from a ready line.
func (p *Process) readAddresses(line string) error {
	for _, word := range strings.Fields(line) {
		switch name, address, _ := strings.Cut(word, "="); name {
		case "grpc":
			p.GRPC = address
		case "http":
			p.HTTP = address
		}
	}
	if p.GRPC == "" || p.HTTP == "" {
		return fmt.Errorf("it printed %q", line)
	}
	return nil
}

// PID is the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Signal sends a signal to the process; os.ErrProcessDone: it has ended, and was reaped.
func (p *Process) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// Kill ends the process with SIGKILL.
func (p *Process) Kill() error { return p.cmd.Process.Kill() }

// Reaped reports whether the end of the process was awaited.
func (p *Process) Reaped() bool { return p.cmd.ProcessState != nil }

// Reap waits for the end of the killed process. The error has the log of one that had ended by itself.
func (p *Process) Reap() error {
	ended := p.cmd.Wait()
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() &&
		status.Signal() == syscall.SIGKILL {
		return nil
	}
	return fmt.Errorf("the scheduler ended before it was killed: %w", errors.Join(ended, p.log.err()))
}

// Stop interrupts the process and waits for its end. The error has the log of one that does not end in good order.
func (p *Process) Stop() error {
	if err := p.Signal(os.Interrupt); err != nil {
		return err
	}
	defer time.AfterFunc(stopTimeout, func() { _ = p.Kill() }).Stop()
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("the scheduler did not end in good order: %w", errors.Join(err, p.log.err()))
	}
	return nil
}

// Log is the beginning of what the process has written to standard error.
func (p *Process) Log() string {
	p.log.mu.Lock()
	defer p.log.mu.Unlock()
	return string(p.log.text)
}

// logHead keeps the beginning of a log, which has few lines before a panic. It is safe for concurrent use.
type logHead struct {
	mu   sync.Mutex
	text []byte
}

// logHeadBytes bounds the part of the log that is kept: the message of a panic and its goroutine.
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
