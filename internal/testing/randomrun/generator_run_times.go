package randomrun

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/runtimes"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// One run in runTimeRuns has bounds of run times.
const runTimeRuns = 4

// addRunTimes gives queues, asks and applications bounds of run times, in some runs. All depends on the names alone:
// the rest of the run stays the same.
func (s *Run) addRunTimes() {
	if !independentGenerator(fmt.Sprint("run times ", len(s.Steps), describePartition(s.Partition))).OneIn(runTimeRuns) {
		return
	}
	boundQueues(&s.Partition.Root, "", 0)
	addBackfill(&s.Partition, 0)
	elapsed, known := time.Duration(0), map[objects.AllocationKey]objects.Timestamp{}
	for i := 0; i < len(s.Steps); i++ {
		b := &s.Steps[i]
		elapsed += b.After
		switch c := b.Command.(type) {
		case scheduler.UseConfig:
			c.Prepared = nil
			boundQueues(&c.Partition.Root, "", i)
			addBackfill(&c.Partition, i)
			b.Command = c
		case scheduler.AddApplication:
			c.Tags = withBound(c.Tags, string(c.App), 6)
			b.Command = c
		case scheduler.SubmitAsk:
			c.Ask = boundAsk(c.Ask)
			b.Command = c
		case scheduler.SubmitAskWithClass:
			c.Ask = boundAsk(c.Ask)
			b.Command = c
		case scheduler.ResetPartition:
			if i%2 == 0 {
				s.Steps = slices.Insert(s.Steps, i+1, Step{Command: scheduler.RestoreStarts{Starts: startsOf(known)}})
			}
		case scheduler.ReportAllocation:
			c.Ask = boundAsk(c.Ask)
			known[c.Ask.Key] = objects.TimestampOf(StartTime().Add(elapsed))
			if g := independentGenerator(fmt.Sprint("start ", c.Ask.Key)); g.OneIn(3) {
				at := StartTime().Add(elapsed).Unix()
				tags := maps.Clone(c.Ask.Tags())
				if tags == nil {
					tags = map[string]string{}
				}
				tags[runtimes.StartTag] = Pick(g, strconv.FormatInt(at-Pick[int64](g, 0, 20, 3600), 10),
					strconv.FormatInt(at+3600, 10), "yesterday")
				c.Ask = c.Ask.WithTags(tags)
			}
			b.Command = c
		}
	}
}

// addBackfill has some partitions backfill their reservations, if they have any.
func addBackfill(p *configs.Partition, version int) {
	g := independentGenerator(fmt.Sprint("backfill ", version, len(p.Root.Children)))
	r := &p.Reservation
	r.Backfill = Pick(g, configs.BackfillOff, configs.BackfillBounded)
	r.BackfillAsks, r.BackfillNodes = Pick(g, 1, 64), Pick(g, 1, 64)
}

// boundQueues bounds the run times of q and of the queues below it, whose list it copies.
func boundQueues(q *configs.Queue, path string, version int) {
	path += "." + q.Name
	g := independentGenerator(fmt.Sprint("run times of ", path, " ", version))
	bound := configs.RunTime{
		Default: Pick(g, 0, 0, 20*time.Second, time.Minute), Max: Pick(g, 0, 0, 30*time.Second, 10*time.Minute),
		Cut: g.OneIn(2), Enforced: !g.OneIn(3), Grace: Pick(g, 0, 10*time.Second, 30*time.Second),
	}
	q.RunTime = bound
	if q.ChildTemplate != nil {
		template := *q.ChildTemplate
		template.RunTime = bound
		q.ChildTemplate = &template
	}
	q.Children = slices.Clone(q.Children)
	for i := range q.Children {
		boundQueues(&q.Children[i], path, version)
	}
}

func boundAsk(ask *objects.Ask) *objects.Ask {
	return ask.WithTags(withBound(ask.Tags(), string(ask.Key), 3))
}

// withBound adds a bound to the tags of one of n names. Some cannot be read.
func withBound(tags map[string]string, name string, n int) map[string]string {
	g := independentGenerator("run time of " + name)
	if !g.OneIn(n) {
		return tags
	}
	out := map[string]string{Pick(g, runtimes.BoundTag, "kubernetes.io/label/"+runtimes.BoundTag): Pick(g, "5s", "15s",
		"1m", "5m", "2h", "2h", "soon", "1ms")}
	maps.Copy(out, tags)
	return out
}

// startsOf lists starts by key.
func startsOf(known map[objects.AllocationKey]objects.Timestamp) (starts []runtimes.Start) {
	for _, key := range slices.Sorted(maps.Keys(known)) {
		starts = append(starts, runtimes.Start{Key: key, At: known[key]})
	}
	return starts
}
