package forward

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"
	"sync"
)

const grpcType = "application/grpc"

// The trailers of a call.
const (
	statusTrailer  = "Grpc-Status"
	messageTrailer = "Grpc-Message"
)

// GRPC is the handler of calls, for a server of HTTP/2 such as NewGRPCServer.
func (f *Forwarder) GRPC() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.ProtoMajor < 2:
			http.Error(w, "gRPC needs HTTP/2", http.StatusHTTPVersionNotSupported)
			return
		case !isGRPC(r.Header):
			http.Error(w, "only calls of gRPC are answered here", http.StatusUnsupportedMediaType)
			return
		}
		// Nothing is added to what the member that leads answers.
		w.Header()["Date"], w.Header()["Content-Length"] = nil, nil
		partition, err := partitionOfCall(r)
		if err != nil {
			refuseCall(w, invalid(err))
			return
		}
		f.pass(w, r, partition, f.grpc, refuseCall)
	})
}

// isGRPC reports whether a message is one of a call.
func isGRPC(h http.Header) bool {
	rest, ok := strings.CutPrefix(strings.ToLower(h.Get("Content-Type")), grpcType)
	return ok && (rest == "" || rest[0] == '+' || rest[0] == ';')
}

// asIs are the headers that httputil takes for those of proxies; in a call they are metadata like others.
var asIs = []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"}

// rewriteCall makes the request that is sent.
func (f *Forwarder) rewriteCall(p *httputil.ProxyRequest) {
	x := exchangeOf(p.In.Context())
	f.address(x, p)
	for _, name := range asIs {
		if values := p.In.Header[name]; values != nil {
			p.Out.Header[name] = values
		}
	}
	if p.Out.Body != nil {
		p.Out.Body = &callRequest{body: p.In.Body}
	}
}

// callRequest is the body of a call. Close ends a Read that waits for the client: without it, a call that the member has answered would
// last until the client sends something.
type callRequest struct {
	body io.ReadCloser
	once sync.Once
}

func (b *callRequest) Read(to []byte) (int, error) { return b.body.Read(to) }

// Close is part of io.Closer.
func (b *callRequest) Close() (err error) {
	b.once.Do(func() { err = b.body.Close() })
	return err
}

// sendCall sends calls on the connections of a Forwarder.
type sendCall struct{ f *Forwarder }

// RoundTrip is part of http.RoundTripper.
func (s sendCall) RoundTrip(r *http.Request) (*http.Response, error) {
	x := exchangeOf(r.Context())
	to, err := s.f.calls.to(x.route)
	if err != nil {
		return nil, err
	}
	conn, err := to.reserve(r.Context())
	if err != nil {
		return nil, err
	}
	return conn.RoundTrip(r)
}

// answerCall prepares an answer for its client.
func (f *Forwarder) answerCall(res *http.Response) error {
	if !isGRPC(res.Header) {
		return nil
	}
	x := exchangeOf(res.Request.Context())
	res.Trailer = nil // whether announced or not, all trailers are passed on in one way; the transport fills them in again
	if res.ContentLength != 0 {
		res.Body = &callAnswer{ReadCloser: res.Body, fail: func(err error) {
			res.Trailer = http.Header{}
			f.failure(x, err).reset(x, err).set(res.Trailer)
		}}
	}
	return nil
}

// callAnswer is the body of an answer. Where it is lost it ends with trailers that say so: a client then sees the status of its call, and
// not that this member has failed.
type callAnswer struct {
	io.ReadCloser
	fail func(error) // sets the trailers
}

func (b *callAnswer) Read(to []byte) (int, error) {
	n, err := b.ReadCloser.Read(to)
	if err != nil && err != io.EOF {
		b.fail(err)
		err = io.EOF
	}
	return n, err
}

// failCall answers a call that got no answer.
func (f *Forwarder) failCall(w http.ResponseWriter, r *http.Request, err error) {
	x := exchangeOf(r.Context())
	refuseCall(w, f.failure(x, err).reset(x, err))
}

// refuseCall answers with a status and no message.
func refuseCall(w http.ResponseWriter, no *refusal) {
	w.Header().Set("Content-Type", grpcType)
	no.set(w.Header())
	w.WriteHeader(http.StatusOK)
}

// set sets the trailers of a call.
func (no *refusal) set(h http.Header) {
	h.Set(statusTrailer, strconv.Itoa(int(no.code)))
	h.Set(messageTrailer, percentEncoded(no.text))
	if no.leader != "" {
		h.Set(LeaderHeader, no.leader)
	}
}

// percentEncoded is a text as Grpc-Message has it: printable ASCII.
func percentEncoded(text string) string {
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '%' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
