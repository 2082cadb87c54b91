package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// backgroundTimeout is the time for the output of a command in the background.
const backgroundTimeout = 30 * time.Second

// shell is a bash that runs commands in order.
type shell struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	token string // it is printed after each command

	mu      sync.Mutex
	output  []byte        // since the start of the current command
	changed chan struct{} // closed, and replaced, when there is more output
	ended   bool          // there is no further output
}

// startShell starts bash in its own process group.
func startShell(dir string) (*shell, error) {
	s := &shell{cmd: exec.Command("bash", "--noprofile", "--norc"), token: rand.Text(), changed: make(chan struct{})}
	s.cmd.Dir = dir
	s.cmd.Env = append(os.Environ(), "PWD="+dir)
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.cmd.Stdout, s.cmd.Stderr = writer, writer
	if err := s.cmd.Start(); err != nil {
		return nil, errors.Join(err, reader.Close(), writer.Close())
	}
	if err := writer.Close(); err != nil { // the shell has its own
		return nil, err
	}
	go s.readOutput(reader)
	_, err = io.WriteString(s.in, "set -o pipefail\n")
	return s, err
}

func (s *shell) readOutput(reader *os.File) {
	defer reader.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := reader.Read(buffer)
		s.mu.Lock()
		s.output = append(s.output, buffer[:n]...)
		s.ended = err != nil
		close(s.changed)
		s.changed = make(chan struct{})
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// run runs a command, and returns its output. The error is the difference to the step.
func (s *shell) run(ctx context.Context, x step, timeout time.Duration) (output string, err error) {
	s.mu.Lock()
	s.output = nil
	s.mu.Unlock()
	// Commands have no standard input: that of the shell has the next commands.
	if _, err := fmt.Fprintf(s.in, "{ %s\n} </dev/null\nprintf '\\n%%s %%s\\n' %s $?\n", x.command, s.token); err != nil {
		return "", err
	}
	var code int
	output, err = s.wait(ctx, timeout, func(text string) bool {
		_, after, over := strings.Cut(text, "\n"+s.token+" ")
		digits, _, complete := strings.Cut(after, "\n")
		if !over || !complete {
			return false
		}
		code, _ = strconv.Atoi(digits) // printed by the shell
		return true
	})
	output = s.clean(output)
	switch {
	case err != nil:
		return output, err
	case code != x.exit:
		return output, fmt.Errorf("exit code %d, not %d", code, x.exit)
	case x.prints == nil || matches(x.prints, output):
		return output, nil
	case x.inBackground():
		output, err = s.wait(ctx, backgroundTimeout, func(text string) bool { return matches(x.prints, s.clean(text)) })
		output = s.clean(output)
		if err == nil {
			return output, nil
		}
	}
	return output, fmt.Errorf("it should have printed:\n%s", indent(strings.Join(x.prints, "\n")))
}

// clean removes the token line from an output.
func (s *shell) clean(text string) string {
	before, after, over := strings.Cut(text, "\n"+s.token+" ")
	if !over {
		return text
	}
	_, after, _ = strings.Cut(after, "\n")
	if before != "" && !strings.HasSuffix(before, "\n") {
		before += "\n"
	}
	return before + after
}

// wait waits until the output since the start of the command satisfies done.
func (s *shell) wait(ctx context.Context, most time.Duration, done func(string) bool) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, most, fmt.Errorf("it is not done after %v", most))
	defer cancel()
	for {
		s.mu.Lock()
		text, news, gone := string(bytes.Clone(s.output)), s.changed, s.ended
		s.mu.Unlock()
		switch {
		case done(text):
			return text, nil
		case gone:
			return text, errors.New("the shell has ended")
		}
		select {
		case <-news:
		case <-ctx.Done():
			return text, context.Cause(ctx)
		}
	}
}

// kill ends the shell and all processes that it has started.
func (s *shell) kill() {
	_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
	_ = s.cmd.Wait() // it was killed
}
