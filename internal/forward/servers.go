package forward

import (
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"
)

// Bounds of the connections for calls.
const (
	streamWindow       = 256 << 10        // bytes of a stream that its receiver has not read; the sender then waits
	idleCallTime       = 5 * time.Minute  // without a call; then a connection is closed
	remotePing         = 10 * time.Second // without a frame from another member, after which it is asked for a sign; servers refuse more than one in 5 s
	remotePingTimeout  = 10 * time.Second // without a sign after that; then the connection is closed
	writeTimeout       = 20 * time.Second // within which another member takes something of what is sent to its connection
	maxHeaderBytes     = 64 << 10
	connectionsAtLeast = 16 // servers without connections that are remembered
)

// callConnections are the connections for calls, by server.
type callConnections struct {
	f *Forwarder

	mu     sync.Mutex
	local  map[string]localConnections // by partition
	remote map[string]*connections     // by address
}

// localConnections are those to a server of this process.
type localConnections struct {
	epoch int64
	*connections
}

// to returns the connections to the server of a route.
func (c *callConnections) to(r Route) (*connections, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.f.ctx.Err(); err != nil {
		return nil, err
	}
	if r.Dial != nil {
		l, ok := c.local[r.Partition]
		if !ok || l.epoch < r.Epoch {
			if ok {
				l.close() // the term is over
			}
			l = localConnections{r.Epoch, c.open(r, "localhost:80")}
			c.local[r.Partition] = l
		}
		return l.connections, nil
	}
	to, ok := c.remote[r.Address]
	if !ok {
		if len(c.remote) >= connectionsAtLeast {
			maps.DeleteFunc(c.remote, func(_ string, to *connections) bool { return to.idle() })
		}
		to = c.open(Route{Address: r.Address}, r.Address)
		c.remote[r.Address] = to
	}
	return to, nil
}

// close closes all connections.
func (c *callConnections) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.local {
		l.close()
	}
	for _, to := range c.remote {
		to.close()
	}
}

// open returns the connections to a server, of which there is none yet.
func (c *callConnections) open(r Route, address string) *connections {
	t := &http.Transport{
		DialContext:        func(ctx context.Context, _, _ string) (net.Conn, error) { return c.f.dial(ctx, r, address) },
		DisableCompression: true, IdleConnTimeout: idleCallTime, MaxResponseHeaderBytes: maxHeaderBytes, Protocols: new(http.Protocols),
		// The window of a connection is larger than those of its streams together, so one that is not read holds no other up.
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: streamWindow},
	}
	scheme := "http"
	t.Protocols.SetUnencryptedHTTP2(true)
	if r.Dial == nil {
		t.HTTP2.SendPingTimeout, t.HTTP2.PingTimeout, t.HTTP2.WriteByteTimeout = remotePing, remotePingTimeout, writeTimeout
		if c.f.opt.TLS != nil {
			scheme = "https"
			t.Protocols.SetUnencryptedHTTP2(false)
			t.Protocols.SetHTTP2(true)
			t.TLSClientConfig = onlyHTTP2(c.f.opt.TLS)
		}
	}
	return newConnections(c.f.ctx, func(ctx context.Context) (*http.ClientConn, error) {
		ctx, cancel := context.WithTimeout(ctx, c.f.opt.DialTimeout)
		defer cancel()
		conn, err := t.NewClientConn(ctx, scheme, address)
		if err != nil && r.Dial == nil {
			c.f.log.Warn("a member cannot be reached", zap.String("address", address), zap.Error(err))
		}
		return conn, err
	})
}

// onlyHTTP2 refuses servers that do not agree on HTTP/2: net/http would speak HTTP/1.1 to them, which carries no calls.
func onlyHTTP2(c *tls.Config) *tls.Config {
	c = c.Clone()
	verify := c.VerifyConnection
	c.VerifyConnection = func(s tls.ConnectionState) error {
		if s.NegotiatedProtocol != "h2" {
			return fmt.Errorf("the server speaks no HTTP/2, but %q", s.NegotiatedProtocol)
		}
		if verify != nil {
			return verify(s)
		}
		return nil
	}
	return c
}

// dial opens a connection to the server of a route, without TLS.
func (f *Forwarder) dial(ctx context.Context, r Route, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, f.opt.DialTimeout)
	defer cancel()
	if r.Dial != nil {
		return r.Dial(ctx)
	}
	return new(net.Dialer).DialContext(ctx, "tcp", address)
}
