package demo

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// Bounds of a workload. Each tenant needs a leaf; the upper bounds keep messages and the time of a demo
// small.
const (
	MinQueues = 2 * tenantCount // each tenant and a leaf below it
	MaxQueues = 10_000
	MaxNodes  = 20_000
	MaxAsks   = 1_000_000

	tenantCount = 3
)

// Workload is a synthetic cluster with its asks. The same size and seed give the same workload.
type Workload struct {
	Config       string // queues.yaml
	Nodes        []scheduler.AddNode
	Applications []scheduler.AddApplication
	Waves        [][]*objects.Ask // in the order of submission
	Seed         uint64
}

// Size is the size of a workload.
type Size struct {
	Nodes, Queues, Asks int
	Seed                uint64
}

const (
	pods              = "pods"       // a resource of which each ask takes one
	podsPerNode       = 110          // as in Kubernetes by default
	millicoresPerCore = 1000         // a vcore in the unit of the scheduler
	gibibyte          = 1 << 30      // of memory
	memoryPerCore     = 4 * gibibyte // memory of a node per core
	largestAskCores   = 4            // the cores of the largest ask
	maxMemoryPerCore  = 6            // GiB per core of the ask with the most memory
	waveDemand        = 1.3          // what a wave asks for, as a multiple of the capacity
	maxWaves          = 20           // the most waves
	asksPerApp        = 25           // approximate number of asks per application
)

// Nodes and requests are drawn from these; a repeated value is drawn more often.
var (
	machineCores  = [...]int64{8, 8, 16, 16, 32}
	requestCores  = [...]int64{500, 500, 500, 1000, 1000, 2000, 2000, largestAskCores * millicoresPerCore} // millicores
	requestMemory = [...]int64{1, 2, 4, maxMemoryPerCore}                                                  // GiB per core
	askPriorities = [...]int32{0, 0, 0, 0, 0, 10, 10, 10, 100, -10}
)

// NewWorkload generates a workload. The size must be within the bounds.
func NewWorkload(s Size) Workload {
	rng := rand.New(rand.NewPCG(s.Seed, 1))
	w := Workload{Seed: s.Seed}
	var capacity resources.Amounts
	for i := range s.Nodes {
		n := scheduler.AddNode{Node: objects.NodeID(fmt.Sprintf("node-%05d", i)),
			Total:       machineOf(pick(rng, machineCores[:])),
			Schedulable: true}
		capacity = capacity.Add(n.Total)
		w.Nodes = append(w.Nodes, n)
	}
	config, leaves := tenantQueues(s.Queues, capacity)
	w.Config = config
	for i := range min(s.Asks, max(len(leaves), s.Asks/asksPerApp)) {
		user := fmt.Sprintf("user-%02d", i%17)
		w.Applications = append(w.Applications, scheduler.AddApplication{
			App: objects.AppID(fmt.Sprintf("app-%05d", i)), Queue: string(leaves[i%len(leaves)]),
			User: security.User{Name: user, Groups: []string{user}},
		})
	}
	w.Waves = waves(drawAsks(rng, s.Asks, w.Applications), capacity)
	return w
}

func machineOf(n int64) resources.Amounts {
	return resources.FromMap(map[string]resources.Quantity{
		resources.VCore: resources.Quantity(n * millicoresPerCore), "memory": resources.Quantity(n * memoryPerCore),
		pods: podsPerNode,
	})
}

func drawAsks(rng *rand.Rand, n int, apps []scheduler.AddApplication) []*objects.Ask {
	asks := make([]*objects.Ask, n)
	for i := range asks {
		vcore := pick(rng, requestCores[:])
		asks[i] = &objects.Ask{
			Key: objects.AllocationKey(fmt.Sprintf("ask-%07d", i)), App: apps[rng.IntN(len(apps))].App,
			Priority: pick(rng, askPriorities[:]),
			Amounts: resources.FromMap(map[string]resources.Quantity{
				resources.VCore: resources.Quantity(vcore),
				"memory":        resources.Quantity(vcore * pick(rng, requestMemory[:]) * gibibyte / millicoresPerCore),
				pods:            1,
			}),
		}
	}
	return asks
}

// waves splits asks into parts that each exceed the capacity of the cluster, so that the order matters.
// Fewer asks are one wave.
func waves(asks []*objects.Ask, capacity resources.Amounts) [][]*objects.Ask {
	var wanted resources.Quantity
	for _, a := range asks {
		wanted += a.Amounts.Get(resources.VCore)
	}
	n := int(float64(wanted) / (waveDemand * float64(capacity.Get(resources.VCore))))
	n = min(max(n, 1), maxWaves, len(asks))
	return slices.Collect(slices.Chunk(asks, (len(asks)+n-1)/n))
}

func pick[T any](rng *rand.Rand, from []T) T { return from[rng.IntN(len(from))] }
