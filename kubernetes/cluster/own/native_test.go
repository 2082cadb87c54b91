package own

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// native is canopy serve and kubernetes/shim-grpc, two processes that schedule beside YuniKorn's shim.
type native struct {
	*cluster
	server, shim *process
	credentials  string // the kubeconfig of the shim
}

// process is a program that is started again with the same arguments.
type process struct {
	t    *testing.T
	log  string
	args []string
	cmd  *exec.Cmd
}

func startProcess(t *testing.T, log string, args ...string) *process {
	t.Helper()
	p := &process{t: t, log: log, args: args}
	assert.NilError(t, os.RemoveAll(log))
	p.start()
	t.Cleanup(p.kill)
	return p
}

func (p *process) start() {
	p.t.Helper()
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	assert.NilError(p.t, err)
	defer log.Close() // the process has its own
	p.cmd = exec.Command(p.args[0], p.args[1:]...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	assert.NilError(p.t, p.cmd.Start())
}

// kill ends the process as kill -9 does.
func (p *process) kill() {
	if p.cmd.ProcessState == nil {
		assert.Check(p.t, p.cmd.Process.Kill())
		assert.Check(p.t, p.cmd.Wait() != nil)
	}
}

func (p *process) restart() {
	p.t.Helper()
	p.kill()
	p.start()
}

// both are the shim of YuniKorn with Canopy inside, and that of kubernetes/shim-grpc.
func both(t *testing.T, name, queues string, test func(t *testing.T, c *cluster, namespace string)) {
	t.Helper()
	t.Run("YuniKorn", func(t *testing.T) { test(t, connectWith(t, name+"-yunikorn", queues), name+"-yunikorn") })
	t.Run("native", func(t *testing.T) { test(t, startNativeWith(t, name+"-native", queues).cluster, name+"-native") })
}

// startNative starts the server and the shim; the shim has the roles of deploy/kubernetes/native, and no others.
func startNative(t *testing.T, namespace string) *native {
	t.Helper()
	return startNativeWith(t, namespace, queues)
}

// adminAddress is where the server is changed.
const adminAddress = "127.0.0.1:9082"

// startNativeWith is startNative with other queues, and with flags of the shim.
func startNativeWith(t *testing.T, namespace, queues string, flags ...string) *native {
	t.Helper()
	n := &native{cluster: connectWith(t, namespace, queues)}
	n.scheduler, n.address, n.admin = "canopy", "127.0.0.1:9081", adminAddress
	n.config = filepath.Join(t.TempDir(), "queues.yaml")
	assert.NilError(t, os.WriteFile(n.config, []byte(queues), 0o600))
	n.kubectl("", "apply", "--validate=strict", "-k", filepath.Join(os.Getenv(envManifests), "native"))
	programs, logs := os.Getenv(envPrograms), filepath.Join(n.folder, "log")
	n.server = startProcess(t, filepath.Join(logs, "native-server.log"), filepath.Join(programs, "canopy"), "serve",
		"--config", n.config,
		"--grpc-address", "127.0.0.1:3333", "--http-address", n.address, "--admin", "--admin-listen", adminAddress)
	n.credentials = n.kubeconfig()
	n.shim = startProcess(t, filepath.Join(logs, "native-shim.log"), append([]string{filepath.Join(programs, "shim-grpc"),
		"--address", "127.0.0.1:3333", "--kubeconfig", n.credentials}, flags...)...)
	n.knowsNodes()
	return n
}

// kubeconfig writes a kubeconfig with a token of the shim's service account.
func (n *native) kubeconfig() (file string) {
	n.t.Helper()
	config, err := clientcmd.LoadFromFile(filepath.Join(n.folder, "kubeconfig"))
	assert.NilError(n.t, err)
	token, err := n.client.CoreV1().ServiceAccounts("canopy").CreateToken(n.t.Context(), "canopy",
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	assert.NilError(n.t, err)
	config.AuthInfos = map[string]*api.AuthInfo{"admin": {Token: token.Status.Token}}
	file = filepath.Join(n.t.TempDir(), "kubeconfig")
	assert.NilError(n.t, clientcmd.WriteToFile(*config, file))
	return file
}

// knowsNodes waits until the server has been told of the nodes.
func (n *native) knowsNodes() {
	n.t.Helper()
	all, err := n.client.CoreV1().Nodes().List(n.t.Context(), metav1.ListOptions{})
	assert.NilError(n.t, err)
	n.until("the server knows the nodes", func(ctx context.Context) error {
		var nodes []struct{}
		if err := n.rest(ctx, "nodes", &nodes); err != nil {
			return err
		}
		if len(nodes) < len(all.Items) {
			return fmt.Errorf("%d of %d nodes", len(nodes), len(all.Items))
		}
		return nil
	})
}

// Kills of the server and of the shim, one after the other, while a queue is full and pods wait: nothing moves, the max
// holds, and what waits takes the place of what has ended.
func TestNativeShim_KeepsPodsAndTheMaxOverKills(t *testing.T) {
	n := startNative(t, "native")
	n.create("native", "full", "root.bounded", queueMaxPods+25, "100m")
	before := n.untilPlaced("native", queueMaxPods)
	for range 2 {
		for _, p := range []*process{n.shim, n.server} {
			p.restart()
			n.knowsNodes()
			assert.DeepEqual(t, n.untilPlaced("native", queueMaxPods), before)
			assert.Equal(t, n.allocated("root.bounded"), int64(queueMaxPods*100))
		}
	}
	running := ""
	for name := range before {
		running = max(running, name)
	}
	assert.NilError(t, n.client.CoreV1().Pods("native").Delete(t.Context(), running, metav1.DeleteOptions{}))
	after := n.untilPlaced("native", queueMaxPods)
	assert.Equal(t, after[running], "")
	for name, node := range after {
		assert.Assert(t, before[name] == "" || before[name] == node, "%s has moved from %s to %s", name, before[name], node)
	}
}

// A queue below its guarantee gets room from another one: pods are deleted, no more than needed, and those of YuniKorn,
// which runs on the same nodes, are not touched.
func TestNativeShim_PreemptsForAGuarantee(t *testing.T) {
	n := startNative(t, "preempted")
	n.scheduler = "yunikorn"
	n.create("preempted", "foreign", "", 4, "1")
	foreign := n.untilPlaced("preempted", 4)
	n.scheduler = "canopy"
	n.create("preempted", "large", "root.large", 20, "1") // of 16 CPU
	n.untilPlaced("preempted", 16)
	n.create("preempted", "urgent", "root.urgent", 3, "1") // of 2 that are guaranteed
	n.until("two urgent pods are bound", func(ctx context.Context) error {
		if got := n.placed(ctx, "preempted"); got["urgent-0"] == "" || got["urgent-1"] == "" {
			return fmt.Errorf("%v", got)
		}
		return nil
	})
	after := n.untilPlaced("preempted", 16)
	assert.Equal(t, after["urgent-2"], "")
	for name, node := range foreign {
		assert.Equal(t, after[name], node, name)
	}
	pods, err := n.client.CoreV1().Pods("preempted").List(t.Context(), metav1.ListOptions{})
	assert.NilError(t, err)
	assert.Equal(t, len(pods.Items), 4+20+3-2, "two pods were preempted")
}

// A minute without an API server loses nothing: what was created just before is bound after it, and what ran stays.
func TestNativeShim_WaitsForTheAPIServer(t *testing.T) {
	n := startNative(t, "away")
	n.create("away", "before", "root.bounded", 10, "100m")
	before := n.untilPlaced("away", 10)
	n.create("away", "during", "root.bounded", 10, "100m")
	n.apiServerAway(time.Minute)
	after := n.untilPlaced("away", 20)
	for name, node := range before {
		assert.Equal(t, after[name], node, name)
	}
	assert.Equal(t, n.allocated("root.bounded"), int64(20*100))
}
