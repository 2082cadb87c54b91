// Package etcdprocess builds etcd and runs a cluster of it in processes on loopback, for tests that need a real one.
//
// It owns the processes, their ports and their data directories. What is done with etcd is left to the caller. The
// rule that must hold: no process outlives the one that has started it.
package etcdprocess

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strings"
)

// Config says how the processes of a Cluster are run.
type Config struct {
	Program string   // etcd, as Build returns it
	Dir     string   // for data directories and logs; it exists
	Members int      // 0: 1
	Args    []string // more arguments for each member, such as "--quota-backend-bytes=16777216"
}

// Cluster is a cluster of etcd on loopback. Its addresses stay the same while members are stopped and started.
type Cluster struct {
	Members []*Member
}

// Start starts all members of a new cluster, and waits until each is ready. ctx ends the waiting, not the processes.
// They must be ended by Stop or Kill.
func Start(ctx context.Context, c Config) (*Cluster, error) {
	n := max(c.Members, 1)
	ports, err := freePorts(2 * n)
	if err != nil {
		return nil, err
	}
	cluster := &Cluster{}
	var initial []string
	for i := range n {
		m := &Member{name: fmt.Sprintf("etcd-%d", i), program: c.Program, client: "http://" + ports[2*i],
			peer: "http://" + ports[2*i+1]}
		m.log = filepath.Join(c.Dir, m.name+".log")
		cluster.Members = append(cluster.Members, m)
		initial = append(initial, m.name+"="+m.peer)
	}
	for _, m := range cluster.Members {
		m.args = append([]string{
			"--name=" + m.name, "--data-dir=" + filepath.Join(c.Dir, m.name),
			"--listen-client-urls=" + m.client, "--advertise-client-urls=" + m.client,
			"--listen-peer-urls=" + m.peer, "--initial-advertise-peer-urls=" + m.peer,
			"--initial-cluster=" + strings.Join(initial, ","), "--initial-cluster-state=new",
		}, c.Args...)
	}
	if err := cluster.Start(ctx); err != nil {
		return nil, errors.Join(err, cluster.Kill())
	}
	return cluster, nil
}

// Endpoints are the addresses of the members for clients, such as "127.0.0.1:33221".
func (c *Cluster) Endpoints() (all []string) {
	for _, m := range c.Members {
		all = append(all, m.Endpoint())
	}
	return all
}

// Start starts the members that do not run, and waits until all are ready.
func (c *Cluster) Start(ctx context.Context) error {
	for _, m := range c.Members {
		if err := m.launch(); err != nil {
			return err
		}
	}
	for _, m := range c.Members {
		if err := m.awaitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Stop ends all members in good order; their data stays for Start.
func (c *Cluster) Stop() error {
	var errs []error
	for _, m := range c.Members {
		errs = append(errs, m.Stop())
	}
	return errors.Join(errs...)
}

// Kill ends all members with SIGKILL; their data stays for Start.
func (c *Cluster) Kill() error {
	var errs []error
	for _, m := range c.Members {
		errs = append(errs, m.Kill())
	}
	return errors.Join(errs...)
}

// freePorts returns addresses on loopback on which nothing listens. The ports are below those that connections get, one
// of which could have a port before the process that it is for.
func freePorts(n int) (addresses []string, err error) {
	var listeners []net.Listener
	for tries := 0; len(listeners) < n; tries++ {
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", 20_000+rand.IntN(12_000)))
		switch {
		case err == nil:
			listeners = append(listeners, l)
			addresses = append(addresses, l.Addr().String())
		case tries > 1000:
			return nil, err
		}
	}
	for _, l := range listeners {
		err = errors.Join(err, l.Close())
	}
	return addresses, err
}
