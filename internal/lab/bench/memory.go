package bench

import (
	"errors"
	"runtime"

	"github.com/canopy-scheduler/canopy/internal/lab/measure"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// measureMemory measures the heap bytes of a leaf, a node, an application and an ask: the difference
// between a tenth of them and all. IDs, keys and tags are held by the core and count.
func measureMemory(s *stream, r *result) error {
	perLeaf, err := s.bytesPerLeaf()
	if err != nil {
		return err
	}
	core := newCore(s)
	t := newDriver(core)
	r.sample["bytesPerQueue"] = perLeaf
	for _, part := range []struct {
		metric string
		count  int
		cmd    func(i int) scheduler.Command
	}{
		{"bytesPerNode", len(s.nodes), s.addNode},
		{"bytesPerApplication", len(s.apps), s.addApp},
		{"bytesPerAsk", s.spec.Asks, s.submit},
	} {
		few := part.count / 10
		err := t.applyAll(few, part.cmd)
		before := measure.HeapHeld()
		err = errors.Join(err, t.applyAll(part.count-few, func(i int) scheduler.Command { return part.cmd(few + i) }))
		if err != nil {
			return err
		}
		r.sample[part.metric] = growth(before, measure.HeapHeld(), part.count-few)
	}
	err = core.Check()
	runtime.KeepAlive(s) // the stream must not be freed in between
	return err
}

// bytesPerLeaf compares a tree with one that has a tenth of the children at the last but one level,
// including the configuration.
func (s *stream) bytesPerLeaf() (float64, error) {
	few := *s
	few.spec.Fanout = max(s.spec.Fanout/10, 1)
	few.spec.Bound = 0
	smallText, largeText := few.configText(), s.configText()
	held := func(text string) (uint64, *scheduler.Core, error) {
		before := measure.HeapHeld()
		conf, problems := queuesyaml.Load([]byte(text))
		if conf == nil {
			return 0, nil, problems
		}
		core := scheduler.New(conf.Partitions[0], nil)
		conf = nil
		return measure.HeapHeld() - before, core, nil
	}
	small, one, err := held(smallText)
	if err != nil {
		return 0, err
	}
	large, other, err := held(largeText)
	runtime.KeepAlive(one)
	runtime.KeepAlive(other)
	_, fewLeaves := few.spec.Queues()
	return growth(small, large, len(s.leaves)-fewLeaves), err
}

func growth(before, after uint64, count int) float64 {
	return max(0, float64(int64(after)-int64(before))/float64(max(count, 1)))
}
