package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// asStuckProgram names the environment variable with which the test binary runs stuckProgram, whose
// termination has a step that never ends. A test cannot make a step of serve hang from outside of the
// process: a frozen disk also delays the end of the process itself.
const asStuckProgram = "CANOPY_TEST_AS_STUCK_PROGRAM"

// stuckProgram waits for a signal and terminates as serve does, with a step that hangs.
func stuckProgram() {
	ctx, stop := untilSignal(os.Exit, time.Now)
	defer stop()
	end := newTermination()
	defer end.end()
	defer context.AfterFunc(ctx, end.begin)()
	f := serveFlags{logLevel: "info", logFormat: "json"}
	log, _, err := f.newLog(os.Stderr)
	if err != nil {
		panic(err)
	}
	defer end.step("the log", func() { _ = log.Close() })
	end.setReport(reportStuck(log))
	fmt.Println("ready")
	<-ctx.Done()
	end.step("a callback", func() { select {} })
}

// runStuckProgram starts the stuck program with a standard error, sends it SIGTERM, and returns its exit
// code; it must end within 5 s.
func runStuckProgram(t *testing.T, stderr *os.File) (code int) {
	t.Helper()
	cmd := exec.Command(buildProgram(t))
	cmd.Env = append(os.Environ(), asStuckProgram+"=1")
	cmd.Stderr = stderr
	out, err := cmd.StdoutPipe()
	assert.NilError(t, err)
	assert.NilError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	assert.NilError(t, err)
	assert.Equal(t, line, "ready\n")
	start := time.Now()
	assert.NilError(t, cmd.Process.Signal(syscall.SIGTERM))
	killTimer := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
	defer killTimer.Stop()
	err = cmd.Wait()
	took := time.Since(start)
	assert.Assert(t, took < 5*time.Second, "it took %v", took)
	var exit *exec.ExitError
	assert.Assert(t, errors.As(err, &exit), "%v", err)
	return exit.ExitCode()
}

// A process with a step that hangs ends within 5 s of SIGTERM with exit code 3, and its last line
// names the step; also when standard error is full and is not read.
func TestTermination_StuckProcessExitsWithCode3(t *testing.T) {
	t.Run("its standard error is read", func(t *testing.T) {
		t.Parallel()
		r, w, err := os.Pipe()
		assert.NilError(t, err)
		defer r.Close()
		var log bytes.Buffer
		over := make(chan error, 1)
		go func() {
			_, err := log.ReadFrom(r)
			over <- err
		}()
		assert.Equal(t, runStuckProgram(t, w), exitStuck)
		assert.NilError(t, w.Close())
		assert.NilError(t, <-over)
		assert.Assert(t, strings.Contains(log.String(), `"stuck":"a callback","exitCode":3`), log.String())
	})
	t.Run("its standard error is full", func(t *testing.T) {
		t.Parallel()
		r, w, err := os.Pipe()
		assert.NilError(t, err)
		defer r.Close()
		fillPipe(t, w)
		assert.Equal(t, runStuckProgram(t, w), exitStuck)
		assert.NilError(t, w.Close())
	})
}
