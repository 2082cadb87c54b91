package wire

import (
	"errors"
	"fmt"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// That bytes mean what they mean to the generated code is tested where that code may
// be imported: in the door.

func part(num protowire.Number, inner ...byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), inner)
}

func decoder() (d *Decoder, reads *int) {
	reads = new(int)
	return NewDecoder(func(m map[string]resources.Quantity) (resources.Amounts, error) {
		*reads++
		if len(m) == 0 {
			return resources.Amounts{}, errors.New("nothing")
		}
		return resources.FromMap(m), nil
	}), reads
}

// asking is an allocation of one resource.
func asking(key, resource string) []byte {
	entry := append(part(1, []byte(resource)...), part(2, field|byte(varint), 7)...)
	return part(4, append(part(1, []byte(key)...), part(5, part(1, entry...)...)...)...)
}

func TestTheSameResourceIsReadOnce(t *testing.T) {
	d, reads := decoder()
	var m AllocationRequest
	var in []byte
	for i := range 100 {
		in = append(in, asking(fmt.Sprint(i), "memory")...)
	}
	for range 3 {
		assert.NilError(t, d.Decode(in, &m))
		assert.Equal(t, len(m.Allocations), 100)
		assert.Equal(t, m.Allocations[99].Key, "99")
		assert.Equal(t, m.Allocations[99].Amounts.String(), "{memory=7}")
	}
	assert.Equal(t, *reads, 1)
}

func TestWhatIsWrongWithAResourceIsRemembered(t *testing.T) {
	d, reads := decoder()
	var m AllocationRequest
	for range 3 {
		assert.NilError(t, d.Decode(part(4), &m))
		assert.Error(t, m.Allocations[0].Wrong, "nothing")
	}
	assert.Equal(t, *reads, 1)
}

func TestMoreResourcesThanTheMemoHoldsAreReadAllTheSame(t *testing.T) {
	d, _ := decoder()
	var m AllocationRequest
	for i := range 5000 {
		name := fmt.Sprint("resource", i)
		assert.NilError(t, d.Decode(asking("k", name), &m))
		assert.Equal(t, int64(m.Allocations[0].Amounts.Get(name)), int64(7))
	}
	assert.Equal(t, len(d.amounts.places), 512)
}

func TestAMemoKnowsOnlyWhatItWasGiven(t *testing.T) {
	m := newMemo[int](2) // everything collides
	for i := range 100 {
		p, known := m.find([]byte{byte(i)})
		assert.Assert(t, !known)
		*p = place[int]{string([]byte{byte(i)}), true, i}
		p, known = m.find([]byte{byte(i)})
		assert.Assert(t, known)
		assert.Equal(t, p.value, i)
	}
	empty := newMemo[int](2)
	_, known := empty.find(nil)
	assert.Assert(t, !known, "an empty place is not the place of nothing")
}

func TestAMessageHasNothingOfTheOneBefore(t *testing.T) {
	d, _ := decoder()
	var m AllocationRequest
	assert.NilError(t, d.Decode(append(append(part(1), part(3, 'r', 'm')...), asking("k", "memory")...), &m))
	assert.Assert(t, m.Unknown)
	assert.Equal(t, m.RM, "rm")
	assert.NilError(t, d.Decode(part(2, part(1, part(6, 'k')...)...), &m))
	assert.Assert(t, !m.Unknown)
	assert.Equal(t, m.RM, "")
	assert.Equal(t, len(m.Allocations), 0)
	assert.DeepEqual(t, m.Releases, []Release{{Key: "k"}})
}

func TestALargeMessageDoesNotKeepItsRoom(t *testing.T) {
	d, _ := decoder()
	var m AllocationRequest
	var in []byte
	for range 5000 {
		in = append(in, part(4)...)
	}
	assert.NilError(t, d.Decode(in, &m))
	m.Reset()
	assert.Equal(t, cap(m.Allocations), 0)
	assert.NilError(t, d.Decode(in[:100], &m))
	m.Reset()
	assert.Assert(t, cap(m.Allocations) >= 50)
}

func TestAResponseBeginsAnew(t *testing.T) {
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
	assert.DeepEqual(t, got, part(1, append(append(part(1, 'k'), part(5)...), part(8, 'n')...)...))
}
