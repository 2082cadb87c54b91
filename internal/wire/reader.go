package wire

import (
	"errors"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Why bytes are no message.
var (
	errFormat = errors.New("cannot parse invalid wire-format data")
	errUTF8   = errors.New("a string field contains invalid UTF-8")
)

// What a tag says about the value behind it, and how far to the left the number of the
// field stands. A known number in front of a wrong type is an unknown field.
const (
	varint = uint64(protowire.VarintType)
	chunk  = uint64(protowire.BytesType)
	field  = 1 << 3
)

// reader walks through the fields of one message. After the first error there is
// nothing left to read.
type reader struct {
	rest []byte
	err  error
}

// next reads the tag of the next field. 0, which no field has: there is none.
func (r *reader) next() (tag uint64) {
	if b := r.rest; len(b) > 0 && b[0]-field < 0x80-field { // a field number below 16
		r.rest = b[1:]
		return uint64(b[0])
	}
	return r.rareTag()
}

func (r *reader) rareTag() (tag uint64) {
	if len(r.rest) == 0 {
		return 0
	}
	tag = r.number()
	if n := tag / field; n < uint64(protowire.MinValidNumber) || n > uint64(protowire.MaxValidNumber) {
		r.fail(errFormat)
		return 0
	}
	return tag
}

// number reads a varint.
func (r *reader) number() uint64 {
	if b := r.rest; len(b) > 0 && b[0] < 0x80 {
		r.rest = b[1:]
		return uint64(b[0])
	}
	return r.longNumber()
}

func (r *reader) longNumber() uint64 {
	v, n := protowire.ConsumeVarint(r.rest)
	if n < 0 {
		r.fail(errFormat)
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// flag reads a bool: every number but zero is true.
func (r *reader) flag() bool { return r.number() != 0 }

// int32 reads an int32 or an enum: what does not fit is cut off.
func (r *reader) int32() int32 { return int32(r.number() & math.MaxUint32) }

// chunk reads a message or a string. It is valid as long as the bytes are.
func (r *reader) chunk() []byte {
	n := r.number()
	if n > uint64(len(r.rest)) {
		r.fail(errFormat)
		return nil
	}
	v := r.rest[:n]
	r.rest = r.rest[n:]
	return v
}

// skip passes by the value of a field that means nothing to us.
func (r *reader) skip(tag uint64) {
	if n := uint64(len(r.rest)); tag%field == chunk && n > 0 && r.rest[0] < 0x80 && uint64(r.rest[0]) < n { // nearly always
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

// fail ends the reading. nil is no error.
func (r *reader) fail(err error) {
	if err != nil && r.err == nil {
		r.rest, r.err = nil, err
	}
}
