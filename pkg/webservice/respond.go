package webservice

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"net/http"
	"strconv"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/httpserver"
	"github.com/canopy-scheduler/canopy/internal/loop"
)

const (
	allowedMethods = "GET, OPTIONS"
	allowedHeaders = "X-Requested-With,Content-Type,Accept,Origin"
	jsonType       = "application/json; charset=UTF-8"
	minGzipBytes   = 1400 // bytes; a shorter body fits one packet as it is
)

// failure is an answer that is no success. Its body is the reason, unless it has one
// of its own.
type failure struct {
	status int
	reason string
	body   any // nil: an errorBody
}

func (f *failure) Error() string { return f.reason }

func notFound(what string) error {
	return &failure{status: http.StatusNotFound, reason: what + " not found"}
}

func badRequest(reason string) error {
	return &failure{status: http.StatusBadRequest, reason: reason}
}

func (s *service) fail(w http.ResponseWriter, r *http.Request, err error) {
	f := new(failure)
	switch {
	case errors.As(err, &f):
	case errors.Is(err, httpserver.ErrBusy), errors.Is(err, loop.ErrEnded), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		f = &failure{status: http.StatusServiceUnavailable, reason: err.Error()}
	default:
		f = &failure{status: http.StatusInternalServerError, reason: err.Error()}
	}
	if f.status >= http.StatusInternalServerError {
		s.opt.Log.Warn("request failed", zap.String("path", r.URL.Path), zap.Int("status", f.status), zap.Error(err))
	}
	body := f.body
	if body == nil {
		body = errorBody{StatusCode: f.status, Message: f.reason, Description: f.reason}
	}
	s.writeJSON(w, r, f.status, body)
}

// writeJSON answers with JSON: that of body, or the text that it is.
func (s *service) writeJSON(w http.ResponseWriter, r *http.Request, status int, body any) {
	switch body := body.(type) {
	case pieces:
		s.writePieces(w, r, status, jsonType, body)
		return
	case *encodedList:
		s.writeEncodedList(w, r, body)
		return
	}
	text := newEncoder().piece(body)
	if len(text) <= pageBytes {
		s.writeShort(w, r, status, jsonType, text) // health, for one, does not wait for a slot
		return
	}
	s.writePieces(w, r, status, jsonType, func(yield func([]byte) bool) { yield(text) })
}

// setHeaders fills in what all answers have.
func (s *service) setHeaders(w http.ResponseWriter, kind string) http.Header {
	h := w.Header()
	if !s.sameOriginOnly {
		allowOrigins(h)
	}
	h.Set("Content-Type", kind)
	h.Add("Vary", "Accept-Encoding")
	return h
}

// writeShort writes a short answer, packed if that is worth it.
func (s *service) writeShort(w http.ResponseWriter, r *http.Request, status int, kind string, text []byte) {
	h := s.setHeaders(w, kind)
	if len(text) >= minGzipBytes && httpserver.AcceptsGzip(r) {
		h.Set("Content-Encoding", "gzip")
		text = compress(text)
	}
	h.Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	if _, err := w.Write(text); err != nil {
		s.opt.Log.Debug("answer was not read", zap.String("path", r.URL.Path), zap.Error(err))
	}
}

// allowOrigins lets pages from anywhere read the answer (behaviour.md 11.2).
func allowOrigins(h http.Header) {
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Methods", allowedMethods)
	h.Set("Access-Control-Allow-Headers", allowedHeaders)
}

func compress(text []byte) []byte {
	var out bytes.Buffer
	z, _ := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(z)
	z.Reset(&out)
	if _, err := z.Write(text); err != nil {
		panic("webservice: " + err.Error()) // a buffer takes everything
	}
	if err := z.Close(); err != nil {
		panic("webservice: " + err.Error())
	}
	return out.Bytes()
}
