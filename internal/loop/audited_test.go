package loop_test

import (
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/loop"
)

// Each audit that finishes is told, with the partition.
func TestAudited_IsToldOfEachAudit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := make(chan loop.Audit, 10)
		l, stop := run(t, &memory{}, nil, loop.Options{AuditEvery: time.Minute, Audited: func(partition string, a loop.Audit) {
			assert.Equal(t, partition, "default")
			told <- a
		}})
		l.Send(node("n1", 1))
		<-time.After(150 * time.Second)
		synctest.Wait()
		assert.Equal(t, len(told), 2)
		assert.Assert(t, (<-told).Checked > 1)
		stop()
	})
}
