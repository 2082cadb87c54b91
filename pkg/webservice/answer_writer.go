package webservice

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"iter"
	"net"
	"net/http"
	"runtime"
	"sync"
	"time"

	"github.com/canopy-scheduler/canopy/internal/cpushare"
	"github.com/canopy-scheduler/canopy/internal/httpserver"
)

// pieces are the text of an answer, piece by piece. A piece is valid until the next is asked
// for.
type pieces iter.Seq[[]byte]

// pageBytes is what is written at once. An answer that is longer is a large one: it is never
// in memory as a whole for one reader, and only so many are written at the same time.
const pageBytes = 64 << 10

var pageBuffers = sync.Pool{New: func() any { p := make([]byte, 0, pageBytes); return &p }}

// gzipWriters are writers of the fastest level: a large answer is packed to be smaller, not to be
// smallest.
var gzipWriters = sync.Pool{New: func() any {
	z, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic("webservice: " + err.Error()) // the level exists
	}
	return z
}}

// answerWriter collects an answer. What fits one page is sent as it is; what does not waits for its turn
// among the large answers, and is then written page by page.
type answerWriter struct {
	s      *service
	w      http.ResponseWriter
	r      *http.Request
	status int
	kind   string // the content type

	buffer *[]byte
	isGzip bool // what is added is a stream of gzip already

	text        []byte
	slot        *cpushare.Slot
	large       bool         // more than a page: its turn has come
	gzip        *gzip.Writer // nil: it is written as it is
	gzipped     bytes.Buffer // what z has made of the page
	releaseGate func()
	ended       bool // the client is gone, or was refused
}

// writePieces writes an answer.
func (s *service) writePieces(w http.ResponseWriter, r *http.Request, status int, kind string, all pieces) {
	p := &answerWriter{s: s, w: w, r: r, status: status, kind: kind}
	defer p.close()
	p.open()
	for piece := range all {
		if !p.add(piece) {
			return
		}
	}
	p.end()
}

// open gets a slot and the room for a page, and close gives back what the answer has.
func (p *answerWriter) open() {
	p.slot = cpushare.Readers.Acquire()
	p.buffer, _ = pageBuffers.Get().(*[]byte)
	p.text = (*p.buffer)[:0]
}

func (p *answerWriter) close() {
	p.slot.Release()
	pageBuffers.Put(p.buffer)
	if p.gzip != nil {
		gzipWriters.Put(p.gzip)
	}
	if p.releaseGate != nil {
		p.releaseGate()
	}
}

// add takes in a piece; false: no more is needed.
func (p *answerWriter) add(piece []byte) bool {
	p.slot.Yield()
	for len(piece) > 0 {
		n := min(len(piece), pageBytes-len(p.text))
		p.text = append(p.text, piece[:n]...)
		if piece = piece[n:]; len(piece) > 0 && !p.flushPage() {
			return false
		}
	}
	return true
}

// flushPage writes the page, which is full, and empties it.
func (p *answerWriter) flushPage() bool {
	if !p.large && !p.beginLarge() {
		return false
	}
	if err := p.write(false); err != nil {
		p.logUnread(err)
		return false
	}
	p.text = p.text[:0]
	return true
}

// write writes the page, packed if the client takes that. last: there is no other.
func (p *answerWriter) write(last bool) error {
	out := p.text
	if p.gzip != nil {
		p.gzipped.Reset()
		_, err := p.gzip.Write(p.text)
		if err == nil && last {
			err = p.gzip.Close()
		}
		if err != nil {
			panic("webservice: " + err.Error()) // a buffer takes everything
		}
		out = p.gzipped.Bytes()
	}
	return p.withoutSlot(func() error {
		_, err := p.w.Write(out)
		return err
	})
}

// withoutSlot does what may have to wait, while others use the slot of the answer.
func (p *answerWriter) withoutSlot(do func() error) error {
	p.slot.Release()
	defer p.slot.Reacquire()
	return do()
}

// beginLarge waits for the turn of a large answer and writes its header.
func (p *answerWriter) beginLarge() bool {
	err := p.withoutSlot(func() (err error) {
		p.releaseGate, err = p.s.opt.LargeAnswers.Acquire(p.r.Context(), clientHost(p.r))
		return err
	})
	if err != nil {
		p.ended = true
		_ = p.withoutSlot(func() error {
			p.w.Header().Set("Retry-After", "1")
			p.s.fail(p.w, p.r, err)
			return nil
		})
		return false
	}
	p.large = true
	h := p.s.setHeaders(p.w, p.kind)
	switch {
	case p.isGzip:
		h.Set("Content-Encoding", "gzip")
	case httpserver.AcceptsGzip(p.r):
		h.Set("Content-Encoding", "gzip")
		p.gzip, _ = gzipWriters.Get().(*gzip.Writer)
		p.gzip.Reset(&p.gzipped)
	}
	p.w.WriteHeader(p.status)
	return true
}

// end writes what is left.
func (p *answerWriter) end() {
	switch {
	case p.ended:
		return
	case !p.large && p.isGzip:
		if !p.beginLarge() {
			return
		}
	case !p.large:
		_ = p.withoutSlot(func() error {
			p.s.writeShort(p.w, p.r, p.status, p.kind, p.text)
			return nil
		})
		return
	}
	if err := p.write(true); err != nil {
		p.logUnread(err)
	}
}

// clientHost is the client of a request without its port.
func clientHost(r *http.Request) string {
	if name, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		return name
	}
	return r.RemoteAddr
}

// encodeYieldInterval is how long is encoded before others may go on.
const encodeYieldInterval = 100 * time.Microsecond

// encoder turns shapes of dao.go into JSON, one after the other, and lets the scheduler decide
// in between.
type encoder struct {
	text      bytes.Buffer
	json      *json.Encoder
	lastYield time.Time      // others went on
	slot      *cpushare.Slot // that is left to others; nil: it is not given up
}

func newEncoder() *encoder { return newEncoderWithSlot(nil) }

// newEncoderWithSlot is an encoder that yields a turn now and then.
func newEncoderWithSlot(slot *cpushare.Slot) *encoder {
	e := &encoder{lastYield: time.Now(), slot: slot}
	e.json = json.NewEncoder(&e.text)
	return e
}

// piece is what json.Marshal gives for body. It is valid until the next call.
func (e *encoder) piece(body any) []byte {
	if e.slot != nil {
		e.slot.Yield()
	} else if now := time.Now(); now.Sub(e.lastYield) > encodeYieldInterval {
		runtime.Gosched()
		e.lastYield = now
	}
	e.text.Reset()
	if err := e.json.Encode(body); err != nil {
		panic("webservice: " + err.Error()) // every shape in dao.go can be written
	}
	return bytes.TrimSuffix(e.text.Bytes(), []byte("\n"))
}

// listOf is a JSON list of all that a sequence yields.
func listOf[T any](all iter.Seq[T]) pieces {
	return func(yield func([]byte) bool) {
		for piece := range listWith(newEncoder(), all) {
			if !yield(piece) {
				return
			}
		}
	}
}

// listWith is listOf with an encoder that is at hand.
func listWith[T any](e *encoder, all iter.Seq[T]) pieces {
	return func(yield func([]byte) bool) {
		before := []byte("[")
		for body := range all {
			if !yield(before) || !yield(e.piece(body)) {
				return
			}
			before = []byte(",")
		}
		if before[0] == '[' && !yield(before) {
			return
		}
		yield([]byte("]"))
	}
}

// cutAroundList is the JSON of body before and after the list of a field that is empty or null in it.
// text is a piece of an encoder with that field's list holding only one, which is a zero element.
func cutAroundList(text []byte, field string, element []byte) (before, after []byte, found bool) {
	// A quote within a string is escaped, so that this is the field and no text that looks like it.
	before, after, found = bytes.Cut(text, append([]byte(`"`+field+`":[`), append(element, ']')...))
	if found {
		before = text[:len(before)+len(field)+len(`"":`)]
	}
	return before, after, found
}
