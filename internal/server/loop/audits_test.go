package loop

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

func (x *manualLoop) addAuditWaiter(ctx context.Context) <-chan Audit {
	reply := make(chan Audit, 1)
	x.auditState.waiters = append(x.auditState.waiters, auditWaiter{ctx, reply})
	return reply
}

func TestAudit_IsMadeInStepsAndShared(t *testing.T) {
	x := newManualLoop(t, 100, 0)
	for x.needsScheduling {
		x.decide(1)
	}
	for i := range 2000 {
		app := scheduler.AddApplication{App: appID(i), Queue: "root.a"}
		x.applyCommands([]scheduler.Command{app})
	}
	first := x.addAuditWaiter(t.Context())
	steps := 0
	var second <-chan Audit
	for ; len(first) == 0; steps++ {
		assert.Assert(t, steps < 1000)
		if steps == 3 {
			second = x.addAuditWaiter(t.Context())
		}
		for x.needsScheduling {
			x.decide(1)
		}
		x.stepAudit()
	}
	assert.Assert(t, steps > 2000/auditSlice, "in %d steps", steps)
	a := <-first
	assert.NilError(t, a.Err)
	assert.Equal(t, a.Checked, 100+2+2001)
	assert.DeepEqual(t, <-second, a)
	assert.DeepEqual(t, x.Health().Audit, a)
	assert.Assert(t, x.auditState.audit == nil && !x.auditPending())
}

func TestAudit_IsAbandonedWithoutWaiters(t *testing.T) {
	x := newManualLoop(t, 1000, 0)
	for x.needsScheduling {
		x.decide(1)
	}
	ctx, cancel := context.WithCancel(t.Context())
	x.addAuditWaiter(ctx)
	x.stepAudit()
	assert.Assert(t, x.auditState.audit != nil, "one step finished the audit")
	cancel()
	x.stepAudit()
	assert.Assert(t, x.auditState.audit == nil && !x.auditPending())
	assert.Assert(t, x.Health().Audit.Finished.IsZero())
}

func TestAudit_TakesAShareOfTheTimeWhileDeciding(t *testing.T) {
	x := newManualLoop(t, 1000, 10)
	x.decide(1)
	// every measurement takes time
	x.opt.Now = func() time.Time { x.clock = x.clock.Add(time.Millisecond); return x.clock }
	x.addAuditWaiter(t.Context())
	x.stepAudit()
	x.opt.Now = func() time.Time { return x.clock }
	checked := x.auditState.audit.Checked()
	assert.Assert(t, checked > 0 && x.needsScheduling)
	waited := 0
	for ; x.auditState.audit.Checked() == checked && waited < 1000; waited++ {
		x.clock = x.clock.Add(time.Millisecond)
		x.stepAudit()
	}
	assert.Equal(t, waited, auditShare, "milliseconds of decisions for each millisecond of audit")
}

func TestAudit_IsMadeRegularly(t *testing.T) {
	for _, syncDelivery := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			x := newManualLoop(t, 10, 5)
			l := New(x.core, discardSink{}, Options{AuditEvery: time.Minute, SyncDelivery: syncDelivery})
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { defer close(done); l.Run(ctx) }()
			began := time.Now()
			for i := range 3 {
				<-time.After(time.Minute + time.Second)
				synctest.Wait()
				a := l.Health().Audit
				assert.NilError(t, a.Err)
				assert.Equal(t, a.Finished.Sub(began).Round(time.Second), time.Duration(i+1)*time.Minute)
				assert.Assert(t, a.Checked > 10)
			}
			stop()
			<-done
		})
	}
}
