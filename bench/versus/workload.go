package main

import (
	"fmt"
	"slices"
	"strings"
)

// Workload is the size and shape of a cluster and of what is asked of it.
type Workload struct {
	Name       string
	About      string
	NodeSort   string // the policy of the partition: fair or binpacking
	FanOut     []int  // children of each queue, by level below root
	Nodes      int
	Cores      int // of each node; 4 GiB of memory come with each core
	Apps       int // dealt to the leaves in turn
	Asks       int // dealt to the applications in turn
	Preemptors int // asks that must take the place of others, in a queue that is owed it; 0: there is room for all
}

// What each asks for is less than four fifths of its cluster: everything can be placed,
// and no arm is measured while it waits for room. In the last one nothing has room: what is
// asked for must be taken from others (preempt.go).
var (
	fullWorkloads = []Workload{
		{"flat", "two leaves below root", "fair", []int{2}, 1000, 16, 2, 10_000, 0},
		{"depth", "five levels of four: 1,024 leaves", "fair", []int{4, 4, 4, 4, 4}, 1000, 16, 2048, 10_240, 0},
		{"32x32", "two levels of 32: 1,024 leaves", "fair", []int{32, 32}, 1000, 16, 1024, 10_240, 0},
		{"wide", "1,000 leaves below one parent", "fair", []int{1000}, 1000, 16, 1000, 2000, 0},
		{"bigapp", "two applications with 25,000 asks each", "fair", []int{2}, 5000, 16, 2, 50_000, 0},
		{"nodes", "10,000 nodes, the fullest first", "binpacking", []int{2}, 10_000, 4, 2, 12_000, 0},
		{"guarantee", "a full cluster; a queue takes back its guarantee", "fair", []int{10}, 1000, 16, 10, 40, 40},
	}
	smallWorkloads = []Workload{
		{"flat", "two leaves below root", "fair", []int{2}, 100, 16, 2, 1000, 0},
		{"depth", "five levels of three: 243 leaves", "fair", []int{3, 3, 3, 3, 3}, 250, 16, 486, 2430, 0},
		{"32x32", "two levels of 12: 144 leaves", "fair", []int{12, 12}, 200, 16, 144, 2016, 0},
		{"wide", "200 leaves below one parent", "fair", []int{200}, 200, 16, 200, 1000, 0},
		{"bigapp", "two applications with 4,000 asks each", "fair", []int{2}, 800, 16, 2, 8000, 0},
		{"nodes", "2,000 nodes, the fullest first", "binpacking", []int{2}, 2000, 4, 2, 4000, 0},
		{"guarantee", "a full cluster; a queue takes back its guarantee", "fair", []int{4}, 100, 8, 4, 20, 20},
	}
	scales = map[string][]Workload{"full": fullWorkloads, "small": smallWorkloads}
)

// choose finds workloads of a scale by their names, all of them for "all".
func choose(scale, names string) ([]Workload, error) {
	have, ok := scales[scale]
	if !ok {
		return nil, fmt.Errorf("scale %q: is neither small nor full", scale)
	}
	if names == "all" {
		return have, nil
	}
	var chosen []Workload
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(have, func(w Workload) bool { return w.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("workload %q: is none of %s", name, workloadNames())
		}
		chosen = append(chosen, have[i])
	}
	return chosen, nil
}

func workloadNames() string {
	var names []string
	for _, w := range fullWorkloads {
		names = append(names, w.Name)
	}
	return strings.Join(names, ",")
}

// leaves are the paths of all leaf queues.
func (w Workload) leaves() []string {
	paths := []string{"root"}
	for _, n := range w.FanOut {
		var below []string
		for _, p := range paths {
			for i := range n {
				below = append(below, fmt.Sprintf("%s.q%03d", p, i))
			}
		}
		paths = below
	}
	return paths
}

// config is the queues.yaml. Preemption is off where there is room for all.
func (w Workload) config() string {
	if w.preempts() {
		return w.preemptConfig()
	}
	var b strings.Builder
	fmt.Fprintf(&b, `partitions:
  - name: default
    nodesortpolicy:
      type: %s
    preemption:
      enabled: false
    queues:
      - name: root
        submitacl: '*'
`, w.NodeSort)
	writeQueues(&b, w.FanOut, "        ")
	return b.String()
}

func writeQueues(b *strings.Builder, fanOut []int, indent string) {
	if len(fanOut) == 0 {
		return
	}
	fmt.Fprintf(b, "%squeues:\n", indent)
	for i := range fanOut[0] {
		fmt.Fprintf(b, "%s  - name: q%03d\n", indent, i)
		writeQueues(b, fanOut[1:], indent+"    ")
	}
}
