package effectlog

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"gotest.tools/v3/assert"
	"pgregory.net/rapid"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// sumCounts adds up the counts of lines.
func sumCounts(t *testing.T, lines []string) (sum int) {
	t.Helper()
	for _, line := range lines {
		var fields struct{ Count int }
		assert.NilError(t, json.Unmarshal([]byte(line), &fields))
		assert.Assert(t, fields.Count > 0, line)
		sum += fields.Count
	}
	return sum
}

func TestRejections_BurstIsOneLinePerKindAndApplication(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, out := newRecordedLog(zapcore.InfoLevel)
		for i := range 1000 {
			l.OnEffects("p", []scheduler.Effect{
				scheduler.AskRejected{Key: objects.AllocationKey(fmt.Sprint("a", i)), App: "a", Kind: "exceeded-class-quota",
					Reason: fmt.Sprint("used ", i)},
				scheduler.AskRejected{Key: objects.AllocationKey(fmt.Sprint("b", i)), App: "b", Kind: scheduler.RejectedAmounts,
					Reason: "negative"},
				scheduler.AskRejected{Key: objects.AllocationKey(fmt.Sprint("c", i)), App: "b"},
			})
		}
		assert.Equal(t, out.Len(), 0, "the window is open")
		<-time.After(rejectionWindow + time.Millisecond)
		synctest.Wait()
		assert.DeepEqual(t, outputLines(out), []string{
			`{"level":"info","msg":"asks ` +
				`rejected","partition":"p","kind":"exceeded-class-quota","application":"a","count":1000,"exampleKey":"a0",` +
				`"reason":"used 0"}`,
			`{"level":"info","msg":"asks ` +
				`rejected","partition":"p","kind":"invalid-amounts","application":"b","count":1000,"exampleKey":"b0",` +
				`"reason":"negative"}`,
			`{"level":"info","msg":"asks ` +
				`rejected","partition":"p","kind":"other","application":"b","count":1000,"exampleKey":"c0"}`,
		})
		out.Reset()
		<-time.After(time.Hour)
		assert.Equal(t, out.Len(), 0, "no window opens by itself")
		l.OnEffects("p", []scheduler.Effect{scheduler.AskRejected{Key: "k", App: "a"}})
		<-time.After(rejectionWindow + time.Millisecond)
		synctest.Wait()
		assert.Equal(t, sumCounts(t, outputLines(out)), 1, "the next rejection opens the next window")
		l.Close()
	})
}

// However rejections come, the counts of the lines add up to them, also at the end, and the lines
// of one second are bounded by those of two windows.
func TestRejections_CountsAddUpAndLinesAreBounded(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		synctest.Test(t, func(t *testing.T) {
			core, logs := observer.New(zapcore.InfoLevel)
			l := New(zap.New(core))
			added := 0
			for range rapid.IntRange(1, 30).Draw(r, "bursts") {
				apps := rapid.SampledFrom([]int{1, 3, maxRejectionLines - 1, maxRejectionLines, maxRejectionLines + 1, 500}).Draw(r,
					"apps")
				size := rapid.IntRange(1, 300).Draw(r, "size")
				for i := range size {
					partition := []string{"p", "q"}[i%2]
					l.OnEffects(partition,
						[]scheduler.Effect{scheduler.AskRejected{Key: "k", App: objects.AppID(fmt.Sprint(i % apps)), Kind: "malformed"}})
				}
				added += size
				<-time.After(time.Duration(rapid.IntRange(0, 1500).Draw(r, "pause")) * time.Millisecond)
			}
			synctest.Wait()
			l.Close()
			sum := 0
			all := logs.All()
			for i, line := range all {
				n := int(line.ContextMap()["count"].(int64))
				assert.Assert(t, n > 0)
				sum += n
				within := 0
				for j := i; j >= 0 && line.Time.Sub(all[j].Time) < rejectionWindow; j-- {
					within++
				}
				assert.Assert(t, within <= 2*(maxRejectionLines+1), "%d lines within a second", within)
			}
			assert.Equal(t, sum, added)
		})
	})
}

// Rejections while the process stops are written, before and after Close.
func TestRejections_AreWrittenOnClose(t *testing.T) {
	l, out := newRecordedLog(zapcore.InfoLevel)
	rejected := []scheduler.Effect{scheduler.AskRejected{Key: "k", App: "a"}, scheduler.AskRejected{Key: "l", App: "a"}}
	l.OnEffects("p", rejected)
	l.Close()
	assert.Equal(t, sumCounts(t, outputLines(out)), 2)
	l.OnEffects("p", rejected)
	assert.Equal(t, sumCounts(t, outputLines(out)), 4)
	l.Close()
}

func TestRejections_AreNotCountedForALogThatDoesNotWriteThem(t *testing.T) {
	l, out := newRecordedLog(zapcore.WarnLevel)
	l.OnEffects("p", []scheduler.Effect{scheduler.AskRejected{Key: "k"}})
	assert.Assert(t, l.rejections.timer == nil)
	l.Close()
	assert.Equal(t, out.Len(), 0)
}
