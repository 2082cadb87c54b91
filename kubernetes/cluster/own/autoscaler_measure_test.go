package own

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// envScheduler is the schedulerName of pods that are measured; empty: that of the shim.
const envScheduler = "CANOPY_AUTOSCALER_SCHEDULER"

// measured holds the figures of a thousand pods. Times are seconds since the first pod was created.
type measured struct {
	Scheduler     string  `json:"scheduler"`
	Created       float64 `json:"created"`       // until the last pod was created
	Unschedulable float64 `json:"unschedulable"` // until the last pod was bound, or had the condition for the autoscaler
	Asked         float64 `json:"asked"`         // until Karpenter asked for the last node
	Ready         float64 `json:"ready"`         // until the last node was ready
	Seconds       float64 `json:"seconds"`       // until the last pod was bound
	Nodes         int     `json:"nodes"`         // that are there when the last pod is bound
	Removed       int     `json:"removed"`       // nodes that Karpenter asked for and removed before
	VCores        float64 `json:"vcores"`        // of the nodes that are there
	Requested     float64 `json:"requested"`     // vcores of the pods
	Excess        float64 `json:"excess"`        // vcores that no pod has, as a share of those requested
	UnusedNodes   int     `json:"unusedNodes"`   // without a pod when the last one is bound
}

// A thousand pods of 0.5 to 3 vcores come at once to a cluster without nodes.
func TestAutoscalerMeasure_AThousandPods(t *testing.T) {
	c := autoscale(t, "thousand", 2000)
	if name := os.Getenv(envScheduler); name != "" {
		c.scheduler = name
	}
	const pods = 1000
	rng, m := rand.New(rand.NewPCG(1, 1)), measured{Scheduler: os.Getenv(envCore)}
	started := time.Now()
	for i := range pods {
		milli := []int{500, 500, 1000, 1000, 2000, 3000}[rng.IntN(6)]
		m.Requested += float64(milli) / 1000
		c.create("thousand", fmt.Sprintf("pod-%d", i), "root.bounded", 1, fmt.Sprint(milli, "m"))
	}
	m.Created = time.Since(started).Seconds()
	asked, last := map[string]bool{}, sight{}
	for end := time.Now().Add(10 * time.Minute); last.bound < pods; <-time.After(time.Second) {
		assert.Assert(t, time.Now().Before(end), "%d of %d pods run", last.bound, pods)
		now := time.Since(started).Seconds()
		last = c.look()
		for _, x := range last.claims {
			if !asked[x.GetName()] {
				asked[x.GetName()] = true
				m.Asked, m.Ready = now, 0
			}
		}
		if m.Unschedulable == 0 && last.unschedulable+last.bound == pods {
			m.Unschedulable = now
		}
		if m.Ready == 0 && last.ready > 0 && last.ready == len(last.claims) {
			m.Ready = now
		}
		m.Seconds = now
	}
	m.Nodes, m.Removed, m.VCores = len(last.nodes), len(asked)-len(last.claims), vcores(last.nodes)
	m.UnusedNodes, m.Excess = len(last.nodes)-len(last.used), m.VCores/m.Requested-1
	text, err := json.Marshal(m)
	assert.NilError(t, err)
	fmt.Println("measured:", string(text))
	assert.Assert(t, m.Excess >= 0, "more was placed than the nodes have")
}

// sight has the nodes and pods of a moment.
type sight struct {
	claims               []unstructured.Unstructured
	nodes                []v1.Node
	ready                int             // nodes
	bound, unschedulable int             // pods
	used                 map[string]bool // nodes with a pod
}

// look returns what there is now.
func (c *autoscaled) look() sight {
	c.t.Helper()
	s := sight{claims: c.claims(c.t.Context()), nodes: c.added(c.t.Context()), used: map[string]bool{}}
	for _, n := range s.nodes {
		if slices.ContainsFunc(n.Status.Conditions, func(x v1.NodeCondition) bool {
			return x.Type == v1.NodeReady && x.Status == v1.ConditionTrue
		}) {
			s.ready++
		}
	}
	pods, err := c.client.CoreV1().Pods(c.namespace).List(c.t.Context(), metav1.ListOptions{})
	assert.NilError(c.t, err)
	for _, p := range pods.Items {
		if p.Spec.NodeName != "" {
			s.bound++
			s.used[p.Spec.NodeName] = true
		} else if slices.ContainsFunc(p.Status.Conditions, func(x v1.PodCondition) bool {
			return x.Type == v1.PodScheduled && x.Reason == v1.PodReasonUnschedulable
		}) {
			s.unschedulable++
		}
	}
	return s
}

// Karpenter consolidates nodes that are used little, and the scheduler fills nodes one after the other, or all alike:
// the two agree. After the replicas of a workload have changed nodes are replaced once, or twice, and then no more;
// Karpenter looks at nodes that it could not consolidate again after five minutes.
func TestAutoscalerMeasure_ConsolidationAndBinPackingDoNotThrash(t *testing.T) {
	all := autoscale(t, "thrash", 2000)
	for _, name := range []string{"binpacking", "fair"} {
		t.Run(name, func(t *testing.T) {
			c := all.in(t)
			c.consolidate(t, "WhenEmptyOrUnderutilized", "15s")
			defer c.consolidate(t, "WhenEmpty", "5s")
			c.setQueues(quotas(2000) + "    nodesortpolicy: {type: " + name + "}\n")
			c.deployment(name, 60, "700m")
			c.untilReady(name, 60)
			c.scale(name, 25)
			c.untilReady(name, 25)
			known, replaced, late := map[string]bool{}, 0, 0
			for minute := range 10 {
				<-time.After(time.Minute)
				fresh := 0
				for _, x := range c.claims(t.Context()) {
					if !known[x.GetName()] {
						known[x.GetName()] = true
						fresh++
					}
				}
				if minute > 0 {
					replaced += fresh
				}
				if minute >= 7 {
					late += fresh
				}
				nodes := c.added(t.Context())
				fmt.Printf("measured: %s minute %d: %d nodes of %.1f vcores, %d of them new\n", name, minute+1, len(nodes),
					vcores(nodes), fresh)
			}
			c.untilReady(name, 25)
			assert.Assert(t, replaced <= 2 && late == 0, "%d nodes came after the first minute, %d in the last three", replaced,
				late)
			assert.NilError(t, c.client.AppsV1().Deployments("thrash").Delete(t.Context(), name, metav1.DeleteOptions{}))
			c.untilNodes(0)
		})
	}
}

// in returns the cluster for a part of the test.
func (c *autoscaled) in(t *testing.T) *autoscaled {
	part, same := *c, *c.cluster
	part.cluster, same.t = &same, t
	return &part
}

// consolidate sets which nodes Karpenter removes, and after how long.
func (c *autoscaled) consolidate(t *testing.T, policy, after string) {
	t.Helper()
	_, err := c.objects.Resource(nodePools).Patch(context.Background(), "default", types.MergePatchType,
		fmt.Appendf(nil, `{"spec": {"disruption": {"consolidationPolicy": %q, "consolidateAfter": %q}}}`, policy, after),
		metav1.PatchOptions{})
	assert.NilError(t, err)
}
