package webservice

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// The state dump is everything that REST shows in one document, for a report about a fault (RST-6). It is written piece
// by piece from one snapshot of each partition, and one dump at a time.

const stateDumpPath = "/debug/fullstatedump"

func (s *service) routeStateDump(mux *router) {
	mux.HandleFunc("GET "+stateDumpPath, s.stateDump)
	mux.HandleFunc("GET /ws/v1/fullstatedump", redirectTo(stateDumpPath))
}

// redirectTo answers with a path that has moved, relative to that of the request: the handler may be mounted below a
// prefix.
func redirectTo(path string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "../.."+path)
		w.WriteHeader(http.StatusMovedPermanently)
	}
}

func (s *service) stateDump(w http.ResponseWriter, r *http.Request) {
	release, err := s.dumps.Acquire(r.Context(), clientHost(r))
	if err != nil {
		w.Header().Set("Retry-After", "1")
		s.fail(w, r, fmt.Errorf("another state dump is being written: %w", err))
		return
	}
	defer release()
	trees, err := s.allTrees(r.Context())
	if err != nil {
		s.fail(w, r, err)
		return
	}
	fields, err := s.dumpFields(r, trees)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.writePieces(w, r, http.StatusOK, jsonType, indentedPieces(objectOf(fields)))
}

// allTrees are the queue trees of all partitions, each with its snapshot.
func (s *service) allTrees(ctx context.Context) (trees []*queueTree, err error) {
	for _, name := range s.cluster.Partitions() {
		l, ok := s.cluster.Partition(name)
		if !ok {
			continue // a reload has just removed it
		}
		tree, err := s.queueTree(ctx, l)
		if _, configured := s.cluster.Partition(name); errors.Is(err, loop.ErrEnded) && !configured {
			continue
		}
		if err != nil {
			return nil, err
		}
		trees = append(trees, tree)
	}
	return trees, nil
}

// dumpField is a field of the state dump.
type dumpField struct {
	name  string
	value pieces
}

// dumpFields are the fields of the state dump, in the order of YuniKorn.
func (s *service) dumpFields(r *http.Request, trees []*queueTree) ([]dumpField, error) {
	e := newEncoder()
	one := func(body any) pieces {
		return func(yield func([]byte) bool) { yield(e.piece(body)) }
	}
	list := func(each func(*queueTree) pieces) pieces { return listOfPieces(trees, each) }
	partitions := make([]dao.Partition, len(trees))
	for i, t := range trees {
		partitions[i] = s.partitionBody(viewPartition(r.Context(), t.snapshot))
	}
	fields := []dumpField{
		{"timestamp", one(dao.Nanos(s.opt.Now()))},
		{"partitions", one(partitions)},
		{"applications", func(yield func([]byte) bool) { eachListed(trees, e, yield) }},
		{"nodes", list(func(t *queueTree) pieces { return nodesOfPartition(e, t.snapshot) })},
		{"queues", list((*queueTree).pieces)},
		{"rmDiagnostics", one(s.diagnostics(r.Context()))},
		{"logLevel", one(s.opt.LogLevel())},
	}
	clusters, err := s.clusters(r)
	if err != nil {
		return nil, err
	}
	fields = append(fields, dumpField{"clusterInfo", one(clusters)})
	if s.opt.Totals != nil {
		apps, _ := s.applicationHistory(r)
		containers, _ := s.containerHistory(r)
		fields = append(fields, dumpField{"appHistory", one(apps)}, dumpField{"containerHistory", one(containers)})
	}
	if s.opt.Reloads != nil {
		g := s.opt.Reloads.Current()
		config, err := s.configCache.get(r.Context(), g, formatJSON)
		if err != nil {
			return nil, fmt.Errorf("generation %d: %w", g.Number, err)
		}
		rules, err := s.rules.get(r.Context(), g, s.load)
		if err != nil {
			return nil, err
		}
		all := []dao.PartitionRules{}
		for _, t := range trees {
			all = append(all, dao.PartitionRules{Partition: t.snapshot.Partition, Rules: rules[t.snapshot.Partition]})
		}
		fields = append(fields, dumpField{"config", func(yield func([]byte) bool) { yield(config) }},
			dumpField{"placementRules", one(all)})
	}
	if s.opt.History != nil {
		streams := []dao.EventStream{}
		for _, x := range s.opt.History.Streams() {
			streams = append(streams, dao.EventStream{Name: x.Host, CreatedAt: x.Opened})
		}
		fields = append(fields, dumpField{"eventStreams", one(streams)})
	}
	return inDumpOrder(fields), nil
}

// dumpOrder is the order of the fields in YuniKorn.
var dumpOrder = []string{
	"timestamp", "partitions", "applications", "appHistory", "nodes", "clusterInfo", "containerHistory", "queues",
	"rmDiagnostics",
	"logLevel", "config", "placementRules", "eventStreams",
}

func inDumpOrder(fields []dumpField) []dumpField {
	slices.SortFunc(fields,
		func(a, b dumpField) int { return slices.Index(dumpOrder, a.name) - slices.Index(dumpOrder, b.name) })
	return fields
}

// objectOf is the JSON object with the fields.
func objectOf(fields []dumpField) pieces {
	return func(yield func([]byte) bool) {
		before := "{"
		for _, f := range fields {
			if !yield([]byte(before+`"`+f.name+`":`)) || !yieldAll(f.value, yield) {
				return
			}
			before = ","
		}
		yield([]byte("}"))
	}
}

func yieldAll(all pieces, yield func([]byte) bool) bool {
	for piece := range all {
		if !yield(piece) {
			return false
		}
	}
	return true
}

// listOfPieces is the JSON list of the values of all.
func listOfPieces[T any](all []T, value func(T) pieces) pieces {
	return func(yield func([]byte) bool) {
		before := []byte("[")
		for _, x := range all {
			if !yield(before) || !yieldAll(value(x), yield) {
				return
			}
			before = []byte(",")
		}
		if before[0] == '[' && !yield(before) {
			return
		}
		yield([]byte("]"))
	}
}

// eachListed yields the JSON list of the applications of all partitions: active, completed and rejected ones.
func eachListed(trees []*queueTree, e *encoder, yield func([]byte) bool) {
	before := []byte("[")
	add := func(value pieces) bool {
		if !yield(before) || !yieldAll(value, yield) {
			return false
		}
		before = []byte(",")
		return true
	}
	for _, t := range trees {
		snap := t.snapshot
		if !eachApplication(snap.Root, true, func(a *scheduler.ApplicationView, path string) bool {
			all, _ := applicationPieces(e, snap.Partition, path, a)
			return add(all)
		}) {
			return
		}
		for _, ended := range []iter.Seq[*lifecycle.Ended]{snap.Completed.All(), snap.Rejected.All()} {
			for x := range ended {
				if !add(func(yield func([]byte) bool) { yield(e.piece(dao.NewEndedApplication(snap.Partition, x))) }) {
					return
				}
			}
		}
	}
	if before[0] == '[' && !yield(before) {
		return
	}
	yield([]byte("]"))
}

// nodesOfPartition is the JSON of the nodes of a partition.
func nodesOfPartition(e *encoder, snap *scheduler.Snapshot) pieces {
	return objectOf([]dumpField{
		{"partitionName", func(yield func([]byte) bool) { yield(e.piece(snap.Partition)) }},
		{"nodesInfo", listOfPieces(slices.Collect(snap.Nodes.All()), func(n *scheduler.NodeView) pieces {
			all, _ := nodePieces(e, n)
			return all
		})},
	})
}

// diagnostics is what the resource manager says of itself, or why it does not.
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
	case !json.Valid([]byte(text)):
		return map[string]string{"Error": "the state dump of the resource manager is no JSON"}
	}
	return json.RawMessage(text)
}

// partitionBody completes the body of a partition.
func (s *service) partitionBody(one dao.Partition) dao.Partition {
	if s.opt.ClusterID != nil {
		one.ClusterID = s.opt.ClusterID()
	}
	return one
}
