// Package ha tests groups of canopy processes with a real etcd. It is a module of its own, so that the server of etcd
// stays out of Canopy's dependencies.
//
// It owns the processes and a resource manager that follows the leader. The rule that must hold: a test waits for what
// it wants to see with a deadline, and ends every process that it has started.
package ha

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/poll"

	"github.com/canopy-scheduler/canopy/internal/lab/serverprocess"
)

// ttl is that of the leases of all groups: the least.
const ttl = 2 * time.Second

// etcdProgram is the environment variable with the path of another etcd than the one that is built.
const etcdProgram = "CANOPY_ETCD"

// programs are the built programs.
var programs struct {
	canopy, etcd string
	etcdFlags    []string
}

func TestMain(m *testing.M) {
	code, err := build(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// build builds the programs and runs the tests.
func build(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "canopy-ha-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	programs.canopy, programs.etcd = filepath.Join(dir, "canopy"), os.Getenv(etcdProgram)
	builds := [][]string{{"-C", "../..", "-o", programs.canopy, "./cmd/core"}}
	if programs.etcd == "" {
		programs.etcd, programs.etcdFlags = filepath.Join(dir, "etcd"), []string{"--unsafe-no-fsync"}
		builds = append(builds, []string{"-o", programs.etcd, "./etcd"})
	}
	for _, args := range builds {
		if args[0] == "-C" {
			args = append([]string{"build", "-C", args[1]}, args[2:]...)
		} else {
			args = append([]string{"build"}, args...)
		}
		if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
			return 0, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	return m.Run(), nil
}

// freeAddress is a loopback address that no process listens on now. Its port is below those that connections get, one
// of which could have it before the program that it is for.
func freeAddress(t *testing.T) string {
	t.Helper()
	for {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", fmt.Sprint("127.0.0.1:", 20_000+rand.IntN(12_000)))
		if err == nil {
			defer l.Close()
			return l.Addr().String()
		}
	}
}

// until waits until something is true, which the error of is says otherwise.
func until(t *testing.T, within time.Duration, is func() error) {
	t.Helper()
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		if err := is(); err != nil {
			return poll.Continue("%v", err)
		}
		return poll.Success()
	}, poll.WithTimeout(within), poll.WithDelay(20*time.Millisecond))
}

// etcd is a process of etcd, alone or one of a cluster.
type etcd struct {
	name, client, peer, dir string // client has the scheme of its flags
	cluster                 string // all names and peers, as etcd takes them
	flags                   []string
	cmd                     *exec.Cmd
	log                     lockedBuffer
}

// newEtcd starts an etcd that is alone. When its flags are about certificates its clients need TLS.
func newEtcd(t *testing.T, flags ...string) *etcd {
	t.Helper()
	return newEtcds(t, 1, flags...)[0]
}

// newEtcds starts a cluster of etcd.
func newEtcds(t *testing.T, n int, flags ...string) (all []*etcd) {
	t.Helper()
	scheme := "http://"
	if slices.Contains(flags, "--cert-file") {
		scheme = "https://"
	}
	var cluster []string
	for i := range n {
		e := &etcd{name: fmt.Sprint("e", i), client: scheme + freeAddress(t), peer: "http://" + freeAddress(t),
			dir: t.TempDir(), flags: flags}
		cluster = append(cluster, e.name+"="+e.peer)
		all = append(all, e)
	}
	for _, e := range all {
		e.cluster = strings.Join(cluster, ",")
		e.start(t)
		t.Cleanup(func() {
			e.kill()
			if t.Failed() {
				t.Logf("the log of etcd %s: %s", e.name, e.log.String())
			}
		})
	}
	return all
}

// start starts the process, with what is on its disk.
func (e *etcd) start(t *testing.T) {
	t.Helper()
	e.cmd = exec.Command(programs.etcd, append([]string{
		"--data-dir", e.dir, "--logger", "zap", "--log-level", "error", "--name", e.name,
		"--listen-client-urls", e.client, "--advertise-client-urls", e.client,
		"--listen-peer-urls", e.peer, "--initial-advertise-peer-urls", e.peer, "--initial-cluster", e.cluster,
	}, slices.Concat(e.flags, programs.etcdFlags)...)...)
	e.cmd.Stderr = &e.log
	assert.NilError(t, e.cmd.Start())
}

// lockedBuffer is a buffer that processes write to, one after the other.
type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

// Write is part of io.Writer.
func (b *lockedBuffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(text)
}

func (e *etcd) kill() {
	_ = e.cmd.Process.Kill()
	_ = e.cmd.Wait()
}

// member is a process of canopy serve in a group.
type member struct {
	name, grpc, http, admin string
	command                 []string
	*serverprocess.Process
}

// group is an etcd and its members.
type group struct {
	t       *testing.T
	etcd    *etcd
	members []*member
}

func newGroup(t *testing.T, members int) *group {
	t.Helper()
	return newGroupAt(t, newEtcd(t), members)
}

// newGroupAt starts members with further flags, which can name other endpoints.
func newGroupAt(t *testing.T, e *etcd, members int, flags ...string) *group {
	t.Helper()
	g := &group{t: t, etcd: e}
	for i := range members {
		m := &member{name: fmt.Sprintf("m%d", i+1), grpc: freeAddress(t), http: freeAddress(t), admin: freeAddress(t)}
		m.command = append([]string{
			programs.canopy, "serve", "--ha", "etcd", "--etcd-endpoints", g.etcd.client, "--etcd-ttl", ttl.String(), "--ha-name",
			m.name,
			"--grpc-address", m.grpc, "--http-address", m.http, "--admin", "--admin-listen", m.admin,
		}, flags...)
		g.members = append(g.members, m)
		g.start(m)
	}
	t.Cleanup(func() {
		for _, m := range g.members {
			if !m.Reaped() {
				_ = m.Signal(syscall.SIGCONT)
				_ = m.Kill()
				_ = m.Reap()
			}
		}
	})
	return g
}

func (g *group) start(m *member) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	p, err := serverprocess.Start(ctx, m.command...)
	assert.NilError(g.t, err)
	m.Process = p
}

// kill ends a member with SIGKILL.
func (g *group) kill(m *member) {
	g.t.Helper()
	assert.NilError(g.t, m.Kill())
	assert.NilError(g.t, m.Reap())
}
