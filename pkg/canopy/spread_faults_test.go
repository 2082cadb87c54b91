package canopy_test

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/election"
	"github.com/canopy-scheduler/canopy/internal/testcert"
	"github.com/canopy-scheduler/canopy/pkg/canopy"
)

// A partition whose directory of users a member does not have is led by another one.
func TestSpread_APartitionThatAMemberCannotLead(t *testing.T) {
	t.Parallel()
	text := strings.Replace(partitions("p1", "p2"), "name: p1,", "name: p1, usergroupresolver: {type: ldap},", 1)
	g := newSpreadGroup(t, text)
	without := func(o *canopy.Options, _ *canopy.HA) { o.Users.LDAPSecrets = filepath.Join(t.TempDir(), "missing") }
	with := func(o *canopy.Options, _ *canopy.HA) {
		o.Users.Lookup = func(context.Context, string) ([]string, error) { return nil, nil }
	}
	g.start("a", without)
	eventually(t, func() bool {
		return g.logs.FilterMessage("the term of this member could not go on: another member may lead").Len() > 0
	})
	g.start("b", with)
	v := g.balanced(map[string]int{"a": 1, "b": 1})
	by, _ := v.leads()
	assert.DeepEqual(t, by, map[string][]string{"a": {"p2"}, "b": {"p1"}})
}

// A request that names no partition is for the only one there is, or else refused.
func TestSpread_RequestsWithoutAPartition(t *testing.T) {
	t.Parallel()
	g := newSpreadGroup(t, partitions("p1"))
	a := g.start("a")
	g.balanced(map[string]int{"a": 1})
	code, text := g.get(a, "/ws/v1/config")
	assert.Equal(t, code, http.StatusOK, text)
	assert.NilError(t, register(t, g.dial(a), "rm"))
	g.configure(partitions("p1", "p2"))
	_, err := a.ReloadFile(groupContext(t))
	assert.NilError(t, err)
	g.balanced(map[string]int{"a": 2})
	code, text = g.get(a, "/ws/v1/config")
	assert.Equal(t, code, http.StatusBadRequest)
	assert.Assert(t, strings.Contains(text, "the request names none of the partitions p1, p2"), text)
	assert.ErrorContains(t, register(t, g.dial(a), "rm"), "the request names none of the partitions p1, p2")
}

// With TLS and tokens, credentials are passed on to the leader, over TLS, and what a member answers itself needs them, too.
func TestSpread_Credentials(t *testing.T) {
	t.Parallel()
	s := &secured{dir: t.TempDir(), servers: testcert.NewAuthority(t, "servers")}
	pair := s.servers.Server(t)
	testcert.Write(t, s.dir, map[string][]byte{"tls.crt": pair.Cert, "tls.key": pair.Key, "ca.crt": s.servers.PEM, "tokens.yaml": tokensFile("reader read\nshim submit rm-1")})
	g := newSpreadGroup(t, partitions("p1", "p2"))
	secure := func(o *canopy.Options, h *canopy.HA) {
		o.Security = canopy.Security{CertFile: s.file("tls.crt"), KeyFile: s.file("tls.key"), TokensFile: s.file("tokens.yaml"), AnonymousRead: false}
		h.PeerCAFile = s.file("ca.crt")
	}
	a, b := g.start("a", secure), g.start("b", secure)
	status := func(m *canopy.SpreadMember, path, token string) int {
		r, _, err := s.send(t, http.MethodGet, "https://"+m.HTTPAddress().String()+path, token)
		assert.NilError(t, err)
		return r.StatusCode
	}
	eventually(t, func() bool {
		return status(a, "/ws/v1/partitions", "reader") == http.StatusOK && status(b, "/ws/v1/partitions", "reader") == http.StatusOK
	})
	for _, m := range []*canopy.SpreadMember{a, b} {
		for _, p := range []string{"p1", "p2"} {
			assert.Equal(t, status(m, "/ws/v1/partition/"+p+"/queues", "reader"), http.StatusOK)
			assert.Equal(t, status(m, "/ws/v1/partition/"+p+"/queues", ""), http.StatusUnauthorized)
			for token, want := range map[string]string{"shim": "", "reader": "PermissionDenied", "": "Unauthenticated"} {
				ctx := metadata.AppendToOutgoingContext(groupContext(t), "canopy-partition", p)
				_, err := si.NewSchedulerClient(dial(t, m.GRPCAddress().String(), token, credentials.NewTLS(s.tls(t)))).RegisterResourceManager(ctx, &si.RegisterResourceManagerRequest{RmID: "rm-1"})
				if want == "" {
					assert.NilError(t, err)
				} else {
					assert.ErrorContains(t, err, want)
				}
			}
		}
		assert.Equal(t, status(m, "/ws/v1/group", "reader"), http.StatusOK)
		for _, path := range []string{"/ws/v1/group", "/ws/v1/partitions", "/metrics"} {
			assert.Equal(t, status(m, path, ""), http.StatusUnauthorized, path)
		}
		assert.Equal(t, status(m, "/readyz", ""), http.StatusOK)
	}
}

// A process whose name another one has leads nothing, until the other one is gone.
func TestSpread_ANameThatAnotherProcessHas(t *testing.T) {
	t.Parallel()
	g := newSpreadGroup(t, partitions("p1", "p2"))
	first := g.start("a")
	g.balanced(map[string]int{"a": 2})
	assert.Assert(t, g.start("a") != first)
	eventually(t, func() bool {
		return g.logs.FilterMessage("this member cannot be announced: nothing is assigned to it when its lease has ended").Len() == 1
	})
	g.stores.Leader("p1").Expire() // the first one leads it again, without a rival
	g.stores.Leader("p2").Expire()
	g.members["a"] = first
	before := g.balanced(map[string]int{"a": 2})
	assert.Equal(t, len(before.Members), 1)
	for _, p := range before.Partitions {
		assert.Assert(t, p.Generation != 0, "%v", before) // only the leader knows it
	}
}

// Options that spread partitions cannot have are named.
func TestSpread_Options(t *testing.T) {
	t.Parallel()
	opt := canopy.Options{GRPC: canopy.GRPC{Address: free}, Security: canopy.Security{ClientCAFile: "x", CertFile: "c", KeyFile: "k"}, DataDir: t.TempDir()}
	ha := groupHA("a")
	ha.MoveInterval = -1
	_, err := canopy.StartSpreadMemberAt(t.Context(), opt, ha, &canopy.SpreadStores{}, nil, election.Now)
	for _, want := range []string{"ConfigFile: the partitions of a group", "Security.ClientCAFile: a call that is forwarded", "HA.MoveInterval: -1ns is negative", "DataDir: "} {
		assert.ErrorContains(t, err, want)
	}
	ha = groupHA("a")
	ha.PeerCAFile = "ca"
	_, err = canopy.StartSpreadMemberAt(t.Context(), canopy.Options{Config: partitions("p"), GRPC: canopy.GRPC{Address: free}}, ha, &canopy.SpreadStores{}, nil, election.Now)
	assert.ErrorContains(t, err, "HA.PeerCAFile: the members have no TLS")
}
