package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/grpc/mem"
)

// recordingRounds is the number of times that the workload runs on each server.
const recordingRounds = 12

// measureRecording measures what recording adds to the CPU time of a server over gRPC: all asks are sent, placed and
// released as fast as it goes, by turns on a server that records and on one that does not. The first round of each
// warms it up.
func measureRecording(ctx context.Context, s *stream, r *result, j Job) (err error) {
	dir, err := os.MkdirTemp("", "canopy-bench-recording-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	servers := [2]*serverProcess{}
	for i, flags := range [2][]string{nil, {"--record", dir}} {
		servers[i], err = startServer(ctx, j.Server, flags...)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, servers[i].stop()) }()
	}
	asks, releases, err := s.turnover()
	if err != nil {
		return err
	}
	var cost [2]time.Duration // of all rounds: the kernel counts in steps of 10 ms
	for round := range 1 + recordingRounds {
		for i := range servers {
			arm := (i + round) % len(servers)
			cpu, err := s.turnOver(ctx, servers[arm], asks, releases)
			if err != nil {
				return err
			}
			if round > 0 {
				cost[arm] += cpu
			}
		}
	}
	per := float64(recordingRounds*s.spec.Asks) * float64(time.Microsecond)
	r.sample["cpuPerDecision"], r.sample["recordedCPUPerDecision"] = float64(cost[0])/per, float64(cost[1])/per
	r.sample["recordedRatio"] = float64(cost[1]) / float64(max(cost[0], 1))
	size, err := bytesBelow(dir)
	if err != nil {
		return err
	}
	commands := float64((1 + recordingRounds) * (2*s.spec.Asks + len(s.nodes) + len(s.apps)))
	r.sample["bytesPerCommand"] = float64(size) / commands
	r.sample["allocations"] = float64(s.spec.Asks)
	return nil
}

// bytesBelow returns the bytes of all files below a directory.
func bytesBelow(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	return total, err
}

// turnover returns messages with all asks, and messages that release them, encoded in advance.
func (s *stream) turnover() (asks, releases []mem.BufferSlice, err error) {
	for first := 0; first < s.spec.Asks; first += messageBatch {
		ask, release := &si.AllocationRequest{RmID: rmID},
			&si.AllocationRequest{RmID: rmID, Releases: &si.AllocationReleasesRequest{}}
		for i := first; i < min(first+messageBatch, s.spec.Asks); i++ {
			ask.Allocations = append(ask.Allocations, s.askMessage(i))
			release.Releases.AllocationsToRelease = append(release.Releases.AllocationsToRelease, s.releaseMessage(i))
		}
		if asks, err = appendEncoded(asks, ask); err == nil {
			releases, err = appendMessage(releases, release)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return asks, releases, nil
}

// turnOver registers, has all asks placed and released, and returns the CPU time of the server for that.
func (s *stream) turnOver(ctx context.Context, server *serverProcess, asks,
	releases []mem.BufferSlice) (cpu time.Duration, err error) {
	rec := newRecorder()
	g := &grpcClient{address: server.grpc, recorder: rec, stream: s}
	l := &loadedScheduler{apiClient: g, recorder: rec, stream: s}
	g.streamCtx, g.cancel = context.WithCancel(context.Background())
	defer func() { err = errors.Join(err, g.close()) }()
	if err := g.connect(ctx); err != nil {
		return 0, err
	}
	for _, x := range s.nodeMessages() {
		err = errors.Join(err, g.sendNode(x))
	}
	for _, x := range s.appMessages() {
		err = errors.Join(err, g.sendApplication(x))
	}
	if err == nil {
		err = l.await(ctx, "the nodes and applications",
			func() bool { return l.nodes == len(s.nodes) && l.apps == len(s.apps) })
	}
	if err == nil {
		err = errors.Join(g.sendNode(s.openMessage()), l.awaitSentinel(ctx))
	}
	if err != nil {
		return 0, err
	}
	before, err := server.cpu()
	if err != nil {
		return 0, err
	}
	send := func(messages []mem.BufferSlice) (err error) {
		for _, x := range messages {
			err = errors.Join(err, g.send(x))
		}
		return err
	}
	if err = send(asks); err == nil {
		err = l.await(ctx, "all placements", func() bool { return l.placed == s.spec.Asks })
	}
	if err == nil {
		err = errors.Join(send(releases), l.awaitSentinel(ctx))
	}
	if err != nil {
		return 0, fmt.Errorf("%d of %d asks were placed: %w", rec.placed, s.spec.Asks, err)
	}
	after, err := server.cpu()
	return after - before, err
}
