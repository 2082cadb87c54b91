package own

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

// The environment of autoscaler.sh: Karpenter runs, and which core the scheduler has.
const envCore = "CANOPY_AUTOSCALER_CORE" // canopy or original

// labelPool is the label of nodes that Karpenter has made.
const labelPool = "karpenter.sh/nodepool"

// autoscaled is a cluster whose nodes Karpenter adds and removes.
type autoscaled struct {
	*cluster
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
	c := &autoscaled{cluster: connectWith(t, namespace, quotas(vcore)), namespace: namespace}
	config, err := clientcmd.BuildConfigFromFlags("", c.folder+"/kubeconfig")
	assert.NilError(t, err)
	c.objects, err = dynamic.NewForConfig(config)
	assert.NilError(t, err)
	c.untilNodes(0)
	t.Cleanup(func() { c.deletePods(""); c.untilNodes(0) })
	return c
}

// deletePods deletes the pods whose names have a prefix.
func (c *autoscaled) deletePods(prefix string) {
	c.t.Helper()
	pods, zero := c.client.CoreV1().Pods(c.namespace), int64(0)
	all, err := pods.List(context.Background(), metav1.ListOptions{})
	assert.NilError(c.t, err)
	for _, p := range all.Items {
		if strings.HasPrefix(p.Name, prefix) {
			err := pods.Delete(context.Background(), p.Name, metav1.DeleteOptions{GracePeriodSeconds: &zero})
			assert.Check(c.t, err == nil || apierrors.IsNotFound(err), "%v", err) // a controller may have deleted it
		}
	}
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

// vcores returns the vcores of nodes together.
func vcores(nodes []v1.Node) (n int64) {
	for _, x := range nodes {
		n += x.Status.Capacity.Cpu().Value()
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
				c.restart("")
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
	if os.Getenv(envCore) != "canopy" {
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
		"http://127.0.0.1:9081/ws/v1/partition/default/"+path, http.NoBody)
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
	assert.NilError(t, c.client.AppsV1().DaemonSets("daemon").Delete(t.Context(), "agent", metav1.DeleteOptions{}))
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
	assert.NilError(t, c.client.AppsV1().Deployments("drained").Delete(t.Context(), "web", metav1.DeleteOptions{}))
	c.until("the pods are gone", func(ctx context.Context) error {
		if n := len(c.placed(ctx, "drained")); n > 0 {
			return fmt.Errorf("%d are left", n)
		}
		return nil
	})
}

// An autoscaler that never delivers is no reason for a storm of events or of changes of the pods.
func TestAutoscaler_NodesThatNeverCome(t *testing.T) {
	c := autoscale(t, "never", 100)
	c.limitPool(0)
	defer c.limitPool(2000)
	c.create("never", "pod", "root.bounded", 20, "3")
	c.until("all pods are Unschedulable", func(ctx context.Context) error {
		pods, err := c.client.CoreV1().Pods("never").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, p := range pods.Items {
			if !slices.ContainsFunc(p.Status.Conditions, func(condition v1.PodCondition) bool {
				return condition.Reason == v1.PodReasonUnschedulable
			}) {
				return fmt.Errorf("%s is not", p.Name)
			}
		}
		return nil
	})
	<-time.After(10 * time.Second) // the events of that are written
	changes := func() (events int, version string) {
		all, err := c.client.CoreV1().Events("never").List(t.Context(), metav1.ListOptions{})
		assert.NilError(t, err)
		for _, e := range all.Items {
			if e.Source.Component != "karpenter" && e.ReportingController != "karpenter" {
				events += max(int(e.Count), 1)
			}
		}
		pod, err := c.client.CoreV1().Pods("never").Get(t.Context(), "pod-0", metav1.GetOptions{})
		assert.NilError(t, err)
		return events, pod.ResourceVersion
	}
	before, version := changes()
	<-time.After(40 * time.Second)
	after, same := changes()
	assert.Equal(t, same, version, "the pod was changed while nothing happened")
	assert.Assert(t, after-before <= 5, "%d events of the scheduler in 40 s for 20 pods that wait", after-before)
	c.limitPool(2000)
	c.untilAllRun()
}

// limitPool sets the most vcores that the NodePool may have.
func (c *autoscaled) limitPool(vcore int) {
	c.t.Helper()
	_, err := c.objects.Resource(nodePools).Patch(c.t.Context(), "default", types.MergePatchType,
		fmt.Appendf(nil, `{"spec": {"limits": {"cpu": "%d"}}}`, vcore), metav1.PatchOptions{})
	assert.NilError(c.t, err)
}
