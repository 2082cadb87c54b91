package bench

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// reloads is the number of reloads: enough for a 99th percentile.
const reloads = 200

// measureReload measures how long scheduling pauses when a core with a full cluster gets another
// configuration: from the command to the end of its decisions. Two configurations alternate, one with
// the node sort policy fair and one with binpacking, so that all nodes are re-sorted.
func measureReload(s *stream, r *result) error {
	other, problems := queuesyaml.Load([]byte(s.otherConfig()))
	if other == nil {
		return fmt.Errorf("the other configuration: %s", problems.Error())
	}
	core := newCore(s)
	t := newDriver(core)
	if err := t.load(s); err != nil {
		return err
	}
	p := make(placements, 0, s.spec.Asks)
	t.fill(&p, nil)
	turns := [...]configs.Partition{other.Partitions[0], s.partition}
	pauses := r.family(pauseTimes)
	for i := range reloads + 2 { // the first two are the warm-up
		if i%20 == 0 {
			runtime.GC()
		}
		began := time.Now()
		if err := t.apply(scheduler.UseConfig{Partition: turns[i%2]}); err != nil {
			return err
		}
		t.fill(&p, nil)
		if took := time.Since(began); i >= 2 {
			pauses.Add(took)
		}
	}
	r.sample["allocations"] = float64(len(p))
	return core.Check()
}

func (s *stream) otherConfig() string {
	order := map[string]string{"fair": "binpacking", "binpacking": "fair"}
	return strings.Replace(s.config, "{type: "+s.spec.NodeSort+"}", "{type: "+order[s.spec.NodeSort]+"}", 1)
}
