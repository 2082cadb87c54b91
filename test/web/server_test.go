package web

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"
)

// server is a scheduler in a process of its own.
type server struct {
	http  string // http://HOST:PORT
	admin string // the same for the admin listener; empty: there is none
}

var readyLine = regexp.MustCompile(`http=(\S+)(?: admin=(\S+))?`)

// startServer starts `canopy serve` with free ports, and ends it after the test.
func startServer(t *testing.T, args ...string) server {
	t.Helper()
	s, stop := start(t, args...)
	t.Cleanup(stop)
	return s
}

// start starts `canopy serve`; stop ends it.
func start(t *testing.T, args ...string) (s server, stop func()) {
	t.Helper()
	program, err := filepath.Abs(os.Getenv("CANOPY_PROGRAM"))
	if err != nil || os.Getenv("CANOPY_PROGRAM") == "" {
		t.Fatal("CANOPY_PROGRAM must name the program: run this with make test-web")
	}
	cmd := exec.Command(program,
		append([]string{"serve", "--grpc-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0", "--log-level", "error"},
			args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		stop()
		t.Fatalf("the server did not start: %v", err)
	}
	found := readyLine.FindStringSubmatch(line)
	if found == nil {
		stop()
		t.Fatalf("the server says %q", line)
	}
	s = server{http: "http://" + found[1]}
	if found[2] != "" {
		s.admin = "http://" + found[2]
	}
	return s, stop
}

// get reads a path of REST.
func (s server) get(t *testing.T, path string, to any) {
	t.Helper()
	r, err := http.Get(s.http + path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", path, r.Status)
	}
	if err := json.NewDecoder(r.Body).Decode(to); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// waitFor calls is every 100 ms until it is true, for two minutes at most.
func waitFor(t *testing.T, what string, is func() bool) {
	t.Helper()
	until := time.Now().Add(2 * time.Minute)
	for !is() {
		if time.Now().After(until) {
			t.Fatalf("waited two minutes for %s", what)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// demo is the server of busyDemo, which all tests share.
var demo struct {
	server
	stop func()
}

// TestMain ends the demo after the tests.
func TestMain(m *testing.M) {
	code := m.Run()
	if demo.stop != nil {
		demo.stop()
	}
	os.Exit(code)
}

// busyDemo is a server with the demo, in which asks wait, something was preempted, and the configuration was changed.
func busyDemo(t *testing.T) server {
	t.Helper()
	if demo.stop == nil {
		demo.server, demo.stop = start(t, "--demo", "--admin", "--admin-listen", "127.0.0.1:0")
	}
	s := demo.server
	waitFor(t, "a preemption in the demo", func() bool {
		var list struct {
			Total int `json:"total"`
		}
		s.get(t, "/ws/v1/partition/default/preemptions?limit=1", &list)
		return list.Total > 0
	})
	waitFor(t, "the second configuration of the demo", func() bool {
		var history []any
		s.get(t, "/ws/v1/config/history", &history)
		return len(history) > 2
	})
	return s
}
