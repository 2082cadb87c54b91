package canopy_test

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/ha/election"
	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
	"github.com/canopy-scheduler/canopy/internal/testing/memstore"
	"github.com/canopy-scheduler/canopy/pkg/canopy"
	"github.com/canopy-scheduler/canopy/pkg/hints/canopyv1"
)

// group is a group of members with a store in memory.
type group struct {
	t       *testing.T
	store   memstore.Store
	ahead   atomic.Int64 // of the clocks of the members, in nanoseconds
	logs    *observer.ObservedLogs
	members map[string]*canopy.Member
}

func newGroup(t *testing.T) *group { return &group{t: t, members: map[string]*canopy.Member{}} }

// groupHA is a valid HA of a member.
func groupHA(name string) canopy.HA {
	return canopy.HA{Name: name, Etcd: canopy.Etcd{Endpoints: []string{"127.0.0.1:1"}}} // the tests have another store
}

// start starts a member that ends with the test.
func (g *group) start(name string, change ...func(*canopy.Options)) *canopy.Member {
	g.t.Helper()
	core, logs := observer.New(zapcore.DebugLevel)
	g.logs = logs
	opt := canopy.Options{Log: zap.New(core), GRPC: canopy.GRPC{Address: free}, HTTP: canopy.HTTP{Address: free}}
	for _, c := range change {
		c(&opt)
	}
	now := func() election.Instant { return election.Now().Add(time.Duration(g.ahead.Load())) }
	m, err := canopy.StartMemberAt(testContext(g.t), opt, groupHA(name), &g.store, now)
	assert.NilError(g.t, err)
	g.t.Cleanup(func() { assert.NilError(g.t, m.Close()) })
	g.members[name] = m
	return m
}

// leader waits until a member serves as the leader, at its own HTTP.
func (g *group) leader(m *canopy.Member) {
	g.t.Helper()
	until(g.t, func() bool { s, _ := g.get(m, "/readyz"); return s == http.StatusOK })
}

// standby waits until a member knows that another one leads.
func (g *group) standby(m *canopy.Member) {
	g.t.Helper()
	until(g.t, func() bool {
		s, body := g.get(m, "/readyz")
		return s == http.StatusServiceUnavailable && strings.Contains(body, `"leader":`)
	})
}

// get is the answer of a member, without following a redirect; 0: the connection was closed.
func (g *group) get(m *canopy.Member, path string) (code int, body string) {
	g.t.Helper()
	r := g.request(http.MethodGet, m, path)
	if r == nil {
		return 0, ""
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return 0, ""
	}
	return r.StatusCode, string(text)
}

func (g *group) request(method string, m *canopy.Member, path string) *http.Response {
	g.t.Helper()
	request, err := http.NewRequestWithContext(testContext(g.t), method, "http://"+m.HTTPAddress().String()+path, nil)
	assert.NilError(g.t, err)
	request.Close = true
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := client.Do(request)
	if err != nil {
		return nil
	}
	return r
}

// dial connects to the gRPC of a member.
func (g *group) dial(m *canopy.Member) *grpc.ClientConn {
	g.t.Helper()
	return dialPlain(g.t, m.GRPCAddress())
}

// dialPlain connects to a gRPC server without TLS.
func dialPlain(t testing.TB, at net.Addr) *grpc.ClientConn {
	t.Helper()
	c, err := grpc.NewClient(at.String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	assert.NilError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// registerAt registers a resource manager, and returns the epoch of the answer, the address of the leader, and the
// error.
func registerAt(ctx context.Context, c *grpc.ClientConn) (epoch, leader string, err error) {
	var head, tail metadata.MD
	_, err = si.NewSchedulerClient(c).RegisterResourceManager(ctx, &si.RegisterResourceManagerRequest{RmID: "rm"},
		grpc.Header(&head), grpc.Trailer(&tail))
	return strings.Join(head.Get("canopy-epoch"), " "), strings.Join(tail.Get("canopy-leader"), " "), err
}

// A leader serves as a Server does, and each of its answers has the epoch.
func TestMember_LeaderAnswersWithItsEpoch(t *testing.T) {
	g := newGroup(t)
	a := g.start("a")
	g.leader(a)
	assert.Assert(t, a.Leads())
	c := g.dial(a)
	epoch, _, err := registerAt(testContext(t), c)
	assert.NilError(t, err)
	assert.Equal(t, epoch, "1")
	stream, err := si.NewSchedulerClient(c).UpdateNode(testContext(t))
	assert.NilError(t, err)
	assert.NilError(t, stream.Send(&si.NodeRequest{RmID: "rm", Nodes: []*si.NodeInfo{fakerm.Node("n")}}))
	_, err = stream.Recv()
	assert.NilError(t, err)
	head, err := stream.Header()
	assert.NilError(t, err)
	assert.DeepEqual(t, head.Get("canopy-epoch"), []string{"1"})
	assert.Equal(t, g.request(http.MethodGet, a, "/ws/v1/partitions").Header.Get("Canopy-Epoch"), "1")

	h, err := healthpb.NewHealthClient(c).Check(testContext(t), &healthpb.HealthCheckRequest{})
	assert.NilError(t, err)
	assert.Equal(t, h.Status, healthpb.HealthCheckResponse_SERVING)
	_, text := g.get(a, "/metrics")
	assert.Assert(t, strings.Contains(text, "\ncanopy_ha_leader 1\n") && strings.Contains(text, "\ncanopy_ha_epoch 1\n"))
	leader, known := a.Leader()
	assert.Assert(t, known)
	assert.DeepEqual(t, leader,
		canopy.MemberInfo{Name: "a", GRPC: a.GRPCAddress().String(), HTTP: "http://" + a.HTTPAddress().String(), Epoch: 1})
}

// A standby says where the leader is, in the way of each interface.
func TestMember_StandbySaysWhereTheLeaderIs(t *testing.T) {
	g := newGroup(t)
	a := g.start("a")
	g.leader(a)
	b := g.start("b", func(o *canopy.Options) { o.AdminAddress = free })
	g.standby(b)
	assert.Assert(t, !b.Leads())

	c := g.dial(b)
	_, leader, err := registerAt(testContext(t), c)
	assert.Equal(t, status.Code(err), codes.Unavailable)
	assert.Equal(t, leader, a.GRPCAddress().String())
	for _, service := range []string{"", "si.v1.Scheduler", "canopy.v1.Hints"} {
		h, err := healthpb.NewHealthClient(c).Check(testContext(t), &healthpb.HealthCheckRequest{Service: service})
		assert.NilError(t, err)
		assert.Equal(t, h.Status, healthpb.HealthCheckResponse_NOT_SERVING)
	}

	var trailer metadata.MD
	hints, err := canopyv1.NewHintsClient(c).WaitingStates(testContext(t), &canopyv1.WaitingStatesRequest{RmId: "rm"},
		grpc.Trailer(&trailer))
	assert.NilError(t, err)
	_, err = hints.Recv()
	assert.Equal(t, status.Code(err), codes.Unavailable)
	assert.DeepEqual(t, trailer.Get("canopy-leader"), []string{a.GRPCAddress().String()})

	for _, method := range []string{http.MethodGet, http.MethodPost} {
		r := g.request(method, b, "/ws/v1/partition/default/nodes?x=1&y=a%2Fb")
		assert.Equal(t, r.StatusCode, http.StatusTemporaryRedirect)
		assert.Equal(t, r.Header.Get("Location"),
			"http://"+a.HTTPAddress().String()+"/ws/v1/partition/default/nodes?x=1&y=a%2Fb")
	}
	code, body := g.get(b, "/readyz")
	assert.Equal(t, code, http.StatusServiceUnavailable)
	var ready struct {
		Ready  bool
		Leader struct {
			Name, GRPC, HTTP string
			Epoch            int64
		}
	}
	assert.NilError(t, json.Unmarshal([]byte(body), &ready))
	assert.Assert(t, !ready.Ready)
	assert.Equal(t, ready.Leader.Name, "a")
	assert.Equal(t, ready.Leader.GRPC, a.GRPCAddress().String())
	assert.Equal(t, ready.Leader.HTTP, "http://"+a.HTTPAddress().String())
	assert.Equal(t, ready.Leader.Epoch, int64(1))
	code, _ = g.get(b, "/healthz")
	assert.Equal(t, code, http.StatusOK)
	_, text := g.get(b, "/metrics")
	assert.Assert(t, strings.Contains(text, "\ncanopy_ha_leader 0\n") && strings.Contains(text, "\ncanopy_ha_epoch 1\n"),
		text)

	code, text = get(t, "http://"+b.AdminAddress().String()+"/ws/v1/config")
	assert.Equal(t, code, http.StatusServiceUnavailable)
	assert.Assert(t, strings.Contains(text, "the leader is a"), text)
	_, err = b.ReloadFile(testContext(t))
	assert.ErrorIs(t, err, canopy.ErrStandby)
	assert.Equal(t, g.logs.FilterMessage("this member stands by").Len(), 1)
}

// When no leader is known, a standby says so.
func TestMember_NoLeaderIsKnown(t *testing.T) {
	g := newGroup(t)
	g.store.SetReachable(false)
	a := g.start("a")
	_, leader, err := registerAt(testContext(t), g.dial(a))
	assert.Equal(t, status.Code(err), codes.Unavailable)
	assert.Equal(t, leader, "")
	r := g.request(http.MethodGet, a, "/ws/v1/partitions")
	assert.Equal(t, r.StatusCode, http.StatusServiceUnavailable)
	assert.Equal(t, r.Header.Get("Retry-After"), "1")
	until(t, func() bool { return g.logs.FilterMessage("etcd does not answer").Len() == 1 })
	g.store.SetReachable(true)
	g.leader(a)
	assert.Equal(t, g.logs.FilterMessage("etcd answers again").Len(), 1)
}

// A leader that is closed is followed at once, in a later epoch, by a scheduler without any state.
func TestMember_CloseHandsOver(t *testing.T) {
	g := newGroup(t)
	a := g.start("a")
	g.leader(a)
	b := g.start("b")
	g.standby(b)
	client := g.dial(a)
	_, _, err := registerAt(testContext(t), client)
	assert.NilError(t, err)
	assert.NilError(t, a.Close())
	assert.NilError(t, a.Err())
	<-a.Done()
	g.leader(b)
	epoch, _, err := registerAt(testContext(t), g.dial(b))
	assert.NilError(t, err)
	n, err := strconv.Atoi(epoch)
	assert.NilError(t, err)
	assert.Assert(t, n > 1)
	_, body := g.get(b, "/ws/v1/partition/default/nodes")
	assert.Equal(t, strings.TrimSpace(body), "[]")
}

// A leader whose lease is not renewed ends its term at the deadline: its connections are closed, and it stands by until
// it is elected again.
func TestMember_TermEndsAtItsDeadline(t *testing.T) {
	g := newGroup(t)
	a := g.start("a")
	g.leader(a)
	stream, err := si.NewSchedulerClient(g.dial(a)).UpdateNode(testContext(t))
	assert.NilError(t, err)
	g.store.SetReachable(false)
	g.ahead.Add(int64(canopy.DefaultEtcdTTL))
	assert.Assert(t, !a.Leads())
	_, err = stream.Recv()
	assert.Equal(t, status.Code(err), codes.Unavailable)
	until(t, func() bool { s, _ := g.get(a, "/readyz"); return s == http.StatusServiceUnavailable })
	ended := g.logs.FilterMessage("the term of this member has ended").All()
	assert.Equal(t, len(ended), 1)
	assert.Equal(t, ended[0].ContextMap()["reason"], string(election.DeadlinePassed))

	g.store.SetReachable(true)
	g.store.Expire()
	g.leader(a)
	epoch, _, err := registerAt(testContext(t), g.dial(a))
	assert.NilError(t, err)
	assert.Assert(t, epoch > "1")
}

// A member whose term cannot begin lets another one lead.
func TestMember_FailedTermLetsAnotherLead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "queues.yaml")
	assert.NilError(t, os.WriteFile(file, []byte(queues("a")), 0o600))
	g := newGroup(t)
	b := g.start("b")
	g.leader(b)
	a := g.start("a", func(o *canopy.Options) { o.Config.File = file })
	logs := g.logs
	g.standby(a)
	assert.NilError(t, os.WriteFile(file, []byte("partitions: 7"), 0o600))
	assert.NilError(t, b.Close())
	until(t, func() bool {
		return logs.FilterMessage("the term of this member could not go on: another member may lead").Len() == 1
	})
	c := g.start("c")
	g.leader(c)
}

// A standby checks credentials for metrics, and says without any where the leader is.
func TestMember_StandbyChecksCredentials(t *testing.T) {
	g := newGroup(t)
	a := g.start("a")
	g.leader(a)
	tokens := filepath.Join(t.TempDir(), "tokens.yaml")
	assert.NilError(t, os.WriteFile(tokens, tokensFile("reader read"), 0o600))
	b := g.start("b", func(o *canopy.Options) { o.Security.TokensFile = tokens })
	g.standby(b)
	code, _ := g.get(b, "/metrics")
	assert.Equal(t, code, http.StatusUnauthorized)
	code, _ = g.get(b, "/ws/v1/partitions")
	assert.Equal(t, code, http.StatusTemporaryRedirect)
}

// heldBack is a store that answers once open is closed.
type heldBack struct {
	election.Store
	open chan struct{}
}

func (h heldBack) Do(ctx context.Context, r election.Request) election.Answer {
	select {
	case <-h.open:
	case <-ctx.Done():
	}
	return h.Store.Do(ctx, r)
}

// A standby sends no client to an address that leads back to it: that for which the client has asked, or that which it
// advertises itself (HA-11). It says so, and logs it once.
func TestMember_StandbySendsNobodyToItself(t *testing.T) {
	const proxy = "127.0.0.1:1"
	for name, ofLeader := range map[string]string{"the client has asked for it": "", "it advertises the same": proxy} {
		g := newGroup(t)
		core, logs := observer.New(zapcore.InfoLevel)
		opt := canopy.Options{Log: zap.New(core), GRPC: canopy.GRPC{Address: free}, HTTP: canopy.HTTP{Address: free}}
		ha, store := groupHA("b"), heldBack{&g.store, make(chan struct{})}
		ha.AdvertiseGRPC, ha.AdvertiseHTTP = proxy, proxy
		b, err := canopy.StartMemberAt(testContext(t), opt, ha, store, election.Now)
		assert.NilError(t, err)
		t.Cleanup(func() { assert.NilError(t, b.Close()) })

		leader := election.Leader{Name: "a", GRPC: cmp.Or(ofLeader, b.GRPCAddress().String()),
			HTTP: "http://" + cmp.Or(ofLeader, b.HTTPAddress().String())}
		a := election.Start(election.Options{Store: &g.store, Self: leader, TTL: time.Minute, Now: election.Now})
		t.Cleanup(a.Close)
		a.Resume()
		until(t, func() bool { return a.Status().Term != nil })
		close(store.open)
		g.standby(b)

		const why = "which leads back to this member: check HA.Advertise"
		_, at, err := registerAt(testContext(t), g.dial(b))
		assert.Equal(t, status.Code(err), codes.Unavailable, name)
		assert.ErrorContains(t, err, why)
		assert.Equal(t, at, "", name)
		for range 2 {
			r := g.request(http.MethodGet, b, "/ws/v1/partitions")
			text, err := io.ReadAll(r.Body)
			assert.NilError(t, err)
			assert.Equal(t, r.StatusCode, http.StatusServiceUnavailable, "%s: %s", name, r.Header.Get("Location"))
			assert.Assert(t, strings.Contains(string(text), why), string(text))
		}
		assert.Equal(t, logs.FilterMessageSnippet("clients are not sent there").Len(), 1, name)
	}
}

func TestStartMember_RefusesOptions(t *testing.T) {
	valid := func() (canopy.Options, canopy.HA) {
		return canopy.Options{GRPC: canopy.GRPC{Address: free}, HTTP: canopy.HTTP{Address: free}}, groupHA("a")
	}
	for want, change := range map[string]func(*canopy.Options, *canopy.HA){
		"HA.Etcd.Endpoints: there is no endpoint of etcd": func(_ *canopy.Options,
			h *canopy.HA) {
			h.Etcd.Endpoints = nil
		},
		"HA.Etcd.TTL: 1s is not a number of seconds from 2s to 5m0s": func(_ *canopy.Options,
			h *canopy.HA) {
			h.Etcd.TTL = time.Second
		},
		"HA.Etcd.TTL: 2.5s is not a number of seconds from 2s to 5m0s": func(_ *canopy.Options,
			h *canopy.HA) {
			h.Etcd.TTL = 2500 * time.Millisecond
		},
		"HA.Etcd.TTL: 10m0s is not a number of seconds from 2s to 5m0s": func(_ *canopy.Options,
			h *canopy.HA) {
			h.Etcd.TTL = 10 * time.Minute
		},
		"DataDir: \"d\" is a directory of one member, and another one leads": func(o *canopy.Options,
			_ *canopy.HA) {
			o.DataDir = "d"
		},
		"GRPC.Address: a member without a listener cannot be reached": func(o *canopy.Options,
			_ *canopy.HA) {
			o.GRPC.Address, o.HTTP.Address = "", ""
		},
		"HA.AdvertiseGRPC: \":3333\": it has no host that others can connect to": func(_ *canopy.Options,
			h *canopy.HA) {
			h.AdvertiseGRPC = ":3333"
		},
		"HA.AdvertiseHTTP: \"h:0\": it has no port that others can connect to": func(_ *canopy.Options,
			h *canopy.HA) {
			h.AdvertiseHTTP = "h:0"
		},
		"HA.AdvertiseHTTP: \"h/x:80\": it is not HOST:PORT": func(_ *canopy.Options,
			h *canopy.HA) {
			h.AdvertiseHTTP = "h/x:80"
		},
		"HA.AdvertiseGRPC: it is needed, because the listener is at [::]:": func(o *canopy.Options,
			_ *canopy.HA) {
			o.GRPC.Address = ":0"
		},
		"Config.History: -1 is negative": func(o *canopy.Options,
			_ *canopy.HA) {
			o.Config.History = -1
		},
		"HTTP.WebRoot: ": func(o *canopy.Options,
			_ *canopy.HA) {
			o.HTTP.WebRoot = t.TempDir()
		},
		"invalid configuration:": func(o *canopy.Options,
			_ *canopy.HA) {
			o.Config.Text = "partitions: 7"
		},
	} {
		opt, ha := valid()
		change(&opt, &ha)
		_, err := canopy.StartMember(testContext(t), opt, ha)
		assert.ErrorContains(t, err, want)
	}
}
