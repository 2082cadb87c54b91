package canopy

import (
	"fmt"
	"math"
	"net"
	"net/url"
	"path/filepath"
	"time"

	"github.com/canopy-scheduler/canopy/internal/forward"
)

// shard is a partition in a process of a group: a Member that is reached through the forwarder only.
type shard struct {
	partition string
	member    *Member
	ports     [3]*forward.PipeListener // by front; nil: none

	effects   uint64    // of the Server at the last measurement; like the following of the goroutine that announces
	at        time.Time // of that
	load      float64   // the average
	announced float64   // what is announced of it
}

// newShard starts the Member of a partition, which may not lead yet.
func (m *SpreadMember) newShard(partition string) *shard {
	s := &shard{partition: partition}
	opt := m.opt
	opt.Config, opt.ConfigName, opt.ConfigFile = "", "", ""
	if opt.Recording.Dir != "" {
		opt.Recording.Dir = filepath.Join(opt.Recording.Dir, url.PathEscape(partition))
	}
	open := func(of front, on net.Listener) net.Listener {
		if on == nil {
			return nil
		}
		s.ports[of] = forward.NewPipeListener()
		return s.ports[of]
	}
	l := listeners{open(grpcFront, m.listeners.grpc), open(httpFront, m.listeners.http), open(adminFront, m.listeners.admin)}
	s.member = newMember(opt, m.ha, memberParts{
		openedMember: openedMember{m.self, m.security.behindForwarder(), l}, store: m.leaders(partition), stores: m.operators(partition),
		config: m.config, partition: partition, closeStore: func() error { return nil }, now: m.now, onServer: func() { signal(m.news) },
	})
	m.serving.Go(func() {
		select {
		case <-s.member.Done():
			if err := s.member.Err(); err != nil { // what is left of a term would run beside the next one
				m.stopped(fmt.Errorf("partition %s: %w", partition, err))
			}
		case <-m.ctx.Done():
		}
	})
	return s
}

// behindForwarder is the security of a server that only the forwarder of its process reaches: that has ended TLS, and passes on the
// credentials.
func (s *security) behindForwarder() *security { return &security{auth: s.auth, known: s.known} }

// leads reports whether this process leads the partition, and the partition is there: one that has left the configuration is not, once it has drained.
func (s *shard) leads() bool {
	server := s.member.server()
	return server != nil && len(server.engine.Cluster().Partitions()) > 0
}

// measure is the load of the partition: effects a second, an average over some minutes.
func (s *shard) measure(now time.Time) float64 {
	server := s.member.server()
	if server == nil {
		s.effects, s.at, s.load, s.announced = 0, time.Time{}, 0, 0
		return 0
	}
	total := server.load.Load()
	since := now.Sub(s.at)
	if s.at.IsZero() {
		s.effects, s.at = total, now
		return 0
	}
	if since < loadInterval {
		return s.announced
	}
	s.load += (float64(total-s.effects)/since.Seconds() - s.load) * loadShare
	s.effects, s.at = total, now
	if math.Abs(s.load-s.announced) > loadChange*s.announced {
		s.announced = math.Round(s.load)
	}
	return s.announced
}

// A load that is announced anew is a write to etcd, which all members read, and may move a partition: loads that change hardly, or for a
// moment, do not count.
const (
	loadInterval = 10 * time.Second // between two measurements
	loadShare    = 0.1              // of the newest measurement in the average
	loadChange   = 0.25             // the least change that is announced
)
