package webservice

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
	"github.com/canopy-scheduler/canopy/internal/server/plan"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// planning admits one plan at a time: it visits every allocation.
type planning struct{ busy atomic.Bool }

// plan compares the text of the body with the configuration in force, and with the state of its partitions, or of one
// (WEB-8). It changes nothing, so readers may ask.
func (s *service) plan(r *http.Request) (any, error) {
	if !s.planning.busy.CompareAndSwap(false, true) {
		return nil, refusal(http.StatusServiceUnavailable, "another plan is being made: try again")
	}
	defer s.planning.busy.Store(false)
	limit := s.opt.Reloads.MaxBytes()
	text, tooLong, err := s.validations.read(r.Body, limit)
	defer s.validations.release(text)
	if err != nil {
		return nil, err
	}
	if tooLong {
		return nil,
			refusal(http.StatusRequestEntityTooLarge, "the configuration is longer than max-config-bytes (%d)", limit)
	}
	next, problems := s.load(r.Context(), text)
	current := s.opt.Reloads.Current()
	if next == nil || problems.HasErrors() {
		const reason = "the configuration is invalid"
		return nil, &failure{status: http.StatusBadRequest, reason: reason, body: dao.InvalidConfig{
			Error:      dao.NewError(http.StatusBadRequest, reason),
			Generation: current.Number, Problems: problems,
		}}
	}
	before, err := s.configOf(r.Context(), current.Text)
	if err != nil {
		return nil, fmt.Errorf("generation %d: %w", current.Number, err)
	}
	var partitions []string
	if name := r.URL.Query().Get("partition"); name != "" {
		if err := plan.CheckPartition(name, before, next); err != nil {
			return nil, badRequest("%v", err)
		}
		partitions = []string{name}
	}
	state, err := s.planState(r)
	if err != nil {
		return nil, err
	}
	slot := cpushare.Readers.Acquire(r.Context())
	defer slot.Release()
	p := plan.ComputeAndYield(slot.Yield, before, next, state, partitions...)
	p.Warnings = append(p.Warnings, problems.Warnings()...)
	return p, nil
}

// configOf reads the text of a generation; an empty one is the default configuration.
func (s *service) configOf(ctx context.Context, text string) (*configs.Config, error) {
	bytes := []byte(text)
	if len(bytes) == 0 {
		bytes = queuesyaml.Default()
	}
	conf, problems := s.load(ctx, bytes)
	if conf == nil {
		return nil, problems.Errors()
	}
	return conf, nil
}

// planState is the state of all partitions, each at one moment.
func (s *service) planState(r *http.Request) (plan.State, error) {
	state := plan.State{}
	snaps, err := s.allSnapshots(r.Context())
	for _, snap := range snaps {
		state[snap.Partition] = planPartition(r.Context(), snap)
	}
	return state, err
}

// planPartition is the state of a partition as a plan compares it.
func planPartition(ctx context.Context, snap *scheduler.Snapshot) *plan.Partition {
	slot := cpushare.Readers.Acquire(ctx)
	defer slot.Release()
	p := plan.NewPartition()
	p.Capacity = snap.Capacity.Map()
	eachQueue(snap.Root, slot, func(q *scheduler.QueueView) {
		path := string(q.Path)
		p.Leaf[path], p.Allocated[path] = q.Leaf, q.Allocated.Map()
		if q.Leaf && !q.Managed {
			settings := configs.ChildTemplate{MaxApplications: q.MaxApplications, Max: q.WrittenMax,
				Guaranteed: q.WrittenGuarantee, Settings: q.Settings}
			p.Dynamic[path] = plan.DynamicLeaf{Settings: settings, Tags: q.QuotaTags.Names()}
		}
		if q.AboveMax != nil {
			p.AboveMax[path] = snap.At.Sub(q.AboveMax.Since).Truncate(time.Second)
		}
		for a := range q.Applications.All() {
			slot.Yield()
			p.Applications = append(p.Applications, plan.Application{ID: string(a.ID), Queue: path, User: a.User})
			for w := range a.Allocations.All() {
				p.Workloads = append(p.Workloads,
					plan.Workload{Queue: path, User: a.User, Class: w.PriorityClass, Amounts: w.Ask.Amounts.Map()})
			}
		}
	})
	for _, groups := range []bool{false, true} {
		used := usageSummer{groups: groups, active: true, slot: slot} // who has no application is above no limit
		for _, n := range used.sorted(snap.Root) {
			slot.Yield()
			p.Usage = appendUsage(p.Usage, n, groups)
		}
	}
	return p
}

// appendUsage appends the usage of a user or a group in a queue and in those below.
func appendUsage(to []plan.Usage, n *queueUsage, groups bool) []plan.Usage {
	u := plan.Usage{Queue: n.path, User: n.name, Resources: n.used.Map(), Running: len(n.running())}
	if groups {
		u.User, u.Group = "", n.name
	}
	to = append(to, u)
	for _, child := range n.children {
		to = appendUsage(to, child, groups)
	}
	return to
}
