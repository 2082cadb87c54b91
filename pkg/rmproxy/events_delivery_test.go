package rmproxy

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
	"github.com/canopy-scheduler/canopy/pkg/events"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// listOfEvents are records whose IDs are their places in the list.
type listOfEvents struct {
	mu      sync.Mutex
	records []events.Record
}

func (l *listOfEvents) add(records ...events.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records = append(l.records, records...)
}

func (l *listOfEvents) NextID() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return uint64(len(l.records))
}

func (l *listOfEvents) About(from uint64, count int) ([]events.Record, uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := l.records[from:min(int(from)+count, len(l.records))]
	return slices.Clone(found), from + uint64(len(found))
}

// eventShim keeps the events that it gets.
type eventShim struct {
	fakerm.Recorder
	mu    sync.Mutex
	calls []string
	last  *si.EventRecord
}

func (s *eventShim) SendEvent(records []*si.EventRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, fmt.Sprint(len(records), " from ", records[0].ObjectID))
	s.last = records[len(records)-1]
}

func (s *eventShim) taken() (calls []string, last *si.EventRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls, s.calls = s.calls, nil
	return calls, s.last
}

// A linked shim gets the records that came since its registration, once each, every two seconds (RMI-81).
func TestInProcess_EventsAreSentOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, at := &listOfEvents{}, time.Now()
		source.add(events.Record{Type: events.Request, Object: "before"})
		d := newTestInProcess(testOptions{})
		defer d.Stop()
		d.p.opt.Events = source
		s := &eventShim{}
		_, err := d.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: "rm", Config: queues}, s)
		assert.NilError(t, err)
		source.add(events.Record{
			Type: events.Request, Object: "k", Reference: "app", Message: "SKIPPED: no headroom", At: at,
			Change: events.Change(1), Detail: events.Detail(304),
			Amounts: resources.FromMap(map[string]resources.Quantity{"vcore": 5}),
		})
		time.Sleep(2 * time.Second)
		synctest.Wait()
		calls, last := s.taken()
		assert.DeepEqual(t, calls, []string{"1 from k"})
		assert.Equal(t, last.String(), (&si.EventRecord{
			Type: si.EventRecord_REQUEST, ObjectID: "k", ReferenceID: "app", Message: "SKIPPED: no headroom",
			TimestampNano:   at.UnixNano(),
			EventChangeType: si.EventRecord_SET, EventChangeDetail: si.EventRecord_NODE_CAPACITY,
			Resource: &si.Resource{Resources: map[string]*si.Quantity{"vcore": {Value: 5}}},
		}).String())

		time.Sleep(time.Minute)
		synctest.Wait()
		calls, _ = s.taken()
		assert.Equal(t, len(calls), 0, "%v", calls)

		for i := range eventBatch + 5 { // the rest comes the next time
			source.add(events.Record{Type: events.Node, Object: fmt.Sprint("n", i)})
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		calls, last = s.taken()
		assert.DeepEqual(t, calls, []string{"1000 from n0", "5 from n1000"})
		assert.Equal(t, last.ObjectID, "n1004")

		again := &eventShim{}
		_, err = d.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: "rm", Config: queues}, again)
		assert.NilError(t, err)
		source.add(events.Record{Type: events.Node, Object: "later"})
		time.Sleep(10 * time.Second)
		synctest.Wait()
		calls, _ = s.taken()
		assert.Equal(t, len(calls), 0, "%v", calls)
		calls, _ = again.taken()
		assert.DeepEqual(t, calls, []string{"1 from later"})
	})
}
