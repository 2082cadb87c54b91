package history

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/events"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func newHistory() *History { return New(func() time.Time { return noon }) }

func node(id string) scheduler.Effect { return scheduler.NodeAccepted{Node: objects.NodeID(id)} }

// list has the records in one slice.
func list(all events.Records) (records []events.Record) {
	for r := range all.All() {
		records = append(records, *r)
	}
	return records
}

// recordsText returns one line for each record.
func recordsText(records []events.Record) string {
	var b strings.Builder
	for _, r := range records {
		fmt.Fprintf(&b, "%d %s/%s %d %d %v %s %q\n", r.Type, r.Object, r.Reference, r.Change, r.Detail, r.Amounts,
			r.At.Sub(noon), r.Message)
	}
	return b.String()
}

func TestOnEffects_RecordsOfEachEffect(t *testing.T) {
	two := resources.FromMap(map[string]resources.Quantity{"vcore": 2})
	low := scheduler.AllocationRef{Key: "low", App: "a", Queue: "root.a"}
	high := scheduler.AllocationRef{Key: "high", App: "b", Queue: "root.b"}
	for _, c := range []struct {
		effect scheduler.Effect
		want   string
	}{
		{node("n1"), `3 n1/ 2 0 {} 0s "Node added to the scheduler"`},
		{scheduler.NodeChanged{Node: "n1", Change: scheduler.NodeResized, Before: resources.Amounts{}, After: two},
			`3 n1/ 1 304 {vcore=2} 0s ""`},
		{scheduler.NodeChanged{Node: "n1", Change: scheduler.NodeOvercommitted, After: resources.Amounts{}, Excess: two},
			`3 n1/ 1 0 {vcore=2} 0s "Node is overcommitted: its allocations exceed its capacity {} by {vcore=2}"`},
		{scheduler.NodeChanged{Node: "n1", Change: scheduler.NodeNotOvercommitted, After: two},
			`3 n1/ 1 0 {} 0s "Node is no longer overcommitted: its capacity is {vcore=2}"`},
		{scheduler.NodeChanged{Node: "n1", Change: scheduler.NodeMadeUnschedulable, Allocations: 1},
			`3 n1/ 1 302 {} 0s "schedulable: false"`},
		{scheduler.NodeChanged{Node: "n1", Change: scheduler.NodeMadeSchedulable}, `3 n1/ 1 302 {} 0s "schedulable: true"`},
		{scheduler.NodeChanged{Node: "n1", Change: scheduler.NodeRemoved, Before: two},
			`3 n1/ 3 300 {} 0s "Node removed from the scheduler"`},
		{scheduler.PartitionReset{Reason: "resource manager a registered again"},
			`4 root/ 0 0 {} 0s "Everything was removed: resource manager a registered again"`},
		{scheduler.QueueChanged{Queue: "root.d", Change: objects.QueueCreated, Dynamic: true}, `4 root.d/ 2 401 {} 0s ""`},
		{scheduler.QueueChanged{Queue: "root.d", Change: objects.QueueRemoved, Dynamic: true}, `4 root.d/ 3 401 {} 0s ""`},
		{scheduler.QueueChanged{Queue: "root.a", Change: objects.QueueRemoved}, `4 root.a/ 3 0 {} 0s ""`},
		{scheduler.QueueChanged{Queue: "root.a", Change: objects.QueueDraining},
			`4 root.a/ 1 0 {} 0s "Queue is draining: it is not in the configuration any more"`},
		{scheduler.QueueChanged{Queue: "root.a", Change: objects.QueueRestored},
			`4 root.a/ 1 0 {} 0s "Queue is not draining any more: it is in the configuration again"`},
		{scheduler.AskCancelled{Key: "low", App: "a", Reason: "the RM said so"}, `2 a/low 3 100 {} 0s "the RM said so"`},
		{scheduler.AsksWait{Asks: []scheduler.WaitingAsk{
			{Ask: &objects.Ask{Key: "low", App: "a"}, State: objects.WaitFailed},
			{Ask: &objects.Ask{Key: "high", App: "b"}, State: objects.WaitSkipped, Blocked: scheduler.NoQueueHeadroom,
				Subject: "root.b"},
		}},
			`1 low/a 0 0 {} 0s "FAILED: its quotas allow it, and no node can take it now"` + "\n" +
				`1 high/b 0 0 {} 0s "SKIPPED: no headroom in queue root.b"`},
		{scheduler.NodeRejected{Node: "n1", Reason: "duplicate"}, `3 n1/ 0 0 {} 0s "Node rejected: duplicate"`},
		{scheduler.ApplicationAccepted{App: "a"}, `2 a/ 2 203 {} 0s ""`},
		{scheduler.ApplicationRejected{App: "a", Reason: "no"}, `2 a/ 1 202 {} 0s "no"`},
		{scheduler.ApplicationUpdated{App: "a", State: lifecycle.Running, At: noon.Add(-time.Second),
			Reason: lifecycle.ReasonAllocated},
			`2 a/ 1 206 {} -1s "the first ask was placed"`},
		{scheduler.ApplicationUpdated{App: "a", State: lifecycle.Expired, At: noon, Reason: lifecycle.ReasonRetentionOver},
			`2 a/ 1 212 {} 0s "the retention time has passed"`},
		{scheduler.AskRejected{Key: "low", App: "a", Reason: "no"}, `1 low/a 0 0 {} 0s "no"`},
		{scheduler.Allocated{Binding: &scheduler.Binding{Ask: &objects.Ask{Key: "low", App: "a", Amounts: two}, Node: "n1"}},
			`2 a/low 2 200 {vcore=2} 0s ""` + "\n" + `3 n1/low 2 303 {vcore=2} 0s ""`},
		{scheduler.Released{Key: "low", App: "a", Type: scheduler.StoppedByRM, Message: "gone"},
			`2 a/low 3 500 {} 0s "gone"`},
		{scheduler.Released{Key: "low", App: "a", Type: scheduler.PreemptedByScheduler}, `2 a/low 3 501 {} 0s ""`},
		{scheduler.Released{Key: "low", App: "a", Type: scheduler.TimedOut}, `2 a/low 3 502 {} 0s ""`},
		{scheduler.Released{Key: "low", App: "a", Type: scheduler.PlaceholderReplaced}, `2 a/low 3 503 {} 0s ""`},
		{scheduler.Event{Kind: scheduler.EventPreempted, Subject: low, Node: "n1", Amounts: two, Preemptor: high,
			Reason: victim.ReasonPriority, Grace: 30 * time.Second},
			`1 low/a 0 0 {vcore=2} 0s "Preempted by high of application b in queue root.b on node n1, reason priority; grace ` +
				`period 30s"`},
		{scheduler.Event{Kind: scheduler.EventPreempted, Subject: low, Node: "n1", Reason: victim.ReasonQuota,
			Message: "queue root.a is above its max"},
			`1 low/a 0 0 {} 0s "Preempted on node n1: queue root.a is above its max; grace period 0s"`},
		{scheduler.Event{Kind: scheduler.EventOverdue, Subject: low, Node: "n1", Since: noon},
			`1 low/a 0 0 {} 0s "Preemption on node n1 at 2026-01-02T12:00:00Z is overdue: its termination was not confirmed ` +
				`in time"`},
		{scheduler.AskTimedOut{Key: "low", App: "a", Message: "too late"}, `2 a/low 3 102 {} 0s "too late"`},
		{scheduler.AskTimedOut{Key: "low", App: "a", Message: "ended", Withdrawn: true}, `2 a/low 3 100 {} 0s "ended"`},
		{scheduler.Event{Kind: scheduler.EventPlaceholderTooSmall, Subject: high, Node: "n1",
			Message: "placeholder p holds {vcore=1}, and the ask requests {vcore=2}"},
			`1 high/b 0 0 {} 0s "Placeholder on node n1 is released because it is too small: placeholder p holds {vcore=1}, ` +
				`and the ask requests {vcore=2}"`},
		{scheduler.Event{Kind: scheduler.EventNominated, Subject: high, Node: "n1", Reason: victim.ReasonGuarantee,
			Victims: 3},
			`1 high/b 0 0 {} 0s "Nominated for node n1, reason guarantee: waits for 3 victims"`},
		{scheduler.Event{Kind: scheduler.EventNominated, Subject: high, Node: "n1", Reason: victim.ReasonGuarantee,
			Victims: 1},
			`1 high/b 0 0 {} 0s "Nominated for node n1, reason guarantee: waits for 1 victim"`},
		{scheduler.Event{Kind: scheduler.EventNominationEnded, Subject: high, Node: "n1",
			NominationEnd: preemption.NominationTimedOut},
			`1 high/b 0 0 {} 0s "Nomination for node n1 ended: timed out"`},
		{scheduler.Event{Kind: scheduler.EventNominationEnded, Subject: low, Node: "n1",
			NominationEnd: preemption.NominationLost, Preemptor: high},
			`1 low/a 0 0 {} 0s "Nomination for node n1 ended: lost to another ask, high of application b in queue root.b"`},
		{scheduler.Event{Kind: scheduler.EventNodeRefused, OfShape: true, Subject: low, Node: "n1", Until: noon,
			Message: "no volume"},
			`3 n1/low 0 0 {} 0s "Node n1 refused several asks with the requests and constraints of ask low of application a, ` +
				`and gets none until 2026-01-02T12:00:00Z: no volume"`},
		{scheduler.Event{Kind: scheduler.EventNodeRefusalEnded, OfShape: true, Subject: low, Node: "n1",
			Message: "the node has changed"},
			`3 n1/low 0 0 {} 0s "Node n1, which refused asks with the requests and constraints of ask low of application a, ` +
				`may get it again: the node has changed"`},
		{scheduler.Event{Kind: scheduler.EventReserved, Subject: low, Node: "n1", Amounts: two},
			`3 n1/low 2 306 {vcore=2} 0s "Node reserved for ask low of application a"`},
		{scheduler.Event{Kind: scheduler.EventReservationEnded, Subject: low, Node: "n1", Amounts: two,
			ReservationEnd: objects.ReservationTimedOut},
			`3 n1/low 3 306 {vcore=2} 0s "Reservation for ask low of application a ended: timed out"`},
		{scheduler.Event{Kind: scheduler.EventReservationsMoved, Subject: scheduler.AllocationRef{App: "a"},
			Moved: make([]scheduler.MovedReservation, 3)},
			`2 a/ 0 0 {} 0s "Reservations of its gang moved to better nodes: members 3"`},
		{scheduler.Event{Kind: scheduler.EventPreemptionCycle, Cycle: preemption.Cycle{"root.a", "root.b", "root.c"},
			Until: noon},
			`4 root.a/root.b 0 0 {} 0s "Preemption cycle: root.a -> root.b -> root.c -> root.a; cool-down until ` +
				`2026-01-02T12:00:00Z"`},
		{scheduler.Event{Kind: scheduler.EventPreemptionCycle, Cycle: preemption.Cycle{"root.a"}},
			`4 root.a/root.a 0 0 {} 0s "Preemption cycle: root.a -> root.a"`},
		{scheduler.Event{Kind: scheduler.EventCoolDownEnded, Cycle: preemption.Cycle{"root.a", "root.b"}, Since: noon},
			`4 root.a/root.b 0 0 {} 0s "Preemption cool-down has ended, in force since 2026-01-02T12:00:00Z"`},
		{scheduler.Refused{Subject: "configuration", Reason: "no"}, ""},
		{scheduler.Refused{Subject: "capacity of node n1", Reason: "no", Node: "n1"},
			`3 n1/ 0 0 {} 0s "Refused capacity of node n1: no"`},
		{scheduler.Refused{Subject: "usage of allocation low", Reason: "no", App: "a", Key: "low"},
			`1 low/a 0 0 {} 0s "Refused usage of allocation low: no"`},
		{scheduler.Refused{Subject: "group of application a", Reason: "no", App: "a"},
			`2 a/ 0 0 {} 0s "Refused group of application a: no"`},
		{scheduler.Event{Kind: scheduler.EventIgnored, Ignored: scheduler.IgnoredRelease,
			Subject: scheduler.AllocationRef{Key: "k", App: "a"}, Message: "it is unknown"},
			`1 k/a 0 0 {} 0s "Ignored release: it is unknown"`},
		{scheduler.Event{Kind: scheduler.EventIgnored, Ignored: scheduler.IgnoredRemoval,
			Subject: scheduler.AllocationRef{App: "a"}, Message: "it is unknown"},
			`2 a/ 0 0 {} 0s "Ignored removal: it is unknown"`},
		{scheduler.Event{Kind: scheduler.EventIgnored, Ignored: scheduler.UnmetRequiredNode,
			Subject: scheduler.AllocationRef{Key: "k", App: "a"}, Message: "it is full"},
			`1 k/a 0 0 {} 0s "Unmet required node: it is full"`},
		{scheduler.PartitionReset{}, ""},
	} {
		h := newHistory()
		h.OnEffects("p", []scheduler.Effect{c.effect})
		b, ok := h.Oldest(0)
		assert.Assert(t, ok)
		assert.Equal(t, strings.TrimSuffix(recordsText(list(b.Records)), "\n"), c.want, "%T", c.effect)
		for _, r := range list(b.Records) {
			assert.Equal(t, r.Partition, "p")
		}
	}
}

func TestParseSettings(t *testing.T) {
	defaults := DefaultSettings()
	for _, c := range []struct {
		extra map[string]string
		want  func(s *Settings)
	}{
		{nil, func(*Settings) {}},
		{map[string]string{"event.trackingEnabled": "false"}, func(s *Settings) { s.Disabled = true }},
		{map[string]string{"event.trackingEnabled": "perhaps"}, func(*Settings) {}},
		{map[string]string{"event.ringBufferCapacity": " 5 ", "event.RESTResponseSize": "7", "event.maxStreams": "0",
			"event.maxStreamsPerHost": "2"},
			func(s *Settings) { s.Capacity, s.BatchSize, s.MaxStreams, s.MaxStreamsPerHost = 5, 7, 0, 2 }},
		{map[string]string{"event.ringBufferCapacity": "0", "event.RESTResponseSize": "-1", "event.maxStreams": "-1",
			"event.maxStreamsPerHost": "x"}, func(*Settings) {}},
		{map[string]string{"event.ringBufferCapacity": "99999999999999999999", "event.ringbufferCapacity": "3"},
			func(*Settings) {}},
	} {
		want := defaults
		c.want(&want)
		assert.DeepEqual(t, ParseSettings(c.extra), want)
	}
}

func TestReadSettings_InvalidValuesAreNamed(t *testing.T) {
	_, invalid := ReadSettings(map[string]string{
		"event.trackingEnabled": "maybe", "event.ringBufferCapacity": "-5", "event.RESTResponseSize": " 7 ",
		"event.maxStreams": "", "event.maxStreamsPerHost": "x", "event.requestCapacity": "?",
	})
	assert.DeepEqual(t, invalid, []InvalidSetting{
		{"event.trackingEnabled", "maybe", "true"},
		{"event.ringBufferCapacity", "-5", "100000"},
		{"event.maxStreamsPerHost", "x", "15"},
	})
}

func TestHistory_CapacityIsLimited(t *testing.T) {
	h := newHistory()
	h.Configure(Settings{Capacity: 3, BatchSize: 2})
	b, ok := h.From(0, 0)
	assert.Assert(t, ok && b.Records == nil && b.Lowest == 0 && b.Highest == 0)
	for i := range 5 {
		h.OnEffects("p", []scheduler.Effect{node(fmt.Sprint(i))})
	}
	b, _ = h.Oldest(0)
	assert.Equal(t, b.Lowest, uint64(2))
	assert.Equal(t, b.Highest, uint64(4))
	assert.Equal(t, b.Records.Len(), 2, "bounded by BatchSize")
	assert.Equal(t, list(b.Records)[0].Object, "2")
	b, _ = h.From(4, 9)
	assert.Equal(t, b.Records.Len(), 1)
	for _, id := range []uint64{0, 1, 5} {
		b, _ = h.From(id, 1)
		assert.Assert(t, b.Records == nil, "record %d is not kept", id)
	}

	h.Configure(Settings{Capacity: 3, BatchSize: 2, Disabled: true})
	h.OnEffects("p", []scheduler.Effect{node("not recorded")})
	_, ok = h.Oldest(1)
	assert.Assert(t, !ok)
	h.Configure(Settings{Capacity: 2, BatchSize: 2})
	b, ok = h.Oldest(0)
	assert.Assert(t, ok && b.Lowest == 3 && b.Highest == 4, "earlier records are kept, up to the capacity")
}

func TestStream_BeginsWithPastRecords(t *testing.T) {
	h := newHistory()
	for i := range 3 {
		h.OnEffects("p", []scheduler.Effect{node(fmt.Sprint(i))})
	}
	s, err := h.Follow("ann", 2)
	assert.NilError(t, err)
	assert.Equal(t, len(s.Past()), 2)
	assert.Equal(t, s.Past()[0].Object, "1")
	h.OnEffects("p", []scheduler.Effect{node("3"), node("4")})
	h.OnEffects("p", []scheduler.Effect{scheduler.PartitionReset{}})
	h.OnEffects("p", []scheduler.Effect{node("5")})
	first, second := <-s.Records(), <-s.Records()
	assert.Equal(t, len(first), 2)
	assert.Equal(t, second[0].Object, "5")
	s.Close()
	_, more := <-s.Records()
	assert.Assert(t, !more)
	s.Close() // a second Close does nothing
	h.OnEffects("p", []scheduler.Effect{node("6")})
}

// A delivery never waits for a reader: a reader that does not read is dropped, and others go on.
func TestStream_SlowReaderIsDropped(t *testing.T) {
	h := newHistory()
	slow, err := h.Follow("ann", 0)
	assert.NilError(t, err)
	fast, err := h.Follow("bob", 0)
	assert.NilError(t, err)
	effects := make([]scheduler.Effect, 100)
	for i := range effects {
		effects[i] = node("n")
	}
	received := 0
	for range 2 * maxLag / len(effects) {
		h.OnEffects("p", effects)
		records := <-fast.Records()
		fast.MarkRead(len(records))
		received += len(records)
	}
	assert.Equal(t, received, 2*maxLag)
	assert.Equal(t, h.Counts(), Counts{Added: 2 * maxLag, Remembered: 2 * maxLag, Streams: 1, Dropped: 1})
	got := 0
	for records := range slow.Records() {
		got += len(records)
	}
	assert.Equal(t, got, maxLag, "the records before the stream was dropped can be read")
	for range 2 * maxLag {
		h.OnEffects("p", effects[:1]) // fast does not read any more, and is dropped too
	}
	assert.Equal(t, h.Counts().Dropped, uint64(2))
	h.Configure(Settings{Capacity: 5, BatchSize: 1, MaxStreams: 1, MaxStreamsPerHost: 1})
	assert.Equal(t, h.Counts(), Counts{Added: 4 * maxLag, Remembered: 5, Dropped: 2})
}

func TestFollow_StreamsAreLimited(t *testing.T) {
	h := newHistory()
	h.Configure(Settings{Capacity: 1, BatchSize: 1, MaxStreams: 3, MaxStreamsPerHost: 2})
	var open []*Stream
	for i, c := range []struct {
		host string
		want error
	}{{"ann", nil}, {"ann", nil}, {"ann", ErrTooMany}, {"bob", nil}, {"eve", ErrTooMany}} {
		s, err := h.Follow(c.host, 0)
		assert.Equal(t, err, c.want, "%d", i)
		if err == nil {
			open = append(open, s)
		}
	}
	open[0].Close()
	_, err := h.Follow("eve", 0)
	assert.NilError(t, err)

	h.Configure(Settings{Capacity: 1, BatchSize: 1, MaxStreams: 3, MaxStreamsPerHost: 2, Disabled: true})
	_, more := <-open[1].Records()
	assert.Assert(t, !more, "a stream has not ended although history is switched off")
	_, err = h.Follow("ann", 0)
	assert.Equal(t, err, ErrDisabled)
	h.Configure(DefaultSettings())
	last, err := h.Follow("ann", 0)
	assert.NilError(t, err)
	h.Close()
	_, more = <-last.Records()
	assert.Assert(t, !more)
	_, err = h.Follow("ann", 0)
	assert.Equal(t, err, ErrClosed)
}

func TestHistory_IDIsUnique(t *testing.T) {
	a, b := New(nil), New(nil)
	assert.Assert(t, a.ID() != b.ID())
	assert.Equal(t, len(a.ID()), 36)
	assert.Equal(t, a.ID()[14:15], "4", a.ID())
}

func BenchmarkOnEffects(b *testing.B) {
	for _, on := range []bool{true, false} {
		b.Run(fmt.Sprintf("on=%t", on), func(b *testing.B) {
			h := New(nil)
			s := DefaultSettings()
			s.Disabled = !on
			h.Configure(s)
			ask := &objects.Ask{Key: "a-key-of-a-usual-length", App: "app"}
			e := []scheduler.Effect{scheduler.Allocated{Binding: &scheduler.Binding{Ask: ask, Node: "n1"}}}
			b.ReportAllocs()
			for b.Loop() {
				h.OnEffects("default", e)
			}
		})
	}
}
