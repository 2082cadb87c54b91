package canopy_test

import (
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/canopy"
)

// The level that an extra configuration sets for a logger in one term is not the level of the log in the next one.
func TestMember_LevelsOfLoggersEndWithTheTerm(t *testing.T) {
	g := newGroup(t)
	level := zap.NewAtomicLevelAt(zapcore.WarnLevel)
	a := g.start("a", func(o *canopy.Options) { o.LogLevel = &level })
	g.leader(a)
	_, err := si.NewSchedulerClient(g.dial(a)).RegisterResourceManager(testContext(t), &si.RegisterResourceManagerRequest{
		RmID: "rm", ExtraConfig: map[string]string{"log.core.scheduler.node.level": "debug"},
	})
	assert.NilError(t, err)
	assert.Equal(t, level.Level(), zapcore.DebugLevel)
	g.store.Expire()
	until(t, func() bool {
		leader, known := a.Leader()
		return known && leader.Epoch > 1
	})
	g.leader(a)
	_, err = si.NewSchedulerClient(g.dial(a)).RegisterResourceManager(testContext(t),
		&si.RegisterResourceManagerRequest{RmID: "rm"})
	assert.NilError(t, err)
	assert.Equal(t, level.Level(), zapcore.WarnLevel)
}
