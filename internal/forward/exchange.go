package forward

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
)

// refusal is why a request is answered here.
type refusal struct {
	code   codes.Code // with gRPC
	status int        // with HTTP
	text   string
	leader string // HOST:PORT of the member that leads the partition; empty: none is known
}

// invalid refuses a request that is not right.
func invalid(err error) *refusal {
	return &refusal{code: codes.InvalidArgument, status: http.StatusBadRequest, text: err.Error()}
}

// exchange is one request that is passed on, and its answer.
type exchange struct {
	route  Route
	in     *http.Request
	answer http.ResponseWriter
}

type exchangeKey struct{}

// exchangeOf is the exchange that a request, as it came or as it is sent, belongs to.
func exchangeOf(ctx context.Context) *exchange { return ctx.Value(exchangeKey{}).(*exchange) }

// local reports whether a server of this process gets the request.
func (x *exchange) local() bool { return x.route.Dial != nil }

// unavailable refuses a request whose member cannot answer it.
func (x *exchange) unavailable(format string, args ...any) *refusal {
	return &refusal{
		code: codes.Unavailable, status: http.StatusServiceUnavailable, leader: x.route.Address,
		text: fmt.Sprintf("partition %s: ", quoted(x.route.Partition)) + fmt.Sprintf(format, args...),
	}
}

// pass passes a request on with next, or refuses it (HAF-1 to HAF-4).
func (f *Forwarder) pass(w http.ResponseWriter, r *http.Request, partition string, next http.Handler, refuse func(http.ResponseWriter, *refusal)) {
	if partition == "" && f.opt.IsLocal != nil && f.opt.IsLocal(r.URL.Path) {
		f.opt.Local.ServeHTTP(w, r)
		return
	}
	route, err := f.opt.Routes.Route(partition)
	switch {
	case err != nil && partition != "":
		refuse(w, &refusal{code: codes.NotFound, status: http.StatusNotFound, text: err.Error()})
		return
	case err != nil:
		refuse(w, invalid(err))
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(f.ctx, cancel)()
	x := &exchange{route: route, answer: w}
	x.in = r.WithContext(context.WithValue(ctx, exchangeKey{}, x))
	if no := f.notSent(x); no != nil {
		refuse(w, no)
		return
	}
	next.ServeHTTP(w, x.in)
}

// notSent is why a request is not sent to the member of its route. nil: it is.
func (f *Forwarder) notSent(x *exchange) *refusal {
	by := x.in.Header[ForwardedHeader]
	switch {
	case x.local():
		return nil
	case x.route.Address == "" && x.route.Leader != "":
		return x.unavailable("member %s does not lead it: member %s does, at which this is to be asked", f.opt.Self, quoted(x.route.Leader))
	case x.route.Address == "":
		return x.unavailable("member %s does not lead it, and does not know which member does", f.opt.Self)
	case len(by) > 0: // two members that each take the other for the leader would pass it on for ever
		return x.unavailable("member %s, which got this from member %s, does not lead it: the member at %s does", f.opt.Self, quoted(by[0]), x.route.Address)
	}
	return nil
}

// failure is why an exchange that has begun fails. err: that of the connection.
func (f *Forwarder) failure(x *exchange, err error) *refusal {
	member := "the member at " + x.route.Address
	if x.local() {
		member = "member " + f.opt.Self
	}
	var cannot *unreachableError
	switch {
	case f.ctx.Err() != nil:
		return x.unavailable("member %s ends", f.opt.Self)
	case x.in.Context().Err() != nil:
		return &refusal{code: codes.Canceled, status: http.StatusServiceUnavailable, text: "the client has ended the request"} // it does not read it
	case errors.As(err, &cannot):
		return x.unavailable("%s leads it and cannot be reached: %v", member, cannot.err)
	}
	f.log.Debug("a connection was lost", zap.String("partition", x.route.Partition), zap.Error(err))
	return x.unavailable("%s leads it, and the connection to it was lost", member)
}

// unreachableError is the error of a request that was not sent.
type unreachableError struct{ err error }

func (e *unreachableError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *unreachableError) Unwrap() error { return e.err }
