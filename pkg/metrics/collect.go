package metrics

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
)

// Describe is part of prometheus.Collector.
func (s *scrape) Describe(to chan<- *prometheus.Desc) {
	for _, f := range families {
		to <- f.desc
	}
}

// Collect is part of prometheus.Collector.
func (s *scrape) Collect(to chan<- prometheus.Metric) {
	ended := map[string]map[objects.QueuePath][endingsOfQueues]uint64{}
	for name, t := range s.tallies {
		ended[name] = t.ended.all()
		tellTally(teller{to, name}, t, ended[name])
	}
	for _, snap := range s.snaps {
		t := teller{to, snap.Partition}
		tellPartition(t, snap)
		sum := viewer{t, ended[snap.Partition]}.queue(&snap.Root)
		tellSum(t, &sum, s.at)
	}
	s.tellHistory(to)
	s.tellLog(to)
}

// tellTally tells what a partition has said.
func tellTally(to teller, t *tally, ended map[objects.QueuePath][endingsOfQueues]uint64) {
	tell := func(f *family, n *atomic.Uint64, words ...string) { to.say(f, float64(n.Load()), words...) }
	tell(attempts, &t.allocated, "allocated")
	tell(attempts, &t.released, "released")
	tell(attempts, &t.asksRejected, "rejected")
	tell(submissions, &t.appsNew, "new")
	tell(submissions, &t.appsAccepted, "accepted")
	tell(submissions, &t.appsRejected, "rejected")
	tell(applications, &t.appsCompleted, "completed")
	tell(applications, &t.appsFailed, "failed")
	tell(nodes, &t.nodesRejected, "failed")
	tell(refusals, &t.refused)
	tell(overdueEver, &t.overdue)
	tell(scrapesMissed, &t.scrapesMissed)
	tellWords(to, victims, t.victims[:], rightWords[:], len(rightWords)-1)
	tellWords(to, preemptions, t.preemptions[:], rightWords[:], int(preemption.OfPriority)+1) // the others are no ask's
	tellWords(to, nominationsEnded, t.nominationsEnded[:], endWords[:], len(endWords)-1)
	for cycle, n := range t.churned.all() {
		to.say(churns, float64(n), cycle)
	}
	for queue, counts := range ended {
		for how, n := range counts {
			to.say(queueEnded, float64(n), string(queue), endingWords[how])
		}
	}
}

// tellWords tells counts by word: the first ones always, the others when they are not zero.
func tellWords(to teller, f *family, counts []atomic.Uint64, words []string, always int) {
	for i, word := range words {
		if n := counts[i].Load(); word != "" && (i < always || n > 0) {
			to.say(f, float64(n), word)
		}
	}
}

func (s *scrape) tellHistory(to chan<- prometheus.Metric) {
	if s.m.opt.History == nil {
		return
	}
	c := s.m.opt.History.Counts()
	for _, x := range []struct {
		f *family
		n float64
	}{
		{eventsKept, float64(c.Kept)}, {eventsRemembered, float64(c.Remembered)},
		{eventStreams, float64(c.Streams)}, {eventReadersDropped, float64(c.Dropped)},
	} {
		to <- prometheus.MustNewConstMetric(x.f.desc, x.f.kind, x.n)
	}
}

func (s *scrape) tellLog(to chan<- prometheus.Metric) {
	if s.m.lines == nil {
		return
	}
	dropped, omitted := s.m.lines()
	to <- prometheus.MustNewConstMetric(logDropped.desc, logDropped.kind, float64(dropped))
	to <- prometheus.MustNewConstMetric(logOmitted.desc, logOmitted.kind, float64(omitted))
}
