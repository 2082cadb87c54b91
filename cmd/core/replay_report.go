package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/canopy-scheduler/canopy/internal/sim"
)

// replayReport is what came of a replay. Its JSON form is for other programs, so names stay.
type replayReport struct {
	sim.Report
	Balance    sim.Balance      `json:"balance"`
	Preemption replayPreemption `json:"preemption"`
}

// replayPreemption is what preemption did.
type replayPreemption struct {
	Mode     string `json:"mode"`     // on, off or compare
	Possible bool   `json:"possible"` // the configuration gives somebody a right to it
	sim.Preemption
	Without *sim.Preemption `json:"without,omitempty"` // of compare: the same without preemption
}

// summary is what people are told besides the figures of every report.
func (r *replayReport) summary() []string {
	p := &r.Preemption
	tasks, placed := 0, 0
	for _, c := range p.Classes {
		tasks, placed = tasks+c.Tasks, placed+c.Placed
	}
	var lines []string
	if r.Preempted > 0 || p.Without != nil {
		lines = append(p.lines(), fmt.Sprintf("%s of %s tasks were placed; %s run at the end, with %s GPUs",
			grouped(placed), grouped(tasks), grouped(r.Balance.Running.Allocations), gpus(r.Balance.Running)))
	} else {
		lines = []string{fmt.Sprintf("%s of %s tasks were placed, with %s GPUs", grouped(placed), grouped(tasks), gpus(r.Balance.Placed))}
	}
	if n := r.Asks - r.Allocated - r.Rejected - r.Pending; n > 0 {
		lines = append(lines, fmt.Sprintf("%s ended while they waited", grouped(n)))
	}
	b := &r.Balance
	return append(lines,
		fmt.Sprintf("the books balance: %s placed - %s preempted - %s released = %s running", grouped(b.Placed.Allocations),
			grouped(b.Preempted.Allocations), grouped(b.Released.Allocations), grouped(b.Running.Allocations)),
		"every invariant held, and every task that could be placed was")
}

func gpus(s sim.Sum) string { return short(float64(s.Resources[sim.GPU]) / 1000) }

// lines are what preemption did, class by class and in all.
func (p *replayPreemption) lines() []string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "\nQOS\tPRIORITY\tTASKS\tPLACED\tPREEMPTED\tRESUBMITTED\tPLACED AGAIN\tRUNNING\tWAITING\tGONE")
	if p.Without != nil {
		fmt.Fprint(t, "\tRUNNING WITHOUT PREEMPTION")
	}
	fmt.Fprintln(t)
	for i, c := range p.Classes {
		fmt.Fprintf(t, "%s\t%d", c.QoS, c.Priority)
		for _, n := range []int{c.Tasks, c.Placed, c.Preempted, c.Resubmitted, c.PlacedAgain, c.Running, c.Waiting, c.Gone} {
			fmt.Fprintf(t, "\t%s", grouped(n))
		}
		if p.Without != nil {
			fmt.Fprintf(t, "\t%s", grouped(p.Without.Classes[i].Running))
		}
		fmt.Fprintln(t)
	}
	_ = t.Flush() // of a strings.Builder
	text := b.String() + fmt.Sprintf("\n%s tasks were given the place of %s others", grouped(p.Preemptions), grouped(p.Victims))
	if p.InVain > 0 {
		text += fmt.Sprintf("; %s of them did not get it", grouped(p.InVain))
	}
	lines := strings.Split(text, "\n")
	if p.Resubmitted > 0 {
		lines = append(lines, fmt.Sprintf("%s asked again, and %s of them were placed again", grouped(p.Resubmitted), grouped(p.PlacedAgain)))
	}
	return append(lines, "work lost       "+amountText(p.Lost))
}
