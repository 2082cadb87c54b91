package forward

import (
	"crypto/tls"
	"net/http"
	"time"
)

// Bounds of a server of calls: those of the server that it forwards to.
const (
	streamsPerConnection = 128              // calls and streams at the same time; further ones wait in the client
	handshakeTimeout     = 10 * time.Second // for the handshake of TLS and HTTP/2
	idleConnectionTime   = 10 * time.Minute // without a call; then the connection is closed
	clientPing           = time.Minute      // without a frame from the client, after which it is asked for a sign
	clientPingTimeout    = 20 * time.Second // without a sign after that; then the connection is closed
)

// NewGRPCServer returns a server of HTTP/2 for calls. With c, which is not changed, connections have TLS: use ServeTLS with no names of
// files. nil: use Serve.
func (f *Forwarder) NewGRPCServer(c *tls.Config) *http.Server {
	s := &http.Server{
		Handler: f.GRPC(), Protocols: new(http.Protocols), MaxHeaderBytes: maxHeaderBytes, ReadHeaderTimeout: handshakeTimeout, IdleTimeout: idleConnectionTime,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: streamsPerConnection, SendPingTimeout: clientPing, PingTimeout: clientPingTimeout, MaxReceiveBufferPerStream: streamWindow,
			// All streams of a connection have their windows: one whose member does not read holds no other up.
			MaxReceiveBufferPerConnection: streamsPerConnection * streamWindow,
		},
		ErrorLog: f.proxyLog(),
	}
	if c == nil {
		s.Protocols.SetUnencryptedHTTP2(true)
		return s
	}
	s.Protocols.SetHTTP2(true)
	s.TLSConfig = c.Clone()
	s.TLSConfig.NextProtos = []string{"h2"}
	return s
}
