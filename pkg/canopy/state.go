package canopy

import (
	"net/http"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/canopy-scheduler/canopy/pkg/rmproxy"
	"github.com/canopy-scheduler/canopy/pkg/webservice"
)

// Scheduler is the API for a resource manager in this program. Update calls return at once; results are
// delivered by the callback, one call at a time. Its Stop is Close of the Server.
//
// A callback may make Update calls. It must not call RegisterResourceManager, UpdateConfiguration or
// Stop, nor methods of the Server that wait for partitions (Reload, ReloadFile, Close), nor wait for an
// answer of Handler: all of these wait for the callback. For the same reason the program must not call
// them while it holds a lock that a callback takes.
func (s *Server) Scheduler() api.SchedulerAPI { return schedulerAPI{s.proxy.InProcess(), s} }

type schedulerAPI struct {
	*rmproxy.InProcess
	s *Server
}

// Stop is part of api.SchedulerAPI.
func (a schedulerAPI) Stop() { _ = a.s.Close() } // the method cannot return the error

// Handler serves REST, metrics, event streams and the page, like the listener of Options.HTTP but without
// its bound on connections. To mount it below a prefix that ends in a slash, use http.StripPrefix. It changes
// nothing.
func (s *Server) Handler() http.Handler { return s.handler }

// Collector has the metrics of docs/METRICS.md for a registry of the program, such as prometheus.DefaultRegisterer,
// except for those of Go and of the process, which such a registry has by itself. A registry cannot forget it, because
// its families come and go: after Close it has no metrics. Two Servers cannot be in one registry, unless
// prometheus.WrapRegistererWith tells them apart.
func (s *Server) Collector() prometheus.Collector {
	return collector{s.metrics.Collector(s.engine.Cluster()), s}
}

type collector struct {
	prometheus.Collector
	s *Server
}

// Collect is part of prometheus.Collector.
func (c collector) Collect(to chan<- prometheus.Metric) {
	if !c.s.end.stopping.Load() {
		c.Collector.Collect(to)
	}
}

// Health is nil if all partitions make progress and their last audits found consistent accounting. It
// answers from memory, whatever the partitions do. /healthz has the same result.
func (s *Server) Health() error {
	if s.end.stopping.Load() {
		return ErrClosed
	}
	return webservice.Health(s.engine.Cluster(), s.engine.Now())
}

// ResourceManager is the registered resource manager.
type ResourceManager struct {
	ID          string
	Version     string // of the interface, as sent, like the following
	PolicyGroup string
	BuildInfo   map[string]string // read-only
	Registered  time.Time

	InProcess        bool      // by Scheduler; otherwise over gRPC
	Connected        bool      // it is in process, or has a stream or had one until a moment ago
	Since            time.Time // when it connected, or its last stream ended
	Listening        bool      // it gets decisions; otherwise nothing is decided
	UndeliveredBytes uint64    // answers that it has not read
}

// ResourceManager returns the registered resource manager. ok is false when none is.
func (s *Server) ResourceManager() (rm ResourceManager, ok bool) {
	c, ok := s.proxy.ConnectionStatus()
	if !ok {
		return rm, false
	}
	return ResourceManager{
		ID: c.RM, Version: c.Version, PolicyGroup: c.PolicyGroup, BuildInfo: c.BuildInfo, Registered: c.At,
		InProcess: c.InProcess, Connected: c.Connected, Since: c.Since, Listening: c.Listening,
		UndeliveredBytes: c.UndeliveredBytes,
	}, true
}
