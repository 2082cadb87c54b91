package webservice

import (
	"bytes"
	"encoding/json"
	"iter"
	"net"
	"net/http"
	"runtime"
	"sync"
	"time"

	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
	"github.com/canopy-scheduler/canopy/internal/server/httpserver"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// pieces are the text of an answer, piece by piece. A piece is valid until the next one is
// requested.
type pieces iter.Seq[[]byte]

// pageBytes is the size of one write. A longer answer is a large answer: it is never in memory as
// a whole for one reader, and Options.LargeAnswers bounds how many are written at the same time.
const pageBytes = 64 << 10

var pageBuffers = sync.Pool{New: func() any { p := make([]byte, 0, pageBytes); return &p }}

// answerWriter collects an answer. An answer of up to one page is sent at once; a longer one waits
// for admission as a large answer, and is then written page by page.
type answerWriter struct {
	s      *service
	w      http.ResponseWriter
	r      *http.Request
	status int
	kind   string // the content type

	buffer *[]byte
	isGzip bool // the pieces are a gzip stream already

	text        []byte
	slot        *cpushare.Slot
	large       bool        // longer than a page, and admitted as a large answer
	gzip        *compressor // nil: it is written uncompressed, or isGzip
	releaseGate func()
	ended       bool // the large answer was not admitted: an error was sent instead
}

// writePieces writes an answer.
func (s *service) writePieces(w http.ResponseWriter, r *http.Request, status int, kind string, all pieces) {
	p := &answerWriter{s: s, w: w, r: r, status: status, kind: kind}
	p.open()
	defer p.close()
	defer func() {
		if err := recover(); err != nil {
			if p.large { // the status is sent already
				err = http.ErrAbortHandler
			}
			panic(err)
		}
	}()
	for piece := range all {
		if !p.add(piece) {
			return
		}
	}
	p.end()
}

// open acquires a slot for readers and a page buffer; close releases all that the answer has.
func (p *answerWriter) open() {
	p.slot = cpushare.Readers.Acquire(p.r.Context())
	p.buffer, _ = pageBuffers.Get().(*[]byte)
	p.text = (*p.buffer)[:0]
}

func (p *answerWriter) close() {
	p.slot.Release()
	pageBuffers.Put(p.buffer)
	if p.gzip != nil {
		p.gzip.release()
	}
	if p.releaseGate != nil {
		p.releaseGate()
	}
}

// add appends a piece; false: the answer has ended.
func (p *answerWriter) add(piece []byte) bool {
	p.slot.Yield()
	for len(piece) > 0 {
		n := min(len(piece), pageBytes-len(p.text))
		p.text = append(p.text, piece[:n]...)
		piece = piece[n:]
		if len(piece) > 0 && !p.flushPage() {
			return false
		}
	}
	return true
}

// flushPage writes the full page, and empties it; false: the answer has ended.
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

// write writes the page, compressed if the client accepts that. last: the gzip stream ends.
func (p *answerWriter) write(last bool) error {
	out := p.text
	if p.gzip != nil {
		out = p.gzip.compress(p.text, last)
	}
	return p.withoutSlot(func() error {
		_, err := p.w.Write(out)
		return err
	})
}

// withoutSlot runs a step that may block, with the slot of the answer released meanwhile.
func (p *answerWriter) withoutSlot(do func() error) error {
	p.slot.Release()
	defer p.slot.Reacquire()
	return do()
}

// beginLarge waits for the admission of a large answer and writes its header; false: it was refused.
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
		p.gzip = newCompressor()
	}
	p.w.WriteHeader(p.status)
	return true
}

// end writes the rest.
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

// clientHost is the address of the client of a request, without the port.
func clientHost(r *http.Request) string {
	if name, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		return name
	}
	return r.RemoteAddr
}

// encodeYieldInterval is how long an encoder runs before it yields to other goroutines.
const encodeYieldInterval = 100 * time.Microsecond

// encoder turns bodies of package dao into JSON, one after the other, and yields the
// processor to the scheduler in between.
type encoder struct {
	text      bytes.Buffer
	json      *json.Encoder
	lastYield time.Time      // when the encoder last yielded
	slot      *cpushare.Slot // the slot to yield; nil: the encoder yields its goroutine instead

	refusals func(objects.AllocationKey) []Refusal // of pending asks; nil: they are not shown
}

func newEncoder() *encoder { return newEncoderWithSlot(nil) }

// newEncoderWithSlot returns an encoder that yields a slot for readers.
func newEncoderWithSlot(slot *cpushare.Slot) *encoder {
	e := &encoder{lastYield: time.Now(), slot: slot}
	e.json = json.NewEncoder(&e.text)
	return e
}

// piece is the JSON of body as json.Marshal encodes it. It is valid until the next call.
func (e *encoder) piece(body any) []byte {
	if e.slot != nil {
		e.slot.Yield()
	} else if now := time.Now(); now.Sub(e.lastYield) > encodeYieldInterval {
		runtime.Gosched()
		e.lastYield = now
	}
	e.text.Reset()
	if err := e.json.Encode(body); err != nil {
		panic("webservice: " + err.Error()) // every body can be encoded
	}
	return bytes.TrimSuffix(e.text.Bytes(), []byte("\n"))
}

// listOf is the JSON list of the bodies of a sequence.
func listOf[T any](all iter.Seq[T]) pieces {
	return func(yield func([]byte) bool) {
		for piece := range listWith(newEncoder(), all) {
			if !yield(piece) {
				return
			}
		}
	}
}

// listWith is listOf with an existing encoder.
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

// cutAroundList cuts text, the JSON of a body whose list in the given field has a single zero
// element, into the parts before and after that list. element is the JSON of the zero element.
func cutAroundList(text []byte, field string, element []byte) (before, after []byte, found bool) {
	// A quote within a string is escaped, so the match is the field and not a string with the same text.
	before, after, found = bytes.Cut(text, append([]byte(`"`+field+`":[`), append(element, ']')...))
	if found {
		before = text[:len(before)+len(field)+len(`"":`)]
	}
	return before, after, found
}
