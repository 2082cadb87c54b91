package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/emptypb"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/pkg/canopy"
)

// runningService is a running serve command, in this process or another.
type runningService struct {
	t    *testing.T
	ctx  context.Context
	conn *grpc.ClientConn
	http string

	admin  string       // the base of its URLs; empty: there is none
	client *http.Client // reaches all of them
}

// connect connects to the addresses of a ready line.
func connect(t *testing.T, ready string) *runningService {
	t.Helper()
	at := map[string]string{}
	for _, word := range strings.Fields(strings.TrimPrefix(ready, "canopy ready ")) {
		name, address, _ := strings.Cut(word, "=")
		at[name] = address
	}
	assert.Assert(t, at["grpc"] != "" && at["http"] != "", "%q", ready)
	rpc, web := at["grpc"], at["http"]
	conn, err := grpc.NewClient(rpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	assert.NilError(t, err)
	t.Cleanup(func() { assert.NilError(t, conn.Close()) })
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	s := &runningService{t: t, ctx: ctx, conn: conn, http: "http://" + web,
		client: &http.Client{Transport: &http.Transport{}}}
	if file, ok := strings.CutPrefix(at["admin"], "unix:"); ok {
		s.admin = "http://localhost"
		s.client.Transport = &http.Transport{DialContext: func(ctx context.Context, _, to string) (net.Conn, error) {
			if to == "localhost:80" {
				return new(net.Dialer).DialContext(ctx, "unix", file)
			}
			return new(net.Dialer).DialContext(ctx, "tcp", to)
		}}
	} else if at["admin"] != "" {
		s.admin = "http://" + at["admin"]
	}
	return s
}

func (s *runningService) get(path string) (code int, body string) {
	s.t.Helper()
	return s.do(http.MethodGet, s.http+path, "")
}

// post sends a POST to the admin listener.
func (s *runningService) post(path, kind, body string) (code int, answer string) {
	s.t.Helper()
	return s.do(http.MethodPost, s.admin+path, body, "Content-Type", kind)
}

func (s *runningService) do(method, url, body string, headers ...string) (code int, answer string) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.ctx, method, url, strings.NewReader(body))
	assert.NilError(s.t, err)
	request.Close = true
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := s.client.Do(request)
	assert.NilError(s.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	assert.NilError(s.t, err)
	return response.StatusCode, string(text)
}

// textMessage is a message with one string field, by its number: this package does not import the
// messages of the scheduler interface.
func textMessage(field protowire.Number, value string) *emptypb.Empty {
	m := &emptypb.Empty{}
	m.ProtoReflect().SetUnknown(protowire.AppendString(protowire.AppendTag(nil, field, protowire.BytesType), value))
	return m
}

// openStream registers an RM and opens a stream about nodes that stays open.
func (s *runningService) openStream() grpc.ClientStream { return s.openStreamOf("rm") }

func (s *runningService) register(rm string) error {
	return s.conn.Invoke(s.ctx, "/si.v1.Scheduler/RegisterResourceManager", textMessage(1, rm), &emptypb.Empty{})
}

func (s *runningService) openStreamOf(rm string) grpc.ClientStream {
	s.t.Helper()
	assert.NilError(s.t, s.register(rm))
	both := &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}
	stream, err := s.conn.NewStream(s.ctx, both, "/si.v1.Scheduler/UpdateNode")
	assert.NilError(s.t, err)
	assert.NilError(s.t, stream.SendMsg(textMessage(2, rm)))
	return stream
}

func (s *runningService) healthOf(name string) healthpb.HealthCheckResponse_ServingStatus {
	s.t.Helper()
	r, err := healthpb.NewHealthClient(s.conn).Check(s.ctx, &healthpb.HealthCheckRequest{Service: name})
	assert.NilError(s.t, err)
	return r.Status
}

// lockedBuffer may be written by one goroutine and read by another.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestServe_StartToStop(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	in, out := io.Pipe()
	var logs lockedBuffer
	ended := make(chan error, 1)
	go func() {
		f := serveFlags{grpc: grpcFlags{canopy.GRPC{Address: "127.0.0.1:0"}},
			http: httpFlags{canopy.HTTP{Address: "127.0.0.1:0"}}, logLevel: "debug", logFormat: "json",
			history: 5}
		ended <- serve(ctx, f, strings.NewReader(""), out, &logs)
		out.Close()
	}()
	lines := bufio.NewReader(in)
	ready, err := lines.ReadString('\n')
	assert.NilError(t, err)
	s := connect(t, ready)

	code, body := s.get("/ws/v1/partitions")
	assert.Equal(t, code, http.StatusOK)
	assert.Assert(t, strings.Contains(body, "default"), body)
	code, _ = s.get("/readyz")
	assert.Equal(t, code, http.StatusOK)
	assert.Equal(t, s.healthOf(""), healthpb.HealthCheckResponse_SERVING)
	assert.Equal(t, s.healthOf("si.v1.Scheduler"), healthpb.HealthCheckResponse_SERVING)
	assert.Equal(t, s.healthOf("canopy.v1.Hints"), healthpb.HealthCheckResponse_SERVING)

	nodes := s.openStream()
	request := &healthpb.HealthCheckRequest{Service: "si.v1.Scheduler"}
	watch, err := healthpb.NewHealthClient(s.conn).Watch(s.ctx, request)
	assert.NilError(t, err)
	first, err := watch.Recv()
	assert.NilError(t, err)
	assert.Equal(t, first.Status, healthpb.HealthCheckResponse_SERVING)

	stop()
	last, err := watch.Recv()
	assert.NilError(t, err)
	assert.Equal(t, last.Status, healthpb.HealthCheckResponse_NOT_SERVING)
	assert.Equal(t, status.Code(nodes.RecvMsg(&emptypb.Empty{})), codes.Unavailable)
	select {
	case err := <-ended:
		assert.NilError(t, err)
	case <-time.After(5 * time.Second):
		t.Fatal("it does not stop")
	}
	rest, err := io.ReadAll(lines)
	assert.NilError(t, err)
	assert.Equal(t, string(rest), "", "one line on standard output")
	assert.Assert(t, strings.Contains(logs.String(), `"msg":"resource manager registered"`), logs.String())
}

func TestServe_InvalidConfigOpensNoPort(t *testing.T) {
	inDirectory(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	defer taken.Close()
	// The port is in use: opening it would be another error.
	code, out, errs := runCanopy("serve", "--config", "broken.yaml", "--grpc-address", taken.Addr().String())
	assert.Equal(t, code, cmdline.Refused)
	assert.Equal(t, out, "")
	for _, want := range []string{"broken.yaml:4:", "submitACL", "a.b", "--config: broken.yaml has"} {
		assert.Assert(t, strings.Contains(errs, want), "no %q in %q", want, errs)
	}
	assert.Assert(t, !strings.Contains(errs, "in use"), errs)
}

func TestServe_UnreadableConfigIsUsageError(t *testing.T) {
	code, _, errs := runCanopy("serve", "--config", filepath.Join(t.TempDir(), "missing.yaml"))
	assert.Equal(t, code, cmdline.Usage)
	assert.Assert(t, strings.Contains(errs, "missing.yaml"), errs)
}

func TestServe_AddressInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	defer taken.Close()
	for _, flag := range []string{"--grpc-address", "--http-address"} {
		other := map[string]string{"--grpc-address": "--http-address", "--http-address": "--grpc-address"}[flag]
		code, out, errs := runCanopy("serve", flag, taken.Addr().String(), other, "127.0.0.1:0")
		assert.Equal(t, code, cmdline.Refused)
		assert.Equal(t, out, "")
		assert.Assert(t, strings.Contains(errs, flag) && strings.Contains(errs, "address already in use"), errs)
	}
}

// The example shim runs against the program, both as processes.
func TestServe_ExampleShim(t *testing.T) {
	inDirectory(t)
	program, shim := buildProgram(t), buildShim(t, "shim-go")
	assert.NilError(t, os.WriteFile("batch.yaml", []byte(
		"partitions: [{queues: [{name: root, submitacl: '*', queues: [{name: batch}]}]}]\n"), 0o600))
	for _, extra := range [][]string{nil, {"--config", "batch.yaml"}} {
		p := startProgram(t, program, append([]string{
			"serve", "--grpc-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0",
		}, extra...)...)
		s := connect(t, p.ready)
		out := runShim(t, shim, s.conn.Target())
		assert.Equal(t, strings.Count(out, "allocated: "), 4, out)
		assert.Equal(t, strings.Count(out, "released: "), 4, out)
		p.stop()
		ignored := strings.Contains(p.logs.String(), "is ignored: a file was given")
		assert.Equal(t, ignored, extra != nil, p.logs.String())
	}
}

// The example shim prints why an ask waits, which it learns by the service of hints.
func TestServe_ExampleShimPrintsWhyAnAskWaits(t *testing.T) {
	program, shim := buildProgram(t), buildShim(t, "shim-go")
	file := writeTempFile(t, "small.yaml",
		"partitions: [{queues: [{name: root, submitacl: '*', queues: [{name: batch, resources: {max: {vcore: 3}}}]}]}]\n")
	p := startProgram(t, program, "serve", "--grpc-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0",
		"--config", file)
	c := exec.Command(shim, "--address", connect(t, p.ready).conn.Target())
	out, err := c.StdoutPipe()
	assert.NilError(t, err)
	assert.NilError(t, c.Start())
	printed := bufio.NewScanner(out)
	var last string
	for !strings.HasPrefix(last, "waiting: ") && printed.Scan() {
		last = printed.Text()
	}
	assert.NilError(t, c.Process.Kill())
	assert.ErrorContains(t, c.Wait(), "killed")
	assert.Equal(t, last, "waiting: hello-3 STATE_SKIPPED noQueueHeadroom: "+
		"queue root.batch has vcore 0 of 3 left, and it asks for vcore 1")
	p.stop()
}

// The shim is built with the published scheduler interface 1.5.0, and ends with 0 only if every answer is as that
// version promises (RMI-73). After it, a shim of 1.9 is answered as that version has it.
func TestServe_ExampleLegacyShim(t *testing.T) {
	inDirectory(t)
	p := startProgram(t, buildProgram(t), "serve", "--grpc-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0")
	address := connect(t, p.ready).conn.Target()
	for range 2 {
		out := runShim(t, buildShim(t, "shim-legacy"), address)
		assert.Assert(t, strings.HasSuffix(out, "all answers are those of the scheduler interface 1.5\n"), out)
	}
	out := runShim(t, buildShim(t, "shim-go"), address)
	assert.Equal(t, strings.Count(out, "released: "), 4, out)
	p.stop()
	assert.Equal(t, strings.Count(p.logs.String(), "uses the scheduler interface 1.0 to 1.5"), 2, p.logs.String())
}

func TestServe_StopsWithOpenStreams(t *testing.T) {
	p := startProgram(t, buildProgram(t),
		"serve", "--grpc-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0")
	s := connect(t, p.ready)
	s.openStream()
	_, err := healthpb.NewHealthClient(s.conn).Watch(s.ctx, &healthpb.HealthCheckRequest{})
	assert.NilError(t, err)
	idle, err := net.Dial("tcp", strings.TrimPrefix(s.http, "http://"))
	assert.NilError(t, err)
	defer idle.Close()
	p.stop()
}
