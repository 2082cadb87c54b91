package objects

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// There may be a million asks, so a field that does not fit the size class of the allocator costs
// each of them 16 bytes.
func TestAsk_SizeClasses(t *testing.T) {
	assert.Equal(t, unsafe.Sizeof(Ask{}), uintptr(80))
	assert.Equal(t, unsafe.Sizeof(AskDetails{}), uintptr(64))
	assert.Equal(t, unsafe.Sizeof(Allocation{}), uintptr(80))
	assert.Equal(t, unsafe.Sizeof(AskGroup{}), uintptr(152))
}

func TestAskDetails_NoneWithoutAny(t *testing.T) {
	assert.Assert(t, NewAskDetails(AskDetails{}) == nil)
	assert.Assert(t, NewAskDetails(AskDetails{Tags: map[string]string{}}) == nil)
	plain := &Ask{Key: "k"}
	assert.Assert(t, plain.TaskGroup() == "" && plain.RequiredNode() == "" && plain.Tags() == nil)
	for _, d := range []AskDetails{{TaskGroup: "g"}, {RequiredNode: "n"}, {Tags: map[string]string{"a": "b"}}} {
		ask := &Ask{Details: NewAskDetails(d)}
		assert.DeepEqual(t, AskDetails{TaskGroup: ask.TaskGroup(), RequiredNode: ask.RequiredNode(), Tags: ask.Tags()}, d)
		tagged := ask.WithTags(map[string]string{"c": "d"})
		assert.DeepEqual(t, *tagged.Details,
			AskDetails{TaskGroup: d.TaskGroup, RequiredNode: d.RequiredNode, Tags: map[string]string{"c": "d"}})
		assert.DeepEqual(t, *ask.Details, d)
	}
}

func TestTimestamp_KeepsNanoseconds(t *testing.T) {
	assert.Assert(t, TimestampOf(time.Time{}).IsZero() && Timestamp(0).Time().IsZero())
	for _, nanoseconds := range []int64{-1_000_000_000, -1, 0, 1, 1_700_000_000_123_456_789} {
		at := time.Unix(0, nanoseconds)
		assert.Assert(t, !TimestampOf(at).IsZero())
		assert.Assert(t, TimestampOf(at).Time().Equal(at), "%d", nanoseconds)
	}
	assert.Assert(t, TimestampOf(time.Unix(0, 0)) > TimestampOf(time.Unix(0, -1)))
}

func TestTimestamp_JSONIsNanoseconds(t *testing.T) {
	for _, nanoseconds := range []int64{-1_000_000_000, -1, 0, 1, 1_700_000_000_123_456_789} {
		at := TimestampOf(time.Unix(0, nanoseconds))
		text, err := json.Marshal(at)
		assert.NilError(t, err)
		assert.Equal(t, string(text), fmt.Sprint(nanoseconds))
		read := TimestampOf(time.Unix(7, 0))
		assert.NilError(t, json.Unmarshal(text, &read))
		assert.Assert(t, read == at || nanoseconds == 0 && read.IsZero(), "%d", nanoseconds)
	}
	text, err := json.Marshal(Timestamp(0))
	assert.NilError(t, err)
	assert.Equal(t, string(text), "0")
	assert.Assert(t, json.Unmarshal([]byte(`"2026"`), new(Timestamp)) != nil)
}

// A pending ask takes at most 300 bytes with its key, its entry in the table of keys, its lists and
// its part of the ask groups: 100 asks in each application, of 20 shapes, the n-th 1/n as frequent as
// the first. The map of keys has doubled here, as it has with a million.
func TestAsk_BytesEach(t *testing.T) {
	const apps, asksPerApp, shapes = 330, 100, 20
	p, rng := quotaPartition(t, ""), rand.New(rand.NewPCG(1, 2))
	var amounts [shapes]resources.Amounts
	for i := range amounts {
		amounts[i] = resources.FromMap(map[string]resources.Quantity{"vcore": resources.Quantity(i + 1)})
	}
	for a := range apps {
		assert.NilError(t, p.AddApplication(AppID(fmt.Sprint(a)), security.User{Name: "ann"}, "root.a", nil, time.Unix(0, 0)))
	}
	before := heap()
	for i := range apps * asksPerApp {
		a, ok := p.Application(AppID(fmt.Sprint(i % apps)))
		assert.Assert(t, ok)
		_, err := p.AddAsk(&Ask{
			Key: AllocationKey(fmt.Sprintf("5b0c4f5e-9d3a-2f6f-3c9e-%012d", i)), App: a.ID(),
			Amounts: amounts[int(math.Pow(shapes, rng.Float64()))-1],
		}, time.Unix(int64(i), 0))
		assert.NilError(t, err)
	}
	bytes := (heap() - before) / (apps * asksPerApp)
	t.Logf("%d bytes for an ask", bytes)
	assert.Assert(t, bytes <= 400, "%d bytes for an ask", bytes)
	assert.Equal(t, len(p.allocations), apps*asksPerApp)
}
