package metrics

import (
	"maps"
	"slices"
	"sync/atomic"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
)

// tell tells all there is to say.
func (s *scrape) tell(to *exposition) {
	ended := map[string]map[objects.QueuePath][endingsOfQueues]uint64{}
	for _, name := range slices.Sorted(maps.Keys(s.tallies)) {
		t := s.tallies[name]
		ended[name] = t.ended.all()
		tellTally(teller{to, name}, t, ended[name])
	}
	for _, snap := range s.snaps {
		t := teller{to, snap.Partition}
		tellPartition(t, snap)
		sum := viewer{t, ended[snap.Partition]}.queue(snap.Root)
		tellSum(t, &sum, s.at)
	}
	s.tellUsage(to)
	s.tellHistory(to)
	s.tellHTTP(to)
	s.tellLog(to)
	s.tellRM(to)
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
	cycles := t.churned.all()
	for _, cycle := range slices.Sorted(maps.Keys(cycles)) {
		to.say(churns, float64(cycles[cycle]), cycle)
	}
	for _, queue := range slices.Sorted(maps.Keys(ended)) {
		for how, n := range ended[queue] {
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

func (s *scrape) tellHistory(to *exposition) {
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
		to.value(x.f, x.n)
	}
}

func (s *scrape) tellLog(to *exposition) {
	if s.m.lines == nil {
		return
	}
	dropped, omitted := s.m.lines()
	to.value(logDropped, float64(dropped))
	to.value(logOmitted, float64(omitted))
}

// tellHTTP tells what the readers over HTTP cost and are refused.
func (s *scrape) tellHTTP(to *exposition) {
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
	to.value(parametersIgnored, float64(c.UnknownParameter.Load()))
}
