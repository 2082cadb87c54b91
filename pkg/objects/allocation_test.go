package objects

import (
	"testing"
	"time"
	"unsafe"

	"gotest.tools/v3/assert"
)

// There may be a million asks, so a field that does not fit the size class of the allocator costs
// each of them 16 bytes.
func TestAsk_SizeClasses(t *testing.T) {
	assert.Equal(t, unsafe.Sizeof(Ask{}), uintptr(80))
	assert.Equal(t, unsafe.Sizeof(AskDetails{}), uintptr(40))
	assert.Equal(t, unsafe.Sizeof(Allocation{}), uintptr(80))
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
		assert.DeepEqual(t, *tagged.Details, AskDetails{TaskGroup: d.TaskGroup, RequiredNode: d.RequiredNode, Tags: map[string]string{"c": "d"}})
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
