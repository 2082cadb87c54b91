package own

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// envGangs is set where no autoscaler adds nodes, and five nodes have 8 CPU.
const envGangs = "CANOPY_GANGS"

// job is a gang whose members end after some seconds.
type job struct {
	name         string
	members, cpu int // CPU of each member
	seconds      int
}

// gangsMeasured holds the figures of jobs that are created at once. Times are seconds since the first pod was created;
// a gang starts when its last member is bound.
type gangsMeasured struct {
	Scheduler string    `json:"scheduler"`
	Case      string    `json:"case"`
	Started   int       `json:"started"`
	Starts    []float64 `json:"starts"`
	// Held are the CPU seconds that members, or placeholders, of gangs held before their start, and HeldAtOnce the most
	// CPU of that at a time.
	Held       float64 `json:"held"`
	HeldAtOnce int     `json:"heldAtOnce"`
}

const gangQueues = `
partitions:
  - name: default
    placementrules: [{name: provided}]
    queues: [{name: root, submitacl: '*', queues: [{name: bounded}]}]
`

// Twenty gangs of 8 on nodes that hold five of them: four rounds, if each round begins when the one before it ends.
func TestGangsMeasure_TwentyOfWhichFiveFit(t *testing.T) {
	var jobs []job
	for i := range 20 {
		jobs = append(jobs, job{fmt.Sprintf("gang%02d", i), 8, 1, 20})
	}
	measureGangs(t, "twenty", jobs)
}

// Two gangs of 4, each member on a node of its own, of which five are there: one at a time fits. Members that were
// bound one by one would be three of one gang and two of the other, and both would wait for ever.
func TestGangsMeasure_TwoThatFitAlternately(t *testing.T) {
	measureGangs(t, "two", []job{{"first", 4, 8, 20}, {"second", 4, 8, 20}})
}

func measureGangs(t *testing.T, namespace string, jobs []job) {
	t.Helper()
	if os.Getenv(envGangs) == "" {
		t.Skipf("%s is not set: kubernetes/cluster/autoscaler.sh --gangs measures gangs", envGangs)
	}
	core := os.Getenv(envCore)
	var c *cluster
	if core == "native" {
		c = startNativeWith(t, namespace, gangQueues).cluster
	} else {
		c = connectWith(t, namespace, gangQueues)
	}
	if name := os.Getenv(envScheduler); name != "" {
		c.scheduler = name
	}
	groups := core == "native" || core == "kube-scheduler"
	changes := c.podChanges(namespace)
	<-time.After(10 * time.Second) // Canopy places nothing for 5 s after its start
	if groups {
		for _, j := range jobs {
			c.createGroup(namespace, j.name, j.members)
		}
	}
	seen := make(chan gangsMeasured)
	go func() { seen <- watchGangs(changes, jobs, time.Now()) }()
	c.createJobs(namespace, jobs, groups)
	m := <-seen
	m.Scheduler, m.Case = core, namespace
	text, err := json.Marshal(m)
	assert.NilError(t, err)
	fmt.Println("measured:", string(text))
	assert.Equal(t, m.Started, len(jobs), "gangs that have started within 5 minutes")
}

// podChange is a pod that was created, changed or deleted.
type podChange struct {
	pod   *v1.Pod
	ended bool
}

// podChanges returns the changes of pods until the end of the test.
func (c *cluster) podChanges(namespace string) <-chan podChange {
	c.t.Helper()
	changes := make(chan podChange, 10_000)
	send := func(x any, gone bool) {
		if p, ok := x.(*v1.Pod); ok {
			changes <- podChange{p, gone || p.Status.Phase == v1.PodSucceeded || p.Status.Phase == v1.PodFailed}
		}
	}
	pods := informers.NewSharedInformerFactoryWithOptions(c.client, 0, informers.WithNamespace(namespace)).Core().V1().
		Pods().Informer()
	_, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(x any) { send(x, false) },
		UpdateFunc: func(_, x any) { send(x, false) },
		DeleteFunc: func(x any) { send(x, true) },
	})
	assert.NilError(c.t, err)
	go pods.RunWithContext(c.t.Context())
	assert.Assert(c.t, cache.WaitForCacheSync(c.t.Context().Done(), pods.HasSynced))
	return changes
}

// createJobs creates the first member of each job, then the second of each, and so on.
func (c *cluster) createJobs(namespace string, jobs []job, groups bool) {
	for i := range slices.MaxFunc(jobs, func(a, b job) int { return cmp.Compare(a.members, b.members) }).members {
		for _, j := range jobs {
			if i < j.members {
				c.post("/api/v1/namespaces/"+namespace+"/pods", j.member(i, c.scheduler, groups))
			}
		}
	}
}

// member is the ith pod of a job: of a PodGroup, or of a task group of YuniKorn.
func (j job) member(i int, scheduler string, group bool) map[string]any {
	meta := map[string]any{"name": fmt.Sprint(j.name, "-", i),
		"labels": map[string]any{"applicationId": j.name, "queue": "root.bounded"}}
	spec := map[string]any{
		"schedulerName": scheduler, "restartPolicy": "Never",
		"containers": []any{map[string]any{"name": "c", "image": "none",
			"command":   []any{"sleep", fmt.Sprint(j.seconds)},
			"resources": map[string]any{"requests": map[string]any{"cpu": fmt.Sprint(j.cpu)}}}},
	}
	if group {
		spec["schedulingGroup"] = map[string]any{"podGroupName": j.name}
	} else {
		meta["annotations"] = map[string]any{
			"yunikorn.apache.org/task-group-name": "workers",
			"yunikorn.apache.org/task-groups": fmt.Sprintf(
				`[{"name": "workers", "minMember": %d, "minResource": {"cpu": "%d"}}]`, j.members, j.cpu),
		}
	}
	return map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
}

// watchGangs follows the pods of jobs until all have started, for 5 minutes at most.
func watchGangs(changes <-chan podChange, jobs []job, started time.Time) (m gangsMeasured) {
	bound := map[string]map[string]int64{} // CPU of the pods that have a node, and have not ended, by job
	members := map[string]map[string]bool{}
	waits := map[string]int{} // members of jobs that have not started
	for _, j := range jobs {
		bound[j.name], members[j.name], waits[j.name] = map[string]int64{}, map[string]bool{}, j.members
	}
	last, held, timeout := started, int64(0), time.After(5*time.Minute)
	for len(waits) > 0 {
		var change podChange
		select {
		case change = <-changes:
		case <-timeout:
			return m
		}
		p := change.pod
		name := cmp.Or(p.Labels["applicationId"], p.Labels["yunikorn.apache.org/app-id"]) // of a placeholder
		if bound[name] == nil {
			continue
		}
		now := time.Now()
		m.Held += float64(held) * now.Sub(last).Seconds()
		last = now
		switch {
		case change.ended:
			delete(bound[name], p.Name)
		case p.Spec.NodeName != "":
			cpu := resource.Quantity{}
			for _, x := range p.Spec.Containers {
				cpu.Add(*x.Resources.Requests.Cpu())
			}
			bound[name][p.Name] = cpu.Value()
		}
		if p.Spec.NodeName != "" && strings.HasPrefix(p.Name, name+"-") { // no placeholder
			members[name][p.Name] = true
		}
		if n, not := waits[name]; not && len(members[name]) == n {
			delete(waits, name)
			m.Started++
			m.Starts = append(m.Starts, now.Sub(started).Seconds())
		}
		held = 0
		for name := range waits {
			for _, cpu := range bound[name] {
				held += cpu
			}
		}
		m.HeldAtOnce = max(m.HeldAtOnce, int(held))
	}
	return m
}
