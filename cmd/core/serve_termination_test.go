package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/emptypb"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/canopy"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
)

func TestTermination_StuckStepsAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var reported []string
		ended := make(chan int, 1)
		end := newTermination()
		end.exit = func(code int) { ended <- code }
		end.setReport(func(stuck []string) { reported = stuck })
		hang := make(chan struct{})
		end.step("what ends", func() {})
		go end.step("the disk", func() { <-hang })
		go end.step("the loop", func() { <-hang })
		synctest.Wait()
		end.begin()
		<-time.After(time.Second)
		end.begin() // a second call does not restart the timer
		assert.Equal(t, <-ended, exitStuck)
		assert.Equal(t, time.Since(start), terminationLimit)
		assert.Assert(t, terminationLimit+reportLimit < 5*time.Second)
		assert.Equal(t, len(reported), 2)
		text := stuckText(reported)
		assert.Assert(t, strings.Contains(text, "the disk") && strings.Contains(text, "the loop"), text)
		close(hang)
	})
}

func TestTermination_InTimeIsNotForced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := newTermination()
		end.exit = func(int) { t.Error("it ended in time") }
		end.begin()
		end.step("a second", func() { <-time.After(time.Second) })
		end.end()
		<-time.After(time.Hour)
	})
}

// The goroutine that begins a termination may run after all has ended: a signal interrupts a start within microseconds.
func TestTermination_BegunAfterItsEndIsNotForced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := newTermination()
		end.exit = func(int) { t.Error("it ended before the timer began") }
		end.end()
		end.begin()
		<-time.After(time.Hour)
	})
}

func TestTermination_SecondSignalExitsAtOnce(t *testing.T) {
	codes := make(chan int, 1)
	ctx, stop := untilSignal(func(code int) { codes <- code }, time.Now)
	defer stop()
	assert.NilError(t, syscall.Kill(os.Getpid(), syscall.SIGTERM))
	<-ctx.Done()
	assert.NilError(t, syscall.Kill(os.Getpid(), syscall.SIGINT))
	assert.Equal(t, <-codes, 130)
}

// A signal that comes twice at once, as timeout sends it, is one.
func TestTermination_RepeatedSignalIsOne(t *testing.T) {
	codes, asked := make(chan int, 3), make(chan struct{}, 3)
	var clock atomic.Int64
	ctx, stop := untilSignal(func(code int) { codes <- code }, func() time.Time {
		asked <- struct{}{}
		return time.Unix(0, clock.Load())
	})
	send := func() {
		assert.NilError(t, syscall.Kill(os.Getpid(), syscall.SIGTERM))
		<-asked
	}
	send()
	<-ctx.Done()
	clock.Store(int64(repeatedWithin) - 1)
	send()
	clock.Store(int64(repeatedWithin))
	send()
	stop() // all signals were handled
	assert.Equal(t, len(codes), 1)
	assert.Equal(t, <-codes, 143)
}

func TestServe_SignalInterruptsStart(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	in, never := io.Pipe()
	defer never.Close()
	f := serveFlags{bounds: queuesyaml.DefaultOptions(), config: "-",
		grpc: grpcFlags{canopy.GRPC{Address: "127.0.0.1:0"}}, http: httpFlags{canopy.HTTP{Address: "127.0.0.1:0"}},
		logLevel: "info", logFormat: "json", history: 5}
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, f, in, io.Discard, io.Discard) }()
	_, err := never.Write([]byte("partitions:\n")) // returns once serve reads
	assert.NilError(t, err)
	stop()
	assert.NilError(t, <-ended)
}

// exampleRM is the ID of the example shim.
const exampleRM = "shim-go"

// startUnread starts the program with a pipe for standard error, or for standard output, that is not
// read. It reads the other one: the ready line of standard output, or that of the log.
func startUnread(t *testing.T, output bool, args ...string) (cmd *exec.Cmd, ready string, pipe *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	assert.NilError(t, err)
	t.Cleanup(func() { _ = r.Close() })
	cmd = exec.Command(buildProgram(t),
		append([]string{"serve", "--grpc-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0"}, args...)...)
	var read io.Reader
	if output {
		fillPipe(t, w)
		cmd.Stdout = w
		read, err = cmd.StderrPipe()
	} else {
		cmd.Stderr = w
		read, err = cmd.StdoutPipe()
	}
	assert.NilError(t, err)
	assert.NilError(t, cmd.Start())
	assert.NilError(t, w.Close())
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	lines := bufio.NewReader(read)
	for {
		line, err := lines.ReadString('\n')
		assert.NilError(t, err)
		if !output {
			return cmd, line, r
		}
		var logged struct{ Msg, Grpc, HTTP string }
		assert.NilError(t, json.Unmarshal([]byte(line), &logged))
		if logged.Msg == "ready" {
			go func() { _, _ = io.Copy(io.Discard, lines) }()
			return cmd, "canopy ready grpc=" + logged.Grpc + " http=" + logged.HTTP, r
		}
	}
}

// fillPipe writes to a pipe until it is full.
func fillPipe(t *testing.T, w *os.File) {
	t.Helper()
	assert.NilError(t, w.SetWriteDeadline(time.Now().Add(50*time.Millisecond)))
	_, err := w.Write(make([]byte, 4<<20))
	assert.Assert(t, errors.Is(err, os.ErrDeadlineExceeded), "%v", err)
	assert.NilError(t, w.SetWriteDeadline(time.Time{}))
}

// terminate sends SIGTERM. The process must end within 5 s with exit code 0.
func terminate(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	start := time.Now()
	assert.NilError(t, cmd.Process.Signal(syscall.SIGTERM))
	late := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	assert.NilError(t, cmd.Wait())
	took := time.Since(start)
	assert.Assert(t, took < 5*time.Second, "it took %v", took)
}

// unknownNodes is a message with updates of n unknown nodes: each is a line in the log.
func unknownNodes(n int) *emptypb.Empty {
	var b []byte
	for range n {
		node := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "no-such-node")
		node = protowire.AppendVarint(protowire.AppendTag(node, 2, protowire.VarintType), 2) // UPDATE
		b = protowire.AppendBytes(protowire.AppendTag(b, 1, protowire.BytesType), node)
	}
	m := &emptypb.Empty{}
	m.ProtoReflect().SetUnknown(protowire.AppendString(protowire.AppendTag(b, 2, protowire.BytesType), exampleRM))
	return m
}

// floodLog makes the program log more than a pipe and the log buffer hold.
func floodLog(t *testing.T, s *runningService, stream grpc.ClientStream) {
	t.Helper()
	for range 4 {
		assert.NilError(t, stream.SendMsg(unknownNodes(500)))
	}
	for {
		if _, body := s.get("/metrics"); !strings.Contains(body, "\ncanopy_log_lines_dropped_total 0\n") {
			assert.Assert(t, strings.Contains(body, "\ncanopy_log_lines_dropped_total "), body)
			return
		}
		assert.NilError(t, s.ctx.Err())
	}
}

func TestServe_UnreadStandardErrorDoesNotStopScheduling(t *testing.T) {
	shim := buildShim(t, "shim-go")
	cmd, ready, _ := startUnread(t, false, "--log-burst", "0", "--log-buffer", "65536")
	s := connect(t, ready)
	stream := s.openStreamOf(exampleRM)
	floodLog(t, s, stream)
	assert.NilError(t, stream.CloseSend())
	out := runShim(t, shim, s.conn.Target()) // it registers again
	assert.Equal(t, strings.Count(out, "allocated: "), 4, out)
	terminate(t, cmd)
}

func TestServe_ClosedStandardErrorIsSurvived(t *testing.T) {
	cmd, ready, pipe := startUnread(t, false, "--log-burst", "0")
	s := connect(t, ready)
	assert.NilError(t, pipe.Close())
	floodLog(t, s, s.openStreamOf(exampleRM))
	code, _ := s.get("/ws/v1/partitions")
	assert.Equal(t, code, http.StatusOK)
	terminate(t, cmd)
}

func TestServe_UnreadStandardOutputDoesNotStopServing(t *testing.T) {
	cmd, ready, _ := startUnread(t, true, "--log-format", "json")
	s := connect(t, ready)
	code, _ := s.get("/ws/v1/partitions")
	assert.Equal(t, code, http.StatusOK)
	terminate(t, cmd)
}
