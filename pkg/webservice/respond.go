package webservice

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
	"github.com/canopy-scheduler/canopy/internal/server/httpserver"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

const (
	jsonType     = "application/json; charset=UTF-8"
	minGzipBytes = 1400 // bytes; a shorter body fits one packet uncompressed
)

// failure is an answer with an error status. Its body is a dao.Error with the reason, unless it
// has one of its own.
type failure struct {
	status int
	reason string
	body   any // nil: a dao.Error
}

func (f *failure) Error() string { return f.reason }

func notFound(what string) error {
	return &failure{status: http.StatusNotFound, reason: what + " not found"}
}

func badRequest(reason string) error {
	return &failure{status: http.StatusBadRequest, reason: reason}
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
		f = &failure{status: http.StatusServiceUnavailable, reason: err.Error()}
	default:
		f = &failure{status: http.StatusInternalServerError, reason: err.Error()}
	}
	if f.status >= http.StatusInternalServerError {
		s.opt.Log.Warn("request failed", zap.String("path", r.URL.Path), zap.Int("status", f.status), zap.Error(err))
	}
	if f.status == http.StatusServiceUnavailable && w.Header().Get("Retry-After") == "" {
		w.Header().Set("Retry-After", "1")
	}
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

// writeJSON answers with the JSON of body; pieces and an encodedList are JSON already.
func (s *service) writeJSON(w http.ResponseWriter, r *http.Request, status int, body any) {
	switch body := body.(type) {
	case pieces:
		s.writePieces(w, r, status, jsonType, body)
		return
	case *encodedList:
		s.writeEncodedList(w, r, body)
		return
	case *askList:
		if body.place != "" {
			setLink(w.Header(), body.page.nextLink(body.place))
		}
		s.writePieces(w, r, status, jsonType, body.pieces())
		return
	case *pagedList:
		setLink(w.Header(), body.next)
		s.writePieces(w, r, status, jsonType, body.elements)
		return
	}
	text := newEncoder().piece(body)
	if len(text) <= pageBytes {
		s.writeShort(w, r, status, jsonType, text) // short answers, such as health, do not wait for a slot
		return
	}
	s.writePieces(w, r, status, jsonType, func(yield func([]byte) bool) { yield(text) })
}

// setHeaders sets the headers that all answers have.
func (s *service) setHeaders(w http.ResponseWriter, kind string) http.Header {
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Add("Vary", "Accept-Encoding")
	return h
}

// writeShort writes an answer of at most a page, compressed from minGzipBytes on.
func (s *service) writeShort(w http.ResponseWriter, r *http.Request, status int, kind string, text []byte) {
	h := s.setHeaders(w, kind)
	if len(text) >= minGzipBytes && httpserver.AcceptsGzip(r) {
		h.Set("Content-Encoding", "gzip")
		c := newCompressor()
		defer c.release()
		text = c.compress(text, true)
	}
	h.Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	if _, err := w.Write(text); err != nil {
		s.opt.Log.Debug("answer was not read", zap.String("path", r.URL.Path), zap.Error(err))
	}
}
