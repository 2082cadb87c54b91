package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/cli/demo"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// leavesShown bounds the leaves of a tenant in the table: those with the most pending vcore.
const leavesShown = 3

const demoNext = `Try next:
  canopy demo --seed 2                                  another cluster; the same seed prints the same bytes
  canopy demo --output json                             all queues, steps and events
  canopy-lab trace-synth --help                         make a trace of nodes and tasks
  canopy-lab replay --help                              replay one, or examples/trace
  canopy serve                                          a scheduler for your own resource manager
  canopy explain KEY --address HOST:PORT                why an ask of a running server waits
`

// write prints the report as text.
func (r *demoReport) write(out io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Seed %d: %s with %s, %s queues below root, %s in %s.\n\n", r.Seed,
		cmdline.Counted(cmdline.WithThousands(r.Nodes), "nodes"),
		cmdline.AmountText(demo.Quantities{resources.VCore: r.Full.Queues[0].Max[resources.VCore],
			"memory": r.Full.Queues[0].Max["memory"]}),
		cmdline.WithThousands(r.Queues), cmdline.Counted(cmdline.WithThousands(r.Asks), "asks"),
		cmdline.Plural(r.Full.Wave, "wave"))
	r.writeSteps(&b)
	fmt.Fprintf(&b, "\nAfter wave %d the cluster is full: %s asks run and %s wait.\n\n", r.Full.Wave,
		cmdline.WithThousands(r.Full.Running), cmdline.WithThousands(r.Full.Waiting))
	writeTree(&b, r.Full.Queues)
	if r.WaitingAsk != nil {
		fmt.Fprintf(&b, "\nThe pending ask with the highest priority: 'canopy explain %s' prints\n\n", r.WaitingAsk.Key)
		if err := printExplained(&b, r.WaitingAsk); err != nil {
			return err
		}
	}
	fmt.Fprintf(&b,
		"\nAt the end: %s placed, %s rejected, %s waiting. The accounting was audited after each of %d steps, and was "+
			"consistent.\n",
		cmdline.WithThousands(r.Allocated), cmdline.WithThousands(r.Rejected), cmdline.WithThousands(r.Pending), len(r.Steps))
	b.WriteString("\nA preemption\n\n")
	for _, line := range r.Preemption.Lines() {
		b.WriteString(line + "\n")
	}
	b.WriteString("\n" + demoNext)
	_, err := io.WriteString(out, b.String())
	return err
}

// writeSteps writes a line for each minute of the cluster.
func (r *demoReport) writeSteps(b *strings.Builder) {
	fmt.Fprintf(b, "%-7s %-8s %8s %8s %8s %8s %8s\n", "MINUTE", "", "ENDED", "ASKED", "PLACED", "RUNNING", "WAITING")
	for _, s := range r.Steps {
		what := ""
		if s.Wave > 0 {
			what = fmt.Sprintf("wave %d", s.Wave)
		}
		fmt.Fprintf(b, "%-7d %-8s %8s %8s %8s %8s %8s\n", s.Second/60, what, cmdline.WithThousands(s.Ended),
			cmdline.WithThousands(s.Submitted), cmdline.WithThousands(s.Placed), cmdline.WithThousands(s.Running),
			cmdline.WithThousands(s.Waiting))
	}
}

// writeTree writes the table of queues: root, the tenants, and of each tenant the leaves with the
// most pending vcore.
func writeTree(b *strings.Builder, queues []demo.QueueLine) {
	fmt.Fprintf(b, "%-16s %8s %8s %8s %8s %8s %11s %9s\n", "QUEUE", "PRIORITY", "RUNNING", "VCORE", "WAITING", "VCORE",
		"GUARANTEED", "MAX")
	shown := shownQueues(queues)
	for _, q := range queues {
		if !shown[q.Path] {
			continue
		}
		depth := strings.Count(string(q.Path), ".")
		name := strings.Repeat("  ", depth) + string(q.Path[strings.LastIndexByte(string(q.Path), '.')+1:])
		priority := "-"
		if q.CurrentPriority != math.MinInt32 {
			priority = strconv.Itoa(int(q.CurrentPriority))
		}
		fmt.Fprintf(b, "%-16s %8s %8s %8s %8s %8s %11s %9s\n", name, priority,
			cmdline.WithThousands(int(q.Allocated[podCount])), vcores(q.Allocated),
			cmdline.WithThousands(int(q.Pending[podCount])), vcores(q.Pending), vcores(q.Guaranteed), vcores(q.Max))
	}
	if n := len(queues) - len(shown); n > 0 {
		fmt.Fprintf(b, "%s more queues are in --output json. PRIORITY is the highest priority of the pending asks,\n"+
			"after offsets and fences; the MAX of root is the capacity of the nodes.\n", cmdline.WithThousands(n))
	}
}

// podCount is the resource of which every ask requests one.
const podCount = "pods"

func vcores(q demo.Quantities) string {
	if n, ok := q[resources.VCore]; ok {
		return cmdline.OneDecimal(float64(n) / 1000)
	}
	return "-"
}

// shownQueues are the paths of the rows of the table: root, the tenants, and leavesShown leaves of each.
func shownQueues(queues []demo.QueueLine) map[objects.QueuePath]bool {
	shown, leaves := map[objects.QueuePath]bool{}, map[objects.QueuePath][]demo.QueueLine{}
	for _, q := range queues {
		if i := strings.LastIndexByte(string(q.Path), '.'); strings.Count(string(q.Path), ".") == 2 {
			leaves[q.Path[:i]] = append(leaves[q.Path[:i]], q)
		} else {
			shown[q.Path] = true
		}
	}
	for _, of := range leaves {
		slices.SortStableFunc(of, func(a, b demo.QueueLine) int {
			return cmp.Compare(b.Pending[resources.VCore], a.Pending[resources.VCore])
		})
		for _, q := range of[:min(leavesShown, len(of))] {
			shown[q.Path] = true
		}
	}
	return shown
}
