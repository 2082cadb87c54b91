package wire

import (
	"errors"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Errors of the wire format.
var (
	errFormat = errors.New("cannot parse invalid wire-format data")
	errUTF8   = errors.New("a string field contains invalid UTF-8")
)

// Wire types in a tag, and the factor of the field number. A known field number with another wire
// type is an unknown field.
const (
	varint          = uint64(protowire.VarintType)
	lengthDelimited = uint64(protowire.BytesType)
	field           = 1 << 3
)

// reader reads the fields of one message. After the first error it is at the end.
type reader struct {
	rest []byte
	err  error
}

// next reads the tag of the next field; 0: there is none.
func (r *reader) next() (tag uint64) {
	if b := r.rest; len(b) > 0 && b[0]-field < 0x80-field { // a field number below 16
		r.rest = b[1:]
		return uint64(b[0])
	}
	return r.multiByteTag()
}

func (r *reader) multiByteTag() (tag uint64) {
	if len(r.rest) == 0 {
		return 0
	}
	tag = r.readVarint()
	if n := tag / field; n < uint64(protowire.MinValidNumber) || n > uint64(protowire.MaxValidNumber) {
		r.fail(errFormat)
		return 0
	}
	return tag
}

// readVarint reads a varint.
func (r *reader) readVarint() uint64 {
	if b := r.rest; len(b) > 0 && b[0] < 0x80 {
		r.rest = b[1:]
		return uint64(b[0])
	}
	return r.multiByteVarint()
}

func (r *reader) multiByteVarint() uint64 {
	v, n := protowire.ConsumeVarint(r.rest)
	if n < 0 {
		r.fail(errFormat)
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// readBool reads a bool: any number but zero is true.
func (r *reader) readBool() bool { return r.readVarint() != 0 }

// readInt32 reads an int32 or an enum, and drops the higher bits.
func (r *reader) readInt32() int32 { return int32(r.readVarint() & math.MaxUint32) }

// readBytes reads a message or a string. It aliases the input.
func (r *reader) readBytes() []byte {
	n := r.readVarint()
	if n > uint64(len(r.rest)) {
		r.fail(errFormat)
		return nil
	}
	v := r.rest[:n]
	r.rest = r.rest[n:]
	return v
}

// skip skips the value of an unknown field.
func (r *reader) skip(tag uint64) {
	// the usual case
	if n := uint64(len(r.rest)); tag%field == lengthDelimited && n > 0 && r.rest[0] < 0x80 && uint64(r.rest[0]) < n {
		r.rest = r.rest[1+int(r.rest[0]):]
		return
	}
	num, typ := protowire.DecodeTag(tag)
	n := protowire.ConsumeFieldValue(num, typ, r.rest)
	if n < 0 {
		r.fail(errFormat)
		return
	}
	r.rest = r.rest[n:]
}

// fail ends the message with an error, unless err is nil.
func (r *reader) fail(err error) {
	if err != nil && r.err == nil {
		r.rest, r.err = nil, err
	}
}
