package main

import (
	"fmt"
	"slices"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/common"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
)

// A workload with preemption: a queue with a guarantee for its asks, and others far above their
// guarantees, whose allocations fill every node. An ask is as large as two allocations, so two victims
// of one node are needed for it.
const (
	preemptorApp  = "app-owed"
	runningPrefix = "running-"
)

var (
	victimShape    = [2]int64{1000, 4} // millicores and GiB of an allocation
	preemptorShape = [2]int64{2000, 8} // of a preemptor
)

// creationTime is the creation time of asks, in seconds: no preemption delay applies.
const creationTime = "1700000000"

// preempts reports whether the asks must preempt.
func (w Workload) preempts() bool { return w.Preemptors > 0 }

// preemptConfig is the queues.yaml of a workload with preemption.
func (w Workload) preemptConfig() string {
	text := fmt.Sprintf(`partitions:
  - name: default
    nodesortpolicy:
      type: %s
    preemption:
      enabled: true
    queues:
      - name: root
        submitacl: '*'
        queues:
          - name: owed
            properties:
              preemption.delay: 1s
            resources:
              guaranteed: {vcore: %dm, memory: %dGi}
`, w.NodeSort, int64(w.Preemptors)*preemptorShape[0], int64(w.Preemptors)*preemptorShape[1])
	for i := range w.FanOut[0] {
		text += fmt.Sprintf("          - name: q%03d\n            resources:\n              guaranteed: {vcore: %dm, "+
			"memory: %dGi}\n",
			i, victimShape[0], victimShape[1])
	}
	return text
}

// addPreemption adds the running allocations and the asks.
func (s *Stream) addPreemption(w Workload) {
	var running, asks []*si.Allocation
	for i := range w.Nodes * w.Cores {
		a := ask(fmt.Sprintf("%s%06d", runningPrefix, i), appID(i%w.Apps), victimShape)
		a.NodeID = nodeID(i / w.Cores)
		a.PreemptionPolicy = &si.PreemptionPolicy{AllowPreemptSelf: true}
		running = append(running, a)
	}
	for i := range w.Preemptors {
		a := ask(fmt.Sprintf("ask-%06d", i), preemptorApp, preemptorShape)
		a.PreemptionPolicy = &si.PreemptionPolicy{AllowPreemptOther: true, AllowPreemptSelf: true}
		a.AllocationTags = map[string]string{common.CreationTime: creationTime}
		asks = append(asks, a)
	}
	for some := range slices.Chunk(running, batch) {
		s.Running = append(s.Running, &si.AllocationRequest{RmID: rmID, Allocations: some})
	}
	s.Asks = []*si.AllocationRequest{{RmID: rmID, Allocations: asks}}
}

// confirmVictims confirms victims, one message for each release message, until the process ends. It
// runs in a separate goroutine, because a scheduler may not be called from its own callback.
func confirmVictims(callback *shim, send func(*si.AllocationRequest) error) {
	for {
		victims := callback.takeVictims()
		if len(victims) == 0 {
			<-callback.victimsReady
			continue
		}
		releases := &si.AllocationReleasesRequest{AllocationsToRelease: victims}
		if err := send(&si.AllocationRequest{RmID: rmID, Releases: releases}); err != nil {
			callback.addProblem(fmt.Sprintf("confirming releases: %v", err))
		}
	}
}
