package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
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
	"gotest.tools/v3/assert"
	"gotest.tools/v3/poll"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"
)

// fixture is a fake cluster, a canopy serve, and the shim between them.
type fixture struct {
	t       *testing.T
	client  *fake.Clientset
	address string
	queues  string // the configuration of the servers to come
	http    string // the address of REST
	admin   string // that of the admin listener
	server  *exec.Cmd
	stop    func()        // ends the shim
	watched chan struct{} // the shim has begun to watch a kind of objects
	kinds   int           // that a shim watches
	metrics *metrics      // of the shim

	// change changes what a shim is started with; nil: nothing.
	change func(*settings, grpc.ClientConnInterface) grpc.ClientConnInterface

	mu       sync.Mutex
	bindings map[string]int // how often a pod was bound
	refuse   func(pod, node string) error
	lose     func(pod string) error // the answer to a binding that was made, instead of success

	events sync.RWMutex // the informer gets no event of a pod while it is locked
}

const testQueues = `
partitions:
  - name: default
    placementrules:
      - {name: provided}
      - {name: tag, value: namespace, create: true, filter: {type: deny, users: [mallory]}}
    preemption: {enabled: true}
    queues:
      - name: root
        submitacl: '*'
        queues:
          - {name: bounded, resources: {max: {vcore: 2}}}
          - {name: units, properties: {preemption.victim.unit: taskgroup}}
          - {name: urgent, resources: {guaranteed: {vcore: 4}}, properties: {preemption.delay: 1s}}
`

// start starts a server and the shim, with the objects in the cluster.
func start(t *testing.T, objects ...runtime.Object) *fixture {
	t.Helper()
	return startWith(t, testQueues, objects...)
}

// startWith is start with another configuration.
func startWith(t *testing.T, queues string, objects ...runtime.Object) *fixture {
	t.Helper()
	f := newFixture(t, queues, objects...)
	f.startServer()
	f.startShim()
	return f
}

// newFixture is startWith without the start.
func newFixture(t *testing.T, queues string, objects ...runtime.Object) *fixture {
	t.Helper()
	f := &fixture{
		t: t, client: fake.NewClientset(objects...), queues: queues, bindings: map[string]int{},
		watched: make(chan struct{}, 16), kinds: 6,
	}
	f.client.PrependReactor("create", "pods", f.bind)
	f.client.PrependWatchReactor("*", func(action kubetesting.Action) (bool, watch.Interface, error) {
		w, err := f.client.Tracker().Watch(action.GetResource(), action.GetNamespace())
		f.watched <- struct{}{}
		if action.GetResource().Resource == "pods" {
			w = watch.Filter(w, func(e watch.Event) (watch.Event, bool) {
				f.events.RLock()
				defer f.events.RUnlock()
				return e, true
			})
		}
		return true, w, err
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	f.address = listener.Addr().String() // that of the servers to come, too
	assert.NilError(t, listener.Close())
	return f
}

func (f *fixture) startServer() {
	f.t.Helper()
	program := os.Getenv("CANOPY_PROGRAM")
	if program == "" {
		f.t.Fatal("CANOPY_PROGRAM must name the program canopy: make example-kubernetes sets it")
	}
	config := filepath.Join(f.t.TempDir(), "queues.yaml")
	assert.NilError(f.t, os.WriteFile(config, []byte(f.queues), 0o600))
	f.server = exec.Command(program, "serve", "--config", config, "--grpc-address", f.address, "--http-address",
		"127.0.0.1:0", "--admin", "--admin-listen", "127.0.0.1:0")
	out, err := f.server.StdoutPipe()
	assert.NilError(f.t, err)
	assert.NilError(f.t, f.server.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "canopy ready") {
	}
	assert.NilError(f.t, lines.Err())
	for word := range strings.FieldsSeq(lines.Text()) {
		switch name, address, _ := strings.Cut(word, "="); name {
		case "http":
			f.http = address
		case "admin":
			f.admin = address
		}
	}
	f.t.Cleanup(f.killServer)
}

func (f *fixture) killServer() {
	if f.server.ProcessState == nil {
		assert.Check(f.t, f.server.Process.Kill())
		assert.Check(f.t, f.server.Wait() != nil)
	}
}

func (f *fixture) startShim() {
	f.t.Helper()
	conn, err := dial(f.address, "", "")
	assert.NilError(f.t, err)
	ctx, cancel := context.WithCancel(f.t.Context())
	ended := make(chan error, 1)
	f.metrics = newMetrics()
	settings := settings{rmID: "kubernetes", schedulerName: "canopy", patience: 50 * time.Millisecond}
	wire := grpc.ClientConnInterface(conn)
	if f.change != nil {
		wire = f.change(&settings, wire)
	}
	go func() { ended <- run(ctx, settings, f.client, wire, f.metrics) }()
	f.stop = sync.OnceFunc(func() {
		cancel()
		assert.Check(f.t, <-ended)
		assert.Check(f.t, conn.Close())
	})
	f.t.Cleanup(f.stop)
	f.untilWatched()
}

// untilWatched waits until a shim watches: what is created between the list and the watch of an informer is lost, as
// the fake has no versions.
func (f *fixture) untilWatched() {
	for range f.kinds {
		<-f.watched
	}
}

// bind does what an API server does with a binding.
func (f *fixture) bind(action kubetesting.Action) (bool, runtime.Object, error) {
	if action.GetSubresource() != "binding" {
		return false, nil, nil
	}
	b := action.(kubetesting.CreateAction).GetObject().(*v1.Binding)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refuse != nil {
		if err := f.refuse(b.Name, b.Target.Name); err != nil {
			return true, nil, err
		}
	}
	resource := v1.SchemeGroupVersion.WithResource("pods")
	o, err := f.client.Tracker().Get(resource, b.Namespace, b.Name)
	if err != nil {
		return true, nil, err
	}
	p := o.(*v1.Pod).DeepCopy()
	if p.UID != b.UID || p.Spec.NodeName != "" {
		return true, nil, apierrors.NewConflict(resource.GroupResource(), b.Name, fmt.Errorf("pod is on %q", p.Spec.NodeName))
	}
	f.bindings[b.Name]++
	p.Spec.NodeName, p.Status.Phase = b.Target.Name, v1.PodRunning
	p.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionTrue}}
	if f.lose != nil {
		err = f.lose(b.Name)
	}
	return true, b, errors.Join(f.client.Tracker().Update(resource, p, b.Namespace), err)
}

// until waits until something is so; an error says what is missing.
func (f *fixture) until(check func() error) {
	f.t.Helper()
	poll.WaitOn(f.t, func(poll.LogT) poll.Result {
		if err := check(); err != nil {
			return poll.Continue("%v", err)
		}
		return poll.Success()
	}, poll.WithTimeout(time.Minute), poll.WithDelay(20*time.Millisecond))
}

// placed are the nodes of pods that have one.
func (f *fixture) placed() map[string]string {
	f.t.Helper()
	pods, err := f.client.CoreV1().Pods("").List(f.t.Context(), metav1.ListOptions{})
	assert.NilError(f.t, err)
	nodes := map[string]string{}
	for _, p := range pods.Items {
		if p.Spec.NodeName != "" {
			nodes[p.Name] = p.Spec.NodeName
		}
	}
	return nodes
}

// boundCores returns the cores of all pods that are bound to a node. Pods that have ended count, too.
func (f *fixture) boundCores(node string) float64 {
	f.t.Helper()
	pods, err := f.client.CoreV1().Pods("").List(f.t.Context(), metav1.ListOptions{})
	assert.NilError(f.t, err)
	var sum resource.Quantity
	for _, p := range pods.Items {
		if p.Spec.NodeName == node {
			sum.Add(*p.Spec.Containers[0].Resources.Requests.Cpu())
		}
	}
	return sum.AsApproximateFloat64()
}

// rest returns what the server answers to a path of REST.
func (f *fixture) rest(path string) string {
	f.t.Helper()
	answer, err := http.Get("http://" + f.http + path)
	assert.NilError(f.t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	assert.NilError(f.t, err)
	return string(body)
}

// untilPlaced waits until so many pods have a node.
func (f *fixture) untilPlaced(n int) map[string]string {
	f.t.Helper()
	f.until(func() error {
		if placed := f.placed(); len(placed) != n {
			return fmt.Errorf("%d pods are placed, not %d: %v", len(placed), n, placed)
		}
		return nil
	})
	return f.placed()
}

// untilEvent waits until an object has an event with a text.
func (f *fixture) untilEvent(name, text string) {
	f.t.Helper()
	f.until(func() error {
		events, err := f.client.CoreV1().Events("").List(f.t.Context(), metav1.ListOptions{})
		assert.NilError(f.t, err)
		for _, e := range events.Items {
			if e.InvolvedObject.Name == name && strings.Contains(e.Message, text) {
				return nil
			}
		}
		return fmt.Errorf("no event of %s with %q among %d", name, text, len(events.Items))
	})
}

// untilCondition waits until a pod has a condition PodScheduled=False with a reason and a text; without a reason until
// it has none.
func (f *fixture) untilCondition(name, reason, text string) {
	f.t.Helper()
	f.until(func() error {
		p, err := f.client.CoreV1().Pods("work").Get(f.t.Context(), name, metav1.GetOptions{})
		assert.NilError(f.t, err)
		if is := conditionOf(p); is.reason != reason || !strings.Contains(is.message, text) {
			return fmt.Errorf("%s has %+v, not %s with %q", name, is, reason, text)
		}
		return nil
	})
}

func (f *fixture) create(pods ...*v1.Pod) {
	f.t.Helper()
	for _, p := range pods {
		_, err := f.client.CoreV1().Pods(p.Namespace).Create(f.t.Context(), p, metav1.CreateOptions{})
		assert.NilError(f.t, err)
	}
}

func (f *fixture) delete(names ...string) {
	f.t.Helper()
	for _, name := range names {
		assert.NilError(f.t, f.client.CoreV1().Pods("work").Delete(f.t.Context(), name, metav1.DeleteOptions{}))
	}
}

// staysAt checks that the number of pods with a node stays as it is while another pod, which is the last that is asked
// for, is bound.
func (f *fixture) staysAt(n int, last *v1.Pod) map[string]string {
	f.t.Helper()
	f.create(last)
	f.until(func() error {
		if f.placed()[last.Name] == "" {
			return fmt.Errorf("%s is not placed", last.Name)
		}
		return nil
	})
	placed := f.placed()
	delete(placed, last.Name)
	assert.Equal(f.t, len(placed), n, "%v", placed)
	return placed
}

func testNode(name string, change func(*v1.Node)) *v1.Node {
	n := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name),
			Labels: map[string]string{v1.LabelHostname: name}},
		Status: v1.NodeStatus{Allocatable: v1.ResourceList{
			v1.ResourceCPU: resource.MustParse("4"), v1.ResourceMemory: resource.MustParse("8Gi"),
			v1.ResourcePods: resource.MustParse("110"),
		}},
	}
	if change != nil {
		change(n)
	}
	return n
}

func testPod(name, cpu string, change func(*v1.Pod)) *v1.Pod {
	p := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "work", UID: types.UID("uid-" + name),
			Labels: map[string]string{labelApplication: "app"}},
		Spec: v1.PodSpec{SchedulerName: "canopy", Containers: []v1.Container{{
			Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}},
		}}},
		Status: v1.PodStatus{Phase: v1.PodPending},
	}
	if change != nil {
		change(p)
	}
	return p
}

// in puts a pod into an application of a queue.
func in(queue string) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Labels[labelApplication], p.Labels[labelQueue] = "app-"+strings.ReplaceAll(queue, ".", "-"), queue
	}
}

// containsAll reports whether a text has all parts.
func containsAll(text string, parts ...string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}
