package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// The bounds of a workload. Fewer queues than the least would leave a tenant without a
// leaf; more of anything would not fit the messages and the patience of a demo.
const (
	LeastQueues = 2 * tenants // each tenant and a leaf below it
	MostQueues  = 10_000
	MostNodes   = 20_000
	MostAsks    = 1_000_000

	tenants = 3
)

// Workload is a made-up cluster and what is asked of it, the same for the same size and
// seed.
type Workload struct {
	Config       string // queues.yaml
	Nodes        []Node
	Applications []Application
	Waves        [][]Ask // in the order in which they come
	Seed         uint64
}

// Size is how large a workload is.
type Size struct {
	Nodes, Queues, Asks int
	Seed                uint64
}

const (
	cores      = 1000         // a vcore in the unit of the scheduler
	gibibyte   = 1 << 30      // of memory
	perCore    = 4 * gibibyte // the memory that machines have for each of their cores
	largest    = 4            // the cores of the largest ask
	mostMemory = 6            // GiB for each core of the greediest ask
	demand     = 1.3          // a wave asks for this many times what the cluster has
	atOnce     = 20           // the most waves
	perApp     = 25           // about how many asks an application has
)

// machines and requests are drawn from these; what is there more often is likelier.
var (
	machineCores  = [...]int64{8, 8, 16, 16, 32}
	requestCores  = [...]int64{500, 500, 500, 1000, 1000, 2000, 2000, largest * cores} // millicores
	requestMemory = [...]int64{1, 2, 4, mostMemory}                                    // GiB for each core
	askPriorities = [...]int32{0, 0, 0, 0, 0, 10, 10, 10, 100, -10}
)

// NewWorkload makes a workload up. Requires: the size is within the bounds.
func NewWorkload(s Size) Workload {
	dice := rand.New(rand.NewPCG(s.Seed, 1))
	w := Workload{Seed: s.Seed}
	var capacity resources.Amounts
	for i := range s.Nodes {
		n := Node{ID: objects.NodeID(fmt.Sprintf("node-%05d", i)), Has: machineOf(pick(dice, machineCores[:]))}
		capacity = capacity.Add(n.Has)
		w.Nodes = append(w.Nodes, n)
	}
	config, leaves := tenantQueues(s.Queues, capacity)
	w.Config = config
	for i := range min(s.Asks, max(len(leaves), s.Asks/perApp)) {
		w.Applications = append(w.Applications, Application{
			ID: objects.AppID(fmt.Sprintf("app-%05d", i)), Queue: leaves[i%len(leaves)],
			User: fmt.Sprintf("user-%02d", i%17),
		})
	}
	w.Waves = waves(drawAsks(dice, s.Asks, w.Applications), capacity)
	return w
}

func machineOf(n int64) resources.Amounts {
	return resources.FromMap(map[string]resources.Quantity{
		resources.VCore: resources.Quantity(n * cores), "memory": resources.Quantity(n * perCore), pods: podsPerNode,
	})
}

func drawAsks(dice *rand.Rand, n int, apps []Application) []Ask {
	asks := make([]Ask, n)
	for i := range asks {
		vcore := pick(dice, requestCores[:])
		asks[i] = Ask{
			Key: objects.AllocationKey(fmt.Sprintf("ask-%07d", i)), App: apps[dice.IntN(len(apps))].ID,
			Priority: pick(dice, askPriorities[:]),
			Amounts: resources.FromMap(map[string]resources.Quantity{
				resources.VCore: resources.Quantity(vcore),
				"memory":        resources.Quantity(vcore * pick(dice, requestMemory[:]) * gibibyte / cores),
				pods:            1,
			}),
		}
	}
	return asks
}

// waves cuts asks into parts that each ask for more than the cluster has, so that it
// matters who is first. Fewer asks than that are one wave.
func waves(asks []Ask, capacity resources.Amounts) [][]Ask {
	var wanted resources.Quantity
	for _, a := range asks {
		wanted += a.Amounts.Get(resources.VCore)
	}
	n := int(float64(wanted) / (demand * float64(capacity.Get(resources.VCore))))
	n = min(max(n, 1), atOnce, len(asks))
	return slices.Collect(slices.Chunk(asks, (len(asks)+n-1)/n))
}

func pick[T any](dice *rand.Rand, from []T) T { return from[dice.IntN(len(from))] }
