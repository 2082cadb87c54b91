package ha

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/testcert"
)

// client is a client of an etcd, and a context that bounds its calls.
func (e *etcd) connect(t *testing.T, c clientv3.Config) (*clientv3.Client, context.Context) {
	t.Helper()
	c.Endpoints = []string{e.client}
	client, err := clientv3.New(c)
	assert.NilError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return client, ctx
}

// Members use TLS with certificates of both sides, and a user that may read and write the keys of the group only.
func TestGroup_EtcdWithTLSAndUser(t *testing.T) {
	dir := t.TempDir()
	servers, clients := testcert.NewAuthority(t, "servers"), testcert.NewAuthority(t, "clients")
	pair, own := servers.Server(t), clients.Client(t, "member")
	testcert.Write(t, dir, map[string][]byte{
		"ca.crt": servers.PEM, "clients.crt": clients.PEM, "etcd.crt": pair.Cert, "etcd.key": pair.Key,
		"member.crt": own.Cert, "member.key": own.Key, "password": []byte("secret\n"),
	})
	file := func(name string) string { return filepath.Join(dir, name) }
	e := newEtcd(t, "--cert-file", file("etcd.crt"), "--key-file", file("etcd.key"), "--trusted-ca-file",
		file("clients.crt"), "--client-cert-auth")

	keys, err := tls.LoadX509KeyPair(file("member.crt"), file("member.key"))
	assert.NilError(t, err)
	roots := x509.NewCertPool()
	assert.Assert(t, roots.AppendCertsFromPEM(servers.PEM))
	client, ctx := e.connect(t, clientv3.Config{TLS: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{keys}}})
	for _, do := range []func() error{
		func() error { _, err := client.UserAdd(ctx, "root", "root"); return err },
		func() error { _, err := client.RoleAdd(ctx, "root"); return err },
		func() error { _, err := client.UserGrantRole(ctx, "root", "root"); return err },
		func() error { _, err := client.UserAdd(ctx, "canopy", "secret"); return err },
		func() error { _, err := client.RoleAdd(ctx, "canopy"); return err },
		func() error {
			_, err := client.RoleGrantPermission(ctx, "canopy", "/canopy/", clientv3.GetPrefixRangeEnd("/canopy/"),
				clientv3.PermissionType(clientv3.PermReadWrite))
			return err
		},
		func() error { _, err := client.UserGrantRole(ctx, "canopy", "canopy"); return err },
		func() error { _, err := client.AuthEnable(ctx); return err },
	} {
		assert.NilError(t, do())
	}
	g := newGroupAt(t, e, 2, "--etcd-ca", file("ca.crt"), "--etcd-cert", file("member.crt"), "--etcd-key",
		file("member.key"),
		"--etcd-user", "canopy", "--etcd-password-file", file("password"))
	p := newProbe(g)
	leader, epoch := p.leaderAfter(g, 0, electedWithin)
	g.kill(leader)
	_, _ = p.leaderAfter(g, epoch, electedWithin)
	assert.Equal(t, len(p.problems()), 0, "%v", p.problems())
}

// Members that wait for a change of the leader see it also when etcd has removed the history since, and has started
// again.
func TestGroup_EtcdIsCompacted(t *testing.T) {
	g := newGroup(t, 2)
	p := newProbe(g)
	leader, epoch := p.leaderAfter(g, 0, electedWithin)
	client, ctx := g.etcd.connect(t, clientv3.Config{})
	var revision int64
	for i := range 50 {
		r, err := client.Put(ctx, fmt.Sprint("/other/", i), "x")
		assert.NilError(t, err)
		revision = r.Header.Revision
	}
	_, err := client.Compact(ctx, revision, clientv3.WithCompactPhysical())
	assert.NilError(t, err)
	g.etcd.kill()
	g.etcd.start(t)
	until(t, electedWithin, func() error { _, err := client.Get(ctx, "/canopy/leader"); return err })
	g.kill(leader)
	_, _ = p.leaderAfter(g, epoch, electedWithin)
	assert.Equal(t, len(p.problems()), 0, "%v", p.problems())
}

// A leader whose key was removed ends its term.
func TestGroup_KeyIsRemoved(t *testing.T) {
	g := newGroup(t, 2)
	p := newProbe(g)
	_, epoch := p.leaderAfter(g, 0, electedWithin)
	client, ctx := g.etcd.connect(t, clientv3.Config{})
	_, err := client.Delete(ctx, "/canopy/leader")
	assert.NilError(t, err)
	_, _ = p.leaderAfter(g, epoch, electedWithin)
}

// Members end in good order also without etcd, and take no processor while they wait for it.
func TestGroup_MembersWithoutEtcd(t *testing.T) {
	g := newGroup(t, 2)
	p := newProbe(g)
	_, _ = p.leaderAfter(g, 0, electedWithin)
	p.stop()
	g.etcd.kill()
	for _, m := range g.members {
		until(t, electedWithin, func() error { return standsBy(m) })
	}
	before, began := cpuTime(t, g.members[0].PID()), time.Now()
	until(t, electedWithin, func() error {
		if time.Since(began) < 2*ttl {
			return fmt.Errorf("the time in which the processor is measured is not over")
		}
		return nil
	})
	used := cpuTime(t, g.members[0].PID()) - before
	t.Logf("a member without etcd used %v of a processor in %v", used, time.Since(began).Round(time.Millisecond))
	assert.Assert(t, used < time.Since(began)/10)
	for _, m := range g.members {
		assert.NilError(t, m.Stop())
	}
}

// cpuTime is how long a process has used a processor.
func cpuTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	assert.NilError(t, err)
	var name, state string
	var skipped [10]int64
	var user, system int64
	n := 0
	_, err = fmt.Sscan(string(text), &n, &name, &state, &skipped[0], &skipped[1], &skipped[2], &skipped[3], &skipped[4],
		&skipped[5], &skipped[6], &skipped[7], &skipped[8], &skipped[9], &user, &system)
	assert.NilError(t, err)
	return time.Duration(user+system) * 10 * time.Millisecond // 100 ticks a second on every Linux
}
