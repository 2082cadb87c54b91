package bench

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/bench/workload"
)

// smallSpec returns a workload that is measured in no time.
func smallSpec() workload.Spec {
	s := workload.DefaultSpec()
	s.Depth, s.Fanout, s.Asks, s.Nodes = 2, 3, 300, 10
	return s
}

func streamOf(t *testing.T, spec workload.Spec, seed uint64) *stream {
	t.Helper()
	assert.NilError(t, spec.Check())
	s, err := newStream(spec, seed)
	assert.NilError(t, err)
	return s
}

func TestStream_DigestFollowsFromSpecAndSeed(t *testing.T) {
	base := streamOf(t, smallSpec(), 1)
	assert.Equal(t, streamOf(t, smallSpec(), 1).digest, base.digest)
	seen := map[string]string{base.digest: "the same"}
	other := func(what string, s *stream) {
		t.Helper()
		if first, twice := seen[s.digest]; twice {
			t.Errorf("%s has the digest of %s", what, first)
		}
		seen[s.digest] = what
	}
	other("another seed", streamOf(t, smallSpec(), 2))
	for what, change := range map[string]func(*workload.Spec){
		"depth": func(s *workload.Spec) { s.Depth++ }, "fanout": func(s *workload.Spec) { s.Fanout++ },
		"applications": func(s *workload.Spec) { s.AppsPerLeaf++ }, "asks": func(s *workload.Spec) { s.Asks++ },
		"nodes": func(s *workload.Spec) { s.Nodes++ }, "shapes": func(s *workload.Spec) { s.Shapes++ },
		"types":      func(s *workload.Spec) { s.Types++ },
		"priorities": func(s *workload.Spec) { s.Priorities++ }, "tags": func(s *workload.Spec) { s.Tags++ },
		"sort":       func(s *workload.Spec) { s.Sort = "fair" },
		"node order": func(s *workload.Spec) { s.NodeSort = "binpacking" },
		"churn":      func(s *workload.Spec) { s.Churn = 0.1 }, "saturation": func(s *workload.Spec) { s.Saturation = 2 },
		"bound":         func(s *workload.Spec) { s.Bound = 0.5 },
		"preemptors":    func(s *workload.Spec) { s.Preemptors, s.Saturation = 5, 1 },
		"victims":       func(s *workload.Spec) { s.Preemptors, s.Saturation, s.Victims = 5, 1, 2 },
		"their right":   func(s *workload.Spec) { s.Preemptors, s.Saturation, s.PreemptBy = 5, 1, workload.ByGuarantee },
		"their sizes":   func(s *workload.Spec) { s.Preemptors, s.Saturation, s.PreemptorSizes = 5, 1, 2 },
		"how many come": func(s *workload.Spec) { s.Preemptors, s.Saturation, s.AtOnce = 5, 1, 2 },
	} {
		spec := smallSpec()
		change(&spec)
		other(what, streamOf(t, spec, 1))
	}
	// The same work by another way is the same work.
	via := smallSpec()
	via.Via = workload.ViaGRPC
	assert.Equal(t, streamOf(t, via, 1).digest, base.digest)
}

func TestStream_ShapesFollowZipf(t *testing.T) {
	spec := smallSpec()
	spec.Asks, spec.Shapes = 20_000, 10
	s := streamOf(t, spec, 3)
	times := make([]int, spec.Shapes)
	for _, d := range s.draws {
		times[d.shape]++
	}
	for i := 1; i < len(times); i++ {
		want := float64(times[0]) / float64(i+1)
		assert.Assert(t, float64(times[i]) > 0.8*want && float64(times[i]) < 1.2*want, "seed 3: %v", times)
	}
}

func TestStream_UniqueShapes(t *testing.T) {
	for _, types := range []int{1, 2, 5} {
		spec := smallSpec()
		spec.Shapes, spec.Types = spec.Asks, types
		s, seen := streamOf(t, spec, 4), map[string]bool{}
		for i := range spec.Asks {
			seen[s.amounts(i).String()] = true
		}
		assert.Equal(t, len(seen), spec.Asks)
	}
}

func TestStream_KeysEncodeNumbers(t *testing.T) {
	s := streamOf(t, smallSpec(), 1)
	for _, n := range []int{0, 7, 299, 123_456_789} {
		key := s.key(n)
		assert.Equal(t, len(key), 36)
		assert.Equal(t, numberOf(key), n)
		assert.Equal(t, numberOf([]byte(key)), n)
	}
}

func TestStream_AsksCoverAllLeaves(t *testing.T) {
	spec := smallSpec()
	spec.AppsPerLeaf, spec.Tags = 2, 4
	s := streamOf(t, spec, 1)
	assert.Equal(t, len(s.leaves), 9)
	assert.Equal(t, len(s.apps), 18)
	perLeaf := map[string]int{}
	for i := range spec.Asks {
		a := s.ask(i)
		assert.Equal(t, len(a.Tags()), 4)
		perLeaf[string(s.appOf(i).Queue)]++
	}
	assert.Equal(t, len(perLeaf), 9)
	assert.Assert(t, strings.HasPrefix(string(s.leaves[0]), "root.q0000."), s.leaves[0])
}

func TestStream_NodesFitLargestAsk(t *testing.T) {
	spec := smallSpec()
	spec.Saturation, spec.Nodes = 2, 300
	_, err := newStream(spec, 1)
	assert.ErrorContains(t, err, "use fewer --nodes or more --asks")
	assert.ErrorContains(t, Custom(spec).Check(1), "use fewer --nodes or more --asks")
	spec.Nodes = 10
	assert.NilError(t, Custom(spec).Check(1))
}

func TestSpec_CheckErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*workload.Spec)
		want   string
	}{
		{"nothing at all", func(s *workload.Spec) { *s = workload.Spec{} },
			"--depth is 0, and must be from 1 to 200\n--fanout is 0"},
		{"a tree that explodes", func(s *workload.Spec) { s.Depth, s.Fanout = 9, 9 },
			"--depth 9 with --fanout 9 makes more than 200000 queues"},
		{"a tree that would overflow", func(s *workload.Spec) { s.Depth, s.Fanout = 200, 200_000 },
			"makes more than 200000 queues"},
		{"more shapes than asks", func(s *workload.Spec) { s.Shapes = s.Asks + 1 },
			"--shapes is 301, and must be from 1 to 300"},
		{"applications without end", func(s *workload.Spec) { s.AppsPerLeaf = 999_999 },
			"make more than 1000000 applications"},
		{"a share above one", func(s *workload.Spec) { s.Bound = 1.5 }, "--bound is 1.5, and must be from 0 to 1"},
		{"a bound that reaches no leaf", func(s *workload.Spec) { s.Bound = 0.01 },
			"--bound 0.01 of 9 leaves is less than one leaf"},
		{"no number", func(s *workload.Spec) { s.Saturation = nan() }, "--saturation is NaN"},
		{"an order that is none", func(s *workload.Spec) { s.Sort = "lifo" },
			`--sort is "lifo", and must be one of fifo, fair, stateaware`},
		{"a rate without a clock", func(s *workload.Spec) { s.Rate = 10 }, "--rate needs --via inprocess or grpc"},
		{"churn at no rate", func(s *workload.Spec) { s.Churn, s.Via = 1, workload.ViaGRPC },
			"--churn via grpc needs a --rate"},
		{"asks at a rate that do not fit", func(s *workload.Spec) { s.Rate, s.Saturation, s.Via = 10, 2, workload.ViaGRPC },
			"--saturation is 2, and may be 0.9"},
		{"a rate that takes too long", func(s *workload.Spec) { s.Rate, s.Via = 0.001, workload.ViaGRPC },
			"minutes, and may take 60"},
		{"preemptors of no right", func(s *workload.Spec) { s.Preemptors = 1; s.PreemptBy = "force" },
			`--preempt-by is "force", and must be one of leaf, fence, guarantee`},
		{"victims without a preemptor's place", func(s *workload.Spec) { s.Preemptors, s.Victims = 1, 0 },
			"--victims is 0, and must be from 1 to 300"},
		{"more sizes than preemptors", func(s *workload.Spec) { s.Preemptors, s.PreemptorSizes = 3, 4 },
			"--preemptor-sizes is 4, and must be from 1 to 3"},
		{"more together than there are", func(s *workload.Spec) { s.Preemptors, s.AtOnce = 3, 4 },
			"--at-once is 4, and must be from 1 to 3"},
		{"one preemptor", func(s *workload.Spec) { s.Preemptors, s.Saturation = 1, 1 },
			"--preemptors is 1, and must be at least 2"},
		{"preemptors in a cluster that is not full", func(s *workload.Spec) { s.Preemptors = 3 },
			"--preemptors need a full cluster: --saturation is 0.8, and must be at least 1"},
		{"preemptors and churn", func(s *workload.Spec) { s.Preemptors, s.Saturation, s.Churn = 3, 1, 1 },
			"--preemptors go with neither --churn nor --rate nor --bound"},
		{"preemptors with too many victims", func(s *workload.Spec) { s.Preemptors, s.Saturation, s.Victims = 51, 1, 3 },
			"51 --preemptors with --victims 3 take more than half of 300 --asks"},
		{"sizes without memory",
			func(s *workload.Spec) { s.Preemptors, s.Saturation, s.PreemptorSizes, s.Types = 3, 1, 2, 1 },
			"--preemptor-sizes needs --types 2: sizes differ in memory"},
		{"a way that is none", func(s *workload.Spec) { s.Via = "http" }, "--via is"},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := smallSpec()
			c.change(&spec)
			assert.ErrorContains(t, spec.Check(), c.want)
		})
	}
	assert.NilError(t, smallSpec().Check())
	assert.NilError(t, workload.DefaultSpec().Check())
}

func nan() float64 {
	zero := 0.0
	return zero / zero
}
