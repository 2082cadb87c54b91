package own

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/poll"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// The environment of own.sh: the folder of the cluster, and copies of both schedulers.
const (
	envCluster   = "CANOPY_CLUSTER_FOLDER"
	envPrograms  = "CANOPY_CLUSTER_PROGRAMS" // a folder with scheduler-canopy and scheduler-original
	queueMaxPods = 60                        // of 100m in the queue root.bounded
)

var queues = fmt.Sprintf(`
partitions:
  - name: default
    placementrules: [{name: provided}, {name: tag, value: namespace, create: true}]
    preemption: {enabled: true}
    queues:
      - name: root
        submitacl: '*'
        queues:
          - {name: bounded, resources: {max: {vcore: %dm}}}
          - {name: urgent, resources: {guaranteed: {vcore: 2}}, properties: {preemption.delay: 1s}}
`, queueMaxPods*100)

// cluster is the control plane and its scheduler.
type cluster struct {
	t         *testing.T
	folder    string
	client    kubernetes.Interface
	scheduler string // of the pods that are created
	address   string // of its REST
	admin     string // of its REST that changes the state
	config    string // the file with its configuration; empty: it is in the ConfigMap
	patience  time.Duration
}

// connect connects to the cluster, and gives the test a namespace and a queue root.bounded with a max.
func connect(t *testing.T, namespace string) *cluster {
	t.Helper()
	return connectWith(t, namespace, queues)
}

// connectWith is connect with other queues, of which one is root.bounded.
func connectWith(t *testing.T, namespace, queues string) *cluster {
	t.Helper()
	folder := os.Getenv(envCluster)
	if folder == "" {
		t.Skipf("%s is not set: kubernetes/cluster/own.sh runs the tests on a control plane", envCluster)
	}
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(folder, "kubeconfig"))
	assert.NilError(t, err)
	config.QPS, config.Burst = 1000, 1000
	client, err := kubernetes.NewForConfig(config)
	assert.NilError(t, err)
	c := &cluster{t: t, folder: folder, client: client, scheduler: "yunikorn", address: "127.0.0.1:9080",
		admin: "127.0.0.1:9081", patience: 2 * time.Minute}
	_, err = client.CoreV1().Namespaces().Create(t.Context(),
		&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	assert.NilError(t, err)
	c.until("the namespace has its service account", func(ctx context.Context) error {
		_, err := client.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	c.setQueues(queues)
	t.Cleanup(func() {
		ctx, zero := context.Background(), int64(0)
		assert.Check(t,
			client.CoreV1().Pods(namespace).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &zero},
				metav1.ListOptions{}))
	})
	return c
}

// until waits until something is so, for as long as the patience of c lasts; an error says what is missing.
func (c *cluster) until(what string, check func(ctx context.Context) error) {
	c.t.Helper()
	poll.WaitOn(c.t, func(poll.LogT) poll.Result {
		if err := check(c.t.Context()); err != nil {
			return poll.Continue("%s: %v", what, err)
		}
		return poll.Success()
	}, poll.WithTimeout(c.patience), poll.WithDelay(250*time.Millisecond))
}

// setQueues changes the configuration, and waits until the scheduler has the queue root.bounded.
func (c *cluster) setQueues(text string) {
	c.t.Helper()
	if c.config != "" {
		if now, err := os.ReadFile(c.config); err == nil && string(now) == text {
			return
		}
		before := c.generation()
		assert.NilError(c.t, os.WriteFile(c.config, []byte(text), 0o600))
		c.until("the configuration is in force", func(context.Context) error {
			if now := c.generation(); now == before {
				return fmt.Errorf("it is generation %d", now)
			}
			return nil
		})
		return
	}
	c.configMap(map[string]string{"queues.yaml": text})
	c.until("root.bounded is in force",
		func(ctx context.Context) error { return c.rest(ctx, "queue/root.bounded", &struct{}{}) })
}

// generation is the number of the configuration in force. YuniKorn's core has none.
func (c *cluster) generation() (n uint64) {
	c.t.Helper()
	var history []struct {
		Generation uint64 `json:"generation"`
	}
	assert.NilError(c.t, c.get(c.t.Context(), "config/history", &history))
	assert.Assert(c.t, len(history) > 0)
	return history[0].Generation
}

// addNode adds a node until the end of the test.
func (c *cluster) addNode(name string, labels map[string]string, taints ...v1.Taint) {
	c.t.Helper()
	labels["kubernetes.io/hostname"] = name
	nodes := c.client.CoreV1().Nodes()
	_, err := nodes.Create(c.t.Context(), &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec:       v1.NodeSpec{Taints: taints},
		Status: v1.NodeStatus{Allocatable: v1.ResourceList{"cpu": resource.MustParse("64"),
			"memory": resource.MustParse("64Gi"), "pods": resource.MustParse("200")}},
	}, metav1.CreateOptions{})
	assert.NilError(c.t, err)
	c.t.Cleanup(func() {
		if err := nodes.Delete(context.Background(), name, metav1.DeleteOptions{}); !errors.IsNotFound(err) {
			assert.Check(c.t, err)
		}
	})
	c.until("the node "+name+" is known",
		func(ctx context.Context) error { return c.rest(ctx, "node/"+name, &struct{}{}) })
}

// configMap replaces the content of the scheduler's ConfigMap.
func (c *cluster) configMap(data map[string]string) {
	c.t.Helper()
	maps := c.client.CoreV1().ConfigMaps("yunikorn")
	m, err := maps.Get(c.t.Context(), "yunikorn-configs", metav1.GetOptions{})
	assert.NilError(c.t, err)
	m.Data = data
	_, err = maps.Update(c.t.Context(), m, metav1.UpdateOptions{})
	assert.NilError(c.t, err)
}

// rest reads an answer of the scheduler about the partition.
func (c *cluster) rest(ctx context.Context, path string, into any) error {
	return c.get(ctx, "partition/default/"+path, into)
}

// get reads an answer of the scheduler.
func (c *cluster) get(ctx context.Context, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.address+"/ws/v1/"+path, http.NoBody)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, answer.Status)
	}
	return json.NewDecoder(answer.Body).Decode(into)
}

// create creates pods with names from name-0 on, for one application.
func (c *cluster) create(namespace, name, queue string, n int, cpu string) {
	c.t.Helper()
	c.createWith(namespace, name, queue, n, cpu, func(*v1.Pod) {})
}

// createWith is create of pods that are changed before they are created.
func (c *cluster) createWith(namespace, name, queue string, n int, cpu string, change func(*v1.Pod)) {
	c.t.Helper()
	for i := range n {
		labels := map[string]string{"applicationId": name}
		if queue != "" {
			labels["queue"] = queue
		}
		pod := &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", name, i), Labels: labels},
			Spec: v1.PodSpec{
				SchedulerName: c.scheduler, RestartPolicy: v1.RestartPolicyNever,
				Containers: []v1.Container{{Name: "c", Image: "none",
					Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": resource.MustParse(cpu)}}}},
			},
		}
		change(pod)
		_, err := c.client.CoreV1().Pods(namespace).Create(c.t.Context(), pod, metav1.CreateOptions{})
		assert.NilError(c.t, err)
	}
}

// placed are the nodes of the pods of a namespace that have one.
func (c *cluster) placed(ctx context.Context, namespace string) map[string]string {
	pods, err := c.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	assert.NilError(c.t, err)
	nodes := map[string]string{}
	for _, p := range pods.Items {
		if p.Spec.NodeName != "" {
			nodes[p.Name] = p.Spec.NodeName
		}
	}
	return nodes
}

// untilPlaced waits until a number of pods is bound, and for some seconds more, in which there must not be another one.
func (c *cluster) untilPlaced(namespace string, n int) map[string]string {
	c.t.Helper()
	c.until(fmt.Sprint(n, " pods are bound"), func(ctx context.Context) error {
		if got := len(c.placed(ctx, namespace)); got != n {
			return fmt.Errorf("it is %d", got)
		}
		return nil
	})
	for range 20 {
		<-time.After(500 * time.Millisecond)
		assert.Equal(c.t, len(c.placed(c.t.Context(), namespace)), n, "pods that are bound")
	}
	return c.placed(c.t.Context(), namespace)
}

// restart kills the scheduler, as kill -9 does, with another program in its place if there is one; waits until it is
// back.
func (c *cluster) restart(program string) {
	c.t.Helper()
	if program != "" {
		c.install(program)
	}
	old := c.pid()
	process, err := os.FindProcess(old)
	assert.NilError(c.t, err)
	assert.NilError(c.t, process.Signal(syscall.SIGKILL))
	all, err := c.client.CoreV1().Nodes().List(c.t.Context(), metav1.ListOptions{})
	assert.NilError(c.t, err)
	c.until("the scheduler is back and knows the nodes", func(ctx context.Context) error {
		var nodes []struct{}
		if err := c.rest(ctx, "nodes", &nodes); err != nil {
			return err
		}
		if c.pid() == old || len(nodes) < len(all.Items) {
			return fmt.Errorf("%d of %d nodes", len(nodes), len(all.Items))
		}
		return nil
	})
}

// pid is the process of the scheduler.
func (c *cluster) pid() (pid int) {
	c.t.Helper()
	return readPID(c.t, filepath.Join(c.folder, "run", "scheduler.pid"))
}

func readPID(t *testing.T, file string) (pid int) {
	t.Helper()
	text, err := os.ReadFile(file)
	assert.NilError(t, err)
	_, err = fmt.Sscan(string(text), &pid)
	assert.NilError(t, err)
	return pid
}

// install puts a program in the place of the one that runs, for the next start.
func (c *cluster) install(program string) {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(os.Getenv(envPrograms), program))
	assert.NilError(c.t, err)
	next := filepath.Join(c.folder, "scheduler.next")
	assert.NilError(c.t, os.WriteFile(next, text, 0o700))
	assert.NilError(c.t, os.Rename(next, filepath.Join(c.folder, "scheduler")))
}

// allocated is the vcore of a queue that is allocated, in thousandths.
func (c *cluster) allocated(queue string) (vcore int64) {
	var q struct {
		Allocated map[string]int64 `json:"allocatedResource"`
	}
	assert.NilError(c.t, c.rest(c.t.Context(), "queue/"+queue, &q))
	return q.Allocated["vcore"]
}

// logHas reports whether the log of the scheduler has a text.
func (c *cluster) logHas(text string) bool {
	log, err := os.ReadFile(filepath.Join(c.folder, "log", "scheduler.log"))
	assert.NilError(c.t, err)
	return strings.Contains(string(log), text)
}
