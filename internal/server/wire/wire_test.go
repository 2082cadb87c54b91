package wire

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// The comparison with the generated code is in package rmproxy, which may import it.

func lengthDelimitedField(num protowire.Number, inner ...byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), inner)
}

func newCountingDecoder() (d *Decoder, reads *int) {
	reads = new(int)
	return NewDecoder(func(m map[string]resources.Quantity) (resources.Amounts, error) {
		*reads++
		if len(m) == 0 {
			return resources.Amounts{}, errors.New("nothing")
		}
		return resources.FromMap(m), nil
	}), reads
}

// allocationField is an allocation with one resource.
func allocationField(key, resource string) []byte {
	entry := append(lengthDelimitedField(1, []byte(resource)...), lengthDelimitedField(2, field|byte(varint), 7)...)
	return lengthDelimitedField(4,
		append(lengthDelimitedField(1, []byte(key)...), lengthDelimitedField(5, lengthDelimitedField(1, entry...)...)...)...)
}

func TestDecoder_RepeatedResourceIsReadOnce(t *testing.T) {
	d, reads := newCountingDecoder()
	var m AllocationRequest
	var in []byte
	for i := range 100 {
		in = append(in, allocationField(fmt.Sprint(i), "memory")...)
	}
	for range 3 {
		assert.NilError(t, d.Decode(in, &m))
		assert.Equal(t, len(m.Allocations), 100)
		assert.Equal(t, m.Allocations[99].Key, "99")
		assert.Equal(t, m.Allocations[99].Amounts.String(), "{memory=7}")
	}
	assert.Equal(t, *reads, 1)
}

func TestDecoder_ResourceErrorIsMemoized(t *testing.T) {
	d, reads := newCountingDecoder()
	var m AllocationRequest
	for range 3 {
		assert.NilError(t, d.Decode(lengthDelimitedField(4), &m))
		assert.Error(t, m.Allocations[0].AmountsErr, "nothing")
	}
	assert.Equal(t, *reads, 1)
}

func TestDecoder_MoreResourcesThanTheMemoHolds(t *testing.T) {
	d, _ := newCountingDecoder()
	var m AllocationRequest
	for i := range 5000 {
		name := fmt.Sprint("resource", i)
		assert.NilError(t, d.Decode(allocationField("k", name), &m))
		assert.Equal(t, int64(m.Allocations[0].Amounts.Get(name)), int64(7))
	}
	assert.Equal(t, len(d.amounts.slots), 512)
}

func TestMemo_FindsOnlyWhatWasStored(t *testing.T) {
	m := newMemo[int](2) // all keys collide
	for i := range 100 {
		p, known := m.lookup([]byte{byte(i)})
		assert.Assert(t, !known)
		*p = memoSlot[int]{string([]byte{byte(i)}), true, i}
		p, known = m.lookup([]byte{byte(i)})
		assert.Assert(t, known)
		assert.Equal(t, p.value, i)
	}
	empty := newMemo[int](2)
	_, known := empty.lookup(nil)
	assert.Assert(t, !known, "an empty slot does not hold the empty key")
}

func TestDecoder_MessageKeepsNothingOfTheOneBefore(t *testing.T) {
	d, _ := newCountingDecoder()
	var m AllocationRequest
	assert.NilError(t,
		d.Decode(slices.Concat(lengthDelimitedField(1), lengthDelimitedField(2, lengthDelimitedField(2)...),
			lengthDelimitedField(3, 'r', 'm'),
			allocationField("k", "memory"), lengthDelimitedField(5)), &m))
	assert.Assert(t, m.Unknown)
	assert.Assert(t, m.Legacy)
	assert.Equal(t, m.RM, "rm")
	assert.NilError(t, d.Decode(lengthDelimitedField(2, lengthDelimitedField(1, lengthDelimitedField(6, 'k')...)...), &m))
	assert.Assert(t, !m.Unknown)
	assert.Assert(t, !m.Legacy)
	assert.Equal(t, m.RM, "")
	assert.Equal(t, len(m.Allocations)+len(m.Asks)+len(m.AskReleases), 0)
	assert.DeepEqual(t, m.Releases, []Release{{Key: "k"}})
}

func TestAllocationRequest_ResetReleasesALargeBuffer(t *testing.T) {
	d, _ := newCountingDecoder()
	var m AllocationRequest
	var in []byte
	for range 5000 {
		in = append(in, lengthDelimitedField(4)...)
	}
	assert.NilError(t, d.Decode(in, &m))
	m.Reset()
	assert.Equal(t, cap(m.Allocations), 0)
	assert.NilError(t, d.Decode(in[:100], &m))
	m.Reset()
	assert.Assert(t, cap(m.Allocations) >= 50)
}

func TestResponse_Reset(t *testing.T) {
	var m Response
	m.AskRejected(scheduler.AskRejected{Key: "\xff"}, "")
	_, err := m.Bytes()
	assert.Equal(t, err, errUTF8)
	m.Reset()
	got, err := m.Bytes()
	assert.NilError(t, err)
	assert.Equal(t, len(got), 0)
	m.Allocated(&objects.Ask{Key: "k"}, "n")
	got, err = m.Bytes()
	assert.NilError(t, err)
	assert.DeepEqual(t, got,
		lengthDelimitedField(1,
			append(append(lengthDelimitedField(1, 'k'), lengthDelimitedField(5)...), lengthDelimitedField(8, 'n')...)...))
}
