package webservice

import (
	"context"
	"fmt"
	"iter"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// The state dump is everything that REST shows in one document, for a report about a fault (RST-6). It is written piece
// by piece from one snapshot of each partition, and one dump at a time.

const stateDumpPath = "/debug/fullstatedump"

// redirectTo answers with a path that has moved, relative to that of the request: the handler may be mounted below a
// prefix.
func redirectTo(path string) serve {
	return raw(func(_ *service, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "../.."+path)
		w.WriteHeader(http.StatusMovedPermanently)
	})
}

func (s *service) stateDump(w http.ResponseWriter, r *http.Request) {
	release, err := s.dumps.Acquire(r.Context(), clientHost(r))
	if err != nil {
		w.Header().Set("Retry-After", "1")
		s.fail(w, r, fmt.Errorf("another state dump is being written: %w", err))
		return
	}
	defer release()
	snaps, err := s.allSnapshots(r.Context())
	if err != nil {
		s.fail(w, r, err)
		return
	}
	dump, err := s.dumpOf(r, snaps)
	s.answer(w, r, http.StatusOK, dump, err)
}

// dumpOf returns the state dump; its lists are made while they are written.
func (s *service) dumpOf(r *http.Request, snaps []*scheduler.Snapshot) (dump dao.StateDump, err error) {
	dump = dao.StateDump{
		Timestamp: dao.Nanos(s.opt.Now()), Partitions: s.partitionBodies(r.Context(), snaps),
		Applications: applicationsOf(snaps), Nodes: []dao.PartitionNodes{}, Queues: []dao.Queue{},
		ClusterInfo: s.clusterBodies(), RMDiagnostics: s.diagnostics(r.Context()), LogLevel: s.opt.LogLevel(),
	}
	for _, snap := range snaps {
		dump.Queues = append(dump.Queues, queueTree(snap, cpushare.Readers.Acquire(r.Context())))
		dump.Nodes = append(dump.Nodes,
			dao.PartitionNodes{PartitionName: snap.Partition, NodesInfo: dao.ListOf(snap.Nodes.All(), dao.NewNode)})
	}
	if s.opt.Totals != nil {
		dump.AppHistory, dump.ContainerHistory = s.applicationSamples(), s.containerSamples()
	}
	if s.opt.Reloads != nil {
		g := s.opt.Reloads.Current()
		if dump.Config, err = s.configs.body(g); err != nil {
			return dump, err
		}
		rules, err := s.rules.get(r.Context(), g, s.load)
		if err != nil {
			return dump, err
		}
		dump.PlacementRules = []dao.PartitionRules{}
		for _, snap := range snaps {
			dump.PlacementRules = append(dump.PlacementRules,
				dao.PartitionRules{Partition: snap.Partition, Rules: rules[snap.Partition]})
		}
	}
	if s.opt.History != nil {
		dump.EventStreams = []dao.EventStream{}
		for _, x := range s.opt.History.Streams() {
			dump.EventStreams = append(dump.EventStreams, dao.EventStream{Name: x.Host, CreatedAt: x.Opened})
		}
	}
	return dump, nil
}

// applicationsOf returns the applications of all partitions: active, completed and rejected ones.
func applicationsOf(snaps []*scheduler.Snapshot) dao.List[dao.Application] {
	return func(yield func(dao.Application) bool) {
		for _, snap := range snaps {
			if !eachApplication(snap.Root, true, func(a *scheduler.ApplicationView, path objects.QueuePath) bool {
				return yield(dao.NewApplication(snap.Partition, snap.At, path, a, nil))
			}) {
				return
			}
			for _, ended := range []iter.Seq[*lifecycle.Ended]{snap.Completed.All(), snap.Rejected.All()} {
				for x := range ended {
					if !yield(dao.NewEndedApplication(snap.Partition, x)) {
						return
					}
				}
			}
		}
	}
}

// diagnostics returns what the resource manager says of itself, or why it does not.
func (s *service) diagnostics(ctx context.Context) any {
	if s.opt.Diagnostics == nil {
		return map[string]string{"empty": "no resource manager in this process offers a state dump"}
	}
	text, err := s.opt.Diagnostics(ctx)
	switch {
	case err != nil:
		return map[string]string{"Error": err.Error()}
	case text == "":
		return map[string]string{"empty": "no resource manager in this process offers a state dump"}
	case !jsontext.Value(text).IsValid(answerOptions):
		return map[string]string{"Error": "the state dump of the resource manager is no JSON"}
	}
	return jsontext.Value(text)
}
