package recording

import (
	"math"
	"reflect"

	"github.com/fxamacker/cbor/v2"
)

// The values of a recording are CBOR in its core deterministic form (RFC 8949, 4.2), in a subset: integers, byte
// strings, arrays, maps with numbers as keys, and booleans. Strings are byte strings, because a resource manager may
// send names that are no UTF-8. They are written by the functions below, which know the fields of structFields, and
// read by the library.

const (
	majorUnsigned = 0 << 5
	majorNegative = 1 << 5
	majorBytes    = 2 << 5
	majorArray    = 4 << 5
	majorMap      = 5 << 5

	cborFalse = 0xf4
	cborTrue  = 0xf5
)

// appendHead appends the type of an item with its number: a value, or a length.
func appendHead(b []byte, major byte, n uint64) []byte {
	switch {
	case n < 24:
		return append(b, major|byte(n))
	case n <= math.MaxUint8:
		return append(b, major|24, byte(n))
	case n <= math.MaxUint16:
		return append(b, major|25, byte(n>>8), byte(n))
	case n <= math.MaxUint32:
		return append(b, major|26, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	}
	return append(b, major|27, byte(n>>56), byte(n>>48), byte(n>>40), byte(n>>32), byte(n>>24), byte(n>>16), byte(n>>8),
		byte(n))
}

func appendInt(b []byte, n int64) []byte {
	if n < 0 {
		return appendHead(b, majorNegative, uint64(-1-n))
	}
	return appendHead(b, majorUnsigned, uint64(n))
}

func appendString[S ~string](b []byte, s S) []byte {
	return append(appendHead(b, majorBytes, uint64(len(s))), s...)
}

func appendBool(b []byte, is bool) []byte {
	if is {
		return append(b, cborTrue)
	}
	return append(b, cborFalse)
}

// maxItems is how many elements a list of a recording may have.
const maxItems = 1 << 24

// cborReader reads values into uint64, int64, string, bool, []any and map[any]any.
var cborReader = func() cbor.DecMode {
	mode, err := cbor.DecOptions{
		DupMapKey: cbor.DupMapKeyEnforcedAPF, IndefLength: cbor.IndefLengthForbidden, TagsMd: cbor.TagsForbidden,
		MaxNestedLevels: 65535, MaxArrayElements: maxItems, MaxMapPairs: 1 << 16,
		DefaultByteStringType: reflect.TypeFor[string](),
	}.DecMode()
	if err != nil {
		panic("recording: " + err.Error())
	}
	return mode
}()
