package webservice

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"io"
	"sync"
)

// flusher is a gzip.Writer or a flate.Writer.
type flusher interface {
	io.WriteCloser
	Reset(io.Writer)
	Flush() error
}

// compressor compresses into a buffer of its own. Compressors have 1 MB each, and are in pools. They have the
// fastest level: compressing must cost little processor time.
type compressor struct {
	writer flusher
	out    bytes.Buffer
	pool   *sync.Pool
}

var gzipCompressors, flateCompressors sync.Pool

func init() {
	pool := func(p *sync.Pool, open func() (flusher, error)) {
		p.New = func() any {
			w, err := open()
			if err != nil {
				panic("webservice: " + err.Error()) // the level exists
			}
			return &compressor{writer: w, pool: p}
		}
	}
	pool(&gzipCompressors, func() (flusher, error) { return gzip.NewWriterLevel(nil, gzip.BestSpeed) })
	pool(&flateCompressors, func() (flusher, error) { return flate.NewWriter(nil, flate.BestSpeed) })
}

// newCompressor begins a gzip stream; release gives the compressor back.
func newCompressor() *compressor { return begin(&gzipCompressors) }

func begin(pool *sync.Pool) *compressor {
	c, _ := pool.Get().(*compressor)
	c.writer.Reset(&c.out)
	return c
}

func (c *compressor) release() {
	if c.out.Cap() > maxPooledBytes {
		c.out = bytes.Buffer{}
	}
	c.pool.Put(c)
}

// compress returns the compressed text as far as the stream has it, until the next call. last: the stream ends.
func (c *compressor) compress(text []byte, last bool) []byte {
	c.out.Reset()
	_, err := c.writer.Write(text)
	if err == nil && last {
		err = c.writer.Close()
	}
	if err != nil {
		panic("webservice: " + err.Error()) // a write to a buffer does not fail
	}
	return c.out.Bytes()
}

// deflateBlocks is the text as deflate blocks that refer to nothing before them and end at a byte.
func deflateBlocks(text []byte) []byte {
	c := begin(&flateCompressors)
	defer c.release()
	c.compress(text, false)
	if err := c.writer.Flush(); err != nil {
		panic("webservice: " + err.Error())
	}
	return bytes.Clone(c.out.Bytes())
}
