package own

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A node that disappears while pods are bound to it: the pods that were lost with it end, the others are bound
// elsewhere, and the accounts are those of what is left.
func TestFaults_NodeGoneDuringBinding(t *testing.T) {
	both(t, "leaving", queues, func(t *testing.T, c *cluster, namespace string) {
		node := "leaving-" + namespace
		c.addNode(node, map[string]string{})
		c.create(namespace, "pod", "root.bounded", 40, "100m")
		c.until("a pod is bound to the node", func(ctx context.Context) error {
			for _, where := range c.placed(ctx, namespace) {
				if where == node {
					return nil
				}
			}
			return errors.New("none is")
		})
		assert.NilError(t, c.client.CoreV1().Nodes().Delete(t.Context(), node, metav1.DeleteOptions{}))
		c.create(namespace, "more", "root.bounded", 10, "100m")
		c.until("what is left runs on nodes that exist, and is what the queue has", func(ctx context.Context) error {
			pods, err := c.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
			if err != nil {
				return err
			}
			for _, p := range pods.Items {
				if p.Spec.NodeName == "" || p.Spec.NodeName == node {
					return fmt.Errorf("%s on %q", p.Name, p.Spec.NodeName)
				}
			}
			if got := c.allocated("root.bounded"); len(pods.Items) < 10 || got != int64(len(pods.Items)*100) {
				return fmt.Errorf("%d pods, and the queue has %d", len(pods.Items), got)
			}
			return nil
		})
	})
}

// Pods that are deleted while they are asked for, or bound, leave nothing behind.
func TestFaults_PodsDeletedWhileAskedFor(t *testing.T) {
	both(t, "short", queues, func(t *testing.T, c *cluster, namespace string) {
		zero := int64(0)
		for i := range 4 {
			c.create(namespace, fmt.Sprint("short", i), "root.bounded", 40, "100m")
			assert.NilError(t,
				c.client.CoreV1().Pods(namespace).DeleteCollection(t.Context(), metav1.DeleteOptions{GracePeriodSeconds: &zero},
					metav1.ListOptions{}))
		}
		c.create(namespace, "stays", "root.bounded", queueMaxPods, "100m")
		c.untilPlaced(namespace, queueMaxPods) // the queue is full with these alone
		assert.Equal(t, c.allocated("root.bounded"), int64(queueMaxPods*100))
	})
}

// A wrong ConfigMap is refused as a whole, with a line in the log; scheduling goes on with the configuration in force.
func TestFaults_WrongConfigMap(t *testing.T) {
	c := connect(t, "wrong")
	for i, text := range []string{
		"partitions: [{name: default, queues: [{name: root, queues: [{name: bounded, resources: {max: {vcore: -1}}}]}]}]",
		"partitions: [",
		"partitions: [{name: default, placementrules: [{name: nonsense}], queues: [{name: root}]}]",
	} {
		c.configMap(map[string]string{"queues.yaml": text})
		c.create("wrong", fmt.Sprint("pod", i), "root.bounded", 5, "100m")
		c.untilPlaced("wrong", 5*(i+1))
		assert.Equal(t, c.allocated("root.bounded"), int64((i+1)*500))
	}
	assert.Assert(t, c.logHas("refused"), "no line says that the configuration was refused")
}

// A minute without an API server loses nothing: what ran stays where it ran, and the queue is filled to its max after
// it. The pods that were created just before it are bound after it by the native shim; YuniKorn's shim gives a pod up
// whose binding failed (event PodBindFailure) and releases it in the core, so that the pods created anew have its
// place.
func TestFaults_APIServerAway(t *testing.T) {
	both(t, "gone", queues, func(t *testing.T, c *cluster, namespace string) {
		c.create(namespace, "before", "root.bounded", queueMaxPods-10, "100m")
		before := c.untilPlaced(namespace, queueMaxPods-10)
		c.create(namespace, "during", "root.bounded", 20, "100m")
		c.apiServerAway(time.Minute)
		if strings.HasSuffix(namespace, "-yunikorn") {
			c.replacePending(namespace, 20)
		}
		after := c.untilPlaced(namespace, queueMaxPods)
		for name, node := range before {
			assert.Equal(t, after[name], node, name)
		}
		assert.Equal(t, c.allocated("root.bounded"), int64(queueMaxPods*100))
	})
}

// apiServerAway kills the API server, and starts it again after a time.
func (c *cluster) apiServerAway(d time.Duration) {
	c.t.Helper()
	pid := readPID(c.t, filepath.Join(c.folder, "run", "kube-apiserver.pid"))
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	assert.NilError(c.t, err)
	args := strings.Split(string(bytes.TrimRight(line, "\x00")), "\x00")
	assert.NilError(c.t, syscall.Kill(pid, syscall.SIGKILL))
	<-time.After(d)
	log, err := os.OpenFile(filepath.Join(c.folder, "log", "kube-apiserver.log"), os.O_APPEND|os.O_WRONLY, 0o600)
	assert.NilError(c.t, err)
	defer log.Close()
	again := exec.Command(args[0], args[1:]...)
	again.Dir, again.Stdout, again.Stderr = c.folder, log, log
	again.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // it outlives the test
	assert.NilError(c.t, again.Start())
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", again.Process.Pid))
	assert.NilError(c.t, err)
	_, behindName, _ := strings.Cut(string(stat), ") ")
	started := strings.Fields(behindName)[19] // the start time: lib.sh has the reason
	assert.NilError(c.t,
		os.WriteFile(filepath.Join(c.folder, "run", "kube-apiserver.pid"), fmt.Appendln(nil, again.Process.Pid, started),
			0o600))
	go func() { _ = again.Wait() }() // its end is that of the control plane
	c.until("the API server is back", func(ctx context.Context) error {
		_, err := c.client.CoreV1().Namespaces().Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}
