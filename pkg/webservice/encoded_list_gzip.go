package webservice

import (
	"encoding/binary"
	"hash/crc32"
	"net/http"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/server/httpserver"
)

// The elements of an encoded list are compressed one by one as well. Each becomes a run of deflate
// blocks that refers to nothing before it and ends at a byte, so it is compressed once and copied
// into every answer that has the element. The text between elements is stored uncompressed.
// Together this is one valid gzip stream (OBS-15).

// minDeflateBytes is the average size from which on elements are compressed one by one. Smaller ones
// compress better together, for each reader anew.
const minDeflateBytes = 2 << 10

// gzipHeader is the header of a gzip stream: deflate, no name, no time, fastest level, unknown system.
var gzipHeader = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255}

// finalDeflateBlock is an empty block that ends a deflate stream.
var finalDeflateBlock = []byte{0x03, 0x00}

// writeEncodedList answers with a list.
func (s *service) writeEncodedList(w http.ResponseWriter, r *http.Request, t *encodedList) {
	if t.bytes < pageBytes || t.bytes < int64(len(t.elements))*minDeflateBytes || !httpserver.AcceptsGzip(r) ||
		!t.allCached() {
		s.writePieces(w, r, http.StatusOK, jsonType, t.pieces())
		return
	}
	p := &answerWriter{s: s, w: w, r: r, status: http.StatusOK, kind: jsonType, isGzip: true}
	defer p.close()
	p.open()
	sum := crc32.NewIEEE()
	size := uint32(0)
	var block [8]byte
	store := func(text string) bool { // text is short
		stored := append(block[:0], 0, byte(len(text)), 0, ^byte(len(text)), 0xff)
		stored = append(stored, text...)
		sum.Write(stored[len(stored)-len(text):])
		size += uint32(len(text))
		return p.add(stored)
	}
	p.add(gzipHeader)
	before := "["
	for _, x := range t.elements {
		if !store(before) || !p.add(x.deflate()) {
			return
		}
		sum.Write(x.text)
		size += uint32(len(x.text)) // modulo 2^32, as in the trailer of gzip
		before = ","
	}
	if !store("]") || !p.add(finalDeflateBlock) {
		return
	}
	p.add(binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, sum.Sum32()), size))
	p.end()
}

// allCached reports whether the text of every element is kept; an empty list has none.
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
	x.once.Do(func() { x.deflated = deflateBlocks(x.text) })
	return x.deflated
}

// logUnread logs that the client has not read its answer.
func (p *answerWriter) logUnread(err error) {
	p.ended = true
	p.s.opt.Log.Debug("answer was not read", zap.String("path", p.r.URL.Path), zap.Error(err))
}
