package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
)

// Flags that contradict each other, or cannot be used, are named.
func TestServe_HAArguments(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	assert.NilError(t, os.WriteFile(empty, nil, 0o600))
	for line, want := range map[string]string{
		"--ha raft":              `--ha is "raft", and must be etcd`,
		"--ha etcd":              "--ha etcd needs --etcd-endpoints",
		"--etcd-endpoints e:1":   "--etcd-endpoints needs --ha etcd",
		"--etcd-ttl 5s":          "--etcd-ttl needs --ha etcd",
		"--advertise-grpc h:1":   "--advertise-grpc needs --ha etcd",
		"--ha-name a":            "--ha-name needs --ha etcd",
		"--etcd-password-file x": "--etcd-password-file needs --ha etcd",
		"--partitions a":         "--partitions: it needs --config, which has these partitions",
		"--ha etcd --etcd-endpoints e:1 --demo": "--demo cannot be used with --ha: the demo runs in the process of its " +
			"scheduler, and another member may lead",
		"--ha etcd --etcd-endpoints e:1 --data-dir d": "--data-dir cannot be used with --ha: it belongs to " +
			"one member, and another one leads after it",
		"--ha etcd --etcd-endpoints e:1 --etcd-ttl 1s": "--etcd-ttl: 1s is not a number of seconds from 2s " +
			"to 5m0s",
		"--ha etcd --etcd-endpoints e": `--etcd-endpoints: "e": address e: missing port in ` +
			`address`,
		"--ha etcd --etcd-endpoints e:1 --etcd-prefix x": `--etcd-prefix: "x": it begins with a slash and ` +
			`ends without one, such as /canopy`,
		"--ha etcd --etcd-endpoints e:1 --etcd-ca " + empty: "--etcd-ca: " + empty + " has no certificate",
		"--ha etcd --etcd-endpoints e:1 --etcd-key k":       "--etcd-cert: the file of the certificate is missing",
		"--ha etcd --etcd-endpoints e:1 --etcd-user u":      "--etcd-password-file: there is a user and no password",
		"--ha etcd --etcd-endpoints e:1 --advertise-http :1": `--advertise-http: ":1": it has no host that others ` +
			`can connect to`,
		"--ha etcd --etcd-endpoints e:1 --grpc-address :0 --insecure": "--advertise-grpc: it is needed, because the " +
			"listener is at [::]:",
		"--ha etcd --etcd-endpoints http://e:1 --etcd-ca " +
			empty: `--etcd-endpoints: "http://e:1" is without TLS, and there are certificates for it`,
	} {
		args := append([]string{"serve", "--http-address", "127.0.0.1:0", "--grpc-address", "127.0.0.1:0"},
			strings.Fields(line)...)
		code, _, errs := runCanopy(args...)
		assert.Equal(t, code, cmdline.Usage, line)
		assert.Assert(t, strings.Contains(errs, want), "%s: %s", line, errs)
	}
}

// A partition that --config does not have is an error that names it, with a group and without.
func TestServe_PartitionsAreInTheConfiguration(t *testing.T) {
	file := filepath.Join(t.TempDir(), "queues.yaml")
	assert.NilError(t, os.WriteFile(file, []byte("partitions: [{name: cpu, queues: [{name: root}]}]\n"), 0o600))
	for _, flags := range [][]string{nil, {"--ha", "etcd", "--etcd-endpoints", "127.0.0.1:1"}} {
		code, _, errs := runCanopy(append([]string{"serve", "--http-address", "127.0.0.1:0", "--grpc-address", "127.0.0.1:0",
			"--config", file, "--partitions", "cpu,gpu"}, flags...)...)
		assert.Equal(t, code, cmdline.Refused)
		assert.Assert(t, strings.Contains(errs, `[no-partition] there is no partition "gpu", which is to be served`), errs)
	}
}

// A member is ready when its listeners are open, also without etcd, and stands by.
func TestServe_HAStandsByWithoutEtcd(t *testing.T) {
	p := startProgram(t, buildProgram(t), "serve", "--http-address", "127.0.0.1:0", "--grpc-address", "127.0.0.1:0",
		"--ha", "etcd", "--etcd-endpoints", "127.0.0.1:1", "--etcd-ttl", "2s")
	assert.Assert(t, strings.HasSuffix(p.ready, " ha=etcd\n"), p.ready)
	p.stop()
}
