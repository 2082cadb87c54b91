package own

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// envScheduler is the schedulerName of pods that are measured; empty: that of the shim.
const envScheduler = "CANOPY_AUTOSCALER_SCHEDULER"

// measured holds the figures of a thousand pods.
type measured struct {
	Scheduler   string  `json:"scheduler"`
	Seconds     float64 `json:"seconds"`     // from the first pod until the last is bound
	Nodes       int     `json:"nodes"`       // that Karpenter has asked for
	VCores      int64   `json:"vcores"`      // of these
	Requested   float64 `json:"requested"`   // vcores of the pods
	Excess      float64 `json:"excess"`      // vcores that no pod has, as a share of those requested
	UnusedNodes int     `json:"unusedNodes"` // without a pod when the last one is bound
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
	for end := time.Now().Add(10 * time.Minute); ; <-time.After(time.Second) {
		n := len(c.placed(t.Context(), "thousand"))
		if n == pods {
			break
		}
		assert.Assert(t, time.Now().Before(end), "%d of %d pods run", n, pods)
	}
	m.Seconds = time.Since(started).Seconds()
	used := map[string]bool{}
	for _, node := range c.placed(t.Context(), "thousand") {
		used[node] = true
	}
	m.Nodes, m.VCores = len(c.claims(t.Context())), vcores(c.added(t.Context()))
	m.Excess, m.UnusedNodes = float64(m.VCores)/m.Requested-1, m.Nodes-len(used)
	text, err := json.Marshal(m)
	assert.NilError(t, err)
	fmt.Println("measured:", string(text))
}

// Karpenter consolidates nodes that are used little, and the scheduler fills nodes one after the other: the two agree.
// After the replicas of a workload have changed, nodes come and go for some minutes, and then no more.
func TestAutoscalerMeasure_ConsolidationAndBinPackingDoNotThrash(t *testing.T) {
	c := autoscale(t, "thrash", 2000)
	for name, policy := range map[string]string{"binpacking": "binpacking", "fair": "fair"} {
		t.Run(name, func(t *testing.T) {
			c.consolidate(t, "WhenEmptyOrUnderutilized", "15s")
			defer c.consolidate(t, "WhenEmpty", "5s")
			c.setQueues(quotas(2000) + "    nodesortpolicy: {type: " + policy + "}\n")
			c.deployment(name, 60, "700m")
			c.untilReady(name, 60)
			c.scale(name, 25)
			c.untilReady(name, 25)
			known, moved := map[string]bool{}, 0
			for minute := range 10 {
				<-time.After(time.Minute)
				fresh := 0
				for _, x := range c.claims(t.Context()) {
					if !known[x.GetName()] {
						known[x.GetName()] = true
						fresh++
					}
				}
				if minute >= 5 {
					moved += fresh
				}
				nodes := c.added(t.Context())
				fmt.Printf("measured: %s minute %d: %d nodes of %d vcores, %d of them new\n", name, minute+1, len(nodes),
					vcores(nodes), fresh)
			}
			c.untilReady(name, 25)
			assert.Equal(t, moved, 0, "nodes that came in the last five minutes, in which nothing changed")
			assert.NilError(t, c.client.AppsV1().Deployments("thrash").Delete(t.Context(), name, metav1.DeleteOptions{}))
			c.untilNodes(0)
		})
	}
}

// consolidate sets which nodes Karpenter removes, and after how long.
func (c *autoscaled) consolidate(t *testing.T, policy, after string) {
	t.Helper()
	_, err := c.objects.Resource(nodePools).Patch(context.Background(), "default", types.MergePatchType,
		fmt.Appendf(nil, `{"spec": {"disruption": {"consolidationPolicy": %q, "consolidateAfter": %q}}}`, policy, after),
		metav1.PatchOptions{})
	assert.NilError(t, err)
}
