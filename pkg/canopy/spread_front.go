package canopy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/canopy-scheduler/canopy/internal/configwatch"
	"github.com/canopy-scheduler/canopy/internal/forward"
	"github.com/canopy-scheduler/canopy/internal/httpserver"
	"github.com/canopy-scheduler/canopy/internal/logging"
	"github.com/canopy-scheduler/canopy/pkg/metrics"
	"github.com/canopy-scheduler/canopy/pkg/rmproxy"
)

// peerTLS is the TLS of connections to other members; nil: none, as this member has none either.
func (h *HA) peerTLS(o *Options) (*tls.Config, error) {
	if o.Security.CertFile == "" {
		if h.PeerCAFile != "" {
			return nil, o.invalid("HA.PeerCAFile", errors.New("the members have no TLS: the certificate of the listeners is missing"))
		}
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if h.PeerCAFile == "" {
		return c, nil
	}
	text, err := configwatch.Read(h.PeerCAFile, maxPEMBytes)
	if err != nil {
		return nil, o.invalid("HA.PeerCAFile", err)
	}
	if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(text) {
		return nil, o.invalid("HA.PeerCAFile", fmt.Errorf("%s has no certificate", h.PeerCAFile))
	}
	return c, nil
}

// openForwarders makes the forwarders of the listeners.
func (m *SpreadMember) openForwarders(peers *tls.Config) {
	local := m.frontHandler()
	for l := range m.forwarders {
		m.forwarders[l] = forward.New(forward.Options{Routes: routes{m, front(l)}, Self: m.self.Name, TLS: peers, Log: m.log, Local: local, IsLocal: isFrontPath})
	}
}

// front is a listener of a SpreadMember.
type front int

const (
	grpcFront front = iota
	httpFront
	adminFront // which other members do not advertise
)

// routes finds the leaders of partitions for what comes to a listener.
type routes struct {
	m  *SpreadMember
	of front
}

// Route is part of forward.Routes (HAP-12). A request that names no partition is for the partition default, or for the only one.
func (r routes) Route(partition string) (forward.Route, error) {
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	if r.m.state.Revision == 0 || len(r.m.shards) == 0 {
		return forward.Route{Partition: partition}, nil // unknown: no address
	}
	_, hasDefault := r.m.shards["default"]
	switch {
	case partition != "":
	case hasDefault:
		partition = "default"
	case len(r.m.partitions) == 1:
		partition = r.m.partitions[0]
	default:
		return forward.Route{}, fmt.Errorf("the request names none of the partitions %s", strings.Join(r.m.partitions, ", "))
	}
	s := r.m.shards[partition]
	if s == nil {
		return forward.Route{}, fmt.Errorf("there is no partition %q; there are %s", partition, strings.Join(r.m.partitions, ", "))
	}
	status := s.member.campaign.Status()
	out := forward.Route{Partition: partition, Epoch: status.Epoch, Leader: status.Leader.Name}
	switch {
	case status.Term != nil:
		out.Dial = s.ports[r.of].Dial
	case status.Epoch == 0:
	case r.of == grpcFront:
		out.Address = status.Leader.GRPC
	case r.of == httpFront:
		if u, err := url.Parse(status.Leader.HTTP); err == nil {
			out.Address = u.Host
		}
	}
	return out, nil
}

// serveFront serves the listeners.
func (m *SpreadMember) serveFront() {
	if on := m.listeners.grpc; on != nil {
		m.grpc = m.forwarders[grpcFront].NewGRPCServer(m.security.tlsConfig("h2"))
		m.serving.Go(func() {
			if m.grpc.TLSConfig != nil {
				on = tls.NewListener(on, m.grpc.TLSConfig)
			}
			if err := m.grpc.Serve(on); !errors.Is(err, http.ErrServerClosed) {
				m.stopped(fmt.Errorf("grpc: %w", err))
			}
		})
	}
	counts := new(httpserver.Counts)
	serve := func(name string, on net.Listener, h http.Handler) *httpserver.Server {
		web := newHTTPServer(&m.opt, m.log, m.security, h, counts, on)
		m.serving.Go(func() {
			if err := web.Serve(on); !errors.Is(err, http.ErrServerClosed) {
				m.stopped(fmt.Errorf("%s: %w", name, err))
			}
		})
		return web
	}
	if m.listeners.http != nil {
		m.http = serve("http", m.listeners.http, m.opt.checkHost(m.forwarders[httpFront].HTTP()))
	}
	if m.listeners.admin != nil {
		m.admin = serve("admin", m.listeners.admin, m.forwarders[adminFront].HTTP())
	}
}

// stopped ends the SpreadMember.
func (m *SpreadMember) stopped(err error) {
	m.end.once.Do(func() {
		m.end.err = err
		close(m.end.done)
	})
}

// frontPaths are those that each member answers itself.
var frontPaths = []string{"/healthz", "/readyz", "/metrics", "/ws/v1/metrics", "/ws/v1/partitions", groupPath}

func isFrontPath(path string) bool {
	return slices.Contains(frontPaths, path) || strings.HasPrefix(path, "/"+healthpb.Health_ServiceDesc.ServiceName+"/")
}

// frontHandler answers what each member answers itself (HAP-13).
func (m *SpreadMember) frontHandler() http.Handler {
	counts := new(httpserver.Counts)
	own := metrics.New(metrics.Options{Now: m.opt.Now, Log: m.log, HTTP: counts})
	own.SetHASource(m.metrics)
	own.SetSecuritySource(m.security.counts)
	if c, ok := logging.CounterOf(m.log); ok {
		own.SetLogSource(c.Lines)
	}
	rest := &standbyREST{auth: m.security.auth, log: m.log, metrics: own.GroupHandler(m.parts)}
	states := health.NewServer()
	m.serving.Go(func() { m.showReady(states) })
	calls := grpc.NewServer()
	healthpb.RegisterHealthServer(calls, states)
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", m.serveHealth)
	mux.HandleFunc("/readyz", m.serveReady)
	mux.HandleFunc("/metrics", rest.serveMetrics)
	mux.HandleFunc("/ws/v1/metrics", rest.serveMetrics)
	mux.HandleFunc("/ws/v1/partitions", m.servePartitions)
	mux.HandleFunc(groupPath, func(w http.ResponseWriter, r *http.Request) {
		if rest.admit(w, r) {
			m.serveGroup(w, r)
		}
	})
	mux.Handle("/"+healthpb.Health_ServiceDesc.ServiceName+"/", calls)
	return mux
}

// readyInterval is how often the health service of gRPC says anew whether the member can forward.
const readyInterval = 500 * time.Millisecond

// showReady keeps the health service of gRPC up to date until Close.
func (m *SpreadMember) showReady(states *health.Server) {
	for {
		is := healthpb.HealthCheckResponse_SERVING
		if m.notReady() != "" {
			is = healthpb.HealthCheckResponse_NOT_SERVING
		}
		for _, service := range []string{"", rmproxy.ServiceName} {
			states.SetServingStatus(service, is)
		}
		if !m.wait(readyInterval) {
			states.Shutdown()
			return
		}
	}
}

// metrics are those of the group.
func (m *SpreadMember) metrics() metrics.HA {
	status := m.election.Status()
	out := metrics.HA{Leader: status.Term != nil, Epoch: status.Epoch}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(m.shards)) {
		s := m.shards[name].member.campaign.Status()
		out.Partitions = append(out.Partitions, metrics.HAPartition{Name: name, Leader: s.Term != nil, Epoch: s.Epoch})
	}
	return out
}

// parts are the metrics of the partitions that this member leads.
func (m *SpreadMember) parts() (all []metrics.Part) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(m.shards)) {
		if server := m.shards[name].member.server(); server != nil {
			all = append(all, metrics.Part{Partition: name, Metrics: server.metrics, Cluster: server.engine.Cluster()})
		}
	}
	return all
}

// Close ends the SpreadMember: its partitions, each of which gives its lease back, the listeners, and the connection to etcd. It returns when everything has
// ended, or after Options.CloseTimeout with an error that names what is stuck. Further calls wait for the same.
func (m *SpreadMember) Close() error {
	m.closing.once.Do(func() { go m.closeAll() })
	return m.closing.wait("the member", m.opt.CloseTimeout, m.Closing)
}

// Closing are the parts that Close waits for now.
func (m *SpreadMember) Closing() []string {
	m.closing.mu.Lock()
	defer m.closing.mu.Unlock()
	return slices.Clone(m.closing.steps)
}

func (m *SpreadMember) closeAll() {
	defer close(m.closing.done)
	m.cancel() // no partition is begun from now on
	m.stopped(nil)
	m.closing.step("the lease of the coordinator", m.election.Close)
	m.mu.Lock()
	shards := m.shards
	m.shards = map[string]*shard{}
	m.mu.Unlock()
	errs := make(chan error, len(shards))
	for _, s := range shards {
		go func() { errs <- s.member.Close() }()
	}
	var err error
	m.closing.step("the partitions", func() {
		for range shards {
			err = errors.Join(err, <-errs)
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	if m.grpc != nil {
		m.closing.step("the gRPC server", func() { _ = m.grpc.Close() }) // its calls were those of the partitions
	}
	for _, web := range []*httpserver.Server{m.http, m.admin} {
		if web != nil {
			m.closing.step("the HTTP server", func() { shutdownHTTP(ctx, web) })
		}
	}
	for _, f := range m.forwarders {
		f.Close()
	}
	m.closing.step("the watches", m.serving.Wait)
	m.closing.step("the connection to etcd", func() { err = errors.Join(err, m.closeStore()) })
	m.closing.mu.Lock()
	defer m.closing.mu.Unlock()
	m.closing.err = err
}
