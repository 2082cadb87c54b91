package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/lab/sim"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// replayKills has the figures of a replay whose scheduler is killed. Its JSON form is stable: other programs read it.
type replayKills struct {
	Every          int            `json:"every"` // answers between two kills
	Restarts       int            `json:"restarts"`
	RestartMillis  sim.Latency    `json:"restartMillis"`  // from a kill until the next process is ready
	RecoveryMillis sim.Latency    `json:"recoveryMillis"` // from then until everything is reported
	Recoveries     []recoveryLine `json:"recoveries"`     // in order
	PlacedWithout  int            `json:"placedWithout"`  // allocations of the replay without kills
	SameNode       int            `json:"sameNode"`       // allocations that were on the same node there
}

// recoveryLine has what was reported after one kill, and the time it took.
type recoveryLine struct {
	Nodes          int     `json:"nodes"`
	Applications   int     `json:"applications"`
	Allocations    int     `json:"allocations"`
	Asks           int     `json:"asks"`
	RestartMillis  float64 `json:"restartMillis"`
	RecoveryMillis float64 `json:"recoveryMillis"`
}

// replayWithKills replays the trace without kills, and then with a scheduler in another process that is killed. Both
// must place as many tasks.
func (t *trace) replayWithKills(ctx context.Context, f *replayFlags, decisions io.Writer,
	progress *cmdline.Progress) (*replayReport, error) {
	program, err := serverProgram(f.server)
	if err != nil {
		return nil, cmdline.Exit(cmdline.Usage, err)
	}
	progress.Phase("first without kills")
	without, err := t.runOnce(ctx, f, f.preemption == "on", io.Discard, progress)
	if err != nil {
		return nil, err
	}
	progress.Phase("now with kills")
	var all []sim.Recovery
	p, err := startKilledSession(ctx, program, f.killEvery, f.bounds, func(r sim.Recovery) {
		all = append(all, r)
		progress.Line(recoveryText(len(all), r))
	})
	if err != nil {
		return nil, cmdline.Exit(cmdline.Usage, err)
	}
	r, err := t.runSession(ctx, f, p, nil, f.preemption == "on", decisions, progress)
	if err != nil {
		return nil, err
	}
	r.Kills = newReplayKills(f.killEvery, all)
	r.Kills.compare(r.log, without.log)
	if err := r.Kills.check(r.Allocated); err != nil {
		return nil, cmdline.Exit(cmdline.Refused, err)
	}
	return r, nil
}

func recoveryText(number int, r sim.Recovery) string {
	return fmt.Sprintf("kill %d: restarted in %s ms; %s nodes, %s applications, %s allocations and %s asks reported in "+
		"%s ms",
		number, cmdline.Millis(milliseconds(r.Restart)), cmdline.WithThousands(r.Nodes),
		cmdline.WithThousands(r.Applications), cmdline.WithThousands(r.Allocations), cmdline.WithThousands(r.Asks),
		cmdline.Millis(milliseconds(r.Report)))
}

func newReplayKills(every int, all []sim.Recovery) *replayKills {
	k := &replayKills{Every: every, Restarts: len(all), Recoveries: make([]recoveryLine, len(all))}
	restarts, reports := make([]time.Duration, len(all)), make([]time.Duration, len(all))
	for i, r := range all {
		restarts[i], reports[i] = r.Restart, r.Report
		k.Recoveries[i] = recoveryLine{
			Nodes: r.Nodes, Applications: r.Applications, Allocations: r.Allocations, Asks: r.Asks,
			RestartMillis: milliseconds(r.Restart), RecoveryMillis: milliseconds(r.Report),
		}
	}
	k.RestartMillis, k.RecoveryMillis = sim.LatencyOf(restarts), sim.LatencyOf(reports)
	return k
}

// compare compares the placements with those of the replay without kills.
func (k *replayKills) compare(with, without []sim.Event) {
	nodes := map[objects.AllocationKey]objects.NodeID{}
	for _, e := range without {
		if e.Kind == sim.Placed {
			nodes[e.Key] = e.Node
			k.PlacedWithout++
		}
	}
	for _, e := range with {
		if e.Kind == sim.Placed && nodes[e.Key] == e.Node {
			k.SameNode++
		}
	}
}

// check reports that with kills not as many tasks were placed as without.
func (k *replayKills) check(placed int) error {
	if placed == k.PlacedWithout {
		return nil
	}
	return fmt.Errorf("%s tasks were placed with %s kills, and %s without kills",
		cmdline.WithThousands(placed), cmdline.WithThousands(k.Restarts), cmdline.WithThousands(k.PlacedWithout))
}

// lines are the lines of the summary; none for a replay without kills.
func (k *replayKills) lines() []string {
	if k == nil {
		return nil
	}
	at := func(l sim.Latency) string {
		return fmt.Sprintf("%s ms median, %s ms 95%%, %s ms 99%%", cmdline.Millis(l.P50), cmdline.Millis(l.P95),
			cmdline.Millis(l.P99))
	}
	return []string{
		fmt.Sprintf("the scheduler was killed %s times, after every %s answers", cmdline.WithThousands(k.Restarts),
			cmdline.WithThousands(k.Every)),
		"restart         " + at(k.RestartMillis) + ", from the kill to being ready",
		"recovery        " + at(k.RecoveryMillis) + ", until everything was reported and the nodes schedulable",
		fmt.Sprintf("%s were placed without kills, %s of them on the same node", cmdline.WithThousands(k.PlacedWithout),
			cmdline.WithThousands(k.SameNode)),
	}
}

// milliseconds is a duration in milliseconds, in microseconds exactly.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
