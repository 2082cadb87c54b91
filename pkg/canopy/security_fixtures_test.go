package canopy_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/auth"
	"github.com/canopy-scheduler/canopy/internal/testing/testcert"
	"github.com/canopy-scheduler/canopy/pkg/canopy"
)

// secured is a server with TLS, client certificates and tokens, and what its clients need.
type secured struct {
	*canopy.Server
	logs             *observer.ObservedLogs
	dir              string
	servers, clients *testcert.Authority
	opt              canopy.Security
}

// The tokens of secured servers.
const threeTokens = "reader read\nshim submit rm-1\nops admin"

// tokensFile is a file of credentials: a line is a token, which is the name too, its role, and the ID of a resource
// manager.
func tokensFile(lines string) []byte {
	var b strings.Builder
	for line := range strings.Lines(lines) {
		f := append(strings.Fields(line), "")
		fmt.Fprintf(&b, "- {name: %s, role: %s, hash: %q", f[0], f[1], auth.HashToken(f[0]))
		if f[2] != "" {
			fmt.Fprintf(&b, ", rmID: %s", f[2])
		}
		b.WriteString("}\n")
	}
	return []byte(b.String())
}

func startSecured(t *testing.T, edit ...func(*canopy.Options)) *secured {
	t.Helper()
	s, opt := newSecured(t, edit...)
	s.Server, s.logs = start(t, opt)
	return s
}

// newSecured makes the files and options of a server, and starts none.
func newSecured(t *testing.T, edit ...func(*canopy.Options)) (*secured, canopy.Options) {
	t.Helper()
	s := &secured{dir: t.TempDir(), servers: testcert.NewAuthority(t, "servers"),
		clients: testcert.NewAuthority(t, "clients")}
	pair := s.servers.Server(t)
	testcert.Write(t, s.dir, map[string][]byte{
		"tls.crt": pair.Cert, "tls.key": pair.Key, "ca.crt": s.clients.PEM, "tokens.yaml": tokensFile(threeTokens),
	})
	opt := canopy.Options{GRPC: canopy.GRPC{Address: free}, HTTP: canopy.HTTP{Address: free}, AdminAddress: free,
		Security: canopy.Security{
			CertFile: s.file("tls.crt"), KeyFile: s.file("tls.key"), ClientCAFile: s.file("ca.crt"),
			TokensFile: s.file("tokens.yaml"),
		}}
	for _, e := range edit {
		e(&opt)
	}
	s.opt = opt.Security
	return s, opt
}

func (s *secured) file(name string) string { return filepath.Join(s.dir, name) }

// replace replaces a file as an update of a mounted secret does.
func (s *secured) replace(t *testing.T, name string, text []byte) {
	t.Helper()
	testcert.Write(t, s.dir, map[string][]byte{"new": text})
	assert.NilError(t, os.Rename(s.file("new"), s.file(name)))
}

// tls is the configuration of a client; of its certificates at most one is used.
func (s *secured) tls(t *testing.T, pairs ...testcert.Pair) *tls.Config {
	t.Helper()
	c := &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "localhost"}
	c.RootCAs.AppendCertsFromPEM(s.servers.PEM)
	for _, p := range pairs {
		pair, err := tls.X509KeyPair(p.Cert, p.Key)
		assert.NilError(t, err)
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	return c
}

// send sends a request with a token; empty: without.
func (s *secured) send(t *testing.T, method, url, token string, pairs ...testcert.Pair) (*http.Response, string,
	error) {
	t.Helper()
	request, err := http.NewRequestWithContext(testContext(t), method, url, strings.NewReader(""))
	assert.NilError(t, err)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	if method != http.MethodGet {
		request.Header.Set("Content-Type", "application/json")
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: s.tls(t, pairs...), DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	assert.NilError(t, err)
	return response, string(text), nil
}

func (s *secured) status(t *testing.T, path, token string) int {
	t.Helper()
	response, _, err := s.send(t, http.MethodGet, "https://"+s.HTTPAddress().String()+path, token)
	assert.NilError(t, err)
	return response.StatusCode
}

// grpc is a connection, with a token for each call; empty: without.
func (s *secured) grpc(t *testing.T, token string, pairs ...testcert.Pair) *grpc.ClientConn {
	t.Helper()
	return dial(t, s.GRPCAddress().String(), token, credentials.NewTLS(s.tls(t, pairs...)))
}

func dial(t *testing.T, address, token string, transport credentials.TransportCredentials) *grpc.ClientConn {
	t.Helper()
	with := func(ctx context.Context) context.Context {
		if token == "" {
			return ctx
		}
		return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
	}
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(transport),
		grpc.WithUnaryInterceptor(func(ctx context.Context, method string, in, out any, cc *grpc.ClientConn,
			invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			return invoke(with(ctx), method, in, out, cc, opts...)
		}),
		grpc.WithStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string,
			open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			return open(with(ctx), desc, cc, method, opts...)
		}))
	assert.NilError(t, err)
	t.Cleanup(func() { assert.NilError(t, conn.Close()) })
	return conn
}

func register(t *testing.T, conn *grpc.ClientConn, id string) error {
	t.Helper()
	_, err := si.NewSchedulerClient(conn).RegisterResourceManager(testContext(t),
		&si.RegisterResourceManagerRequest{RmID: id})
	return err
}

// unixClient is a client of a Unix socket.
func unixClient(socket string) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}}}
}

// serveOnce is the status of a handler for a request.
func serveOnce(h http.Handler, r *http.Request) int {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code
}
