package webservice

import (
	"bytes"
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
	"github.com/canopy-scheduler/canopy/internal/server/httpserver"
)

// An answer is encoded while it is sent. One of up to a page is sent at once; a longer one waits for admission as a
// large answer, and is then sent page by page (OBS-85).
const (
	slotBytes    = 4 << 10  // more text is encoded with a slot for readers only
	minGzipBytes = 1400     // a shorter answer fits one packet uncompressed
	pageBytes    = 64 << 10 // of one write
)

var pageBuffers = sync.Pool{New: func() any { p := make([]byte, 0, pageBytes); return &p }}

// answerWriter sends what is written to it as the body of an answer.
type answerWriter struct {
	s      *service
	w      http.ResponseWriter
	r      *http.Request
	status int
	kind   string // the content type

	text    []byte         // not sent yet, at most a page
	slot    *cpushare.Slot // nil: the answer is short so far
	gzip    *compressor    // of a large answer; nil: it is sent as it is
	release func()         // ends a large answer; nil: it is none so far
	err     error          // why nothing more is sent: the answer was not admitted, or is not read
}

// write answers with what encode writes.
func (s *service) write(w http.ResponseWriter, r *http.Request, status int, kind string,
	encode func(io.Writer) error) {
	buffer, _ := pageBuffers.Get().(*[]byte)
	defer pageBuffers.Put(buffer)
	p := &answerWriter{s: s, w: w, r: r, status: status, kind: kind, text: (*buffer)[:0]}
	defer p.close()
	if err := encode(p); err != nil && p.err == nil {
		panic("webservice: " + err.Error()) // every body can be encoded
	}
	p.end()
}

// writeText answers with a text.
func (s *service) writeText(w http.ResponseWriter, r *http.Request, kind string, text []byte) {
	s.write(w, r, http.StatusOK, kind, func(to io.Writer) error {
		_, err := to.Write(text)
		return err
	})
}

// close releases what the answer holds. A large answer that a panic ends breaks the connection: its status is sent.
func (p *answerWriter) close() {
	p.slot.Release()
	if p.release == nil {
		return
	}
	p.release()
	if p.gzip != nil {
		compressors.Put(p.gzip)
	}
	if cause := recover(); cause != nil {
		panic(http.ErrAbortHandler)
	}
}

// Write implements io.Writer.
func (p *answerWriter) Write(text []byte) (int, error) {
	if p.slot == nil && len(p.text)+len(text) > slotBytes {
		p.slot = cpushare.Readers.Acquire(p.r.Context())
	}
	p.slot.Yield()
	for rest := text; len(rest) > 0; {
		if len(p.text) == pageBytes {
			p.send(false)
		}
		if p.err != nil {
			return 0, p.err
		}
		n := min(len(rest), pageBytes-len(p.text))
		p.text = append(p.text, rest[:n]...)
		rest = rest[n:]
	}
	return len(text), nil
}

// send sends the page as a part of a large answer. last: it is the last part.
func (p *answerWriter) send(last bool) {
	if p.release == nil && !p.begin() {
		return
	}
	out := p.text
	if p.gzip != nil {
		out = p.gzip.compress(p.text, last)
	}
	p.withoutSlot(func() { _, p.err = p.w.Write(out) })
	p.logUnread()
	p.text = p.text[:0]
}

// withoutSlot does what may wait, with the slot released meanwhile.
func (p *answerWriter) withoutSlot(do func()) {
	p.slot.Release()
	defer p.slot.Reacquire()
	do()
}

// begin waits for the admission of a large answer and sends its header. It reports whether the answer was admitted.
func (p *answerWriter) begin() bool {
	p.withoutSlot(func() {
		var release func()
		if release, p.err = p.s.opt.LargeAnswers.Acquire(p.r.Context(), clientHost(p.r)); p.err != nil {
			p.w.Header().Set("Retry-After", "1")
			p.s.fail(p.w, p.r, p.err)
			return
		}
		p.release = release
	})
	if p.err != nil {
		return false
	}
	h := p.setHeaders()
	if httpserver.AcceptsGzip(p.r) {
		h.Set("Content-Encoding", "gzip")
		p.gzip = newCompressor()
	}
	p.w.WriteHeader(p.status)
	return true
}

// end sends the rest.
func (p *answerWriter) end() {
	switch {
	case p.err != nil:
	case p.release != nil:
		p.send(true)
	case p.slot != nil:
		p.withoutSlot(p.sendShort)
	default:
		p.sendShort()
	}
}

// sendShort sends the whole answer, which is at most a page.
func (p *answerWriter) sendShort() {
	h := p.setHeaders()
	if len(p.text) >= minGzipBytes && httpserver.AcceptsGzip(p.r) {
		h.Set("Content-Encoding", "gzip")
		c := newCompressor()
		defer compressors.Put(c)
		p.text = c.compress(p.text, true)
	}
	h.Set("Content-Length", strconv.Itoa(len(p.text)))
	p.w.WriteHeader(p.status)
	_, p.err = p.w.Write(p.text)
	p.logUnread()
}

// setHeaders sets the headers that all answers have.
func (p *answerWriter) setHeaders() http.Header {
	h := p.w.Header()
	h.Set("Content-Type", p.kind)
	h.Add("Vary", "Accept-Encoding")
	return h
}

// logUnread logs that the client has not read its answer, if it has not.
func (p *answerWriter) logUnread() {
	if p.err != nil {
		p.s.opt.Log.Debug("answer was not read", zap.String("path", p.r.URL.Path), zap.Error(p.err))
	}
}

// clientHost returns the address of the client of a request, without the port.
func clientHost(r *http.Request) string {
	if name, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		return name
	}
	return r.RemoteAddr
}

// compressor compresses an answer into a buffer. It has 1 MB and the fastest level, since compressing must cost little
// processor time.
type compressor struct {
	*gzip.Writer
	out bytes.Buffer
}

var compressors = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic("webservice: " + err.Error()) // the level exists
	}
	return &compressor{Writer: w}
}}

// newCompressor returns a compressor at the begin of its stream.
func newCompressor() *compressor {
	c, _ := compressors.Get().(*compressor)
	c.Reset(&c.out)
	return c
}

// compress returns the compressed text as far as the stream has it, until the next call. last: the stream ends.
func (c *compressor) compress(text []byte, last bool) []byte {
	c.out.Reset()
	_, err := c.Write(text)
	if err == nil && last {
		err = c.Close()
	}
	if err != nil {
		panic("webservice: " + err.Error()) // a write to a buffer does not fail
	}
	return c.out.Bytes()
}
