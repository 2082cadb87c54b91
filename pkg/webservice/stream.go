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

var pages = sync.Pool{New: func() any { p := make([]byte, 0, pageBytes); return &p }}

// packers are writers of the fastest level: a large answer is packed to be smaller, not to be
// smallest.
var packers = sync.Pool{New: func() any {
	z, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic("webservice: " + err.Error()) // the level exists
	}
	return z
}}

// page collects an answer. What fits one page is sent as it is; what does not waits for its turn
// among the large answers, and is then written page by page.
type page struct {
	s      *service
	w      http.ResponseWriter
	r      *http.Request
	status int
	kind   string // the content type

	room     *[]byte
	isPacked bool // what is added is a stream of gzip already

	text  []byte
	turn  *cpushare.Turn
	large bool         // more than a page: its turn has come
	z     *gzip.Writer // nil: it is written as it is
	zip   bytes.Buffer // what z has made of the page
	leave func()
	ended bool // the client is gone, or was refused
}

// stream writes an answer.
func (s *service) stream(w http.ResponseWriter, r *http.Request, status int, kind string, all pieces) {
	p := &page{s: s, w: w, r: r, status: status, kind: kind}
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
func (p *page) open() {
	p.turn = cpushare.Readers.Enter()
	p.room, _ = pages.Get().(*[]byte)
	p.text = (*p.room)[:0]
}

func (p *page) close() {
	p.turn.Leave()
	pages.Put(p.room)
	if p.z != nil {
		packers.Put(p.z)
	}
	if p.leave != nil {
		p.leave()
	}
}

// add takes in a piece; false: no more is needed.
func (p *page) add(piece []byte) bool {
	p.turn.Yield()
	for len(piece) > 0 {
		n := min(len(piece), pageBytes-len(p.text))
		p.text = append(p.text, piece[:n]...)
		if piece = piece[n:]; len(piece) > 0 && !p.spill() {
			return false
		}
	}
	return true
}

// spill writes the page, which is full, and empties it.
func (p *page) spill() bool {
	if !p.large && !p.begin() {
		return false
	}
	if err := p.write(false); err != nil {
		p.unread(err)
		return false
	}
	p.text = p.text[:0]
	return true
}

// write writes the page, packed if the client takes that. last: there is no other.
func (p *page) write(last bool) error {
	out := p.text
	if p.z != nil {
		p.zip.Reset()
		_, err := p.z.Write(p.text)
		if err == nil && last {
			err = p.z.Close()
		}
		if err != nil {
			panic("webservice: " + err.Error()) // a buffer takes everything
		}
		out = p.zip.Bytes()
	}
	return p.outside(func() error {
		_, err := p.w.Write(out)
		return err
	})
}

// outside does what may have to wait, while others use the slot of the answer.
func (p *page) outside(do func() error) error {
	p.turn.Leave()
	defer p.turn.Resume()
	return do()
}

// begin waits for the turn of a large answer and writes its header.
func (p *page) begin() bool {
	err := p.outside(func() (err error) {
		p.leave, err = p.s.opt.Large.Enter(p.r.Context(), host(p.r))
		return err
	})
	if err != nil {
		p.ended = true
		_ = p.outside(func() error {
			p.w.Header().Set("Retry-After", "1")
			p.s.fail(p.w, p.r, err)
			return nil
		})
		return false
	}
	p.large = true
	h := p.s.header(p.w, p.kind)
	switch {
	case p.isPacked:
		h.Set("Content-Encoding", "gzip")
	case httpserver.AcceptsGzip(p.r):
		h.Set("Content-Encoding", "gzip")
		p.z, _ = packers.Get().(*gzip.Writer)
		p.z.Reset(&p.zip)
	}
	p.w.WriteHeader(p.status)
	return true
}

// end writes what is left.
func (p *page) end() {
	switch {
	case p.ended:
		return
	case !p.large && p.isPacked:
		if !p.begin() {
			return
		}
	case !p.large:
		_ = p.outside(func() error {
			p.s.send(p.w, p.r, p.status, p.kind, p.text)
			return nil
		})
		return
	}
	if err := p.write(true); err != nil {
		p.unread(err)
	}
}

// host is the client of a request without its port.
func host(r *http.Request) string {
	if name, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		return name
	}
	return r.RemoteAddr
}

// encodeTime is how long is encoded before others may go on.
const encodeTime = 100 * time.Microsecond

// encoder turns shapes of dao.go into JSON, one after the other, and lets the scheduler decide
// in between.
type encoder struct {
	text  bytes.Buffer
	json  *json.Encoder
	since time.Time      // others went on
	turn  *cpushare.Turn // that is left to others; nil: it is not given up
}

func newEncoder() *encoder { return newEncoderIn(nil) }

// newEncoderIn is an encoder that yields a turn now and then.
func newEncoderIn(turn *cpushare.Turn) *encoder {
	e := &encoder{since: time.Now(), turn: turn}
	e.json = json.NewEncoder(&e.text)
	return e
}

// piece is what json.Marshal gives for body. It is valid until the next call.
func (e *encoder) piece(body any) []byte {
	if e.turn != nil {
		e.turn.Yield()
	} else if now := time.Now(); now.Sub(e.since) > encodeTime {
		runtime.Gosched()
		e.since = now
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

// around is the JSON of body before and after the list of a field that is empty or null in it.
// text is a piece of an encoder with that field's list holding only one, which is a zero element.
func around(text []byte, field string, element []byte) (before, after []byte, found bool) {
	// A quote within a string is escaped, so that this is the field and no text that looks like it.
	before, after, found = bytes.Cut(text, append([]byte(`"`+field+`":[`), append(element, ']')...))
	if found {
		before = text[:len(before)+len(field)+len(`"":`)]
	}
	return before, after, found
}
