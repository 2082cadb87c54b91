package rmproxy

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// refusalTexts are the counts and texts of the refusals of an ask of partition default.
func (d *linkedCore) refusalTexts(ask objects.AllocationKey) (texts []string) {
	for _, r := range d.p.Refusals("default", ask) {
		texts = append(texts, fmt.Sprint(r.Count, " ", r.Text))
	}
	return texts
}

// The texts of refusals are kept with their counts while the ask waits, and no longer (NOD-42).
func TestRefusals_AreThoseOfPendingAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		accepts := false
		s := &fakerm.Recorder{Predicate: func(_, node string) error {
			mu.Lock()
			defer mu.Unlock()
			switch {
			case accepts:
				return nil
			case node == "n0":
				return errTaint
			}
			return errors.New("a selector \xff" + strings.Repeat("x", 10_000))
		}}
		d := newLinkedShim(t, s)
		d.addNodes("n0", "n1", "n2")
		d.addApp()
		d.submitAsks("k", "cancelled")
		synctest.Wait()
		long := reason("a selector \xff" + strings.Repeat("x", 10_000))
		assert.DeepEqual(t, d.refusalTexts("k"), []string{"1 a taint", "2 " + long})
		assert.DeepEqual(t, d.refusalTexts("cancelled"), []string{"1 a taint", "2 " + long})
		assert.Equal(t, len(d.p.Refusals("other", "k")), 0)
		last := d.p.Refusals("default", "k")[0].Last
		assert.Equal(t, last, time.Now())

		assert.NilError(t, d.UpdateAllocation(&si.AllocationRequest{RmID: "rm", Releases: &si.AllocationReleasesRequest{
			AllocationsToRelease: []*si.AllocationRelease{{PartitionName: "default", ApplicationID: "app",
				AllocationKey: "cancelled"}},
		}}))
		synctest.Wait()
		assert.Equal(t, len(d.refusalTexts("cancelled")), 0)

		mu.Lock()
		accepts = true
		mu.Unlock()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		assert.Assert(t, strings.Contains(strings.Join(s.Calls(), "\n"), "allocations k@"), "%v", s.Calls())
		assert.Equal(t, len(d.refusalTexts("k")), 0)
	})
}

// Refusals in batches and at the same time are kept like others, and another registration begins without any.
func TestRefusals_OfBatchesAndOfOneRegistration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newLinkedShim(t, &batchShim{accepted: "none"})
		d.addNodes(nodeNames(4)...)
		d.addApp()
		d.submitAsks("k")
		synctest.Wait()
		assert.DeepEqual(t, d.refusalTexts("k"), []string{"4 a taint"})
		d.register(&concurrentShim{atOnce: 3, accepted: "none"})
		assert.Equal(t, len(d.refusalTexts("k")), 0)
		d.addNodes(nodeNames(4)...)
		d.addApp()
		d.submitAsks("k")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		assert.Assert(t, d.p.Refusals("default", "k")[0].Count >= 4)
	})
	synctest.Test(t, func(t *testing.T) {
		d := newTestInProcess(testOptions{})
		defer d.Stop()
		assert.Equal(t, len(d.p.Refusals("default", "k")), 0, "nothing is registered")
	})
}

func TestRefusals_AreBounded(t *testing.T) {
	f, start := newRefusals(), time.Unix(0, 0)
	ask := func(i int) partitionKey { return partitionKey{"default", objects.AllocationKey(fmt.Sprint(i))} }
	for i := range maxRefusedAsks + 5 {
		f.add(ask(i), "no", start)
		f.of(ask(0)) // makes it newer
	}
	assert.Equal(t, len(f.of(ask(0))), 1)
	assert.Equal(t, len(f.of(ask(5))), 0)
	assert.Equal(t, len(f.of(ask(6))), 1)
	for i := range maxRefusalTexts + 2 {
		f.add(ask(9), fmt.Sprint("text ", i), start.Add(time.Duration(i)))
		if i > 2 {
			f.add(ask(9), "text 2", start.Add(time.Duration(i)))
		}
	}
	var texts []string
	for _, r := range f.of(ask(9)) {
		texts = append(texts, r.Text)
	}
	assert.Equal(t, strings.Join(texts, ", "), "text 3, text 4, text 5, text 6, text 7, text 8, text 9, text 2")
	assert.Equal(t, f.of(ask(9))[7].Count, 8)
}
