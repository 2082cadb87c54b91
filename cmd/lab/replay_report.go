package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/lab/sim"
)

// replayReport is the result of a replay. Its JSON form is stable: other programs read it.
type replayReport struct {
	sim.Report
	Rejections []sim.Rejection  `json:"rejections,omitempty"` // the first of the rejected asks; Rejected counts all
	Balance    sim.Balance      `json:"balance"`
	Preemption replayPreemption `json:"preemption"`
	Kills      *replayKills     `json:"kills,omitempty"` // of --kill-core-every

	ExpectedStart *replayCalibration `json:"expectedStart,omitempty"` // of --expected-start

	log []sim.Event
}

// replayPreemption has the figures of preemption.
type replayPreemption struct {
	Mode     string `json:"mode"`     // on, off or compare
	Possible bool   `json:"possible"` // preemption is on, and the configuration allows it to some queue
	sim.Preemption
	WithoutPreemption *sim.Preemption `json:"withoutPreemption,omitempty"` // of compare: the same without preemption
}

// maxRejections bounds the rejected asks that a report lists.
const maxRejections = 5

// firstRejections are the rejections that a report lists.
func firstRejections(all []sim.Rejection) []sim.Rejection { return all[:min(len(all), maxRejections)] }

// summary has the lines that follow the figures of every report.
func (r *replayReport) summary() []string {
	p := &r.Preemption
	tasks, placed := 0, 0
	for _, c := range p.ByQoS {
		tasks, placed = tasks+c.Tasks, placed+c.Placed
	}
	var lines []string
	if r.Preempted > 0 || p.WithoutPreemption != nil {
		lines = append(p.lines(), fmt.Sprintf("%s of %s tasks were placed; %s run at the end, with %s",
			cmdline.WithThousands(placed),
			cmdline.WithThousands(tasks), cmdline.WithThousands(r.Balance.Running.Allocations),
			cmdline.Counted(gpus(r.Balance.Running), "GPUs")))
	} else {
		lines = []string{fmt.Sprintf("%s of %s tasks were placed, with %s", cmdline.WithThousands(placed),
			cmdline.WithThousands(tasks),
			cmdline.Counted(gpus(r.Balance.Placed), "GPUs"))}
	}
	if n := r.Asks - r.Allocated - r.Rejected - r.Pending; n > 0 {
		lines = append(lines, fmt.Sprintf("%s ended while they were pending", cmdline.WithThousands(n)))
	}
	lines = append(append(append(lines, r.rejectionLines()...), r.Kills.lines()...), r.ExpectedStart.lines()...)
	placeable := "every task that could be placed was"
	if r.Rejected > 0 {
		placeable = "every task that was accepted and could be placed was"
	}
	b := &r.Balance
	return append(lines,
		fmt.Sprintf("the accounting balances: %s placed - %s preempted - %s released = %s running",
			cmdline.WithThousands(b.Placed.Allocations), cmdline.WithThousands(b.Preempted.Allocations),
			cmdline.WithThousands(b.Released.Allocations), cmdline.WithThousands(b.Running.Allocations)),
		"every invariant held, and "+placeable)
}

// rejectionLines name the first of the rejected asks with the reasons; none: nothing was rejected.
func (r *replayReport) rejectionLines() []string {
	if r.Rejected == 0 {
		return nil
	}
	lines := []string{cmdline.WithThousands(r.Rejected) + " of " + cmdline.WithThousands(r.Asks) + " asks were rejected:"}
	for _, x := range r.Rejections {
		lines = append(lines, fmt.Sprintf("  %s: %s", cmdline.PrintableLine(string(x.Key)), cmdline.PrintableLine(x.Reason)))
	}
	if more := r.Rejected - len(r.Rejections); more > 0 {
		lines = append(lines, fmt.Sprintf("  and %s more", cmdline.WithThousands(more)))
	}
	return lines
}

func gpus(s sim.Sum) string { return cmdline.OneDecimal(float64(s.Resources[sim.GPU]) / 1000) }

// lines are the table of QoS classes and the totals of preemption.
func (p *replayPreemption) lines() []string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(t,
		"\nQOS\tPRIORITY\tTASKS\tPLACED\tPREEMPTED\tRESUBMITTED\tPLACED AGAIN\tRUNNING\tWAITING\tNOT RESUBMITTED")
	rejected := slices.ContainsFunc(p.ByQoS, func(l sim.QoSLine) bool { return l.Rejected > 0 })
	if rejected {
		fmt.Fprint(t, "\tREJECTED")
	}
	if p.WithoutPreemption != nil {
		fmt.Fprint(t, "\tRUNNING WITHOUT PREEMPTION")
	}
	fmt.Fprintln(t)
	for i, c := range p.ByQoS {
		fmt.Fprintf(t, "%s\t%d", c.QoS, c.Priority)
		for _, n := range []int{c.Tasks, c.Placed, c.Preempted, c.Resubmitted, c.PlacedAgain, c.Running, c.Waiting,
			c.NotResubmitted} {
			fmt.Fprintf(t, "\t%s", cmdline.WithThousands(n))
		}
		if rejected {
			fmt.Fprintf(t, "\t%s", cmdline.WithThousands(c.Rejected))
		}
		if p.WithoutPreemption != nil {
			fmt.Fprintf(t, "\t%s", cmdline.WithThousands(p.WithoutPreemption.ByQoS[i].Running))
		}
		fmt.Fprintln(t)
	}
	_ = t.Flush() // of a strings.Builder
	text := b.String() + fmt.Sprintf("\n%s tasks preempted %s others", cmdline.WithThousands(p.Preemptions),
		cmdline.WithThousands(p.Victims))
	if p.Unsuccessful > 0 {
		text += fmt.Sprintf("; %s of them were not placed there", cmdline.WithThousands(p.Unsuccessful))
	}
	lines := strings.Split(text, "\n")
	if p.Resubmitted > 0 {
		lines = append(lines,
			fmt.Sprintf("%s were submitted again, and %s of them were placed again", cmdline.WithThousands(p.Resubmitted),
				cmdline.WithThousands(p.PlacedAgain)))
	}
	return append(lines, "work lost       "+cmdline.AmountText(p.Lost))
}
