package own

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

// The environment of autoscaler.sh: Karpenter runs, and which core the scheduler has.
const envCore = "CANOPY_AUTOSCALER_CORE" // canopy, original, or native: that of kubernetes/shim-grpc

// labelPool is the label of nodes that Karpenter has made.
const labelPool = "karpenter.sh/nodepool"

// autoscaled is a cluster whose nodes Karpenter adds and removes.
type autoscaled struct {
	*cluster
	native    *native // nil: the scheduler is in YuniKorn's shim
	namespace string
	objects   dynamic.Interface
}

var (
	nodePools  = schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodepools"}
	nodeClaims = schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodeclaims"}
)

// quotas are queues of which root.bounded has a max in vcores.
func quotas(vcore int) string {
	return fmt.Sprintf(`
partitions:
  - name: default
    placementrules: [{name: provided}, {name: tag, value: namespace, create: true}]
    queues:
      - name: root
        submitacl: '*'
        queues: [{name: bounded, resources: {max: {vcore: %d}}}]
`, vcore)
}

// autoscale connects to a cluster without nodes, which has none again at the end: scale-down is part of each test.
func autoscale(t *testing.T, namespace string, vcore int) *autoscaled {
	t.Helper()
	if os.Getenv(envCore) == "" {
		t.Skipf("%s is not set: kubernetes/cluster/autoscaler.sh runs the tests beside Karpenter", envCore)
	}
	c := &autoscaled{namespace: namespace}
	if os.Getenv(envCore) == "native" {
		c.native = startNativeWith(t, namespace, quotas(vcore))
		c.cluster = c.native.cluster
	} else {
		c.cluster = connectWith(t, namespace, quotas(vcore))
	}
	config, err := clientcmd.BuildConfigFromFlags("", c.folder+"/kubeconfig")
	assert.NilError(t, err)
	c.objects, err = dynamic.NewForConfig(config)
	assert.NilError(t, err)
	c.untilNodes(0)
	t.Cleanup(func() {
		ctx := context.Background()
		assert.Check(t, c.client.AppsV1().Deployments(namespace).DeleteCollection(ctx, metav1.DeleteOptions{},
			metav1.ListOptions{}))
		assert.Check(t, c.client.AppsV1().DaemonSets(namespace).DeleteCollection(ctx, metav1.DeleteOptions{},
			metav1.ListOptions{}))
		c.patience = 10 * time.Minute // a hundred nodes take minutes on a busy machine
		c.until("no pod is left", func(context.Context) error {
			if n := c.deletePods(""); n > 0 {
				return fmt.Errorf("%d were", n)
			}
			return nil
		})
		c.untilNodes(0)
	})
	return c
}

// kill kills the scheduler, and waits until it is back.
func (c *autoscaled) kill() {
	c.t.Helper()
	if c.native == nil {
		c.restart("")
		return
	}
	c.native.shim.restart()
	c.native.server.restart()
	c.native.knowsNodes()
}

// deletePods deletes the pods whose names have a prefix, and returns how many there were.
func (c *autoscaled) deletePods(prefix string) (n int) {
	c.t.Helper()
	pods, zero := c.client.CoreV1().Pods(c.namespace), int64(0)
	all, err := pods.List(context.Background(), metav1.ListOptions{})
	assert.NilError(c.t, err)
	for _, p := range all.Items {
		if strings.HasPrefix(p.Name, prefix) {
			n++
			err := pods.Delete(context.Background(), p.Name, metav1.DeleteOptions{GracePeriodSeconds: &zero})
			assert.Check(c.t, err == nil || apierrors.IsNotFound(err), "%v", err) // a controller may have deleted it
		}
	}
	return n
}

// added are the nodes that Karpenter has made.
func (c *autoscaled) added(ctx context.Context) []v1.Node {
	nodes, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: labelPool})
	assert.NilError(c.t, err)
	return nodes.Items
}

// claims are the nodes that Karpenter has asked for, with those that are not there yet.
func (c *autoscaled) claims(ctx context.Context) []unstructured.Unstructured {
	all, err := c.objects.Resource(nodeClaims).List(ctx, metav1.ListOptions{})
	assert.NilError(c.t, err)
	return all.Items
}

// untilNodes waits until Karpenter has a number of nodes and asks for no others. The context may be that of a clean-up.
func (c *autoscaled) untilNodes(n int) {
	c.t.Helper()
	c.until(fmt.Sprint(n, " nodes"), func(context.Context) error {
		nodes, claims := c.added(context.Background()), c.claims(context.Background())
		if len(nodes) != n || len(claims) != n {
			return fmt.Errorf("there are %d, and %d are asked for", len(nodes), len(claims))
		}
		return nil
	})
}

// untilAllRun waits until all pods of the test that have not ended are bound, and returns their nodes.
func (c *autoscaled) untilAllRun() map[string]string {
	c.t.Helper()
	c.until("all pods run", func(ctx context.Context) error {
		pods, err := c.client.CoreV1().Pods(c.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, p := range pods.Items {
			if p.Spec.NodeName == "" {
				return fmt.Errorf("%s of %d has no node: %v", p.Name, len(pods.Items), p.Status.Conditions)
			}
		}
		return nil
	})
	return c.placed(c.t.Context(), c.namespace)
}

// forSeconds checks something every half second: it must hold all the time.
func (c *autoscaled) forSeconds(n int, check func(ctx context.Context)) {
	c.t.Helper()
	for range 2 * n {
		check(c.t.Context())
		<-time.After(500 * time.Millisecond)
	}
}

// vcores returns the vcores of nodes together that pods may have. Their capacity is wrong: Karpenter's provider of
// fake nodes writes what pods request into it.
func vcores(nodes []v1.Node) (n float64) {
	for _, x := range nodes {
		n += x.Status.Allocatable.Cpu().AsApproximateFloat64()
	}
	return n
}

// Pods that no node can take get nodes, and run.
func TestAutoscaler_PodsWithoutANodeGetOne(t *testing.T) {
	c := autoscale(t, "scale-up", 100)
	c.create("scale-up", "pod", "root.bounded", 6, "3")
	c.untilAllRun()
	assert.Assert(t, len(c.added(t.Context())) <= 6)
}

// Pods that a quota holds get no nodes, and get them when it is raised: also when the scheduler has been started
// meanwhile, so that the pods are older than it is.
func TestAutoscaler_PodsThatAQuotaHoldsGetNoNode(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart=%v", restart), func(t *testing.T) {
			namespace := fmt.Sprintf("quota-%v", restart)
			c := autoscale(t, namespace, 6)
			c.create(namespace, "pod", "root.bounded", 10, "2")
			c.untilPlaced(namespace, 3)
			enough := vcores(c.added(t.Context()))
			if restart {
				c.kill()
			}
			c.forSeconds(15, func(ctx context.Context) {
				assert.Equal(t, len(c.placed(ctx, namespace)), 3)
				assert.Equal(t, vcores(c.added(ctx)), enough, "nodes for pods that the quota holds")
			})
			c.setQueues(quotas(20))
			c.untilAllRun()
		})
	}
}

// A ConfigMap that lowers the max while nodes are being added: nothing is placed above it, and what it holds gets no
// nodes.
func TestAutoscaler_TheMaxIsLoweredDuringScaleUp(t *testing.T) {
	c := autoscale(t, "lowered", 60)
	c.create("lowered", "pod", "root.bounded", 20, "3")
	c.until("nodes are asked for", func(ctx context.Context) error {
		if len(c.claims(ctx)) == 0 {
			return errors.New("none is")
		}
		return nil
	})
	c.setQueues(quotas(30))
	c.untilPlaced("lowered", 10)
	c.forSeconds(10, func(context.Context) { assert.Assert(t, c.allocated("root.bounded") <= 30_000) })
	c.deletePods("pod-1") // 11 of them: the others go on
	c.untilAllRun()
}

// An application on hold gets no nodes, and gets them when it is released. Only Canopy can hold one.
func TestAutoscaler_AHeldApplicationGetsNoNode(t *testing.T) {
	c := autoscale(t, "hold", 100)
	if os.Getenv(envCore) == "original" {
		t.Skip("YuniKorn's core has no hold")
	}
	c.create("hold", "first", "root.bounded", 1, "3")
	c.untilAllRun()
	c.operate("application/first/hold")
	c.create("hold", "first-more", "root.bounded", 4, "3") // of another application
	c.createOf("hold", "first", "held", 4, "3")
	c.until("the other application runs", func(ctx context.Context) error {
		if n := len(c.placed(ctx, "hold")); n != 5 {
			return fmt.Errorf("%d pods", n)
		}
		return nil
	})
	nodes := len(c.claims(t.Context()))
	c.forSeconds(15, func(ctx context.Context) { assert.Equal(t, len(c.claims(ctx)), nodes) })
	c.operate("application/first/release")
	c.untilAllRun()
}

// operate does what an operator does over REST.
func (c *autoscaled) operate(path string) {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodPut,
		"http://"+c.admin+"/ws/v1/partition/default/"+path, http.NoBody)
	assert.NilError(c.t, err)
	answer, err := http.DefaultClient.Do(request)
	assert.NilError(c.t, err)
	assert.NilError(c.t, answer.Body.Close())
	assert.Equal(c.t, answer.StatusCode/100, 2, answer.Status)
}

// createOf creates pods of an application that has others.
func (c *autoscaled) createOf(namespace, application, name string, n int, cpu string) {
	c.t.Helper()
	c.createWith(namespace, name, "root.bounded", n, cpu, func(p *v1.Pod) { p.Labels["applicationId"] = application })
}

// gang makes pods the members of a gang of 8 of 3 vcores.
func gang(p *v1.Pod) {
	p.Annotations = map[string]string{
		"yunikorn.apache.org/task-group-name": "workers",
		"yunikorn.apache.org/task-groups":     `[{"name": "workers", "minMember": 8, "minResource": {"cpu": "3"}}]`,
	}
}

// began returns how long the claims of nodes, and how long the starts of pods, are apart.
func (c *autoscaled) began(application string) (claims, starts time.Duration) {
	var asked, started []time.Time
	for _, x := range c.claims(c.t.Context()) {
		asked = append(asked, x.GetCreationTimestamp().Time)
	}
	pods, err := c.client.CoreV1().Pods(c.namespace).List(c.t.Context(),
		metav1.ListOptions{LabelSelector: "applicationId=" + application})
	assert.NilError(c.t, err)
	for _, p := range pods.Items {
		if !strings.HasPrefix(p.Name, application) { // a placeholder
			continue
		}
		for _, condition := range p.Status.Conditions {
			if condition.Type == v1.PodScheduled && condition.Status == v1.ConditionTrue {
				started = append(started, condition.LastTransitionTime.Time)
			}
		}
	}
	apart := func(all []time.Time) time.Duration {
		if len(all) == 0 {
			return 0
		}
		return slices.MaxFunc(all, time.Time.Compare).Sub(slices.MinFunc(all, time.Time.Compare))
	}
	return apart(asked), apart(started)
}

// A gang of 8 that waits as a whole gets all its nodes at once, and starts together.
func TestAutoscaler_AGangGetsAllItsNodesAtOnce(t *testing.T) {
	c := autoscale(t, "gang", 100)
	c.createWith("gang", "gang", "root.bounded", 8, "3", gang)
	c.untilMembersRun("gang", 8)
	claims, starts := c.began("gang")
	t.Logf("nodes were asked for within %v, members started within %v", claims, starts)
	assert.Assert(t, claims <= 5*time.Second && starts <= 10*time.Second)
}

// untilMembersRun waits until members of a gang run; its placeholders are not counted.
func (c *autoscaled) untilMembersRun(name string, n int) {
	c.t.Helper()
	c.until(fmt.Sprint(n, " members of ", name, " run"), func(ctx context.Context) error {
		var run int
		for pod := range c.placed(ctx, c.namespace) {
			if strings.HasPrefix(pod, name+"-") {
				run++
			}
		}
		if run != n {
			return fmt.Errorf("%d do", run)
		}
		return nil
	})
}

// Of two gangs the max allows one: the other gets no nodes until the first has ended, and then starts as a whole.
func TestAutoscaler_TheSecondGangWaitsForTheQuota(t *testing.T) {
	c := autoscale(t, "gangs", 30)
	c.createWith("gangs", "one", "root.bounded", 8, "3", gang)
	c.untilMembersRun("one", 8)
	nodes := vcores(c.added(t.Context()))
	c.createWith("gangs", "two", "root.bounded", 8, "3", gang)
	c.forSeconds(20, func(ctx context.Context) {
		assert.Assert(t, vcores(c.added(ctx)) <= nodes+8, "nodes for a gang that the quota holds")
	})
	c.deletePods("one-")
	c.untilMembersRun("two", 8)
}

// Each new node gets the pod of a DaemonSet, which counts for the size of the node.
func TestAutoscaler_DaemonSet(t *testing.T) {
	c := autoscale(t, "daemon", 100)
	c.daemonSet("agent", "500m")
	c.create("daemon", "pod", "root.bounded", 5, "3")
	c.until("each node has its pod of the DaemonSet", func(ctx context.Context) error {
		agents := map[string]int{}
		pods := 0
		for name, node := range c.placed(ctx, "daemon") {
			if strings.HasPrefix(name, "agent-") {
				agents[node]++
			} else {
				pods++
			}
		}
		nodes := c.added(ctx)
		for _, n := range nodes {
			if agents[n.Name] != 1 {
				return fmt.Errorf("%d on %s", agents[n.Name], n.Name)
			}
		}
		if pods != 5 {
			return fmt.Errorf("%d of 5 pods run", pods)
		}
		return nil
	})
}

// Anti-affinity of five pods to each other needs five nodes, and spread over zones puts two of eight pods in each.
func TestAutoscaler_AntiAffinityAndSpread(t *testing.T) {
	c := autoscale(t, "apart", 100)
	c.createWith("apart", "anti", "root.bounded", 5, "500m", func(p *v1.Pod) {
		p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{TopologyKey: v1.LabelHostname,
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"applicationId": "anti"}}}},
		}}
	})
	nodes := map[string]bool{}
	for _, node := range c.untilAllRun() {
		nodes[node] = true
	}
	assert.Equal(t, len(nodes), 5)
	c.createWith("apart", "spread", "root.bounded", 8, "500m", func(p *v1.Pod) {
		p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: v1.LabelTopologyZone,
			WhenUnsatisfiable: v1.DoNotSchedule,
			LabelSelector:     &metav1.LabelSelector{MatchLabels: map[string]string{"applicationId": "spread"}}}}
	})
	placed, zones, count := c.untilAllRun(), map[string]string{}, map[string]int{}
	for _, n := range c.added(t.Context()) {
		zones[n.Name] = n.Labels[v1.LabelTopologyZone]
	}
	for name, node := range placed {
		if strings.HasPrefix(name, "spread-") {
			count[zones[node]]++
		}
	}
	most := slices.Max(slices.Collect(maps.Values(count)))
	for zone, n := range count {
		assert.Assert(t, most-n <= 1, "%d pods in %s of %v", n, zone, count)
	}
}

// Scale-down removes what is empty and nothing else: a pod that Karpenter must not disrupt stays where it is.
func TestAutoscaler_ScaleDownRemovesEmptyNodesOnly(t *testing.T) {
	c := autoscale(t, "scale-down", 100)
	c.createWith("scale-down", "kept", "root.bounded", 2, "3", func(p *v1.Pod) {
		p.Annotations = map[string]string{"karpenter.sh/do-not-disrupt": "true"}
	})
	c.create("scale-down", "short", "root.bounded", 6, "3")
	before := c.untilAllRun()
	c.deletePods("short-")
	c.until("only nodes with pods are left", func(ctx context.Context) error {
		used := map[string]bool{}
		for _, node := range c.placed(ctx, "scale-down") {
			used[node] = true
		}
		if n := len(c.added(ctx)); n != len(used) {
			return fmt.Errorf("%d nodes, %d used", n, len(used))
		}
		return nil
	})
	after := c.placed(t.Context(), "scale-down")
	for _, name := range []string{"kept-0", "kept-1"} {
		assert.Equal(t, after[name], before[name])
	}
}

// A node that is removed while pods run on it: Karpenter drains it, their controller makes others, and these run on a
// new node.
func TestAutoscaler_ANodeThatIsDrainedLosesNothing(t *testing.T) {
	c := autoscale(t, "drained", 100)
	c.deployment("web", 6, "3")
	c.untilReady("web", 6)
	claim := c.claims(t.Context())[0].GetName()
	assert.NilError(t, c.objects.Resource(nodeClaims).Delete(t.Context(), claim, metav1.DeleteOptions{}))
	c.until("the node is gone", func(ctx context.Context) error {
		for _, x := range c.claims(ctx) {
			if x.GetName() == claim {
				return errors.New("it is there")
			}
		}
		return nil
	})
	c.untilReady("web", 6)
	c.until("the queue has what runs", func(context.Context) error {
		if got := c.allocated("root.drained"); got != 18_000 {
			return fmt.Errorf("%d", got)
		}
		return nil
	})
}

// An autoscaler that never delivers is no reason for a storm of events or of changes of the pods.
func TestAutoscaler_NodesThatNeverCome(t *testing.T) {
	c := autoscale(t, "never", 100)
	karpenter := readPID(t, filepath.Join(c.folder, "run", "karpenter.pid"))
	assert.NilError(t, syscall.Kill(karpenter, syscall.SIGSTOP))
	defer func() { assert.Check(t, syscall.Kill(karpenter, syscall.SIGCONT)) }()
	c.create("never", "pod", "root.bounded", 20, "3")
	c.until("all pods are Unschedulable", func(ctx context.Context) error {
		if n := c.look().unschedulable; n != 20 {
			return fmt.Errorf("%d are", n)
		}
		return nil
	})
	<-time.After(10 * time.Second) // the events of that are written
	before, versions := c.events(), c.versions()
	<-time.After(time.Minute)
	after := c.events()
	t.Logf("%d events until all pods were Unschedulable, and %d in a minute after that", before, after-before)
	assert.DeepEqual(t, c.versions(), versions) // no pod was changed while nothing happened
	assert.Assert(t, after-before <= 5, "%d events in a minute for 20 pods that wait", after-before)
	assert.NilError(t, syscall.Kill(karpenter, syscall.SIGCONT))
	c.untilAllRun()
}

// events returns how often something was said of the pods of the test by others than Karpenter.
func (c *autoscaled) events() (n int) {
	c.t.Helper()
	all, err := c.client.CoreV1().Events(c.namespace).List(c.t.Context(), metav1.ListOptions{})
	assert.NilError(c.t, err)
	for _, e := range all.Items {
		switch {
		case e.Source.Component == "karpenter" || e.ReportingController == "karpenter":
		case e.Series != nil:
			n += int(e.Series.Count)
		default:
			n += max(int(e.Count), 1)
		}
	}
	return n
}

// versions returns the versions of the pods of the test, which a change of a pod changes.
func (c *autoscaled) versions() map[string]string {
	c.t.Helper()
	pods, err := c.client.CoreV1().Pods(c.namespace).List(c.t.Context(), metav1.ListOptions{})
	assert.NilError(c.t, err)
	versions := map[string]string{}
	for _, p := range pods.Items {
		versions[p.Name] = p.ResourceVersion
	}
	return versions
}

// A node that disappears while Karpenter drains it, which a PodDisruptionBudget holds up: the pods that were on it are
// lost with it, their controller makes others, and these run.
func TestAutoscaler_ANodeThatVanishesWhileItIsDrained(t *testing.T) {
	c := autoscale(t, "vanished", 100)
	c.patience = 5 * time.Minute // pods of a node that is gone are deleted after a minute
	c.deployment("web", 6, "3")
	c.untilReady("web", 6)
	none := intstr.FromInt32(0)
	_, err := c.client.PolicyV1().PodDisruptionBudgets("vanished").Create(t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &none,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"applicationId": "web"}}},
	}, metav1.CreateOptions{})
	assert.NilError(t, err)
	before := c.placed(t.Context(), "vanished")
	claim, nodes := c.claims(t.Context())[0], c.client.CoreV1().Nodes()
	node, _, err := unstructured.NestedString(claim.Object, "status", "nodeName")
	assert.NilError(t, err)
	assert.NilError(t, c.objects.Resource(nodeClaims).Delete(t.Context(), claim.GetName(), metav1.DeleteOptions{}))
	c.until("the node is drained", func(ctx context.Context) error {
		n, err := nodes.Get(ctx, node, metav1.GetOptions{})
		if err == nil && !slices.ContainsFunc(n.Spec.Taints, func(x v1.Taint) bool {
			return x.Key == "karpenter.sh/disrupted"
		}) {
			err = fmt.Errorf("it has the taints %v", n.Spec.Taints)
		}
		return err
	})
	assert.DeepEqual(t, c.placed(t.Context(), "vanished"), before) // the budget holds the pods
	_, err = nodes.Patch(t.Context(), node, types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`),
		metav1.PatchOptions{})
	assert.NilError(t, err)
	c.until("the pods run again", func(ctx context.Context) error {
		placed := c.placed(ctx, "vanished")
		for pod, at := range placed {
			if at == node {
				return fmt.Errorf("%s is on the node that is gone", pod)
			}
		}
		if got := c.allocated("root.vanished"); len(placed) != 6 || got != 18_000 {
			return fmt.Errorf("%d pods, and the queue has %d", len(placed), got)
		}
		return nil
	})
	c.untilReady("web", 6)
	for pod, at := range c.placed(t.Context(), "vanished") {
		assert.Assert(t, before[pod] == "" || before[pod] == at, "%s has moved from %s to %s", pod, before[pod], at)
	}
}
