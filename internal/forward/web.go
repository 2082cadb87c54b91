package forward

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// Bounds of the connections for HTTP.
const (
	idleRequestConnections = 16               // to each server
	idleRequestTime        = 30 * time.Second // less than servers wait: a request is not sent on a connection that is being closed
)

// HTTP is the handler of REST, pages and streams of events.
func (f *Forwarder) HTTP() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodConnect {
			refuseRequest(w, &refusal{status: http.StatusMethodNotAllowed, text: "there are no tunnels"})
			return
		}
		partition, err := partitionOfRequest(r)
		if err != nil {
			refuseRequest(w, invalid(err))
			return
		}
		f.pass(w, r, partition, f.web, refuseRequest)
	})
}

// address sets where a request is sent, and as which host: another member answers for its own names only.
func (f *Forwarder) address(x *exchange, p *httputil.ProxyRequest) {
	p.Out.URL.RawQuery = p.In.URL.RawQuery // httputil has left out what it cannot read
	if x.local() {
		// Connections are kept by this name, and found again for the same term.
		p.Out.URL.Scheme, p.Out.URL.Host = "http", fmt.Sprintf("%s.%d", hex.EncodeToString([]byte(x.route.Partition)), x.route.Epoch)
		p.Out.Host = p.In.Host // the server checks it, as it would without a forwarder
		return
	}
	p.Out.URL.Scheme, p.Out.URL.Host, p.Out.Host = "http", x.route.Address, x.route.Address
	if f.opt.TLS != nil {
		p.Out.URL.Scheme = "https"
	}
	p.Out.Header.Set(ForwardedHeader, f.opt.Self)
}

// rewriteRequest makes the request that is sent.
func (f *Forwarder) rewriteRequest(p *httputil.ProxyRequest) {
	x := exchangeOf(p.In.Context())
	f.address(x, p)
	p.Out.Header["X-Forwarded-For"] = p.In.Header["X-Forwarded-For"]
	p.SetXForwarded()
	p.Out.Header.Del("Connection") // no other protocol
	p.Out.Header.Del("Upgrade")
	// A page of this member stays one of the same origin for the server, which compares its own name.
	if origin, err := url.Parse(p.In.Header.Get("Origin")); err == nil && origin.Host != "" && origin.Host == p.In.Host {
		origin.Host = p.Out.Host
		p.Out.Header.Set("Origin", origin.String())
	}
}

// newRequestTransport returns the connections for HTTP.
func (f *Forwarder) newRequestTransport() *http.Transport {
	t := &http.Transport{
		DialContext: f.dialRequest, TLSHandshakeTimeout: f.opt.DialTimeout, DisableCompression: true, MaxIdleConnsPerHost: idleRequestConnections,
		IdleConnTimeout: idleRequestTime, ExpectContinueTimeout: time.Second, MaxResponseHeaderBytes: maxHeaderBytes, Protocols: new(http.Protocols),
	}
	t.Protocols.SetHTTP1(true)
	if f.opt.TLS != nil {
		t.TLSClientConfig = f.opt.TLS.Clone()
	}
	return t
}

// dialRequest opens a connection for the request whose context it gets, and for later ones to the same server.
func (f *Forwarder) dialRequest(ctx context.Context, _, address string) (net.Conn, error) {
	c, err := f.dial(ctx, exchangeOf(ctx).route, address)
	if err != nil {
		return nil, &unreachableError{err}
	}
	return c, nil
}

// answerRequest prepares an answer for its client.
func (f *Forwarder) answerRequest(res *http.Response) error {
	h := exchangeOf(res.Request.Context()).answer.Header()
	for name := range res.Header {
		delete(h, name) // httputil adds: a header that this server sets as well would be there twice
	}
	return nil
}

// failRequest answers a request that got no answer.
func (f *Forwarder) failRequest(w http.ResponseWriter, r *http.Request, err error) {
	refuseRequest(w, f.failure(exchangeOf(r.Context()), err))
}

// refuseRequest answers as a server of REST does (RST-1).
func refuseRequest(w http.ResponseWriter, no *refusal) {
	text, err := json.Marshal(dao.NewError(no.status, no.text))
	if err != nil {
		panic("forward: " + err.Error()) // the type can be encoded
	}
	h := w.Header()
	if no.status == http.StatusServiceUnavailable {
		h.Set("Retry-After", "1")
	}
	h.Set("Content-Type", "application/json; charset=UTF-8")
	h.Set("Content-Length", strconv.Itoa(len(text)+1))
	w.WriteHeader(no.status)
	_, _ = w.Write(append(text, '\n')) // the client has gone
}
