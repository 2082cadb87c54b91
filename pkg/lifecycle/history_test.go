package lifecycle

import (
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
	"unsafe"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/security"
)

var begin = time.Unix(1_000_000_000, 0).UTC()

func reject(id, reason string) *Ended {
	return NewRejection(id, security.User{Name: "ann"}, "root.none", reason, begin)
}

func ids(h *History) (s string) {
	for e := range h.List().All() {
		s += e.ID
	}
	return s
}

// There may be a hundred thousand applications in the history.
func TestEnded_MemorySize(t *testing.T) {
	assert.Assert(t, unsafe.Sizeof(Ended{}) <= 192, "%d bytes", unsafe.Sizeof(Ended{}))
	assert.Assert(t, unsafe.Sizeof(Change{}) <= 16, "%d bytes", unsafe.Sizeof(Change{}))
}

// The sequence numbers of history entries wrap around at 32 bits.
func TestHistory_OrderSurvivesNumberOverflow(t *testing.T) {
	h := NewHistory(time.Hour, 4, true)
	h.count = math.MaxUint32 - 2
	for _, id := range strings.Split("abcdecf", "") {
		h.Add(reject(id, ""))
	}
	assert.Equal(t, ids(&h), "decf")
	assert.NilError(t, h.Check())
}

func TestHistory_ReturnsWhatItRemoves(t *testing.T) {
	h := NewHistory(time.Hour, 2, false)
	assert.Equal(t, len(h.Add(reject("a", "first")))+len(h.Add(reject("a", "second"))), 0, "an ID may be there twice")
	removed := h.Add(reject("b", ""))
	assert.Equal(t, len(removed), 1)
	assert.Equal(t, removed[0].Message(), "first")
	assert.Equal(t, h.Last("a").Message(), "second")
	at, ok := h.NextExpiry()
	assert.Assert(t, ok)
	assert.Equal(t, at, begin.Add(time.Hour))
	assert.Equal(t, len(h.Expire(at.Add(-1))), 0)
	assert.Equal(t, len(h.Expire(at)), 2)
	assert.Assert(t, h.Last("a") == nil && h.Last("b") == nil, "expired entries are removed from the index too")
	_, ok = h.NextExpiry()
	assert.Assert(t, !ok)
	assert.NilError(t, h.Check())
}

func TestHistory_CheckFindsDamage(t *testing.T) {
	for name, damage := range map[string]func(h *History){
		"the history finds an older entry of application a":  func(h *History) { h.newest["a"] = h.list.Front().Next() },
		"the history has 2 applications, 1 by ID, at most 3": func(h *History) { delete(h.newest, "a") },
		"the history has 2 applications, 2 by ID, at most 1": func(h *History) { h.maxEntries = 1 },
		"application a is in the history twice":              func(h *History) { h.list.PushBack(reject("a", "")) },
		"application b is out of order in the history": func(h *History) {
			h.list.Back().Value.(*Ended).Finished = begin.Add(-1)
		},
	} {
		h := NewHistory(time.Hour, 3, true)
		h.Add(reject("a", ""))
		h.Add(reject("b", ""))
		assert.NilError(t, h.Check())
		damage(&h)
		assert.Error(t, h.Check(), name)
	}
}

func TestRejection_LongMessageIsTruncated(t *testing.T) {
	got := reject("x", strings.Repeat("ü", 5000)).Message()
	assert.Assert(t, len(got) <= maxMessageBytes && len(got) > maxMessageBytes-8, "%d bytes", len(got))
	assert.Assert(t, strings.HasSuffix(got, "ü...") && utf8.ValidString(got))
}

func TestLog_KeepsFirstAndLastEntries(t *testing.T) {
	var log Log
	for i := range 1000 {
		log = log.With(NewChange(State(i%3), ReasonIdle, begin.Add(time.Duration(i)*time.Second)))
	}
	assert.Equal(t, len(log), maxLogEntries)
	assert.Equal(t, cap(log) <= 2*maxLogEntries, true, "the capacity is bounded too")
	for i := range keptFirstEntries {
		assert.Equal(t, log[i].At(), begin.Add(time.Duration(i)*time.Second))
	}
	assert.Equal(t, log[keptFirstEntries].At(), begin.Add((1000-maxLogEntries+keptFirstEntries)*time.Second))
	assert.Equal(t, log[maxLogEntries-1].At(), begin.Add(999*time.Second))
}
