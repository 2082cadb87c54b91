package webservice

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
	"github.com/canopy-scheduler/canopy/internal/server/httpserver"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

const jsonType = "application/json; charset=UTF-8"

// failure is an answer with an error status. Its body is a dao.Error with the reason, unless it
// has one of its own.
type failure struct {
	status int
	reason string
	body   any // nil: a dao.Error
}

func (f *failure) Error() string { return f.reason }

// refusal returns a failure with a text.
func refusal(status int, format string, about ...any) *failure {
	return &failure{status: status, reason: fmt.Sprintf(format, about...)}
}

func notFound(what string) error {
	return refusal(http.StatusNotFound, "%s not found", what)
}

func badRequest(format string, about ...any) error {
	return refusal(http.StatusBadRequest, format, about...)
}

// discardBody reads what is left of the body, but not more than a configuration has: a client that still sends it
// would see a broken connection instead of the answer (OBS-104).
func (s *service) discardBody(r *http.Request) {
	if r.Body == nil { // a program calls the handler itself
		return
	}
	most := int64(queuesyaml.DefaultOptions().MaxBytes)
	if s.opt.Reloads != nil {
		most = int64(s.opt.Reloads.MaxBytes())
	}
	_, _ = io.CopyN(io.Discard, r.Body, most)
}

// fail answers with an error. A failure has a status of its own; the end of the scheduler or of the
// wait of the client, and too many large answers, are 503; any other error is 500 (OBS-8, OBS-9).
func (s *service) fail(w http.ResponseWriter, r *http.Request, err error) {
	f := new(failure)
	switch {
	case errors.As(err, &f):
	case errors.Is(err, httpserver.ErrBusy), errors.Is(err, cpushare.ErrTooLong), errors.Is(err, loop.ErrEnded),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		f = refusal(http.StatusServiceUnavailable, "%v", err)
	default:
		f = refusal(http.StatusInternalServerError, "%v", err)
	}
	if f.status >= http.StatusInternalServerError {
		s.opt.Log.Warn("request failed", zap.String("path", r.URL.Path), zap.Int("status", f.status), zap.Error(err))
	}
	if f.status == http.StatusServiceUnavailable && w.Header().Get("Retry-After") == "" {
		w.Header().Set("Retry-After", "1")
	}
	w.Header().Del("ETag")
	s.discardBody(r)
	body := f.body
	if body == nil {
		body = dao.NewError(f.status, f.reason)
	}
	s.writeJSON(w, r, f.status, body)
}

// answersEnded answers a request whose work has ended: its client has left, the server ends, or it took too long
// (OBS-103).
func (s *service) answersEnded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			switch p := recover().(type) {
			case nil:
			case *cpushare.Ended:
				s.fail(w, r, p)
			default:
				panic(p)
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// answerOptions encode every JSON answer: the bytes are those of encoding/json, with <, > and & escaped.
var answerOptions = jsonv1.DefaultOptionsV1()

// pageBody is an answer with a part of a list.
type pageBody struct {
	body    any
	next    string       // the link to the next page; empty: this is the last one
	options json.Options // of the elements; nil: none
}

// writeJSON answers with the JSON of body.
func (s *service) writeJSON(w http.ResponseWriter, r *http.Request, status int, body any) {
	options := answerOptions
	switch x := body.(type) {
	case *pageBody:
		body = x.body
		if x.next != "" {
			w.Header().Set("Link", "<"+x.next+`>; rel="next"`)
		}
		if x.options != nil {
			options = json.JoinOptions(options, x.options)
		}
	case dao.StateDump: // people read it
		options = json.JoinOptions(options, jsontext.WithIndent("  "))
	}
	s.write(w, r, status, jsonType, func(to io.Writer) error { return json.MarshalWrite(to, body, options) })
}

// answer answers with a body, or with an error.
func (s *service) answer(w http.ResponseWriter, r *http.Request, status int, body any, err error) {
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.writeJSON(w, r, status, body)
}
