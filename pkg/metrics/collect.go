package metrics

import (
	"maps"
	"slices"
	"sync/atomic"

	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
)

// writeAll writes all values of a scrape.
func (s *scrape) writeAll(to *gathering) {
	ended := map[string]endedCounts{}
	for _, name := range slices.Sorted(maps.Keys(s.counters)) {
		t := s.counters[name]
		ended[name] = t.ended.snapshot()
		writeCounters(partitionWriter{to, name}, t, ended[name])
		s.writeExpectedStarts(partitionWriter{to, name}, name)
		s.writeRecording(partitionWriter{to, name}, name)
	}
	for _, snap := range s.snaps {
		t := partitionWriter{to, snap.Partition}
		writePartition(t, snap)
		queues := queueWriter{partitionWriter: t, ended: ended[snap.Partition], at: s.at}
		queues.queue(snap.Root)
		writeTotals(t, &queues.totals, s.at)
	}
	s.writeNodeUsage(to)
	s.writeHistory(to)
	s.writeHTTP(to)
	s.writeLog(to)
	s.writeRM(to)
	s.writeConfig(to)
	s.writeSecurity(to)
	s.writeHealth(to)
	s.writeHA(to)
}

// writeCounters writes the counters of the effects of a partition.
func writeCounters(to partitionWriter, t *partitionCounters, ended endedCounts) {
	write := func(f *family, n *atomic.Uint64, words ...string) { to.value(f, float64(n.Load()), words...) }
	write(attempts, &t.allocated, "allocated")
	write(attempts, &t.released, "released")
	write(attempts, &t.asksRejected, "rejected")
	write(submissions, &t.appsNew, "new")
	write(submissions, &t.appsAccepted, "accepted")
	write(submissions, &t.appsRejected, "rejected")
	write(applications, &t.appsCompleted, "completed")
	write(applications, &t.appsFailed, "failed")
	write(nodes, &t.nodesRejected, "failed")
	write(nodes, &t.nodesRemoved, "decommissioned")
	write(commandsRejected, &t.commandsRejected)
	write(overdueTotal, &t.overdue)
	write(nodeRefusals, &t.asksRefused, "ask")
	write(nodeRefusals, &t.shapesRefused, "shape")
	write(scrapesMissed, &t.scrapesMissed)
	writeByLabel(to, victims, t.victims[:], reasonLabels[:], len(reasonLabels)-1)
	// the other reasons are not for an ask
	writeByLabel(to, preemptions, t.preemptions[:], reasonLabels[:], int(victim.ReasonPriority)+1)
	writeByLabel(to, nominationsEnded, t.nominationsEnded[:], nominationEndLabels[:], len(nominationEndLabels)-1)
	cycles := t.cycles.snapshot()
	for _, cycle := range slices.Sorted(maps.Keys(cycles)) {
		to.value(preemptionCycles, float64(cycles[cycle][0]), cycle)
	}
	for _, queue := range slices.Sorted(maps.Keys(ended)) {
		for how, n := range ended[queue] {
			to.value(queueEnded, float64(n), queue, endedLabels[how])
		}
	}
}

// writeByLabel writes counts by label: the first ones always, the others if they are not zero.
func writeByLabel(to partitionWriter, f *family, counts []atomic.Uint64, labels []string, always int) {
	for i, word := range labels {
		if n := counts[i].Load(); word != "" && (i < always || n > 0) {
			to.value(f, float64(n), word)
		}
	}
}

func (s *scrape) writeHistory(to *gathering) {
	if s.m.opt.History == nil {
		return
	}
	c := s.m.opt.History.Counts()
	to.value(eventsAdded, float64(c.Added))
	to.value(eventsRemembered, float64(c.Remembered))
	to.value(eventStreams, float64(c.Streams))
	to.value(eventReadersDropped, float64(c.Dropped))
}

func (s *scrape) writeLog(to *gathering) {
	if s.m.logLines == nil {
		return
	}
	dropped, omitted := s.m.logLines()
	to.value(logDropped, float64(dropped))
	to.value(logOmitted, float64(omitted))
}

// writeHTTP writes the counters of the HTTP servers.
func (s *scrape) writeHTTP(to *gathering) {
	c := s.m.opt.HTTP
	if c == nil {
		return
	}
	to.value(connections, float64(c.Connections.Load()))
	to.value(connectionsRefused, float64(c.Refused.Load()))
	to.value(connectionsEvicted, float64(c.Evicted.Load()))
	to.value(connectionsStalled, float64(c.Stalled.Load()))
	to.value(largeAnswers, float64(c.LargeAnswers.Load()))
	to.value(largeRefused, float64(c.LargeRefused.Load()))
	to.value(parametersIgnored, float64(c.ParameterIgnored.Load()))
}
