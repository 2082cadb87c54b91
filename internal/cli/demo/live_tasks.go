package demo

import (
	"fmt"
	"strconv"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/runtimes"
)

// How the tasks of a LiveDemo begin and end.

// Times of a preempted task.
var (
	liveGrace    = [2]time.Duration{2 * time.Second, 9 * time.Second} // until it has ended
	liveResubmit = 3 * time.Second                                    // then until it is submitted again
)

// submitJob submits an application of a kind with its tasks.
func (d *LiveDemo) submitJob(kind int) error {
	k := &liveKinds[kind]
	d.jobNumber++
	j := &liveJob{id: fmt.Sprintf("%s-%04d", k.name, d.jobNumber), kind: kind, user: pick(d.rng, k.users)}
	n := k.tasks[0] + d.rng.IntN(k.tasks[1]-k.tasks[0]+1)
	app := &si.AddApplicationRequest{
		ApplicationID: j.id, QueueName: k.queue, PartitionName: partitionName,
		Ugi: &si.UserGroupInformation{User: j.user, Groups: []string{k.group}},
	}
	app.Tags = map[string]string{runtimes.BoundTag: k.bound().String()}
	if k.gang {
		app.Tags["canopy.scheduler/virtual-placeholders"] = "true"
		app.Tags["yunikorn.apache.org/task-groups"] = fmt.Sprintf(`[{"name":"workers","minMember":%d}]`, n)
	}
	d.running[kind]++
	millicores := pick(d.rng, k.millicores)
	var tasks []*liveTask
	for range n {
		tasks = append(tasks, d.newTask(j, millicores, k.memory*millicores/millicoresPerCore, k.gpus))
	}
	if err := d.api.UpdateApplication(&si.ApplicationRequest{RmID: liveRM,
		New: []*si.AddApplicationRequest{app}}); err != nil {
		return err
	}
	return d.submit(tasks...)
}

// submitFixtures submits what waits for ever.
func (d *LiveDemo) submitFixtures() error {
	for _, f := range liveFixtures {
		j := &liveJob{id: f.app, kind: -1, user: f.user}
		if err := d.api.UpdateApplication(&si.ApplicationRequest{RmID: liveRM, New: []*si.AddApplicationRequest{{
			ApplicationID: j.id, QueueName: f.queue, PartitionName: partitionName,
			Ugi: &si.UserGroupInformation{User: f.user, Groups: []string{f.group}},
		}}}); err != nil {
			return err
		}
		t := d.newTask(j, f.millicores, f.gibibytes, 0)
		t.tags = f.tags
		if err := d.submit(t); err != nil {
			return err
		}
	}
	return nil
}

func (d *LiveDemo) newTask(j *liveJob, millicores, gibibytes, gpus int64) *liveTask {
	j.sequence++
	j.left++
	t := &liveTask{key: j.id + "-" + strconv.Itoa(j.sequence), job: j, millicores: millicores, memory: max(gibibytes, 1),
		gpus: gpus}
	d.tasks[t.key] = t
	if j.kind >= 0 {
		d.demand[j.kind] += millicores
	}
	return t
}

// submit sends asks in one message.
func (d *LiveDemo) submit(tasks ...*liveTask) error {
	m := &si.AllocationRequest{RmID: liveRM}
	for _, t := range tasks {
		a := &si.Allocation{
			AllocationKey: t.key, ApplicationID: t.job.id, PartitionName: partitionName,
			ResourcePerAlloc: liveResource(t.millicores, t.memory, t.gpus, 1),
			AllocationTags:   map[string]string{"kubernetes.io/meta/namespace": t.job.id, "kubernetes.io/meta/podName": t.key},
			PreemptionPolicy: &si.PreemptionPolicy{AllowPreemptSelf: true, AllowPreemptOther: true},
		}
		for key, value := range t.tags {
			a.AllocationTags[key] = value
		}
		if t.job.kind >= 0 {
			k := &liveKinds[t.job.kind]
			a.Priority = k.priority
			if k.gang {
				a.TaskGroupName = "workers"
			}
		}
		m.Allocations = append(m.Allocations, a)
	}
	return d.api.UpdateAllocation(m)
}

// receive processes what the callbacks have got.
func (d *LiveDemo) receive() error {
	for _, m := range d.inbox.take() {
		for _, a := range m.New {
			if t := d.tasks[a.AllocationKey]; t != nil && !t.placed {
				t.placed = true
				if t.job.kind >= 0 {
					d.after(d.between(liveKinds[t.job.kind].runs), func() error { return d.end(t, si.TerminationType_STOPPED_BY_RM) })
				}
			}
		}
		for _, r := range m.Released {
			t := d.tasks[r.AllocationKey]
			if t == nil {
				continue
			}
			if r.TerminationType == si.TerminationType_PREEMPTED_BY_SCHEDULER {
				t.ending, d.preempted = true, true
				d.after(d.between(liveGrace), func() error { return d.victimEnds(t) })
				continue
			}
			if r.TerminationType == si.TerminationType_TIMEOUT { // this process was stopped for longer than the bound
				if err := d.end(t, r.TerminationType); err != nil {
					return err
				}
				continue
			}
			d.ended(t)
		}
		for _, r := range m.RejectedAllocations {
			if t := d.tasks[r.AllocationKey]; t != nil {
				d.ended(t)
			}
		}
	}
	return nil
}

// end releases a task that has run to its end. One that is being preempted ends then.
func (d *LiveDemo) end(t *liveTask, how si.TerminationType) error {
	if d.tasks[t.key] != t || t.ending && how != si.TerminationType_PREEMPTED_BY_SCHEDULER {
		return nil
	}
	d.ended(t)
	return d.api.UpdateAllocation(&si.AllocationRequest{RmID: liveRM, Releases: &si.AllocationReleasesRequest{
		AllocationsToRelease: []*si.AllocationRelease{{
			PartitionName: partitionName, ApplicationID: t.job.id, AllocationKey: t.key, TerminationType: how, Message: "done",
		}},
	}})
}

// victimEnds confirms the end of a victim, and submits its work again.
func (d *LiveDemo) victimEnds(t *liveTask) error {
	if d.tasks[t.key] != t {
		return nil
	}
	again := d.newTask(t.job, t.millicores, t.memory, t.gpus) // before the old one ends, so that the job goes on
	d.after(liveResubmit, func() error { return d.submit(again) })
	return d.end(t, si.TerminationType_PREEMPTED_BY_SCHEDULER)
}

// ended forgets a task, and its job after the last one.
func (d *LiveDemo) ended(t *liveTask) {
	delete(d.tasks, t.key)
	t.job.left--
	if t.job.kind < 0 {
		return
	}
	d.demand[t.job.kind] -= t.millicores
	if t.job.left == 0 {
		d.running[t.job.kind]--
	}
}

func liveResource(millicores, gibibytes, gpus, podCount int64) *si.Resource {
	m := map[string]*si.Quantity{
		resources.VCore: {Value: millicores}, "memory": {Value: gibibytes * gibibyte}, pods: {Value: podCount},
	}
	if gpus > 0 {
		m[liveGPU] = &si.Quantity{Value: gpus}
	}
	return &si.Resource{Resources: m}
}
