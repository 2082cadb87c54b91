package etcdprocess

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

const (
	readyTimeout = time.Minute           // until a started member is ready
	readyEvery   = 20 * time.Millisecond // between two questions whether it is
	stopTimeout  = 20 * time.Second      // until one that is interrupted has ended; then it is killed
	logTail      = 4 << 10               // of the log, in an error, in bytes
)

// Member is one process of a Cluster. Its methods must not be called concurrently.
type Member struct {
	name, program string
	client, peer  string // URLs
	log           string // a file
	args          []string
	running       *running // nil: it does not run
}

// running is a process.
type running struct {
	process *os.Process
	ended   chan struct{} // closed when the process has ended
	err     error         // why; set before ended is closed
}

// Endpoint is the address for clients.
func (m *Member) Endpoint() string { return strings.TrimPrefix(m.client, "http://") }

// Start starts the member if it does not run, and waits until it is ready: of a cluster without a quorum, none is.
func (m *Member) Start(ctx context.Context) error {
	if err := m.launch(); err != nil {
		return err
	}
	return m.awaitReady(ctx)
}

// Signal sends a signal, such as SIGSTOP and SIGCONT.
func (m *Member) Signal(s os.Signal) error {
	if m.running == nil {
		return fmt.Errorf("%s does not run", m.name)
	}
	return m.running.process.Signal(s)
}

// Stop ends the process in good order, if it runs. The error has the end of the log if it does not end so.
func (m *Member) Stop() error {
	if m.running == nil {
		return nil
	}
	r := m.running
	defer time.AfterFunc(stopTimeout, func() { _ = r.process.Kill() }).Stop()
	if err := errors.Join(r.process.Signal(syscall.SIGCONT), r.process.Signal(os.Interrupt)); err != nil {
		return fmt.Errorf("%s: %w", m.name, errors.Join(err, m.tail()))
	}
	<-r.ended
	m.running = nil
	if endedBy(r.err) == syscall.SIGKILL {
		return fmt.Errorf("%s did not end within %v: %w", m.name, stopTimeout, m.tail())
	}
	return nil // etcd ends by the signal that it got
}

// Kill ends the process with SIGKILL, if it runs.
func (m *Member) Kill() error {
	if m.running == nil {
		return nil
	}
	r := m.running
	if err := r.process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-r.ended
	m.running = nil
	return nil
}

// endedBy is the signal by which a process has ended; 0: by none.
func endedBy(err error) syscall.Signal {
	exit := new(exec.ExitError)
	if !errors.As(err, &exit) {
		return 0
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return status.Signal()
	}
	return 0
}

// launch starts the process, if it does not run.
func (m *Member) launch() error {
	if m.running != nil {
		return nil
	}
	log, err := os.OpenFile(m.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	cmd := exec.Command(m.program, m.args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	// The kernel kills etcd when the thread ends that has started it, so that one is kept until etcd has ended.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	r := &running{ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		r.process = cmd.Process
		started <- err
		if err == nil {
			r.err = cmd.Wait()
			close(r.ended)
		}
	}()
	err = errors.Join(<-started, log.Close())
	if err != nil {
		return fmt.Errorf("%s cannot be started: %w", m.name, err)
	}
	m.running = r
	return nil
}

// awaitReady waits until the member answers that it is ready.
func (m *Member) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	ticker := time.NewTicker(readyEvery)
	defer ticker.Stop()
	for !m.isReady(ctx) {
		select {
		case <-m.running.ended:
			return fmt.Errorf("%s has ended: %w", m.name, errors.Join(m.running.err, m.tail()))
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w", m.name, errors.Join(ctx.Err(), m.tail()))
		case <-ticker.C:
		}
	}
	return nil
}

func (m *Member) isReady(ctx context.Context) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, m.client+"/readyz", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	return resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
}

// tail is the end of the log as an error.
func (m *Member) tail() error {
	text, err := os.ReadFile(m.log)
	if err != nil {
		return err
	}
	return fmt.Errorf("the end of its log:\n%s", text[max(0, len(text)-logTail):])
}
