package loop_test

import (
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
)

// OnAudit is called for each audit that finishes, with the name of the partition.
func TestOnAudit_IsCalledForEachAudit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		audits := make(chan loop.Audit, 10)
		l, stop := run(t, &recordingSink{}, nil,
			loop.Options{AuditEvery: time.Minute, OnAudit: func(partition string, a loop.Audit) {
				assert.Equal(t, partition, "default")
				audits <- a
			}})
		l.Send(node("n1", 1))
		<-time.After(150 * time.Second)
		synctest.Wait()
		assert.Equal(t, len(audits), 2)
		assert.Assert(t, (<-audits).Checked > 1)
		stop()
	})
}
