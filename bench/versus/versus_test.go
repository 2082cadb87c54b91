package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

// TestMain lets the test binary be the process that a comparison spawns.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "--arm=") {
		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

func TestArms_PlaceEveryAsk(t *testing.T) {
	var out, errs bytes.Buffer
	code := run([]string{"--scale=small", "--workloads=flat", "--runs=1", "--output=json"}, &out, &errs)
	assert.Equal(t, code, 0, errs.String())
	var got Report
	assert.NilError(t, json.Unmarshal(out.Bytes(), &got))
	assert.Equal(t, len(got.Workloads), 1)
	w := got.Workloads[0]
	assert.Equal(t, len(w.Notes), 0, "%v", w.Notes)
	assert.Equal(t, len(w.Samples), 2)
	for i, arm := range []string{yunikorn, canopy} {
		s := w.Samples[i]
		assert.Equal(t, s.Arm, arm)
		assert.Equal(t, s.Allocated, 1000)
		assert.Assert(t, s.CPU > 0 && s.Wall > 0, "%+v", s)
	}
}

func TestArms_PreemptForGuarantee(t *testing.T) {
	var out, errs bytes.Buffer
	code := run([]string{"--scale=small", "--workloads=guarantee", "--runs=1", "--output=json"}, &out, &errs)
	assert.Equal(t, code, 0, errs.String())
	var got Report
	assert.NilError(t, json.Unmarshal(out.Bytes(), &got))
	for _, s := range got.Workloads[0].Samples {
		assert.Equal(t, s.Allocated, 20, s.Arm)
		assert.Assert(t, s.Victims >= 40, "%s: two leave for each ask: %d", s.Arm, s.Victims)
		if s.Arm == canopy {
			assert.Equal(t, s.Victims, 40)
		}
	}
}

// Nothing has room where asks preempt, or they would not have to.
func TestWorkload_RunningFillsCluster(t *testing.T) {
	for scale, workloads := range scales {
		for _, w := range workloads {
			if !w.preempts() {
				continue
			}
			onNode := map[string]int64{}
			for _, m := range newStream(w, 1).Running {
				for _, a := range m.Allocations {
					onNode[a.NodeID] += a.ResourcePerAlloc.Resources["vcore"].Value
				}
			}
			assert.Equal(t, len(onNode), w.Nodes, "%s %s", scale, w.Name)
			for id, millicores := range onNode {
				assert.Equal(t, millicores, int64(w.Cores)*1000, "%s %s %s", scale, w.Name, id)
			}
			assert.Assert(t, 4*w.Preemptors < w.Nodes*w.Cores, "%s %s: most must stay", scale, w.Name)
			assert.Equal(t, w.Asks, w.Preemptors)
		}
	}
}

func TestNotes_ExcessVictims(t *testing.T) {
	w := Workload{Name: "guarantee", Asks: 10, Preemptors: 10}
	got := reportNotes(w, []Sample{
		{Arm: yunikorn, Asks: 10, Allocated: 10, Victims: 21}, {Arm: canopy, Asks: 10, Allocated: 10, Victims: 20},
		{Arm: canopy, Asks: 10, Allocated: 10, Victims: 20}, {Arm: yunikorn, Asks: 10, Allocated: 10, Victims: 24},
	})
	assert.DeepEqual(t, got, []string{"guarantee: yunikorn told 21 to 24 allocations to leave, where 20 are enough"})
}

func TestShim_UnexpectedReleaseIsProblem(t *testing.T) {
	callback := newShim(1)
	victim := &si.AllocationRelease{AllocationKey: "a", ApplicationID: "b",
		TerminationType: si.TerminationType_PREEMPTED_BY_SCHEDULER}
	answer := &si.AllocationResponse{Released: []*si.AllocationRelease{victim}}
	assert.NilError(t, callback.UpdateAllocation(answer))
	_, _, err := callback.outcome()
	assert.ErrorContains(t, err, "allocation a was released")

	callback = newShim(1)
	callback.expectVictims()
	assert.NilError(t, callback.UpdateAllocation(answer))
	assert.Equal(t, callback.countVictims(), 1)
	victims := callback.takeVictims()
	assert.Equal(t, len(victims), 1)
	assert.Equal(t, victims[0].AllocationKey+victims[0].ApplicationID, "ab")
	assert.Equal(t, len(callback.takeVictims()), 0, "no allocation is preempted twice")
}

func TestSpawn_ReportsFailure(t *testing.T) {
	_, err := spawn(smallWorkloads[0], "other", 0, options{scale: "small", seed: 1, deadline: time.Second})
	assert.ErrorContains(t, err, `arm "other": is neither yunikorn nor canopy`)
}

func TestRun_WrongFlags(t *testing.T) {
	cases := map[string]string{
		"--output=xml":      `output "xml": is neither text nor json`,
		"--scale=huge":      `scale "huge": is neither small nor full`,
		"--workloads=flat,": `workload "": is none of flat,depth,32x32,wide,bigapp,nodes,guarantee`,
		"--runs=0":          "runs 0: is not a positive number",
		"--deadline=0s":     "deadline 0s: is not a positive time",
		"now":               `argument "now": there are only flags`,
	}
	for arg, want := range cases {
		var errs bytes.Buffer
		assert.Equal(t, run([]string{arg}, io.Discard, &errs), 2)
		assert.Assert(t, cmp.Contains(errs.String(), want))
	}
}

func TestRun_HelpNamesEveryFlag(t *testing.T) {
	var errs bytes.Buffer
	assert.Equal(t, run([]string{"--help"}, io.Discard, &errs), 0)
	for _, name := range []string{"output", "scale", "workloads", "runs", "seed", "deadline", "cpuprofile"} {
		assert.Assert(t, cmp.Contains(errs.String(), "-"+name+" "))
	}
	assert.Assert(t, !strings.Contains(errs.String(), "-arm"))
}

func TestArms_Alternate(t *testing.T) {
	var got []string
	for pair := range 4 {
		arms := armOrder(pair)
		got = append(got, arms[:]...)
	}
	assert.DeepEqual(t, got, []string{
		yunikorn, canopy, canopy, yunikorn, yunikorn, canopy, canopy, yunikorn,
	})
}

func TestStream_FollowsFromSeed(t *testing.T) {
	assert.Equal(t, newStream(smallWorkloads[0], 1).Digest, newStream(smallWorkloads[0], 1).Digest)
	assert.Assert(t, newStream(smallWorkloads[0], 1).Digest != newStream(smallWorkloads[0], 2).Digest)
}

func TestWorkload_FitsCluster(t *testing.T) {
	for scale, workloads := range scales {
		for _, w := range workloads {
			if w.preempts() {
				continue
			}
			var millicores int64
			for _, a := range asks(w, 1) {
				millicores += a.ResourcePerAlloc.Resources["vcore"].Value
			}
			share := float64(millicores) / float64(w.Nodes*w.Cores*1000)
			assert.Assert(t, share < 0.8, "%s %s asks for %.2f of its cluster", scale, w.Name, share)
		}
	}
}

func TestShim_DuplicatePlacementIsError(t *testing.T) {
	callback := newShim(2)
	twice := &si.Allocation{AllocationKey: "ask-1"}
	assert.NilError(t, callback.UpdateAllocation(&si.AllocationResponse{New: []*si.Allocation{twice, twice}}))
	_, _, err := callback.outcome()
	assert.Error(t, err, "ask ask-1 was placed twice")
}

func TestNotes_CutOffArm(t *testing.T) {
	w := Workload{Name: "wide", Asks: 10}
	got := reportNotes(w, []Sample{
		{Arm: yunikorn, Asks: 10, Allocated: 4}, {Arm: canopy, Asks: 10, Allocated: 10},
		{Arm: canopy, Asks: 10, Allocated: 10}, {Arm: yunikorn, Asks: 10, Allocated: 6},
	})
	assert.DeepEqual(t, got, []string{
		"wide: yunikorn was cut off in 2 of its runs with 4 to 6 of 10 asks placed; " +
			"its figures are per allocation done until then",
		"wide: the arms did not place the same number of asks",
	})
}

func TestSample_ParsesLastLine(t *testing.T) {
	var s Sample
	assert.NilError(t, s.parse([]byte("a library talks\n{\"arm\":\"canopy\",\"allocated\":3}\n")))
	assert.Equal(t, s.Arm, canopy)
	assert.Equal(t, s.Allocated, 3)
	assert.ErrorContains(t, s.parse([]byte("nothing\n")), "did not answer with a measurement")
}
