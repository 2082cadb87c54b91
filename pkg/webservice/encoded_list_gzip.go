package webservice

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"hash/crc32"
	"net/http"
	"sync"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/httpserver"
)

// A sheet is packed element by element as well. Each is a run of deflate blocks that refers to
// nothing before it and ends at a byte, so that what is packed once goes into every answer in
// which the element is. What stands between elements is stored as it is. Together that is one
// stream of gzip, like any other.

// minDeflateBytes is how many bytes the elements of a sheet have on average if they are packed one by
// one. Smaller ones are packed better together, anew for each reader.
const minDeflateBytes = 2 << 10

// gzipHeader says: gzip, deflate, no name, no time, made for speed, by an unknown system.
var gzipHeader = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255}

// finalDeflateBlock is an empty block that ends a stream of deflate.
var finalDeflateBlock = []byte{0x03, 0x00}

var flateWriters = sync.Pool{New: func() any {
	z, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic("webservice: " + err.Error()) // the level exists
	}
	return z
}}

// writeEncodedList answers with a list.
func (s *service) writeEncodedList(w http.ResponseWriter, r *http.Request, t *encodedList) {
	if t.bytes < pageBytes || t.bytes < int64(len(t.elements))*minDeflateBytes || !httpserver.AcceptsGzip(r) || !t.allCached() {
		s.writePieces(w, r, http.StatusOK, jsonType, t.pieces())
		return
	}
	p := &answerWriter{s: s, w: w, r: r, status: http.StatusOK, kind: jsonType, isGzip: true}
	defer p.close()
	p.open()
	sum := crc32.NewIEEE()
	size := uint32(0)
	store := func(text string) bool {
		sum.Write([]byte(text))
		size += uint32(len(text))
		return p.add([]byte{0, byte(len(text)), 0, ^byte(len(text)), 0xff}) && p.add([]byte(text))
	}
	p.add(gzipHeader)
	before := "["
	for _, x := range t.elements {
		if !store(before) || !p.add(x.deflate()) {
			return
		}
		sum.Write(x.text)
		size += uint32(len(x.text)) // modulo 2^32, as gzip has it
		before = ","
	}
	if !store("]") || !p.add(finalDeflateBlock) {
		return
	}
	p.add(binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, sum.Sum32()), size))
	p.end()
}

// allCached reports whether all elements have their text.
func (t *encodedList) allCached() bool {
	for _, x := range t.elements {
		if x.text == nil {
			return false
		}
	}
	return len(t.elements) > 0
}

// deflate is the text of the element as deflate blocks. Requires: the text is kept.
func (x *listElement) deflate() []byte {
	x.once.Do(func() {
		var out bytes.Buffer
		z, _ := flateWriters.Get().(*flate.Writer)
		defer flateWriters.Put(z)
		z.Reset(&out)
		if _, err := z.Write(x.text); err != nil {
			panic("webservice: " + err.Error()) // a buffer takes everything
		}
		if err := z.Flush(); err != nil {
			panic("webservice: " + err.Error())
		}
		x.deflated = bytes.Clone(out.Bytes())
	})
	return x.deflated
}

// logUnread notes that the client has not taken its answer.
func (p *answerWriter) logUnread(err error) {
	p.ended = true
	p.s.opt.Log.Debug("answer was not read", zap.String("path", p.r.URL.Path), zap.Error(err))
}
