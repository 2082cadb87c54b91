//go:build shims

package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"gotest.tools/v3/assert"
)

// exampleShims are the shims in other languages, which make example-js and make example-python prepare.
var exampleShims = map[string][]string{
	"js":     {"node", "shim-js/shim.js"},
	"python": {"/usr/bin/python3", "-B", "shim-python/shim.py"},
}

// An example shim fills a cluster, confirms a preemption, and waits for the end of the server. The next
// server gets everything reported: it places what was pending once, and nothing else.
func TestExampleShims_RecoverWhenTheServerIsKilled(t *testing.T) {
	for name, command := range exampleShims {
		t.Run(name, func(t *testing.T) {
			p, s := startServing(t, buildProgram(t))
			shim := startExampleShim(t, command, "--address", s.conn.Target())
			assert.DeepEqual(t, shim.until("ready: "), []string{
				"allocated", "allocated", "allocated", "allocated", "allocated", "allocated", "allocated", "allocated",
				"released", "allocated", "released", "allocated",
			})
			assert.DeepEqual(t, placements(s), map[string]int{
				"batch-0": 1, "batch-1": 1, "batch-2": 1, "batch-3": 1, "batch-4": 1, "batch-5": 1, "batch-6": 1,
				"batch-7": 1, "batch-8": 1, "service-0": 1,
			})
			assert.NilError(t, p.cmd.Process.Signal(syscall.SIGKILL))
			assert.ErrorContains(t, p.cmd.Wait(), "killed")

			p = startProgram(t, buildProgram(t), "serve", "--grpc-address", s.conn.Target(), "--http-address", "127.0.0.1:0")
			s = connect(t, p.ready)
			lines := shim.until("done")
			assert.NilError(t, shim.cmd.Wait(), "%s", &shim.errs)
			assert.Equal(t, count(lines, "kept"), 8, "%q", lines)
			assert.Equal(t, count(lines, "allocated"), 1, "%q", lines)
			placed := placements(s)
			assert.Equal(t, len(placed), 9, "%v", placed)
			for key, times := range placed {
				assert.Equal(t, times, 1, key)
			}
			_, nodes := s.get("/ws/v1/partition/default/nodes")
			assert.Equal(t, strings.Count(nodes, `"nodeID"`), 2, nodes)
			assert.Assert(t, !strings.Contains(nodes, `"allocations"`), nodes)
			p.stop()
		})
	}
}

// A shim that comes to a member of a group that does not lead goes where that says, or else to the next address.
func TestExampleShims_FollowTheLeader(t *testing.T) {
	for name, command := range exampleShims {
		t.Run(name, func(t *testing.T) {
			p, s := startServing(t, buildProgram(t))
			standby := standbyOf(t, s.conn.Target())
			lost := standbyOf(t, "") // it does not know the leader
			shim := startExampleShim(t, command, "--address", "127.0.0.1:1,"+lost+","+standby)
			shim.until("ready: ")
			assert.Equal(t, len(placements(s)), 10)
			assert.NilError(t, p.cmd.Process.Signal(syscall.SIGKILL))
			assert.ErrorContains(t, p.cmd.Wait(), "killed")
			p = startProgram(t, buildProgram(t), "serve", "--grpc-address", s.conn.Target(), "--http-address", "127.0.0.1:0")
			shim.until("done")
			assert.NilError(t, shim.cmd.Wait(), "%s", &shim.errs)
			p.stop()
		})
	}
}

// standbyOf is the address of a server that answers as a standby, whose leader is at another address; empty: it knows
// none.
func standbyOf(t *testing.T, leader string) (address string) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		if leader != "" {
			stream.SetTrailer(metadata.Pairs("canopy-leader", leader))
		}
		return status.Error(codes.Unavailable, "this member stands by")
	}))
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // until Stop
	t.Cleanup(func() { server.Stop(); serving.Wait() })
	return listener.Addr().String()
}

// A shim that cannot do its work says so in a line and exits with 1: no server answers, or its streams are
// open and what it waits for does not come.
func TestExampleShims_FailWithAMessage(t *testing.T) {
	for name, command := range exampleShims {
		t.Run(name, func(t *testing.T) {
			p, s := startServing(t, buildProgram(t))
			for address, want := range map[string]string{
				"127.0.0.1:1":   "shim-" + name + ": ",
				s.conn.Target(): "shim-" + name + ": timeout: the scheduler is killed\n",
			} {
				shim := startExampleShim(t, command, "--address", address, "--timeout", "3")
				_, err := io.Copy(io.Discard, shim.stdout)
				assert.NilError(t, err)
				err = shim.cmd.Wait()
				assert.Equal(t, shim.cmd.ProcessState.ExitCode(), 1, "%v: %s", err, &shim.errs)
				assert.Assert(t, strings.HasPrefix(shim.errs.String(), want), "%s", &shim.errs)
				assert.Equal(t, strings.Count(shim.errs.String(), "\n"), 1, "%s", &shim.errs)
			}
			p.stop()
		})
	}
}

// exampleShim is a running example shim.
type exampleShim struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout io.Reader
	lines  *bufio.Scanner // of stdout
	errs   lockedBuffer
}

func startExampleShim(t *testing.T, command []string, args ...string) *exampleShim {
	t.Helper()
	line := slices.Concat(command, args)
	line[len(command)-1] = filepath.Join(moduleRoot, "examples", line[len(command)-1])
	s := &exampleShim{t: t, cmd: exec.Command(line[0], line[1:]...)}
	s.cmd.Stderr = &s.errs
	var err error
	s.stdout, err = s.cmd.StdoutPipe()
	assert.NilError(t, err)
	s.lines = bufio.NewScanner(s.stdout)
	assert.NilError(t, s.cmd.Start())
	late := time.AfterFunc(2*time.Minute, func() { _ = s.cmd.Process.Kill() })
	t.Cleanup(func() {
		late.Stop()
		if s.cmd.ProcessState == nil {
			_ = s.cmd.Process.Kill()
			_ = s.cmd.Wait()
		}
	})
	return s
}

// until reads lines up to one that begins with a text, and returns what is before the colon of each.
func (s *exampleShim) until(last string) (kinds []string) {
	s.t.Helper()
	for s.lines.Scan() {
		s.t.Log(s.lines.Text())
		if strings.HasPrefix(s.lines.Text(), last) {
			return kinds
		}
		kind, _, _ := strings.Cut(s.lines.Text(), ":")
		kinds = append(kinds, kind)
	}
	assert.NilError(s.t, s.lines.Err())
	s.t.Fatalf("the shim ended without %q: %s", last, &s.errs)
	return nil
}

// placements are how often the server has bound each allocation key to a node, from its event history.
func placements(s *runningService) map[string]int {
	s.t.Helper()
	code, body := s.get("/ws/v1/events/batch?start=0&count=1000")
	assert.Equal(s.t, code, http.StatusOK, body)
	var batch struct {
		EventRecords []struct {
			Type, EventChangeType, EventChangeDetail int
			ReferenceID                              string
		}
	}
	assert.NilError(s.t, json.Unmarshal([]byte(body), &batch))
	times := map[string]int{}
	for _, r := range batch.EventRecords {
		if r.Type == 3 && r.EventChangeType == 2 && r.EventChangeDetail == 303 { // an allocation was added to a node
			times[r.ReferenceID]++
		}
	}
	return times
}

func count(list []string, want string) (n int) {
	for _, s := range list {
		if s == want {
			n++
		}
	}
	return n
}
