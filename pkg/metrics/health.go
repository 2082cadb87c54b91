package metrics

import (
	"maps"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
)

// SetHealthSource sets what says whether /healthz answers 200, from memory. It must be called before the first scrape.
func (m *Metrics) SetHealthSource(healthy func() bool) { m.healthy = healthy }

var healthy = gauge("canopy_healthy",
	"1 if /healthz answers 200: every partition makes progress, and the last audits found consistent accounting.")

var (
	partitionBusy = gauge("canopy_partition_busy_seconds",
		"How long the running step of the partition has taken, such as a callback of a linked shim; 0: it waits for work.",
		"partition")
	waitingCommands = gauge("canopy_partition_waiting_commands", "Commands that wait for the running step to end.",
		"partition")
)

// writeHealth writes the families of health (OBS-47, OBS-101).
func (s *scrape) writeHealth(to *gathering) {
	if s.m.healthy != nil {
		to.flag(healthy, s.m.healthy())
	}
	for _, name := range slices.Sorted(maps.Keys(s.health)) {
		h := s.health[name]
		busy := time.Duration(0)
		if !h.AtRest && !h.Progress.IsZero() {
			busy = max(0, s.at.Sub(h.Progress))
		}
		to.value(partitionBusy, busy.Seconds(), name)
		to.value(waitingCommands, float64(h.Waiting), name)
	}
}

// healthOf returns the state of the loops of the partitions of a cluster, also of those that do not answer.
func healthOf(c *loop.Cluster) map[string]loop.Health {
	all := map[string]loop.Health{}
	for _, name := range c.Partitions() {
		if l, ok := c.Partition(name); ok {
			all[name] = l.Health()
		}
	}
	return all
}
