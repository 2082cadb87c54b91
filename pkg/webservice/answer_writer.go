package webservice

import (
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"

	"github.com/klauspost/compress/gzhttp"
	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
)

// An answer is encoded, and compressed, while it is sent. One of up to a page is sent at once; a longer one waits for
// admission as a large answer, and is then sent page by page (OBS-85).
const (
	slotBytes    = 4 << 10  // more text is encoded with a slot for readers only
	minGzipBytes = 1400     // a shorter answer fits one packet uncompressed
	pageBytes    = 64 << 10 // of one write
)

// compressed compresses the answers of a handler for clients that accept gzip (OBS-15), at the fastest level:
// compressing must cost little processor time.
var compressed = func() func(http.Handler) http.HandlerFunc {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(minGzipBytes), gzhttp.CompressionLevel(gzip.BestSpeed),
		gzhttp.EnableZstd(false))
	if err != nil {
		panic("webservice: " + err.Error()) // the options are constant
	}
	return wrap
}()

var pageBuffers = sync.Pool{New: func() any { p := make([]byte, 0, pageBytes); return &p }}

// answerWriter sends what is written to it as the body of an answer.
type answerWriter struct {
	s      *service
	client http.ResponseWriter
	w      http.ResponseWriter // compresses what goes to client, for one that accepts it
	r      *http.Request
	status int
	kind   string // the content type

	text    []byte         // not sent yet, at most a page
	slot    *cpushare.Slot // nil: the answer is short so far
	release func()         // ends a large answer; nil: it is none so far
	err     error          // why nothing more is sent: the answer was not admitted, or is not read
}

// write answers with what encode writes.
func (s *service) write(w http.ResponseWriter, r *http.Request, status int, kind string,
	encode func(io.Writer) error) {
	buffer, _ := pageBuffers.Get().(*[]byte)
	defer pageBuffers.Put(buffer)
	p := &answerWriter{s: s, client: w, r: r, status: status, kind: kind, text: (*buffer)[:0]}
	defer p.close()
	compressed(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		p.w = w
		if err := encode(p); err != nil && p.err == nil {
			panic("webservice: " + err.Error()) // every body can be encoded
		}
		p.end()
	})).ServeHTTP(slotlessWriter{w, p}, r)
}

// slotlessWriter writes to the client of an answer without its slot: a write may wait.
type slotlessWriter struct {
	http.ResponseWriter
	p *answerWriter
}

// Write implements io.Writer.
func (w slotlessWriter) Write(text []byte) (n int, err error) {
	w.p.withoutSlot(func() { n, err = w.ResponseWriter.Write(text) })
	return n, err
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
			p.send()
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

// send sends the page as a part of a large answer.
func (p *answerWriter) send() {
	if p.release == nil && !p.begin() {
		return
	}
	_, p.err = p.w.Write(p.text)
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
			p.client.Header().Set("Retry-After", "1")
			p.s.fail(p.client, p.r, p.err)
			return
		}
		p.release = release
	})
	if p.err != nil {
		return false
	}
	p.w.Header().Set("Content-Type", p.kind)
	p.w.WriteHeader(p.status)
	return true
}

// end sends the rest.
func (p *answerWriter) end() {
	switch {
	case p.err != nil:
	case p.release != nil:
		p.send()
	default: // the whole answer is at most a page
		p.w.Header().Set("Content-Type", p.kind)
		p.w.Header().Set("Content-Length", strconv.Itoa(len(p.text)))
		p.w.WriteHeader(p.status)
		_, p.err = p.w.Write(p.text)
		p.logUnread()
	}
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
